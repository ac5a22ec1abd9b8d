"""A sweep as a program of 64-bit words for one kernel that runs any sweep without compiling anything.

The kernel (in interpreter_kernels, for each precision one for a state and one for a batch of them) decodes an operation
at a time; places, matrices' register bits and conditions are data. It is slower than a generated kernel, since its
integer work fills the issue slots, and right where compiling would take longer than the run.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import IntEnum
from importlib import resources
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import mask_of
from qsim_ex.kernels.cuda import packing
from qsim_ex.kernels.cuda.body import PhaseText
from qsim_ex.kernels.cuda.places import REGISTERS, Places, banks, places, skipped_bits
from qsim_ex.kernels.cuda.runtime import Text
from qsim_ex.steps import Diagonal, Item, Mix, Rename, Sweep

NAME = "interpret"

IN_REGISTERS = 2
"""Most bits of a matrix that is not multiplied by way of shared memory."""

EVERY = 7
"""All sizes of matrices, as flags: 1 on one bit, 2 on two, 4 on more.

A kernel without the sizes that a program does not have is compiled in 0.2 s instead of 0.3, which is most of a first
run."""

SWAPS = {1: (0, 1), 2: (0, 2), 4: (0, 3), 8: (1, 2), 16: (1, 3)}
"""The exchanges of register bits that the kernel knows, by their flags."""

PADDING = 60
"""Index bits from here up do not exist: they fill the tile of a state of fewer than 4 bits."""


class Code(IntEnum):
    """Operations of the program, as in interpreter_kernels/functions.cu."""

    END = 0
    LOAD = 1
    EXCHANGE = 2
    DIAGONAL = 3
    MIX_1 = 4
    MIX_2 = 5
    MIX_MANY = 6
    RENAME = 7


_SIZES = {Code.MIX_1: 1, Code.MIX_2: 2, Code.MIX_MANY: 4}


@dataclass(frozen=True, eq=False)
class Program:
    """A sweep's words and the take (see `packing`) of its numbers: both parts of every entry.

    skipped_bits: how many of a state's bits do not number its blocks. sizes: of its matrices, see `EVERY`.
    """

    words: NDArray[np.uint64]
    numbers: NDArray[np.int64]
    threads: int
    skipped_bits: int
    sizes: int


THREADS = {8: 256, 16: 128}
"""Of a block, by the bytes of an amplitude: at most, and for batches always."""


@functools.cache
def source(itemsize: int, rows: bool = False, sizes: int = EVERY) -> str:
    """The interpreter's CUDA C++ for complex64 (`itemsize` 8) or complex128 (16), for one state or rows of a batch."""
    real, amp = ("float", "float2") if itemsize == 8 else ("double", "double2")
    tile, bounds = (12, "256, 2") if itemsize == 8 else (11, "128, 2")
    constants = {"TILE": tile, "BANK": banks(itemsize), "BOUNDS": bounds, "PADDING": PADDING, "SIZES": sizes}
    head = [f"typedef {real} real;", f"typedef {amp} amp;", "typedef unsigned long long u64;"]
    head += [f"#define {name} {value}" for name, value in constants.items()]
    folder = resources.files(__package__).joinpath("interpreter_kernels")
    parts = ("functions.cu", "rows.cu" if rows else "single.cu", "program.cu")
    text = "".join(folder.joinpath(part).read_text(encoding="utf-8") for part in parts)
    return "\n".join([*head, "", text])


def text(itemsize: int, rows: bool = False, sizes: int = EVERY) -> Text:
    """The interpreter as a kernel to be compiled; sizes: of the matrices that it knows."""
    return Text(source(itemsize, rows, sizes), NAME)


@functools.lru_cache(maxsize=4096)
def encode(sweep: Sweep, itemsize: int) -> Program:
    """Write the program of a sweep."""
    size = len(sweep.tile)
    tile = sweep.tile + tuple(range(PADDING, PADDING + REGISTERS - size))
    padded = Sweep(tile, sweep.phases, sweep.numbers, sweep.tables)
    words = [len(tile), _bytes(tile[:8]), _bytes(tile[8:]), sweep.fresh, sweep.fresh | mask_of(sweep.tile)]
    numbers: list[int] = []
    sizes = 0
    arranged = places(padded, itemsize)
    for number, place in enumerate(arranged):
        code = Code.LOAD if number == 0 else Code.EXCHANGE
        words += [code, _bytes(place.threads), _bytes(place.registers)]
        phase = _near(padded, place)
        for item in place.phase.items:
            operation = _operation(phase, item, numbers, sweep.numbers + sweep.tables)
            sizes |= _SIZES.get(Code(operation[0] & 0xFF), 0)
            words += operation
    words.append(Code.END)
    threads = 1 << len(arranged[0].threads)
    packed = np.array(words, dtype=np.uint64), np.array(numbers, dtype=np.int64)
    return Program(*packed, threads, skipped_bits(sweep), sizes)


def _near(sweep: Sweep, place: Places) -> PhaseText:
    bits = tuple(sweep.tile[position] for position in place.registers)
    return PhaseText(place, sweep.tile, bits, list(range(1 << len(bits))))


def _bytes(values: tuple[int, ...], width: int = 8) -> int:
    """Small numbers side by side in one word, the first lowest."""
    return sum(value << width * k for k, value in enumerate(values))


def _operation(phase: PhaseText, item: Item, numbers: list[int], packed: int) -> list[int]:
    """An item's words, its entries being appended to `numbers` (a take of both parts of each)."""
    registers, extra, choice = phase.selected(item.when), 0, 0
    reads: tuple[int, ...] = ()
    order: tuple[int, ...] = _IN_ORDER
    at = len(numbers) // 2
    match item:
        case Mix():
            mixed = [phase.register(1 << bit).bit_length() - 1 for bit in item.bits]
            taken = sum(1 << j for j in mixed)
            registers = [r for r in registers if not r & taken]
            entries = packing.full(item.pattern, item.slot.at, packed, bool(item.reads))
            if len(mixed) > IN_REGISTERS:
                code, choice, extra = Code.MIX_MANY, len(mixed), _bytes(tuple(mixed))
            else:
                code = (Code.MIX_1, Code.MIX_2)[len(mixed) - 1]
                choice, order = _brought(tuple(mixed))
                reordered = _reordered(tuple(order.index(j) for j in mixed), len(entries))
                entries = [entries[k] for k in reordered]
            numbers += entries
            reads = item.reads
        case Diagonal():
            code, reads = Code.DIAGONAL, item.reads
            numbers += packing.full(item.pattern, item.slot.at, packed, bool(item.reads))
        case Rename():
            code = Code.RENAME
            extra = _bytes(_sources(phase, item, registers), 4)
        case _:
            assert_never(item)
    constants = phase.constants(reads)
    own = tuple(constants[1 << j] for j in order)
    elsewhere = phase.elsewhere(reads)
    mask = _mask(tuple(registers), order)
    head = code | len(elsewhere) << 8 | mask << 16 | choice << 32
    when = item.when
    return [head, when.mask & ~phase.mask, when.value & ~phase.mask, at, _bytes(own, 16), extra, *elsewhere]


_IN_ORDER = tuple(range(REGISTERS))


@functools.lru_cache(maxsize=4096)
def _mask(registers: tuple[int, ...], order: tuple[int, ...]) -> int:
    """The registers as a mask, their numbers' bits in another order."""
    return sum(1 << sum((r >> j & 1) << k for k, j in enumerate(order)) for r in registers)


@functools.cache
def _brought(mixed: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Which swaps bring one or two register bits to the lowest places, and which bit is then at each place."""
    order = list(_IN_ORDER)
    swaps = 0
    for flag, (low, high) in SWAPS.items():
        if high in mixed and low not in mixed and low < len(mixed) <= high:
            order[low], order[high] = high, low
            swaps |= flag
            mixed = tuple(low if j == high else j for j in mixed)
    return swaps, tuple(order)


@functools.lru_cache(maxsize=1024)
def _reordered(places: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Which of `count` parts of matrices stands where, once their bit k is at place ``places[k]``: rows and columns."""
    size = 1 << len(places)
    rows = [0] * size
    for row in range(size):
        rows[sum((row >> k & 1) << place for k, place in enumerate(places))] = row
    parts = np.arange(count).reshape(-1, size, size, 2)
    return tuple(parts[:, rows][:, :, rows].ravel().tolist())


def _sources(phase: PhaseText, item: Rename, registers: list[int]) -> tuple[int, ...]:
    """For each register, which one its amplitude comes from."""
    sources = list(range(1 << REGISTERS))
    for r in registers:
        sources[phase.renamed(item, r)] = r
    return tuple(sources)
