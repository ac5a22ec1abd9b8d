"""A sweep as a program of 32-bit words for the interpreter: what interpreter_kernels/functions.cu reads.

Everything that can be found out beforehand is found out here: which threads and registers an item concerns, in which
order the entries of a matrix are, and which body of the kernel runs it. Items without reads, and without conditions on
threads, have bodies with fixed registers; the others share a few that look everything up.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import combinations
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Entry, When, mask_of
from qsim_ex.kernels.cuda.interpret import packing
from qsim_ex.kernels.cuda.interpret.sweep_program import SweepProgram
from qsim_ex.kernels.cuda.write.memory_map import MemoryMap
from qsim_ex.kernels.cuda.write.register_layout import (
    REGISTERS,
    RegisterLayout,
    outside,
    places,
    skipped_bits,
    swizzle,
)
from qsim_ex.kernels.cuda.write.tensor import SMALLEST_TILE, arrange, block, parted
from qsim_ex.kernels.cuda.write.tensor import entries as fragment_entries
from qsim_ex.steps.step import Diagonal, Item, Mix, Phase, Rename, Sweep

SWAPS = {1: (0, 1), 2: (0, 2), 4: (0, 3), 8: (1, 2), 16: (1, 3)}
"""The exchanges of register bits that the kernel knows, by their flags."""

PADDING = 60
"""Index bits from here up do not exist: they fill the tile of a state of fewer than 4 bits."""

MOST_THREAD_BITS = 8
"""The bits of a thread's number, for which the program always has words."""

FRAGMENTS = 23
"""The words of a matrix for the tensor cores, behind the first word of an exchange."""

_QUAD = 16
"""The bytes that the kernel loads at a time: numbers of an item begin at a multiple, and are counted in it."""


class OpCode(IntEnum):
    """Operations of the program, as in interpreter_kernels/functions.cu; some have a body for each register bit."""

    END = 0
    EXCHANGE = 1
    FACTORS = 2
    TABLE = 3
    PHASE = 4
    FLIP = 16
    MIX_1 = 20
    REAL_1 = 24
    CROSSED_1 = 28
    MIX_2 = 32
    CROSSED_2 = 38
    BLOCK = 44
    ANY_1 = 45
    ANY_2 = 46
    ANY_3 = 47
    ANY_4 = 48
    RENAME = 49


_ANY_REGISTERS = 11
"""Of the bodies of `OpCode.PHASE`, the one that asks for each register."""

_PAIRS = {pair: k for k, pair in enumerate(combinations(range(REGISTERS), 2))}
_EVERY = (1 << (1 << REGISTERS)) - 1
_IN_ORDER = tuple(range(REGISTERS))
_WORD = 0xFFFFFFFF


@dataclass(eq=False)
class _Numbers:
    """Takes of numbers that grow item by item; packed: the number of the sweep's numbers; itemsize: of an amplitude."""

    packed: int
    itemsize: int
    shared: list[int] = field(default_factory=list)
    tables: list[NDArray[np.int64]] = field(default_factory=list)
    entries: int = 0

    def share(self, parts: Iterable[int]) -> int:
        """Append numbers that all amplitudes share; return where they begin."""
        together = 2 * _QUAD // self.itemsize
        at = len(self.shared) // together
        self.shared += parts
        self.shared += [2 * self.packed] * (-len(self.shared) % together)
        return at

    def look_up(self, parts: Sequence[int] | range) -> int:
        """Append entries of a table; return the number of the first."""
        at = self.entries
        self.tables.append(
            np.arange(parts.start, parts.stop) if isinstance(parts, range) else np.array(parts, np.int64)
        )
        self.entries += len(parts) // 2
        return at


@functools.lru_cache(maxsize=4096)
def encode(sweep: Sweep, itemsize: int, tensor: bool = False) -> SweepProgram:
    """Write the program of a sweep; tensor: whether dense blocks run on the tensor cores."""
    size = len(sweep.tile)
    if tensor:
        sweep = _with_fragments(sweep)
    tile = sweep.tile + tuple(range(PADDING, PADDING + REGISTERS - size))
    padded = Sweep(tile, sweep.phases, sweep.numbers, sweep.tables, store=sweep.store, load=sweep.load)
    read, written = MemoryMap.read(sweep), MemoryMap.written(sweep)
    arranged = places(padded, itemsize)
    first, last = arranged[0], arranged[-1]
    runs = outside(sweep)
    missing = _within(-1 << PADDING, [tile[p] for p in first.registers])
    fresh = _within(sweep.fresh, [tile[p] for p in first.registers])
    words = [
        len(runs) | len(read.added) << 8,
        _within(sweep.fresh, [tile[p] for p in first.threads]),
        _registers(missing | fresh),
    ]
    words.append(_registers(_within(-1 << PADDING, [tile[p] for p in last.registers])))
    words += [*_in_memory(first, read), *_in_memory(last, written), *_in_tile(first, itemsize), 0]
    tables_word = len(words) - 1
    words += [run.source | run.target << 8 | run.length << 16 for run in runs]
    words += _added(read)
    numbers = _Numbers(sweep.numbers + sweep.tables, itemsize)
    fragments: list[int] = []  # of the matrices for the tensor cores since the last exchange
    for number, place in enumerate(arranged):
        dense = block(place.phase, conditions=False) if tensor and size >= SMALLEST_TILE else None
        if dense:
            fragments += _fragments(dense, tile, itemsize, numbers)
            continue
        if number:
            count = len(fragments) // FRAGMENTS
            words += [OpCode.EXCHANGE | count << 8, *fragments, *_in_tile(place, itemsize)]
            fragments = []
        bits = _PhaseBits(tuple([tile[p] for p in place.registers]), tuple([tile[p] for p in place.threads]))
        for item in place.phase.items:
            words += _operation(bits, item, numbers)
    words += [OpCode.END | len(written.added) << 8, *_added(written)]
    words[tables_word] = len(numbers.shared) // 2
    tables = np.concatenate([np.zeros(0, dtype=np.int64), *numbers.tables])
    shared = np.array(numbers.shared, dtype=np.int64)
    return SweepProgram(np.array(words, dtype=np.uint32), shared, tables, 1 << len(first.threads), skipped_bits(sweep))


def _with_fragments(sweep: Sweep) -> Sweep:
    """Return the sweep with phases of their own for the tensor cores, the last phase not being one."""
    made = parted(sweep, conditions=False)
    last_is_one = len(sweep.tile) >= SMALLEST_TILE and made.phases and block(made.phases[-1], conditions=False)
    return replace(made, phases=(*made.phases, Phase((), ()))) if last_is_one else made


def _fragments(item: Mix, tile: Sequence[int], itemsize: int, numbers: _Numbers) -> list[int]:
    """Return the words of a matrix for the tensor cores; append its numbers in the order in which lanes load them."""
    place = arrange(tuple([tile.index(bit) for bit in item.bits]), len(tile), itemsize)
    every = np.array(packing.full(item.pattern, item.slot.at, numbers.packed, False)).reshape(-1, 2)
    at = numbers.share(every[fragment_entries(place, itemsize)].T.ravel().tolist())
    threads = [_thread_hops(positions, itemsize) for positions in (place.reading, place.writing)]
    hops = [_hop(p, itemsize) for p in (*place.columns[2:], place.groups[0], place.rows[3], *place.loops)]
    return [at, *threads[0], *threads[1], *hops]


def _registers(zeros: int) -> int:
    """Return the registers whose numbers have zeros at some bits, as a mask."""
    return _acting((zeros, 0), 0, _IN_ORDER)


def _in_memory(place: RegisterLayout, memory: MemoryMap) -> list[int]:
    """Return what each thread bit and each register bit adds to a place in memory, as two words each."""
    columns = memory.columns + (0,) * REGISTERS  # bits that do not exist add nothing
    threads = [columns[p] for p in place.threads] + [0] * (MOST_THREAD_BITS - len(place.threads))
    return _halves([*threads, *[columns[p] for p in place.registers]])


def _added(memory: MemoryMap) -> list[int]:
    """Return what a map adds to bits outside the tile: three words for each, the bit and a mask."""
    return [word for bit, mask in memory.added for word in (bit, *_halves([mask]))]


def _in_tile(place: RegisterLayout, itemsize: int) -> list[int]:
    """Return what each thread bit and each register bit adds to a slot of shared memory, in bytes."""
    return _thread_hops(place.threads, itemsize) + [_hop(p, itemsize) for p in place.registers]


def _thread_hops(positions: Sequence[int], itemsize: int) -> list[int]:
    return [_hop(p, itemsize) for p in positions] + [0] * (MOST_THREAD_BITS - len(positions))


@functools.cache
def _hop(position: int, itemsize: int) -> int:
    return itemsize * swizzle(1 << position, itemsize)


def _halves(values: Iterable[int]) -> list[int]:
    """Return numbers of 64 bits as words, the lower half first."""
    return [word for value in values for word in (value & _WORD, value >> 32)]


class _PhaseBits:
    """Where a phase's bits are: the index bit of each register bit and of each thread bit."""

    def __init__(self, registers: tuple[int, ...], threads: tuple[int, ...]) -> None:
        self.registers, self.threads = registers, threads
        self.number = {bit: k for k, bit in enumerate(registers)}
        self.own = mask_of(registers)
        self.near = self.own | mask_of(threads)
        self.place = {1 << bit: k for k, bit in enumerate((*registers, *threads))}

    def held(self, when: When) -> tuple[int, int]:
        """Return a condition's register bits, and their values."""
        return _within(when.mask, self.registers), _within(when.value, self.registers)

    def columns(self, reads: Sequence[int]) -> list[int]:
        """Return for each register bit, and then for each thread bit, the reads in which it is, as a mask."""
        found = [0] * len(self.place)
        for k, read in enumerate(reads):
            left = read & self.near
            while left:
                lowest = left & -left
                found[self.place[lowest]] |= 1 << k
                left ^= lowest
        return found

    def condition(self, when: When) -> tuple[int, list[int]]:
        """Return a condition on thread bits, as an operation's first word has it, and the one outside the tile.

        The highest bit of the first word says whether there is one outside.
        """
        if not when.mask:
            return 0, [0, 0, 0, 0]
        mask, value = when.mask & ~self.near, when.value & ~self.near
        inner = _within(when.mask, self.threads) << 8 | _within(when.value, self.threads) << 16
        return inner | bool(mask) << 24, _halves([mask, value])


def _within(mask: int, bits: Sequence[int]) -> int:
    """Return a mask of index bits as a mask of the places of `bits`; others are left out."""
    return sum([1 << k for k, bit in enumerate(bits) if mask >> bit & 1]) if mask else 0


def _operation(bits: _PhaseBits, item: Item, numbers: _Numbers) -> list[int]:
    """Return an item's words, and append its numbers."""
    match item:
        case Mix():
            return _mix(bits, item, numbers)
        case Diagonal():
            return _diagonal(bits, item, numbers)
        case Rename():
            return _rename(bits, item)
        case _:
            assert_never(item)


def _mix(bits: _PhaseBits, item: Mix, numbers: _Numbers) -> list[int]:
    mixed = tuple([bits.number[bit] for bit in item.bits])
    if not item.reads and not item.when.mask and len(mixed) != 3:
        code, parts = _fixed_matrix(item.pattern, mixed)
        return [code, numbers.share(packing.placed(parts, item.slot.at, numbers.packed))]
    code, choice, extra, order, parts = _any_matrix(item.pattern, bool(item.reads), mixed)
    at = numbers.look_up(packing.placed(parts, item.slot.at, numbers.packed))
    which = _acting(bits.held(item.when), mask_of(mixed), order)
    return _looked_up(bits, code, at, item.when, which, item.reads, order, choice, extra)


def _diagonal(bits: _PhaseBits, item: Diagonal, numbers: _Numbers) -> list[int]:
    held = bits.held(item.when)
    inner, beyond = bits.condition(item.when)
    which = _acting(held, 0, _IN_ORDER)
    if not item.reads:
        at = numbers.share(packing.full(item.pattern, item.slot.at, numbers.packed, False))
        return [_phase_code(held) | inner, at, *beyond, which]
    if not inner and not any(read & ~bits.own for read in item.reads):
        return [OpCode.FACTORS, numbers.share(_factors(bits, item, which, numbers.packed))]
    at = numbers.look_up(packing.full(item.pattern, item.slot.at, numbers.packed, True))
    return _looked_up(bits, OpCode.TABLE, at, item.when, which, item.reads, _IN_ORDER, 0, 0)


def _factors(bits: _PhaseBits, item: Diagonal, which: int, packed: int) -> list[int]:
    """Return the parts of each register's factor, where only register bits are read."""
    columns = bits.columns(item.reads)
    parts: list[int] = []
    for r in range(1 << REGISTERS):
        s = 0
        for k in range(REGISTERS):
            s ^= columns[k] if r >> k & 1 else 0
        one = 2 * packed + 1  # see `packing.CONSTANTS`
        parts += [2 * (item.slot.at + s), 2 * (item.slot.at + s) + 1] if which >> r & 1 else [one, one - 1]
    return parts


def _phase_code(held: tuple[int, int]) -> int:
    """Return the body that multiplies all registers at which a condition holds."""
    mask, value = held
    ones = [k for k in range(REGISTERS) if mask >> k & 1]
    if mask != value or len(ones) > 2:
        return OpCode.PHASE + _ANY_REGISTERS
    if not ones:
        return OpCode.PHASE
    return OpCode.PHASE + (1 + ones[0] if len(ones) == 1 else 5 + _PAIRS[ones[0], ones[1]])


def _rename(bits: _PhaseBits, item: Rename) -> list[int]:
    mixed = tuple([bits.number[bit] for bit in item.bits])
    held = bits.held(item.when)
    if len(mixed) == 1:
        inner, beyond = bits.condition(item.when)
        if item.to == (0, 1):
            return []
        return [OpCode.FLIP + mixed[0] | inner, 0, *beyond, _acting(held, 1 << mixed[0], _IN_ORDER)]
    extra = _sources(mixed, item.to, held)
    return _looked_up(bits, OpCode.RENAME, 0, item.when, _EVERY, (), _IN_ORDER, 0, extra)


def _looked_up(
    bits: _PhaseBits,
    code: int,
    at: int,
    when: When,
    which: int,
    reads: Sequence[int],
    order: tuple[int, ...],
    choice: int,
    extra: int,
) -> list[int]:
    """Return the words of an operation under any condition, with any reads."""
    inner, beyond = bits.condition(when)
    columns = bits.columns(reads)
    threads = columns[REGISTERS:] + [0] * (MOST_THREAD_BITS - len(bits.threads))
    own = [columns[j] for j in order]
    far = [(read & ~bits.near, k) for k, read in enumerate(reads) if read & ~bits.near]
    rest = [word for mask, k in far for word in (*_halves([mask]), k)]
    head = [code | inner, at, *beyond, which, len(far), *_packed(threads), *_packed(own)]
    return [*head, choice, *_halves([extra]), *rest]


def _packed(values: Sequence[int]) -> list[int]:
    """Return numbers of 16 bits, two to a word."""
    return [low | high << 16 for low, high in zip(values[::2], values[1::2], strict=True)]


@functools.lru_cache(maxsize=4096)
def _acting(held: tuple[int, int], taken: int, order: tuple[int, ...]) -> int:
    """Return the registers at which an item acts as a mask, the bits of their numbers in another order.

    held: register bits of a condition, and their values. taken: register bits that are mixed, which are 0 in the mask.
    """
    mask, value = held
    registers = [r for r in range(1 << REGISTERS) if r & mask == value and not r & taken]
    return sum(1 << sum((r >> j & 1) << k for k, j in enumerate(order)) for r in registers)


_REAL = frozenset({Entry.ZERO, Entry.ONE, Entry.MINUS_ONE, Entry.REAL})
_BESIDE = frozenset({Entry.ZERO, Entry.IMAG})
_CROSS = (0, 3, 5, 6, 9, 10, 12, 15)
"""The entries of a 4 × 4 matrix on the diagonal and the antidiagonal, row by row."""


@functools.lru_cache(maxsize=4096)
def _fixed_matrix(pattern: bytes, mixed: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Return the body for a matrix without reads and conditions, and its parts (see `packing`)."""
    parts = packing.parts_of_all(pattern, False)
    if len(mixed) == 1:
        kinds = [Entry(entry) for entry in pattern]
        if _REAL.issuperset(kinds):
            return OpCode.REAL_1 + mixed[0], parts[::2]
        if _REAL.issuperset(kinds[::3]) and _BESIDE.issuperset(kinds[1:3]):
            imaginary = [parts[2 * k + 1] if kinds[k] == Entry.IMAG else parts[2 * k] for k in (1, 2)]
            return OpCode.CROSSED_1 + mixed[0], (parts[0], *imaginary, parts[6])
        return OpCode.MIX_1 + mixed[0], parts
    order = sorted(mixed)
    reordered = _reordered(tuple(order.index(j) for j in mixed), len(parts))
    parts = tuple(parts[k] for k in reordered)
    if len(mixed) == REGISTERS:
        return OpCode.BLOCK, parts
    pair = _PAIRS[order[0], order[1]]
    if all(pattern[reordered[2 * k] // 2] == Entry.ZERO for k in range(16) if k not in _CROSS):
        return OpCode.CROSSED_2 + pair, tuple(part for k in _CROSS for part in parts[2 * k : 2 * k + 2])
    return OpCode.MIX_2 + pair, parts


class _Matrix(NamedTuple):
    """A matrix as an operation: the parts of its entries (see `packing`), the order of the register bits, and words."""

    code: OpCode
    choice: int
    extra: int
    order: tuple[int, ...]
    parts: tuple[int, ...]


@functools.lru_cache(maxsize=4096)
def _any_matrix(pattern: bytes, reads: bool, mixed: tuple[int, ...]) -> _Matrix:
    """Return a matrix on some register bits as an operation under any condition."""
    parts = packing.parts_of_all(pattern, reads)
    if len(mixed) > 2:
        extra = sum([bit << 4 * k for k, bit in enumerate(mixed)])
        return _Matrix((OpCode.ANY_3, OpCode.ANY_4)[len(mixed) - 3], len(mixed), extra, _IN_ORDER, parts)
    choice, order = _brought(mixed)
    reordered = _reordered(tuple(order.index(j) for j in mixed), len(parts))
    code = (OpCode.ANY_1, OpCode.ANY_2)[len(mixed) - 1]
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
    return sum([source << 4 * r for r, source in enumerate(sources)])
