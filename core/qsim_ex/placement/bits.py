"""Bits of many numbers moved at once (core/native/base/bits.cpp), and permutations of bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.native.library import address, function

Words = NDArray[np.int64]
Packed = NDArray[np.uint8]


def move_bits(values: Words, to: Sequence[int]) -> Words:
    """Return each number with its bit k moved to bit ``to[k]``; bits from ``len(to)`` up are dropped.

    values: int64 of any shape, not negative. to: bit numbers below 63, none twice.
    """
    return _spread(values, [1 << bit for bit in to])


def _spread(values: Words, masks: Sequence[int]) -> Words:
    """Return, for each value, the union of ``masks[k]`` for every bit k that is set in it (the masks share no bit)."""
    if all(mask in (0, 1 << k) for k, mask in enumerate(masks)):
        return values & np.int64(sum(masks))
    values, named = np.asarray(values, np.int64, order="C"), np.array(masks, dtype=np.int64)
    out = np.empty_like(values)
    function("bits_spread")(address(values), values.size, address(named), len(named), address(out))
    return out


def reindexed(values: NDArray[np.float64], flip: int) -> NDArray[np.float64]:
    """Return numbers in the order of their places with the bits of `flip` flipped."""
    out = np.empty(len(values), dtype=np.float64)
    function("bits_flip")(address(values), len(values), flip, address(out))
    return out


def pack(values: Words, masks: Sequence[int], num_bits: int) -> Packed:
    """Return rows of packed bits: where bit k of ``values[row]`` is set, the bits ``masks[k]`` of the row are set.

    The result is uint8 [rows, ceil(num_bits / 8)]; bit b of a row is bit b % 8 of byte b // 8. Rows may be of any
    width, and a mask may have several bits (a wire that was measured twice). The masks share no bit.
    """
    width = -(-num_bits // 8)
    if width in (1, 2, 4):
        moved = _spread(values, masks)
        return moved.astype(f"<u{width}").view(np.uint8).reshape(len(values), width)
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


def few_distinct(packed: Packed) -> tuple[Packed, list[int]] | None:
    """Return the distinct rows of packed bits, in the order of their first places, and how often each comes.

    Return None if there are more of them than `thresholds.distinct_rows`, which are found faster by sorting.
    """
    packed = np.ascontiguousarray(packed)
    found = np.empty((2, thresholds.now.native.distinct_rows), dtype=np.int64)
    places = address(found)
    count = function("distinct_rows")(address(packed), *packed.shape, places, places + found.strides[0])
    return None if count < 0 else (packed[found[0, :count]], found[1, :count].tolist())


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
