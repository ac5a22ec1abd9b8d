"""From wires to index bits: a question about wires becomes one about amplitudes in memory.

A `Layout` says which bit of an index is which wire. Then the bits of many indices or values are moved at once, by
native code (core/native/base/bits.cpp). No amplitude is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import When, mask_of, wires_of
from qsim_ex.errors import InvalidInput, StateError
from qsim_ex.native.library import REFUSED, address, function, refusal, unchecked
from qsim_ex.steps.layout import Layout

Strings = tuple[tuple[int, tuple[int, ...]], ...]
"""Parts (x, zs) of Pauli strings, all of them masks."""


def index_bits(layout: Layout, wires: Sequence[int]) -> tuple[int, ...]:
    """Return the index bit of each wire."""
    return tuple(layout.address[wire] for wire in wires)


def index_mask(layout: Layout, wires: int) -> int:
    """Return a mask of wires as a mask of index bits."""
    return sum(1 << layout.address[wire] for wire in wires_of(wires))


def stored_when(layout: Layout, when: When) -> When:
    """Return a condition on wires as a condition on index bits; for inverted wires the value is inverted."""
    mask = index_mask(layout, when.mask)
    return When(mask, index_mask(layout, when.value) ^ (layout.flip & mask))


def held(when: When, wires: Sequence[int], value: int) -> When:
    """Return a condition extended by values of further wires; bit k of `value` is the value of ``wires[k]``."""
    ones = mask_of(tuple(wire for k, wire in enumerate(wires) if value >> k & 1))
    return When(when.mask | mask_of(tuple(wires)), when.value | ones)


def indices(layout: Layout, values: NDArray[np.int64], wires: Sequence[int]) -> NDArray[np.int64]:
    """Return the indices at which basis values are stored; bit k of a value is wire ``wires[k]``, other wires are 0."""
    return move_bits(values, index_bits(layout, wires)) ^ np.int64(layout.flip)


def value_order(layout: Layout, marginal: NDArray[np.float64], wires: Sequence[int]) -> NDArray[np.float64]:
    """Return sums that are indexed by stored bits of `wires`, reindexed by the wires' values."""
    flipped = flipped_values(layout, wires)
    return reindexed(marginal, flipped) if flipped else marginal


def flipped_values(layout: Layout, wires: Sequence[int]) -> int:
    """Return the mask of the bits of a value of `wires` that are stored inverted, ``wires[0]`` least significant."""
    return sum((layout.flip >> layout.address[wire] & 1) << k for k, wire in enumerate(wires))


def parity_sign(layout: Layout, bits: int) -> int:
    """Return the factor that turns (−1)^parity of stored bits into (−1)^parity of the wires' values."""
    return -1 if (layout.flip & bits).bit_count() & 1 else 1


@lru_cache(maxsize=256)
def strings(layout: Layout, parts: Strings) -> tuple[Strings, NDArray[np.float64], list[int]]:
    """Return parts (x, zs) of Pauli strings as masks of index bits, the sign of each string, and where parts end."""
    bits = tuple([(index_mask(layout, x), tuple([index_mask(layout, z) for z in zs])) for x, zs in parts])
    signs = np.array([float(parity_sign(layout, mask)) for _, masks in bits for mask in masks])
    return bits, signs, [0, *accumulate(len(zs) for _, zs in parts)]


def moves(old: Layout, new: Layout) -> tuple[tuple[int, ...], int]:
    """Return how index bits move, in the form of `Device.permute`, to bring amplitudes from one layout to another.

    The result is ``(sources, flip)``: new bit k is old bit ``sources[k]``, XOR bit k of `flip`.
    """
    sources = tuple(old.address[wire] for wire in new.wires())
    flip = new.flip
    for bit, source in enumerate(sources):
        flip ^= (old.flip >> source & 1) << bit
    return sources, flip


def moved(layout: Layout, sources: Sequence[int], flip: int = 0) -> Layout:
    """Return the layout after index bits have moved: new bit k is old bit ``sources[k]``, XOR bit k of `flip`."""
    address = [0] * len(layout)
    wires = layout.wires()
    for bit, source in enumerate(sources):
        address[wires[source]] = bit
        flip ^= (layout.flip >> source & 1) << bit
    return Layout(tuple(address), flip)


def relabelled(layout: Layout, to: Sequence[int]) -> Layout:
    """Return the layout after wire w has been given the name ``to[w]``."""
    address = [0] * len(layout)
    for wire, name in enumerate(to):
        address[name] = layout.address[wire]
    return Layout(tuple(address), layout.flip)


def inverted(layout: Layout, wires: int) -> Layout:
    """Return the layout after an X on each wire of a mask."""
    return Layout(layout.address, layout.flip ^ index_mask(layout, wires))


def wires_on(layout: Layout, bits: int) -> tuple[int, ...]:
    """Return the wires on a mask of index bits, in the order of the bits."""
    return tuple(wire for bit, wire in enumerate(layout.wires()) if bits >> bit & 1)


def ordered(layout: Layout, wires: Sequence[int]) -> Layout:
    """Return the layout with wire ``wires[k]`` on index bit k; wires that were stored inverted still are."""
    flip, address = 0, [0] * len(layout)
    for bit, wire in enumerate(wires):
        address[wire] = bit
        flip |= (layout.flip >> layout.address[wire] & 1) << bit
    return Layout(tuple(address), flip)


def with_first(layout: Layout, wires: Sequence[int]) -> Layout:
    """Return the layout with some wires on the first index bits; the others keep their order."""
    return ordered(layout, [*wires, *(wire for wire in layout.wires() if wire not in wires)])


def brought_in(wanted: Sequence[int], low: int, local: int) -> tuple[tuple[int, int], ...]:
    """Return the swaps of positions with higher ones that bring wanted ones below `local`; those below `low` stay.

    The places are the highest that hold none of them. Raises `InvalidInput` if there are too few.
    """
    coming = [position for position in wanted if position >= local]
    free = [position for position in range(low, local) if position not in wanted]
    if len(coming) > len(free):
        raise InvalidInput(
            f"{len(wanted)} wires cannot be local at once: {local} local bits, of which the lowest {low} stay where "
            "they are. Ask for fewer wires."
        )
    return tuple(zip(free[len(free) - len(coming) :], coming, strict=True))


def begun_as(layout: Layout, start: Layout) -> Layout:
    """Return another layout for a state whose only amplitude is amplitude 0: |x> is the same |x> in it.

    Raises `StateError` if it would be another basis state.
    """
    every = range(len(layout))
    if any((layout.flip >> layout.address[w] ^ start.flip >> start.address[w]) & 1 for w in every):
        raise StateError("the plan begins in another basis state than this state; make a plan for this state's layout.")
    return start


SORTED = 1 << 12
"""Rows of at most eight bytes that are sorted at once; of more the distinct ones are looked for first."""

Words = NDArray[np.int64]
Packed = NDArray[np.uint8]


def move_bits(values: Words, to: Sequence[int]) -> Words:
    """Return each number with its bit k moved to bit ``to[k]``; bits from ``len(to)`` up are dropped.

    values: int64 of any shape, not negative. to: bit numbers below 63, none twice.
    """
    return _spread(values, [1 << bit for bit in to])


def _spread(values: Words, masks: Sequence[int]) -> Words:
    """Return, for each value, the union of ``masks[k]`` for every bit k that is set in it (the masks share no bit)."""
    if (kept := _stays(tuple(masks))) is not None:
        return values & np.int64(kept)
    values, named = np.asarray(values, np.int64, order="C"), np.array(masks, dtype=np.int64)
    out = np.empty_like(values)
    function("bits_spread")(address(values), values.size, address(named), len(named), address(out))
    return out


@lru_cache(maxsize=256)
def _stays(masks: tuple[int, ...]) -> int | None:
    """Return the mask of the bits that are kept, each in its place; None if any moves."""
    return sum(masks) if all(mask in (0, 1 << k) for k, mask in enumerate(masks)) else None


def reindexed(values: NDArray[np.float64], flip: int) -> NDArray[np.float64]:
    """Return numbers in the order of their places with the bits of `flip` flipped."""
    out = np.empty(len(values), dtype=np.float64)
    function("bits_flip")(address(values), len(values), flip, address(out))
    return out


_NUMBERS = {width: np.dtype(f"<u{width}") for width in (1, 2, 4)}
"""The numbers that are rows of so many bytes."""


def pack(values: Words, masks: Sequence[int], num_bits: int) -> Packed:
    """Return rows of packed bits: where bit k of ``values[row]`` is set, the bits ``masks[k]`` of the row are set.

    The result is uint8 [rows, ceil(num_bits / 8)]; bit b of a row is bit b % 8 of byte b // 8. Rows may be of any
    width, and a mask may have several bits (a wire that was measured twice). The masks share no bit.
    """
    width = -(-num_bits // 8)
    if (number := _NUMBERS.get(width)) is not None:
        return _spread(values, masks).astype(number).view(np.uint8).reshape(len(values), width)
    num_words = -(-num_bits // 32)
    rows = np.zeros((len(values), num_words), dtype="<u4")
    used = 0
    for mask in masks:
        used |= mask
    for word in range(num_words):
        if used >> 32 * word & 0xFFFFFFFF:
            rows[:, word] = _spread(values, [mask >> 32 * word & 0xFFFFFFFF for mask in masks])
    return np.ascontiguousarray(rows.view(np.uint8)[:, :width])


def unpack(packed: Packed, num_bits: int) -> Packed:
    """Return the inverse of `pack`: a column of 0s and 1s for each bit, uint8 [rows, num_bits]."""
    return np.unpackbits(packed, axis=1, count=num_bits, bitorder="little")


def integers(packed: Packed) -> list[int]:
    """Return each packed row as a Python integer of any size; bit b of the row is bit b of the integer."""
    if packed.shape[1] <= 8:
        found: list[int] = words(packed).tolist()
        return found
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def words(packed: Packed) -> NDArray[np.uint64]:
    """Return each packed row of up to eight bytes as one 64-bit number."""
    rows = np.zeros((len(packed), 8), dtype=np.uint8)
    rows[:, : packed.shape[1]] = packed
    return rows.view("<u8")[:, 0]


def ordered_counts(values: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the distinct ones of some numbers, at least one, in increasing order, and how often each comes."""
    ordered = np.sort(values)
    ends = np.flatnonzero(ordered[1:] != ordered[:-1])
    places = np.empty(len(ends) + 2, dtype=np.int64)
    places[0], places[-1] = 0, len(ordered)
    np.add(ends, 1, out=places[1:-1])
    return ordered[places[:-1]], places[1:] - places[:-1]


def tallied(values: Words) -> dict[int, int]:
    """Return how often each value comes; the first to come is first."""
    values = np.ascontiguousarray(values, dtype=np.int64)
    distinct, counts = np.empty((2, len(values)), dtype=np.int64)
    tally = unchecked("shots_count")
    count = tally(address(values), len(values), address(distinct), address(counts))
    if count == REFUSED:
        raise refusal(tally)
    return dict(zip(distinct[:count].tolist(), counts[:count].tolist(), strict=True))


def few_distinct(packed: Packed) -> tuple[Packed, list[int]] | None:
    """Return the distinct rows of packed bits, in the order of their first places, and how often each comes.

    Return None if there are more of them than `thresholds.distinct_rows`, which are found faster by sorting.
    """
    packed = np.ascontiguousarray(packed)
    found = np.empty((2, thresholds.now.distinct_rows), dtype=np.int64)
    places = address(found)
    count = function("distinct_rows")(address(packed), *packed.shape, places, places + found.strides[0])
    return None if count < 0 else (packed[found[0, :count]], found[1, :count].tolist())


def count_outcomes(packed: Packed, num_bits: int, ends: Sequence[int], into: dict[str, int]) -> None:
    """Set in a dictionary how often each row comes, by its text, in increasing order: core/native/readers/outcomes.cpp.

    packed: uint8 [shots, bytes], bit b of a row is bit b % 8 of byte b // 8. A text has the first `num_bits` bits, the
    highest first, and a space at the end of each part but the last; ends: where the parts end, the last with all bits.
    """
    often, packed = 0, np.ascontiguousarray(packed)
    if len(packed) > SORTED and (few := few_distinct(packed)) is not None:
        packed, counts = few[0], np.array(few[1], dtype=np.int64)
        often = address(counts)
    parts = np.array(ends, dtype=np.int64)
    function("outcomes_counted")(address(packed), often, *packed.shape, num_bits, address(parts), len(parts), into)


def completed(moves: dict[int, int], count: int) -> tuple[int, ...]:
    """Return a permutation of `count` bits with the given sources, in which as many others as possible stay."""
    out = dict(moves)
    taken = set(out.values())
    for bit in range(count):
        if bit not in out and bit not in taken:
            out[bit] = bit
            taken.add(bit)
    left = iter([bit for bit in range(count) if bit not in taken])
    return tuple(out[bit] if bit in out else next(left) for bit in range(count))
