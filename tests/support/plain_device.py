"""The plain device: the device protocol in NumPy, straight from the definitions. Tests of plans and devices trust it.

Every item of every step is applied to the whole buffer, one after the other, by the formula that defines it. There
are no tiles, no registers and no order of memory here, so what the planner gets wrong shows, and nothing else does.
Slow on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import DTypeLike, NDArray
from support.directions import in_memory

from qsim_ex.circuit.ops import ALWAYS, Entry, When, mask_of
from qsim_ex.devices.base import Batches
from qsim_ex.planning.cost.rates import Rates, cpu_rates
from qsim_ex.reference import extract, replace
from qsim_ex.steps.coefficients import Bound
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.step import (
    NUMBERED,
    BasisPermutation,
    DenseMatrix,
    Diagonal,
    InitialAmplitudes,
    Item,
    Mix,
    Permute,
    Slot,
    Step,
    Sweep,
    ZeroFill,
)

TINY = Shape(tile=6, registers=2, low=2, edge=2, most_blocks=None, dense=2)
"""A machine so small that circuits of eight wires climb every level."""

Array = NDArray[np.complexfloating[Any, Any]]
Index = NDArray[np.int64]


def parity(values: Index) -> Index:
    """1 where a number has an odd number of ones, else 0."""
    return np.bitwise_count(values).astype(np.int64) & 1


class PlainDevice(Batches):
    """A processor that works by definition.

    shape: what the planner is told about this machine.
    free: bytes that it claims to have free.
    """

    kind: str = "cpu"
    in_host_memory = True
    interprets = False
    grows = True
    name = "plain"
    description = "NumPy by definition"

    def __init__(self, shape: Shape = TINY, free: int = 1 << 30) -> None:
        self._shape = shape
        self._free = free

    def shape(self, dtype: DTypeLike) -> Shape:  # noqa: ARG002  (the protocol's)
        """The shape that the planner plans for."""
        return self._shape

    def rates(self, dtype: DTypeLike, threads: int | None) -> Rates:
        """The rates of a CPU of this shape."""
        return cpu_rates(self.shape(dtype), threads or 1)

    def memory(self) -> tuple[int, int]:
        """Free and total bytes."""
        return self._free, self._free

    def allocate(self, num_amplitudes: int, dtype: DTypeLike) -> Array:
        """A buffer that holds NaN, so that a test sees what was never written."""
        return np.full(num_amplitudes, np.nan, dtype=dtype)

    def set_basis(self, buffer: Array, index: int) -> None:
        """All amplitudes 0 but one."""
        buffer[:] = 0
        buffer[index] = 1

    def begin(self, buffer: Array) -> None:
        """Amplitude 0 becomes 1; the others keep what they held."""
        buffer[0] = 1

    def write(self, buffer: Array, start: int, values: Array) -> None:
        """Copy amplitudes in."""
        buffer[start : start + len(values)] = values

    def read(self, buffer: Array, start: int, stop: int) -> Array:
        """Copy amplitudes out."""
        return buffer[start:stop].copy()

    def copy(self, to: Array, source: Array) -> None:
        """Copy amplitudes."""
        to[:] = source

    def prepare(self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike, compile: str = "auto") -> None:
        """Nothing needs preparing."""

    def run(
        self,
        buffer: Array,
        num_bits: int,
        step: Step,
        numbers: NDArray[np.complex128],
        prepared: Any = None,  # noqa: ARG002  (the protocol's)
        high: int = 0,
    ) -> None:
        """Apply one step; everything is computed in complex128 and rounded once."""
        assert buffer.shape == (1 << num_bits,)
        psi = buffer.astype(np.complex128)
        index = np.arange(1 << num_bits, dtype=np.int64) | high << num_bits
        buffer[:] = apply_step(psi, index, step, np.asarray(numbers, dtype=np.complex128))

    def permute(self, buffer: Array, num_bits: int, sources: Sequence[int], flip: int = 0) -> None:
        """New bit k is old bit ``sources[k]``, XOR bit k of `flip`."""
        new = np.arange(1 << num_bits, dtype=np.int64)
        old = np.zeros_like(new)
        for k, source in enumerate(sources):
            old |= ((new ^ flip) >> k & 1) << source
        buffer[:] = buffer[old]

    def gather(self, buffer: Array, indices: Index) -> Array:
        """Amplitudes at chosen indices."""
        return buffer[indices]

    def marginal(self, buffer: Array, num_bits: int, bits: Sequence[int], when: When) -> NDArray[np.float64]:
        """Sums of |amplitude|² for each value of `bits`, over the indices at which `when` holds."""
        index = chosen(np.arange(1 << num_bits, dtype=np.int64), when)
        sums = np.zeros(1 << len(bits))
        np.add.at(sums, extract(index, tuple(bits)), squares(buffer[index]))
        return sums

    def searched_bits(self, num_bits: int, shots: int) -> int:  # noqa: ARG002  (the protocol's)
        """A few."""
        return min(num_bits, 3)

    def search(self, buffer: Array, bits: Sequence[int], bases: Index, runs: Index, targets: Any) -> Index:
        """The first value of `bits` whose running sum is larger than the target, one target after another."""
        found = np.zeros(len(targets), dtype=np.int64)
        values = np.arange(1 << len(bits), dtype=np.int64)
        for base, begin, end in zip(bases, runs[:-1], runs[1:], strict=True):
            places = replace(np.zeros_like(values), tuple(bits), values)
            sums = np.cumsum(squares(buffer[base ^ places]))
            for k in range(begin, end):
                larger = np.flatnonzero(sums > min(targets[k], np.nextafter(sums[-1], -1)))
                found[k] = larger[0]
        return found

    def norms(self, buffer: Array, blocks: int) -> NDArray[np.float64]:
        """Sums of |amplitude|² over contiguous blocks."""
        return np.asarray(squares(buffer).reshape(blocks, -1).sum(axis=1))

    def inner(self, left: Array, right: Array) -> complex:
        """Σ conj(left)·right."""
        return complex(np.sum(left.astype(np.complex128).conj() * right))

    def pauli(self, buffer: Array, num_bits: int, x: int, zs: Sequence[int]) -> NDArray[np.complex128]:
        """Σ_i conj(a[i XOR x])·(−1)^parity(i & z)·a[i] for each z."""
        index = np.arange(1 << num_bits, dtype=np.int64)
        terms = buffer[index ^ x].astype(np.complex128).conj() * buffer
        return np.array([np.sum(terms * (1 - 2 * parity(index & z))) for z in zs], dtype=np.complex128)

    def density(self, buffer: Array, num_bits: int, bits: Sequence[int]) -> NDArray[np.complex128]:
        """ρ[a, b] = Σ ψ[a, rest]·conj(ψ[b, rest]) over all values of the other bits."""
        index = np.arange(1 << num_bits, dtype=np.int64)
        size = 1 << len(bits)
        psi = buffer.astype(np.complex128)
        rho = np.zeros((size, size), dtype=np.complex128)
        row = extract(index, tuple(bits))
        for b in range(size):
            np.add.at(rho[:, b], row, psi * psi[replace(index, tuple(bits), b)].conj())
        return rho

    def scale(self, buffer: Array, num_bits: int, when: When, inside: float, outside: float) -> None:
        """One factor where `when` holds, another where it does not."""
        index = np.arange(1 << num_bits, dtype=np.int64)
        buffer *= np.where(index & when.mask == when.value, inside, outside).astype(buffer.real.dtype)

    def move(self, buffer: Array, num_bits: int, when: When, to: int) -> None:
        """Exchange the amplitudes where the bits under `when.mask` are `when.value` with those where they are `to`."""
        here = chosen(np.arange(1 << num_bits, dtype=np.int64), when)
        there = here & ~np.int64(when.mask) | to
        if to != when.value:
            buffer[here], buffer[there] = buffer[there], buffer[here]

    def synchronize(self) -> None:
        """Nothing is ever under way."""

    # --- batches: row after row -----------------------------------------------------------------------------------

    def load_batch(self, prepared: Any, numbers: Bound) -> Iterable[Any]:  # noqa: ARG002  (the protocol's)
        """As they are."""
        return numbers

    def run_batch(self, buffer: Array, num_bits: int, step: Step, numbers: Any, prepared: Any = None) -> None:
        """Apply one step to each row, with its own numbers or those of all."""
        rows = buffer.reshape(-1, 1 << num_bits)
        assert len(numbers) in (1, len(rows))
        for row, own in zip(rows, np.broadcast_to(numbers, (len(rows), numbers.shape[1])), strict=True):
            self.run(row, num_bits, step, own, prepared)

    def begin_batch(self, buffer: Array, num_bits: int) -> None:
        """Amplitude 0 of each row becomes 1; the others keep what they held."""
        buffer.reshape(-1, 1 << num_bits)[:, 0] = 1

    def take_rows(self, to: Array, source: Array, num_bits: int, rows: Index) -> None:
        """Row k becomes the other buffer's row ``rows[k]``."""
        to.reshape(-1, 1 << num_bits)[:] = source.reshape(-1, 1 << num_bits)[rows]

    def marginals(self, buffer: Array, num_bits: int, bits: Sequence[int], when: When) -> NDArray[np.float64]:
        """The marginal of each row."""
        return np.array([self.marginal(row, num_bits, bits, when) for row in buffer.reshape(-1, 1 << num_bits)])

    def paulis(
        self, buffer: Array, num_bits: int, parts: Sequence[tuple[int, Sequence[int]]]
    ) -> NDArray[np.complex128]:
        """The sums of each row, part after part."""
        rows = buffer.reshape(-1, 1 << num_bits)
        found = [np.concatenate([self.pauli(row, num_bits, x, zs) for x, zs in parts]) for row in rows]
        return np.array(found, dtype=np.complex128)


def squares(values: Array) -> NDArray[np.float64]:
    """|amplitude|² in float64, whatever the amplitudes' dtype."""
    return values.real.astype(np.float64) ** 2 + values.imag.astype(np.float64) ** 2


def chosen(index: Index, when: When) -> Index:
    """The indices at which `when` holds."""
    return index[index & when.mask == when.value]


# --- steps -------------------------------------------------------------------------------------------------------


def apply_step(psi: Array, index: Index, step: Step, numbers: NDArray[np.complex128]) -> Array:
    """The state after one step; `index` holds each amplitude's whole index, with the bits outside the buffer."""
    match step:
        case Sweep():
            assert len(numbers) == step.numbers + step.tables
            psi = np.where(index & step.fresh == 0, psi, 0)[local(in_memory(index, step.loads), psi)]
            for item in items(step):
                psi = apply_item(psi, index, item, numbers)
            unvisited = index & step.fresh & ~mask_of(step.tile) != 0
            moved = np.empty_like(psi)
            moved[local(in_memory(index, step.stores), psi)] = psi
            return np.where(unvisited, np.nan, moved)
        case ZeroFill(fresh):
            return np.where(index & fresh == 0, psi, 0)
        case DenseMatrix(bits, reads, when):
            return mix(psi, index, bits, reads, when, numbers)
        case BasisPermutation(bits, to):
            return shuffle(psi, index, bits, ALWAYS, to)
        case InitialAmplitudes(bits, held):
            return numbers[extract(index, bits)] * psi[local(replace(index, bits, held), psi)]
        case _:
            assert_never(step)


def items(sweep: Sweep) -> Iterator[Item]:
    """The items of a sweep in order, each checked to mix only register bits of its block."""
    for block in sweep.register_blocks:
        assert set(block.registers) <= set(sweep.tile)
        for item in block.items:
            assert isinstance(item, Diagonal) or set(item.bits) <= set(block.registers)
            yield item


def apply_item(psi: Array, index: Index, item: Item, numbers: NDArray[np.complex128]) -> Array:
    """The state after one item of a sweep."""
    match item:
        case Mix(bits, reads, when, pattern, slot):
            return mix(psi, index, bits, reads, when, entries(pattern, reads, slot, numbers))
        case Diagonal(reads, when, pattern, slot):
            return mix(psi, index, (), reads, when, entries(pattern, reads, slot, numbers))
        case Permute(bits, when, to):
            return shuffle(psi, index, bits, when, to)
        case _:
            assert_never(item)


def entries(
    pattern: bytes, reads: tuple[int, ...], slot: Slot, numbers: NDArray[np.complex128]
) -> NDArray[np.complex128]:
    """All entries of an item in C order: a table holds every one, otherwise 0, 1 and −1 are known from the pattern."""
    given = numbers[slot.at : slot.at + slot.count]
    if reads:
        assert len(given) == len(pattern)
        return given
    known, numbered = known_entries(pattern)
    assert len(given) == np.count_nonzero(numbered), "a pattern has one number for each of its places"
    filled = known.copy()
    filled[numbered] = given
    return filled


@lru_cache(maxsize=1024)
def known_entries(pattern: bytes) -> tuple[NDArray[np.complex128], NDArray[np.bool_]]:
    """What a pattern says of its entries, 0 where it does not; and which of them are given as numbers."""
    known = {Entry.ZERO: 0, Entry.ONE: 1, Entry.MINUS_ONE: -1}
    kinds = [Entry(e) for e in pattern]
    return np.array([known.get(e, 0) for e in kinds], dtype=np.complex128), np.array([e in NUMBERED for e in kinds])


class Places(NamedTuple):
    """Where a condition holds: places in the buffer, and for each its block, its row, and the places of all columns."""

    inside: Index
    block: Index
    row: Index
    columns: tuple[Index, ...]


def places(index: Index, bits: tuple[int, ...], reads: tuple[int, ...], when: When) -> Places:
    """Where a matrix on `bits` acts; those of small buffers are kept, since tests ask for the same again and again."""
    ask = _kept_places if len(index) <= MOST_KEPT else _kept_places.__wrapped__
    return ask(len(index), int(index[0]), bits, reads, when)


MOST_KEPT = 512
"""Amplitudes of a buffer whose places are kept: at most 60 MB in all."""


@lru_cache(maxsize=2048)
def _kept_places(size: int, first: int, bits: tuple[int, ...], reads: tuple[int, ...], when: When) -> Places:
    inside = chosen(np.arange(first, first + size, dtype=np.int64), when)
    block = np.zeros_like(inside)
    for k, mask in enumerate(reads):
        block |= parity(inside & mask) << k
    columns = tuple(replace(inside, bits, c) & size - 1 for c in range(1 << len(bits)))
    return Places(inside & size - 1, block, extract(inside, bits), columns)


def mix(
    psi: Array,
    index: Index,
    bits: tuple[int, ...],
    reads: tuple[int, ...],
    when: When,
    flat: NDArray[np.complex128],
) -> Array:
    """new[i] = Σ_c M[block(i), row(i), c]·old[i with `bits` set to c] where `when` holds."""
    size = 1 << len(bits)
    matrix = flat.reshape(1 << len(reads), size, size)
    at = places(index, bits, reads, when)
    out = psi.copy()
    out[at.inside] = sum(matrix[at.block, at.row, c] * psi[column] for c, column in enumerate(at.columns))
    return out


def shuffle(psi: Array, index: Index, bits: tuple[int, ...], when: When, to: tuple[int, ...]) -> Array:
    """The amplitude at value x of `bits` moves to value ``to[x]`` where `when` holds."""
    assert sorted(to) == list(range(1 << len(bits)))
    inside = chosen(index, when)
    moved = np.asarray(to, dtype=np.int64)[extract(inside, bits)]
    out = psi.copy()
    out[local(replace(inside, bits, moved), psi)] = psi[local(inside, psi)]
    return out


def local(index: Index, psi: Array) -> Index:
    """Where amplitudes with these whole indices lie in the buffer."""
    return index & np.int64(len(psi) - 1)
