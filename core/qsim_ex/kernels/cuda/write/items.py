"""Items as statements of CUDA C++: what a matrix, a table or a permutation does to a thread's registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import numpy as np

from qsim_ex.circuit.ops import When
from qsim_ex.kernels.cuda.interpret import packing
from qsim_ex.kernels.cuda.write import diagonals, mixes, pivots, tensor
from qsim_ex.kernels.cuda.write.body import BlockText, KernelBody
from qsim_ex.kernels.cuda.write.register_frame import Flip
from qsim_ex.kernels.cuda.write.tensor import FragmentLayout
from qsim_ex.kernels.cuda.write.words import condition, one_line, selection
from qsim_ex.steps.step import Diagonal, Item, Mix, Permute


def write_all(body: KernelBody, items: Sequence[Item | Flip]) -> None:
    """Append all items of a register block to it, which is being written; pairs of rotations are pivoted."""
    block = body.register_blocks[-1]
    if body.pivoted:
        block.pivots = pivots.pivots_of(body, block, items)
    if block.pivots:
        block.told = body.by_value([body.zero + 1])
    for number, pivot in block.pivots.items():
        pivot.usual = block.told
        diagonals.leave_ratio(block, items, number, pivot)
    behind: list[int] = []
    for number, item in enumerate(items):
        if number in behind:
            continue
        run = diagonals.joined(block, items, number)
        behind = run[1:]
        if behind or any(at in block.carried for at in run):
            block.add(diagonals.joined_lines(body, block, items, run))
            continue
        write(body, item, number)
        if number in block.pivots:
            body.pivots.append(block.pivots[number])
            if len(body.pivots) % pivots.MOST == 0:
                block.add(pivots.scaled(body, block))


def write(body: KernelBody, item: Item | Flip, number: int = 0) -> None:
    """Append an item to the register block that is being written; number: its number in the register block."""
    block = body.register_blocks[-1]
    ratios = block.ratios.get(number, [])
    usual, when = None, item.when
    match item:
        case Mix() if number in block.pivots:
            usual = list(pivots.usual_lines(body, block, block.pivots[number], item.bits))
            lines = list(pivots.lines(body, block, block.pivots[number], item.bits))
        case Mix():
            selected = mixes.where_lanes_differ(body, block, item)
            lines = mixes.lines(body, block, item) if selected is None else selected
            if selected is not None:
                when = When(when.mask & ~block.tile_mask, when.value & ~block.tile_mask)
        case Diagonal():
            lines = diagonals.lines(body, block, item, ratios)
        case Permute():
            lines = _permute(body, block, item)
        case Flip():
            lines = _flip(body, block, item)
        case _:
            assert_never(item)
    kind = type(item).__name__.lower()
    label = f"// {one_line(item.label) or kind}"
    block.add([label, *_where(block, when, lines)], None if usual is None else [label, *usual])


def block_numbers(body: KernelBody, item: Mix, place: FragmentLayout) -> int:
    """Put the numbers of a matrix for the tensor cores into the table; return where they begin."""
    every = np.array(packing.full(item.pattern, item.slot.at, body.sweep.numbers + body.sweep.tables))
    taken = every.reshape(-1, 2)[tensor.entries(place, body.precision)]  # of each entry both parts
    return body.in_table(taken.T.reshape(-1).tolist(), aligned=4)


def _where(block: BlockText, when: When, lines: list[str]) -> list[str]:
    """Put statements under the part of a condition that does not depend on the register."""
    if when.mask & ~block.mask and lines:
        # What the whole tile says comes first: such a branch parts no warp.
        parts = (when.mask & ~block.tile_mask, when.mask & block.tile_mask & ~block.mask)
        tests = [condition(mask, when.value & mask, block.source((mask,))) for mask in parts if mask]
        return [f"if ({' && '.join(tests)}) {{", *[f"    {line}" for line in lines], "}"]
    if lines and lines[0].startswith(("const", "unsigned", "amp", "real")):
        return ["{", *[f"    {line}" for line in lines], "}"]
    return lines


def _permute(body: KernelBody, block: BlockText, item: Permute) -> list[str]:
    """Exchange the names of registers; only under a condition that threads decide do amplitudes move."""
    target = list(range(len(block.names)))
    for r in block.selected(item.when):
        target[r] = block.renamed(item, r)
    if not item.when.mask & ~block.mask:
        old = list(block.names)
        for r, to in enumerate(target):
            block.names[to] = old[r]
        return []
    lines = []
    for start in range(len(target)):
        r = target[start]
        while r != start and r > start:
            r = target[r]
        if r != start or target[start] == start:
            continue  # not the smallest of its cycle, or a fixed point
        r = target[start]
        while r != start:
            lines.append(body.call("swap", block.a(start), block.a(r)))
            r = target[r]
    return lines


def _flip(body: KernelBody, block: BlockText, item: Flip) -> list[str]:
    """Exchange the amplitudes of registers that differ in a bit, where a parity of other bits is odd."""
    high = block.register(1 << item.bits[0])
    pairs = [(r, r | high) for r in range(len(block.names)) if not r & high]
    swaps = [body.call("swap", block.a(low), block.a(other)) for low, other in pairs]
    return [
        f"if ({selection((item.parity,), block.source((item.parity,)))}) {{",
        *[f"    {line}" for line in swaps],
        "}",
    ]
