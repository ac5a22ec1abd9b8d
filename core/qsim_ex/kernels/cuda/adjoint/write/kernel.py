"""A sweep backwards as CUDA C++: straight-line code as in `kernels.cuda.write`, on a state and a cotangent at once.

A thread holds 16 amplitudes of both. They change places through one tile, one behind the other. A thread block works
on several tiles, and keeps sums of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from operator import or_

import numpy as np

from qsim_ex.kernels.cuda.adjoint.derivatives import Derivatives
from qsim_ex.kernels.cuda.adjoint.write.sums import FUNCTIONS, LANES, MOST_READS, Sums
from qsim_ex.kernels.cuda.adjoint.write.tangents import FUNCTIONS as ROTATIONS
from qsim_ex.kernels.cuda.adjoint.write.tangents import Complex, KernelNumbers, TangentLines, Tangents, is_rotation
from qsim_ex.kernels.cuda.interpret.packing import pack
from qsim_ex.kernels.cuda.write import items, mixes
from qsim_ex.kernels.cuda.write.arithmetic import FACTORS, matrix_function
from qsim_ex.kernels.cuda.write.body import KernelBody
from qsim_ex.kernels.cuda.write.emit import fits, framed_items, places_text
from qsim_ex.kernels.cuda.write.frames import ALIGNED, SingleFrame
from qsim_ex.kernels.cuda.write.kernel import NAME, Kernel
from qsim_ex.kernels.cuda.write.memory_map import MemoryMap
from qsim_ex.kernels.cuda.write.moves import Moves
from qsim_ex.kernels.cuda.write.register_frame import Flip
from qsim_ex.kernels.cuda.write.register_layout import RegisterLayout, loaded_order, outside, places, skipped_bits
from qsim_ex.kernels.cuda.write.slots import TileSlots
from qsim_ex.kernels.cuda.write.words import one_line, spread
from qsim_ex.precision import Precision
from qsim_ex.steps.step import Diagonal, Item, Mix, Sweep

BLOCKS = 2
"""The thread blocks of a multiprocessor: a thread has two states in its registers."""

_ON_BOTH = {
    "times": "const real x, const real y",
    "scale": "const real x",
    "turn": "const real y",
    "negate": "",
    "clear": "",
}
"""The functions of one amplitude that are called for those of both states, with their other arguments."""

_FRAME = SingleFrame(0, 0, "here", "outside")
"""What `places_text` asks for: one tile at a time, of a state in one piece."""

_PARTS = (".x", "state"), (".l", "cotangent")


@dataclass(frozen=True, slots=True)
class CollectingSweep(Sweep):
    """A sweep backwards.

    dropped: as in `ReversedSweep`. wanted: which of its packed numbers are differentiated. tangents: whether rotations
    are applied by their tangents.
    """

    dropped: int = 0
    wanted: bytes = b""
    tangents: bool = False


@dataclass(frozen=True, eq=False)
class CollectingKernel(Kernel):
    """A written sweep backwards.

    sums: of a thread block, for each warp a multiple of 32. tangents: of rotations that are applied by them.
    """

    derivatives: Derivatives | None = None
    sums: int = 0
    tangents: Tangents | None = None

    def bind(self, numbers: Complex, real: type[np.floating]) -> KernelNumbers | None:
        """Return the numbers by value for packed ones; None if the kernel is not for these."""
        values = pack(numbers, self.values, real)
        if self.tangents is not None:
            return self.tangents.bind(numbers, values)
        return KernelNumbers(values if values.size else np.zeros(1, dtype=real), np.ones(0))


def is_written(sweep: CollectingSweep, precision: Precision) -> bool:
    """Return whether a kernel can be written: the tile has a warp, and no item is one of those that are seldom."""
    if len(places(sweep, precision, loaded_order(sweep))[0].threads) < LANES:
        return False
    for block in sweep.register_blocks:
        inside = sum(1 << bit for bit in block.registers)
        for item in block.items:
            if isinstance(item, Mix) and len(item.bits) > mixes.IN_REGISTERS:
                return False
            if _told_by_registers(sweep, item) & ~inside:
                return False
    return True


def _told_by_registers(sweep: CollectingSweep, item: Item) -> int:
    """Return the bits whose registers say which sum of an item an amplitude is for: all that it reads, or none.

    So it is with matrices that are differentiated, and with tables that have more entries than there may be sums.
    """
    if not isinstance(item, Mix | Diagonal) or (isinstance(item, Diagonal) and len(item.reads) <= MOST_READS):
        return 0
    wanted = any(sweep.wanted[item.slot.at : item.slot.at + item.slot.count])
    return reduce(or_, item.reads, 0) if wanted else 0


@lru_cache(maxsize=1024)
def emit(sweep: CollectingSweep, precision: Precision, room: int) -> CollectingKernel:
    """Write the kernel of a sweep backwards; room: the bytes that a kernel may take by value."""
    arranged = places(sweep, precision, loaded_order(sweep))
    body, sums = KernelBody(sweep, precision), Sums([flag != 0 for flag in sweep.wanted])
    rotations = TangentLines()
    for number, place in enumerate(arranged):
        block = body.begin(place)
        ends = number == 0, number == len(arranged) - 1
        for item in framed_items(body, *ends, lambda item: _told_by_registers(sweep, item)):
            if isinstance(item, Flip) or not sums.needs(item):
                items.write(body, item)
                continue
            block.add(sums.lines(block, item))
            rotations.before += [len(rotations.places)] * (sums.count - len(rotations.before))
            if sweep.tangents and isinstance(item, Mix) and is_rotation(item):
                block.add([f"// {one_line(item.label) or 'rotation'}", *rotations.lines(body, block, item)])
            else:
                items.write(body, item)
    tangents = rotations.scaled(body, body.register_blocks[-1]) if rotations.places else None
    by_value = fits(body, room)
    if tangents and not by_value:
        return emit(replace(sweep, tangents=False), precision, room)
    before = [] if by_value else body.values + [0] * (-len(body.values) % ALIGNED)
    threads = 1 << len(arranged[0].threads)
    derivatives, width = sums.derivatives(), -(-sums.count >> LANES) << LANES
    if tangents:
        tangents = replace(tangents, before=np.pad(tangents.before, (0, width - sums.count)))
    text = _text(sweep, precision, body, arranged, threads, sums, width, len(before))
    values = np.array(body.values if by_value else [], dtype=np.int64)
    table = np.array(before + body.table, dtype=np.int64)
    return CollectingKernel(
        text,
        threads,
        skipped_bits(sweep),
        values,
        table,
        derivatives=derivatives,
        sums=width * (threads >> LANES),
        tangents=tangents,
    )


def _text(
    sweep: CollectingSweep,
    precision: Precision,
    body: KernelBody,
    arranged: tuple[RegisterLayout, ...],
    threads: int,
    sums: Sums,
    width: int,
    before: int,
) -> str:
    """Put the parts of the source together."""
    cuda = precision.storage.cuda
    held = BLOCKS * max(1, precision.geometry.threads // threads)
    kernel = [
        f'extern "C" __global__ void __launch_bounds__({threads}, {held}) {NAME}(',
        "    mem* __restrict__ state,         // all amplitudes, in place",
        "    mem* __restrict__ cotangent,     // and those of the cotangent",
        "    double* __restrict__ sums,       // of each warp of each thread block",
        "    const real* __restrict__ table,  // numbers that differ between amplitudes",
        "    const u64 tiles,",
        "    const u64 last,                  // whether the state is written back",
        "    const __grid_constant__ Numbers n)",
        "{",
        f"    __shared__ amp tile[{body.slots.count(len(sweep.tile))}];",
        "    unsigned t = threadIdx.x;",
        *(["    unsigned on = !(last >> 63);  // always 1, which keeps blocks apart"] if body.parted else []),
        f"    const real* const v = {'table' if before else 'n.v'};",
        *([f"    table += {before};"] if before else []),
        f"    double* const own = sums + ((u64)blockIdx.x * {threads >> LANES} + (t >> 5)) * {width} + (t & 31);",
        "    for (u64 b = blockIdx.x; b < tiles; b += gridDim.x) {",
        f"        const u64 outside = {spread('b', outside(sweep), wide=True)};",
        f"        two {', '.join(f'a{r}' for r in range(1 << len(arranged[0].registers)))};",
        "        real p0, p1, p2, p3, p4;",
        "        unsigned before;  // from which slot on a thread left its amplitudes",
        *[f"        {line}" for line in _blocks(sweep, body, arranged)],
        *[f"        {line}" for line in sums.last()],
        "        __syncthreads();",
        "    }",
        "}",
        "",
    ]
    bits = " ".join(map(str, sweep.tile))
    return "\n".join(
        [
            f"// A sweep backwards over tiles of index bits {bits}, {precision.storage.dtype.name}.",
            *cuda.head(),
            "typedef unsigned long long u64;",
            f"struct Numbers {{ real v[{max(len(body.values) if not before else 0, 1)}]; }};",
            "struct two { amp x, l; };  // an amplitude of the state, and one of the cotangent",
            "",
            *_functions(body),
            FUNCTIONS,
            *([ROTATIONS] if sweep.tangents else []),
            *map(cuda.written, kernel),
        ]
    )


def _functions(body: KernelBody) -> list[str]:
    """Return the functions that items call, each also for both states."""
    found = []
    for name in FACTORS:
        if name not in body.called:
            continue
        found.append(FACTORS[name])
        if name in _ON_BOTH:
            given = _ON_BOTH[name]
            passed = "".join(f", {one.rsplit(' ', 1)[1]}" for one in given.split(", ") if one)
            found.append(
                f"__device__ __forceinline__ void {name}(two& a{', ' if given else ''}{given})\n"
                f"{{\n    {name}(a.x{passed});\n    {name}(a.l{passed});\n}}\n"
            )
        elif name == "swap":
            found.append(
                "__device__ __forceinline__ void swap(two& a, two& b)\n{\n    swap(a.x, b.x);\n    swap(a.l, b.l);\n}\n"
            )
    for (classes, fetched), name in body.matrices.items():
        found.append(matrix_function(name, classes, fetched, body.precision.storage.cuda.pair))
        size = int(len(classes) ** 0.5)
        each = [", ".join(f"a{k}.{part}" for k in range(size)) for part in "xl"]
        found.append(
            f"__device__ __forceinline__ void {name}({', '.join(f'two& a{k}' for k in range(size))}, const real* m)\n"
            f"{{\n    {name}({each[0]}, m);\n    {name}({each[1]}, m);\n}}\n"
        )
    return found


def _blocks(sweep: CollectingSweep, body: KernelBody, arranged: tuple[RegisterLayout, ...]) -> list[str]:
    """Return the statements of all register blocks."""
    read, written = MemoryMap.read(sweep), MemoryMap.written(sweep)
    lines: list[str] = []
    leaving: list[str] = []
    last = len(arranged) - 1
    for number, (place, block) in enumerate(zip(arranged, body.register_blocks, strict=True)):
        moves = Moves(sweep, block, body.slots, False, read, written, _PARTS, sweep.dropped)
        slots: TileSlots | None = body.slots if last or block.shared else None
        own = [*places_text(sweep, block, _FRAME, slots, True)]
        if number == 0:
            if not read.stays:
                own += read.place("origin", place.threads, fixed=not any(block.first))
            own += moves.load()
        else:
            own += [*moves.begun("from"), *moves.fetched("from", ".x"), "__syncthreads();", *leaving]
            own += ["__syncthreads();", *moves.fetched("from", ".l")]
        own += block.lines
        if number == last:
            if moves.moved:
                own += written.place("there", place.threads, fixed=not any(block.last))
            stored = moves.store(block.names)
            own += _unless_last(stored)
        else:
            own += ["before = w;", *moves.ended("before"), *moves.left("before", block.names, ".x")]
            leaving = moves.left("before", block.names, ".l")
        registers = " ".join(map(str, place.block.registers)) or "nothing"
        lines += [f"{{   // register block {number}: bits {registers}", *[f"    {line}" for line in own], "}"]
        lines += ["__syncthreads();"] if number != last else []
    return lines


def _unless_last(lines: list[str]) -> list[str]:
    """Put the stores of the state, and no others, under the condition that there is no other cotangent."""
    ours = [line for line in lines if line.lstrip().startswith("state[")]
    if not ours:
        return lines
    first = lines.index(ours[0])
    return [*lines[:first], "if (last) {", *[f"    {line}" for line in ours], "}", *lines[first + len(ours) :]]
