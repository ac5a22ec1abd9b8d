"""Items as statements of CUDA C++: what a matrix, a table or a permutation does to a thread's registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import numpy as np

from qsim_ex.circuit.ops import Entry, When
from qsim_ex.kernels.cuda.interpret import packing
from qsim_ex.kernels.cuda.write import diagonals, pivots, tensor
from qsim_ex.kernels.cuda.write.arithmetic import merged, width
from qsim_ex.kernels.cuda.write.body import BlockText, KernelBody
from qsim_ex.kernels.cuda.write.register_frame import Flip, X, is_exchange
from qsim_ex.kernels.cuda.write.tensor import FragmentLayout
from qsim_ex.kernels.cuda.write.words import condition, one_line, selection
from qsim_ex.steps.step import Diagonal, Item, Mix, Permute

IN_REGISTERS = 3
"""The most bits of a matrix whose inputs and outputs fit into registers together."""


KEPT_BYTES = 256
"""The bytes of a matrix that groups of registers may share in registers; a larger one is read again by each group."""

KEPT_FROM_MEMORY = 128
"""The same limit for numbers that are loaded from memory into registers; with more, kernels spill."""

_SELECTED = 5
"""The most parities whose values are the bits of one word."""


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
    usual = None
    match item:
        case Mix() if number in block.pivots:
            usual = list(pivots.usual_lines(body, block, block.pivots[number], item.bits))
            lines = list(pivots.lines(body, block, block.pivots[number], item.bits))
        case Mix():
            lines = _mix(body, block, item)
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
    block.add([label, *_where(block, item.when, lines)], None if usual is None else [label, *usual])


def block_numbers(body: KernelBody, item: Mix, place: FragmentLayout) -> int:
    """Put the numbers of a matrix for the tensor cores into the table; return where they begin."""
    every = np.array(packing.full(item.pattern, item.slot.at, body.sweep.numbers + body.sweep.tables))
    taken = every.reshape(-1, 2)[tensor.entries(place, body.precision)]  # of each entry both parts
    return body.in_table(taken.T.reshape(-1).tolist(), aligned=4)


def _where(block: BlockText, when: When, lines: list[str]) -> list[str]:
    """Put statements under the part of a condition that does not depend on the register."""
    mask, value = when.mask & ~block.mask, when.value & ~block.mask
    if mask and lines:
        block.reads = True
        return [f"if ({condition(mask, value)}) {{", *[f"    {line}" for line in lines], "}"]
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
    high, block.reads = block.register(1 << item.bits[0]), True
    pairs = [(r, r | high) for r in range(len(block.names)) if not r & high]
    swaps = [body.call("swap", block.a(low), block.a(other)) for low, other in pairs]
    return [f"if ({selection((item.parity,))}) {{", *[f"    {line}" for line in swaps], "}"]


def _mix(body: KernelBody, block: BlockText, item: Mix) -> list[str]:
    """Multiply groups of registers by a matrix, or by the one that parities select for the group."""
    bits = [block.register(1 << bit) for bit in item.bits]
    groups = [r for r in block.selected(item.when) if not any(r & bit for bit in bits)]
    members = [sum(bit for k, bit in enumerate(bits) if x >> k & 1) for x in range(1 << len(bits))]
    constants = block.constants(item.reads)
    elsewhere = block.elsewhere(item.reads)
    size = 1 << 2 * len(bits)
    if not any(elsewhere):
        return _known_matrix(body, block, item, groups, members, constants)
    if is_exchange(item) and len(item.reads) <= _SELECTED:
        return _exchange(body, block, item, groups, constants)
    classes = tuple(merged(item.pattern[k::size]) for k in range(size))
    if not any(map(width, classes)):
        return _multiply(body, block, classes, groups, members, "v")
    block.reads = True
    record = sum(map(width, classes)) + sum(map(width, classes)) % 2
    at = body.in_table(packing.records(item.pattern, classes, item.slot.at))
    lines = [f"unsigned s = {selection(elsewhere)};"]
    for c in sorted({constants[r] for r in groups}):
        chosen = [r for r in groups if constants[r] == c]
        numbers = f"table + {at} + {record} * (s ^ {c:#x})"
        if len(members) > 2:  # too many numbers to keep: each group reads them again
            for r in chosen:
                lines.append('asm volatile("" : "+r"(s));')
                lines += _multiply(body, block, classes, [r], members, numbers, 2 if body.in_memory else 0)
            continue
        lines += ["{", f"    real m[{record}];", "    " + body.call("load", "m", numbers)]
        lines += [f"    {line}" for line in _multiply(body, block, classes, chosen, members, "m")]
        lines.append("}")
    return lines


def _exchange(
    body: KernelBody, block: BlockText, item: Mix, groups: Sequence[int], constants: Sequence[int]
) -> list[str]:
    """Exchange registers where parities select an X, and leave them elsewhere."""
    block.reads, high = True, block.register(1 << item.bits[0])
    odd = [k for k in range(1 << len(item.reads)) if item.pattern[4 * k : 4 * k + 4] == X]
    lines = [f"unsigned s = {selection(block.elsewhere(item.reads))};"]
    for c in sorted({constants[r] for r in groups}):
        selected = sum(1 << (k ^ c) for k in odd)
        one = f"s == {selected.bit_length() - 1:#x}" if len(odd) == 1 else f"{selected:#x}u >> s & 1"
        swaps = [body.call("swap", block.a(r), block.a(r | high)) for r in groups if constants[r] == c]
        lines += [f"if ({one}) {{", *[f"    {swap}" for swap in swaps], "}"]
    return lines


def _known_matrix(
    body: KernelBody, block: BlockText, item: Mix, groups: list[int], members: list[int], constants: list[int]
) -> list[str]:
    """Multiply by a matrix that is the same for all threads, so that its numbers come by value."""
    size = len(members) ** 2
    numbers = packing.numbered(item.pattern, item.slot.at)
    if item.reads:
        numbers = {k: item.slot.at + k for k in range(len(item.pattern))}
    lines = []
    for c in sorted({constants[r] for r in groups}):
        places = range(c * size, c * size + size)
        classes = tuple(Entry(item.pattern[k]) for k in places)
        taken = [part for k in places if k in numbers for part in packing.parts(numbers[k], Entry(item.pattern[k]))]
        at = body.by_value(taken)
        chosen = [r for r in groups if constants[r] == c]
        first = f"v + {at}" if at else "v"
        if (
            body.in_memory
            and taken
            and (len(members) == 2 or len(taken) * body.precision.storage.computed_bytes <= KEPT_FROM_MEMORY)
        ):
            lines += ["{", f"    real m[{len(taken) + len(taken) % 2}];", "    " + body.call("load", "m", first)]
            lines += [f"    {line}" for line in _multiply(body, block, classes, chosen, members, "m")]
            lines.append("}")
        else:
            lines += _multiply(body, block, classes, chosen, members, first, body.vector if body.in_memory else 0)
    return lines


def _multiply(
    body: KernelBody,
    block: BlockText,
    classes: tuple[Entry, ...],
    groups: list[int],
    members: list[int],
    numbers: str,
    fetched: int = 0,
) -> list[str]:
    """Multiply groups of registers by a matrix of known classes; `fetched`: as in `matrix_function`.

    numbers: the place where the matrix's numbers begin.
    """
    registers = [[group | member for member in members] for group in groups]
    if len(members) > 1 << IN_REGISTERS:
        return [line for r in registers for line in _by_columns(body, block, classes, r, numbers)]
    function = body.matrix(classes, fetched)
    calls = [f"{function}({', '.join(block.a(r) for r in group)}, {numbers});" for group in registers]
    if len(members) == 2:
        return calls
    if fetched or sum(map(width, classes)) * body.precision.storage.computed_bytes > KEPT_BYTES:
        return [body.apart(call) for call in calls]
    return [body.apart("{"), *[f"    {call}" for call in calls], "}"]


def _by_columns(
    body: KernelBody, block: BlockText, classes: tuple[Entry, ...], registers: list[int], numbers: str
) -> list[str]:
    """Apply a matrix to all registers: the inputs are kept in the thread's shared memory, and loaded in turn."""
    block.shared = True
    slots = body.slots.registers(block.place)
    lines = [f"{body.slots.at('w', slots[r])} = {block.a(r)};" for r in registers]
    lines.append('asm volatile("" ::: "memory");  // or the compiler would keep the inputs in registers, and spill')
    lines += [body.call("clear", block.a(r)) for r in registers]
    size = len(registers)
    starts = [sum(map(width, classes[:k])) for k in range(len(classes))]
    for column in range(size):
        lines += [body.apart("{"), f"    const amp c = {body.slots.at('w', slots[registers[column]])};"]
        for row in range(size):
            k = row * size + column
            lines += [
                f"    {line}" for line in _add(body, block.a(registers[row]), classes[k], f"({numbers})", starts[k])
            ]
        lines.append("}")
    return lines


def _add(body: KernelBody, a: str, entry: Entry, numbers: str, at: int) -> list[str]:
    """Add the product of a matrix entry and the column's input to an amplitude."""
    match entry:
        case Entry.ZERO:
            return []
        case Entry.ONE:
            return [body.call("add_real", a, "c", "1")]
        case Entry.MINUS_ONE:
            return [body.call("add_real", a, "c", "-1")]
        case Entry.REAL:
            return [body.call("add_real", a, "c", f"{numbers}[{at}]")]
        case Entry.IMAG:
            return [body.call("add_imaginary", a, "c", f"{numbers}[{at}]")]
        case Entry.COMPLEX:
            return [body.call("add", a, "c", f"{numbers}[{at}]", f"{numbers}[{at + 1}]")]
        case _:
            assert_never(entry)
