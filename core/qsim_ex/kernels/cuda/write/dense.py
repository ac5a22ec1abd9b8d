"""A dense block of a sweep as source: a matrix that the tensor cores apply, in a register block of its own."""

from __future__ import annotations

from collections.abc import Sequence

from qsim_ex.circuit.ops import When, mask_of
from qsim_ex.kernels.cuda.write import items
from qsim_ex.kernels.cuda.write.body import KernelBody
from qsim_ex.kernels.cuda.write.memory_map import MemoryMap
from qsim_ex.kernels.cuda.write.register_layout import (
    runs,
    slot_of,
    stored_order,
    swizzle,
)
from qsim_ex.kernels.cuda.write.tensor import arrange
from qsim_ex.kernels.cuda.write.tensor import lines as block_lines
from qsim_ex.kernels.cuda.write.words import condition, one_line, spread
from qsim_ex.steps.step import Mix

OPAQUE = 'asm volatile("" : "+r"(t));'
"""Makes t new to the compiler in each register block: else it would compute all indices at the start, and spill."""


def write_dense(body: KernelBody, item: Mix, *, last: bool) -> None:
    """Apply a matrix on the tensor cores, in a register block that has no other item."""
    sweep, precision, block = body.sweep, body.precision, body.register_blocks[-1]
    near = tuple(sweep.tile.index(bit) for bit in item.bits)
    place = arrange(near, len(sweep.tile), precision, order=stored_order(sweep) if last else None)
    block.tensor = True
    numbers = items.block_numbers(body, item, place)
    # The matrix is on its way while the warps of a block wait for each other.
    block.lines += [
        f"// {one_line(item.label) or 'block'}",
        OPAQUE,
        "Matrix m;",
        f"load(m, table + {numbers}, t & 31);",
        "__syncthreads();",
        f"const unsigned p = {spread('t', runs(place.reading), wide=False)};",
        f"const unsigned from = {slot_of('p', place.size, precision)};",
    ]
    written = MemoryMap.written(sweep)
    if last:
        block.lines += written.place("there", place.writing)
    else:
        block.lines.append(f"const unsigned q = {spread('t', runs(place.writing), wide=False)};")
        block.lines.append(f"const unsigned to = {slot_of('q', place.size, precision)};")

    def read(positions: int) -> str:
        return f"tile[from ^ {swizzle(positions, precision):#x}]"

    def write(positions: int) -> str:
        if last:
            return f"state[there {written.joined} {written.at(positions):#x}]"
        return f"tile[to ^ {swizzle(positions, precision):#x}]"

    pair = precision.storage.cuda.stored_pair if last and written.pairs(place.groups[0]) else None
    when = _on_positions(item.when, sweep.tile)
    text = block_lines(place, precision.tensor.loops, read, write, pair=pair, when=when)
    beside = item.when.mask & ~mask_of(sweep.tile)
    if beside:  # holds for a whole block of threads, or not
        held = condition(beside, item.when.value & beside)
        text = [f"if ({held}) {{", *[f"    {each}" for each in text], "}"]
        block.lines.append("const u64 i = high | outside;")
    block.lines += text


def _on_positions(when: When, tile: Sequence[int]) -> When:
    """Return the part of a condition that is on a tile's bits, on their positions."""

    def positions(bits: int) -> int:
        return sum(1 << position for position, bit in enumerate(tile) if bits >> bit & 1)

    return When(positions(when.mask), positions(when.value))
