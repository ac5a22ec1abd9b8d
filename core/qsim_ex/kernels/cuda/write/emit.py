"""A sweep as CUDA C++: one straight-line kernel for each structure, written to be read.

One thread block loads one tile into registers, runs the register blocks, and stores it. Numbers are data: those that
all amplitudes share are passed by value (`Numbers n`, or at the beginning of `table` if there are too many), tables are
in global memory. The cost of a bit that is read depends on its place: in a register nothing, since the source names the
amplitudes that it concerns; elsewhere one lookup for each thread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cuda.write import items
from qsim_ex.kernels.cuda.write.arithmetic import FACTORS, matrix_function
from qsim_ex.kernels.cuda.write.body import BlockText, KernelBody
from qsim_ex.kernels.cuda.write.dense import OPAQUE, write_dense
from qsim_ex.kernels.cuda.write.frames import ALIGNED, BatchFrame, Frame, SingleFrame
from qsim_ex.kernels.cuda.write.kernel import NAME, Kernel
from qsim_ex.kernels.cuda.write.memory_map import MemoryMap
from qsim_ex.kernels.cuda.write.moves import Moves
from qsim_ex.kernels.cuda.write.pivots import USEFUL, is_pair, scaled
from qsim_ex.kernels.cuda.write.register_frame import Flip, by_memory, by_tile, framed, is_cx, no_bits, nothing
from qsim_ex.kernels.cuda.write.register_layout import (
    RegisterLayout,
    outside,
    places,
    runs,
    skipped_bits,
)
from qsim_ex.kernels.cuda.write.slots import TileSlots
from qsim_ex.kernels.cuda.write.tensor import SMALLEST_TILE, dense_block, parted
from qsim_ex.kernels.cuda.write.tensor import functions as tensor_functions
from qsim_ex.kernels.cuda.write.words import spread
from qsim_ex.precision import SINGLE, Precision
from qsim_ex.steps.algebra import Map
from qsim_ex.steps.step import Item, Sweep
from qsim_ex.steps.unmixed import widened

ROOM = 32_764
"""The bytes that a kernel may take by value from CUDA 12.1 on."""

OLD_ROOM = 4_096
"""The bytes that a kernel may take by value before CUDA 12.1."""

_OTHER_ARGUMENTS = 24


def source(sweep: Sweep, precision: Precision = SINGLE, *, rows: bool = False) -> str:
    """Return the CUDA C++ of a sweep for amplitudes of a precision, to be printed and read.

    rows: over every row of a batch.
    """
    return emit_rows(sweep, precision).source if rows else emit(sweep, precision).source


@functools.lru_cache(maxsize=1024)
def emit(sweep: Sweep, precision: Precision, room: int = ROOM, *, tensor: bool = False) -> Kernel:
    """Write the kernel of a sweep.

    room: the bytes that a kernel may take by value. tensor: whether dense blocks run on the tensor cores.
    """
    sweep, beside = widened(sweep)
    arranged = places(parted(sweep, stores=not beside) if tensor else sweep, precision)
    pairs = sum(is_pair(item) for block in sweep.register_blocks for item in block.items)
    body = _written(sweep, precision, arranged, tensor, pivoted=pairs in USEFUL)
    if body.pivots and not fits(body, room):
        body = _written(sweep, precision, arranged, tensor, pivoted=False)
    by_value = fits(body, room)
    values = np.array(body.values if by_value else [], dtype=np.int64)
    before = [] if by_value else _padded(body.values)
    threads = 1 << len(arranged[0].threads)
    text = _text(sweep, precision, body, arranged, threads, SingleFrame(len(values), len(before)), beside)
    table = np.array(before + body.table, dtype=np.int64)
    return Kernel(text, threads, skipped_bits(sweep), values, table, _records(body))


def _written(
    sweep: Sweep, precision: Precision, arranged: Sequence[RegisterLayout], tensor: bool, *, pivoted: bool
) -> KernelBody:
    """Return the parts of a sweep's source, with the statements of all register blocks."""
    body = KernelBody(sweep, precision, pivoted=pivoted, padded=pivoted and _padded_slots(sweep, tensor))
    for number, place in enumerate(arranged):
        body.begin(place)
        dense = dense_block(place.block) if tensor and len(sweep.tile) >= SMALLEST_TILE else None
        if dense:
            write_dense(body, dense, last=number == len(arranged) - 1)
        else:
            items.write_all(body, framed_items(body, number == 0, number == len(arranged) - 1))
    if body.pivots and not body.pivots[-1].total:
        block = [block for block in body.register_blocks if block.pivots][-1]
        block.add(scaled(body, block))
    return body


def _padded_slots(sweep: Sweep, tensor: bool) -> bool:
    """Return whether a kernel's slots have gaps: where pairs are pivoted, and nothing XORs slots.

    Frames do, and dense blocks.
    """
    items = [item for block in sweep.register_blocks for item in block.items]
    if any(map(is_cx, items)):
        return False
    if tensor and len(sweep.tile) >= SMALLEST_TILE and any(map(dense_block, parted(sweep).register_blocks)):
        return False
    return any(map(is_pair, items))


def framed_items(
    body: KernelBody, first: bool, last: bool, kept: Callable[[Item], int] = no_bits
) -> Sequence[Item | Flip]:
    """Return the items of the register block that is begun, in its frame if it has a CX; kept: as in `framed`."""
    sweep, block = body.sweep, body.register_blocks[-1]
    place, items = block.place, block.place.block.items
    if not any(map(is_cx, items)):
        return items
    read, written = MemoryMap.read(sweep), MemoryMap.written(sweep)
    come, leave = [by_tile(place, sweep.tile, body.precision) for _ in range(2)]
    if first:
        come = nothing if read.is_bits else by_memory(place, sweep.tile, sweep.fresh)
    if last:
        leave = nothing if written.is_bits else by_memory(place, sweep.tile)
    made = framed(items, block.bits, come, leave, kept)
    block.first, block.last = made.first, made.last
    block.reads = any((*made.first, *made.last))
    return made.items


def fits(body: KernelBody, room: int) -> bool:
    """Return whether a kernel may take its numbers by value."""
    return len(body.values) * body.precision.storage.real_bytes + _OTHER_ARGUMENTS <= room


def _records(body: KernelBody) -> NDArray[np.int32]:
    """Return what the host has to know of a kernel's pivots."""
    records = [*(pivot.record() for pivot in body.pivots), *body.products]
    return np.array([word for record in records for word in record], dtype=np.int32)


@functools.lru_cache(maxsize=1024)
def emit_rows(sweep: Sweep, precision: Precision) -> Kernel:
    """Write the kernel of a sweep over every row of a batch; all its numbers are in global memory."""
    arranged = places(sweep, precision)
    body = KernelBody(sweep, precision, in_memory=True)
    for number, place in enumerate(arranged):
        body.begin(place)
        items.write_all(body, framed_items(body, number == 0, number == len(arranged) - 1))
    lanes = len(arranged[0].threads)
    together = max(1, precision.geometry.threads >> lanes)
    before, threads = _padded(body.values), together << lanes
    text = _text(sweep, precision, body, arranged, threads, BatchFrame(len(before), lanes, together))
    nothing, table = np.zeros(0, dtype=np.int64), np.array(before + body.table, dtype=np.int64)
    return Kernel(text, threads, skipped_bits(sweep), nothing, table, tiles=together)


def _padded(values: list[int]) -> list[int]:
    """Pad numbers that precede a table to where any vector of the table's numbers can be loaded."""
    return values + [0] * (-len(values) % ALIGNED)


def _text(
    sweep: Sweep,
    precision: Precision,
    body: KernelBody,
    arranged: tuple[RegisterLayout, ...],
    threads: int,
    frame: Frame,
    beside: Map = (),
) -> str:
    """Put the parts of the source together; beside: as in `Moves`."""
    storage = precision.storage
    head = [
        f"// A sweep over tiles of index bits {' '.join(map(str, sweep.tile)) or '(none)'}, {storage.dtype.name}.",
        *storage.cuda.head(),
        "typedef unsigned long long u64;",
        *frame.types(),
        "",
    ]
    read, written = MemoryMap.read(sweep), MemoryMap.written(sweep)
    functions = [tensor_functions(precision)] if any(block.tensor for block in body.register_blocks) else []
    functions += [FACTORS[key] for key in FACTORS if key in body.called]
    functions += [matrix_function(name, *key, storage.cuda.pair) for key, name in body.matrices.items()]
    kernel = [
        f'extern "C" __global__ void __launch_bounds__({_bounds(threads, body)}) {NAME}(',
        *map(storage.cuda.written, frame.arguments()),
        "{",
        *frame.opening(len(sweep.tile), body.shared or len(arranged) > 1, body.slots),
        f"    const u64 outside = {spread('b', outside(sweep), wide=True)};",
        *frame.numbers(body.parted),
        f"    amp {', '.join(f'a{r}' for r in range(1 << len(arranged[0].registers)))};",
    ]
    last = len(arranged) - 1
    for number, (place, block) in enumerate(zip(arranged, body.register_blocks, strict=True)):
        registers = " ".join(map(str, place.block.registers)) or "nothing"
        kernel += ["", f"    {{   // register block {number}: bits {registers}"]
        # Register blocks on tensor cores wait themselves.
        barrier = number != last and not body.register_blocks[number + 1].tensor
        if block.tensor:
            kernel += [f"        {line}" for line in block.lines]
            kernel += ["    }", *(["    __syncthreads();"] if barrier else [])]
            continue
        needs_slots = last > 0 or block.shared
        kernel += [
            f"        {line}"
            for line in places_text(sweep, block, frame, body.slots if needs_slots else None, number > 0)
        ]
        if number == 0 and not read.stays:
            kernel += [f"        {line}" for line in read.place("origin", place.threads, fixed=not any(block.first))]
        moves = Moves(sweep, block, body.slots, frame.live, read, written, beside=beside)
        kernel += [f"        {line}" for line in (moves.load() if number == 0 else moves.fetch())]
        if number == last and moves.moved:
            kernel += [f"        {line}" for line in written.place("there", place.threads, fixed=not any(block.last))]
        taken = moves.store(block.names) if number == last else moves.put(block.names)
        kernel += [f"        {line}" for line in _either(block, taken)]
        kernel += ["    }", *(["    __syncthreads();"] if barrier else [])]
    return "\n".join([*head, *functions, *kernel, "}", ""])


def _either(block: BlockText, taken: Sequence[str]) -> list[str]:
    """Return the statements of a register block and of its amplitudes' leaving, once more for pairs that are as usual.

    Both texts end with amplitudes in memory: behind them no amplitude needs the same register in both.
    """
    if block.told < 0:
        return [*block.lines, *taken]
    usual, other = ([f"    {line}" for line in (*lines, *taken)] for lines in (block.usual, block.lines))
    return [f"if (v[{block.told}] == 1) {{", *usual, "} else {", *other, "}"]


def _share(threads: int, precision: Precision) -> int:
    """Return how many times a block goes into one that has the largest tile; 0 if it is less than half of that."""
    most = precision.geometry.threads
    return most // threads if 2 * threads >= most else 0


def _bounds(threads: int, body: KernelBody) -> str:
    """Return the launch bounds: threads, and for large tiles blocks of a multiprocessor, which limits registers."""
    geometry = body.precision.geometry
    blocks = geometry.padded_blocks if body.slots.padded else geometry.blocks
    held = _share(threads, body.precision) * blocks
    return f"{threads}, {held}" if held else str(threads)


def places_text(sweep: Sweep, block: BlockText, frame: Frame, slots: TileSlots | None, later: bool) -> list[str]:
    """Define the places of this thread's amplitudes: in memory (`here`), in the state (`i`), in the tile (`w`)."""
    lines, place = [OPAQUE] if later else [], block.place
    lines.append(f"const u64 here = {_index(sweep.tile, place.threads)};")
    if block.reads:
        lines.append(f"const u64 i = {frame.whole};")
    if block.around:
        lines.append(f"const u64 around = {frame.around};")
    if slots is not None:
        lines.append(f"const unsigned p = {spread('t', runs(place.threads), wide=False)};")
        size = len(sweep.tile)
        lines.append(f"const unsigned w = {slots.of('p', size)}{frame.slot(size, slots.precision)};")
    return lines


def _index(tile: Sequence[int], threads: Sequence[int]) -> str:
    """Return where a thread's amplitudes begin in memory if bit k of its number is position ``threads[k]``."""
    index = spread("t", runs([tile[position] for position in threads]), wide=True)
    return f"outside | {index}" if index != "0" else "outside"
