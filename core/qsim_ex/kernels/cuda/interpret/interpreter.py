"""A sweep as a program of 64-bit words for one kernel that runs any sweep without compiling anything.

The kernel (in interpreter_kernels, for each precision one for a state and one for a batch of them) decodes an operation
at a time; places, matrices' register bits and conditions are data. It is slower than a generated kernel, since its
integer work fills the issue slots, and is the right choice where compiling would take longer than the run.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from importlib import resources
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import mask_of
from qsim_ex.kernels.cuda.interpret import packing
from qsim_ex.kernels.cuda.runtime import KernelText
from qsim_ex.kernels.cuda.write.register_layout import REGISTERS, banks, places, skipped_bits
from qsim_ex.precision import BY_ITEMSIZE
from qsim_ex.steps.step import Diagonal, Item, Mix, Rename, Sweep

NAME = "interpret"

SWAPS = {1: (0, 1), 2: (0, 2), 4: (0, 3), 8: (1, 2), 16: (1, 3)}
"""The exchanges of register bits that the kernel knows, by their flags."""

PADDING = 60
"""Index bits from here up do not exist: they fill the tile of a state of fewer than 4 bits."""


class OpCode(IntEnum):
    """Operations of the program, as in interpreter_kernels/functions.cu."""

    END = 0
    LOAD = 1
    EXCHANGE = 2
    DIAGONAL = 3
    MIX_1 = 4
    MIX_2 = 5
    MIX_3 = 6
    MIX_4 = 7
    RENAME = 8


@dataclass(frozen=True, eq=False)
class SweepProgram:
    """A sweep's words and the take (see `packing`) of its numbers: both parts of every entry.

    skipped_bits: the number of a state's bits that do not number its blocks.
    """

    words: NDArray[np.uint64]
    numbers: NDArray[np.int64]
    threads: int
    skipped_bits: int


_AT = 3
"""The word of an operation that holds the start of its entries."""

_BLOCKS = 2
"""The threads of a block, by the bytes of an amplitude: at most, and for batches always."""


@functools.cache
def source(itemsize: int, rows: bool = False) -> str:
    """Return the interpreter's CUDA C++ for complex64 (`itemsize` 8) or complex128 (16), for a state or a batch."""
    row = BY_ITEMSIZE[itemsize]
    bounds = f"{row.threads}, {_BLOCKS}"
    constants = {"TILE": row.tile_bits, "BANK": banks(itemsize), "BOUNDS": bounds, "PADDING": PADDING}
    head = [f"typedef {row.c_real} real;", f"typedef {row.c_amplitude} amp;", "typedef unsigned long long u64;"]
    head += [f"#define {name} {value}" for name, value in constants.items()]
    folder = resources.files(__package__).joinpath("interpreter_kernels")
    parts = ("functions.cu", "rows.cu" if rows else "single.cu", "program.cu")
    text = "".join(folder.joinpath(part).read_text(encoding="utf-8") for part in parts)
    return "\n".join([*head, "", text])


def text(itemsize: int, rows: bool = False) -> KernelText:
    """Return the interpreter as a kernel to be compiled."""
    return KernelText(source(itemsize, rows), NAME)


@functools.lru_cache(maxsize=4096)
def encode(sweep: Sweep, itemsize: int) -> SweepProgram:
    """Write the program of a sweep."""
    size = len(sweep.tile)
    tile = sweep.tile + tuple(range(PADDING, PADDING + REGISTERS - size))
    store = sweep.stored + tile[size:]
    padded = Sweep(tile, sweep.phases, sweep.numbers, sweep.tables, store=store if sweep.store else ())
    words = [len(tile), _bytes(tile[:8]), _bytes(tile[8:]), sweep.fresh, sweep.fresh | mask_of(sweep.tile)]
    words += [_bytes(store[:8]), _bytes(store[8:])]
    numbers: list[NDArray[np.int64]] = []
    few: list[int] = []  # the latest of these, while they are few
    at, packed = 0, sweep.numbers + sweep.tables
    arranged = places(padded, itemsize)
    for number, place in enumerate(arranged):
        code = OpCode.LOAD if number == 0 else OpCode.EXCHANGE
        words += [code, _bytes(place.threads), _bytes(place.registers)]
        bits = tuple([tile[position] for position in place.registers])
        for item in place.phase.items:
            operation, entries = _operation(bits, item, at, packed)
            if operation[0] & 0xFF == OpCode.MIX_4 and at % 2:  # its entries are loaded two at a time, so skip one
                few += [2 * packed] * 2
                at += 1
                operation[_AT] = at
            words += operation
            if isinstance(entries, range):
                numbers += [np.array(few, dtype=np.int64), np.arange(entries.start, entries.stop)]
                few = []
            else:
                few += entries
            at += len(entries) // 2
    words += [OpCode.END, _bytes(arranged[-1].threads), _bytes(arranged[-1].registers)]
    numbers.append(np.array(few, dtype=np.int64))
    threads = 1 << len(arranged[0].threads)
    return SweepProgram(np.array(words, dtype=np.uint64), np.concatenate(numbers), threads, skipped_bits(sweep))


def _bytes(values: Sequence[int], width: int = 8) -> int:
    """Return small numbers side by side in one word, the first lowest."""
    return sum([value << width * k for k, value in enumerate(values)])


_IN_ORDER = tuple(range(REGISTERS))


def _operation(bits: tuple[int, ...], item: Item, at: int, packed: int) -> tuple[list[int], list[int] | range]:
    """Return an item's words, and a take of both parts of its entries, which follow `at` others.

    bits: the index bits that are register bits; packed: the number of the sweep's numbers.
    """
    number = {bit: k for k, bit in enumerate(bits)}
    when, own = item.when, mask_of(bits)
    held = _within(when.mask, number), _within(when.value, number)
    reads: tuple[int, ...] = ()
    entries: list[int] | range = []
    code, choice, extra, taken, order = OpCode.DIAGONAL, 0, 0, 0, _IN_ORDER
    match item:
        case Mix():
            reads = item.reads
            mixed = tuple([number[bit] for bit in item.bits])
            code, choice, extra, order, parts = _matrix(item.pattern, bool(reads), mixed)
            taken = mask_of(mixed)
            entries = packing.placed(parts, item.slot.at, packed)
        case Diagonal():
            reads = item.reads
            entries = packing.full(item.pattern, item.slot.at, packed, bool(reads))
        case Rename():
            code, extra = OpCode.RENAME, _sources(tuple([number[bit] for bit in item.bits]), item.to, held)
        case _:
            assert_never(item)
    constants = [sum([1 << k for k, read in enumerate(reads) if read >> bits[j] & 1]) for j in order] if reads else ()
    elsewhere = [read & ~own for read in reads]
    head = code | len(elsewhere) << 8 | _acting(held, taken, order) << 16 | choice << 32
    return [head, when.mask & ~own, when.value & ~own, at, _bytes(constants, 16), extra, *elsewhere], entries


def _within(mask: int, number: dict[int, int]) -> int:
    """Return a mask of index bits as a mask of register bits; other bits are left out."""
    return sum([1 << k for bit, k in number.items() if mask >> bit & 1]) if mask else 0


@functools.lru_cache(maxsize=4096)
def _acting(held: tuple[int, int], taken: int, order: tuple[int, ...]) -> int:
    """Return the registers at which an item acts as a mask, the bits of their numbers in another order.

    held: register bits of a condition, and their values. taken: register bits that are mixed, which are 0 in the mask.
    """
    mask, value = held
    registers = [r for r in range(1 << REGISTERS) if r & mask == value and not r & taken]
    return sum(1 << sum((r >> j & 1) << k for k, j in enumerate(order)) for r in registers)


class _Matrix(NamedTuple):
    """A matrix as an operation: the parts of its entries (see `packing`), the order of the register bits, and words."""

    code: OpCode
    choice: int
    extra: int
    order: tuple[int, ...]
    parts: tuple[int, ...]


@functools.lru_cache(maxsize=4096)
def _matrix(pattern: bytes, reads: bool, mixed: tuple[int, ...]) -> _Matrix:
    """Return a matrix on some register bits as an operation."""
    parts = packing.parts_of_all(pattern, reads)
    if len(mixed) == REGISTERS:
        reordered = _reordered(mixed, len(parts))
        return _Matrix(OpCode.MIX_4, 0, 0, _IN_ORDER, tuple(parts[k] for k in reordered))
    if len(mixed) == 3:
        return _Matrix(OpCode.MIX_3, 0, _bytes(mixed), _IN_ORDER, parts)
    choice, order = _brought(mixed)
    reordered = _reordered(tuple(order.index(j) for j in mixed), len(parts))
    code = (OpCode.MIX_1, OpCode.MIX_2)[len(mixed) - 1]
    return _Matrix(code, choice, 0, order, tuple(parts[k] for k in reordered))


@functools.cache
def _brought(mixed: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Return the swaps that move one or two register bits to the lowest places, and the bit at each place then."""
    order = list(_IN_ORDER)
    swaps = 0
    for flag, (low, high) in SWAPS.items():
        if high in mixed and low not in mixed and low < len(mixed) <= high:
            order[low], order[high] = high, low
            swaps |= flag
            mixed = tuple(low if j == high else j for j in mixed)
    return swaps, tuple(order)


def _reordered(places: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the order of `count` parts of matrices once their bit k is at place ``places[k]``: rows and columns."""
    size = 1 << len(places)
    rows = [0] * size
    for row in range(size):
        rows[sum((row >> k & 1) << place for k, place in enumerate(places))] = row
    parts = np.arange(count).reshape(-1, size, size, 2)
    return tuple(parts[:, rows][:, :, rows].ravel().tolist())


@functools.lru_cache(maxsize=4096)
def _sources(bits: tuple[int, ...], to: tuple[int, ...], held: tuple[int, int]) -> int:
    """Return for each register the source of its amplitude when register bits are renamed; held: a condition."""
    mask, value = held
    sources = list(range(1 << REGISTERS))
    for r in sources.copy():
        if r & mask == value:
            x = sum((r >> bit & 1) << k for k, bit in enumerate(bits))
            target = r & ~mask_of(bits) | sum(1 << bit for k, bit in enumerate(bits) if to[x] >> k & 1)
            sources[target] = r
    return _bytes(tuple(sources), 4)
