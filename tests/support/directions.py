"""Where a sweep's amplitudes are in memory, by definition; and drawn maps for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.steps.algebra import Map, Span, units

Index = NDArray[np.int64]


def in_memory(index: Index, columns: Callable[[Iterable[int]], tuple[int, ...]]) -> Index:
    """The sum of the columns of all bits that are 1 in an index: `Sweep.loads` or `Sweep.stores` of it."""
    place = np.zeros_like(index)
    for bit, mask in enumerate(columns(range(int(index.max(initial=0)).bit_length()))):
        place ^= (index >> bit & 1) * np.int64(mask)
    return place


def drawn(rng: np.random.Generator, tile: Sequence[int], num_bits: int, fresh: int, low: int) -> Map:
    """A map for a tile, with the `low` lowest bits as they are and fresh bits in no column but their own."""
    inner = [bit for bit in tile[low:] if not fresh >> bit & 1]
    outside = [bit for bit in range(num_bits) if bit not in tile and not fresh >> bit & 1]
    while True:
        chosen = [int(rng.integers(1 << len(inner))) for _ in inner]
        if len(Span(chosen)) == len(inner):
            break
    columns = list(units(range(num_bits)))
    for bit, own in zip(inner, chosen, strict=True):
        columns[bit] = sum(1 << other for k, other in enumerate(inner) if own >> k & 1)
    for bit in tile[low:]:
        columns[bit] ^= sum(1 << other for other in outside if rng.random() < 0.4)
    return with_bases(rng, tile, columns, fresh, low)


def with_bases(rng: np.random.Generator, tile: Sequence[int], columns: Sequence[int], fresh: int, low: int) -> Map:
    """A map that adds to bits outside a tile what lies within it."""
    made = list(columns)
    for bit in range(len(columns)):
        if bit not in tile and not fresh >> bit & 1 and rng.random() < 0.5:
            for other in tile[low:]:
                made[bit] ^= columns[other] * int(rng.random() < 0.3 and not fresh >> other & 1)
    return tuple(made)


def shuffled(rng: np.random.Generator, tile: Sequence[int], columns: Sequence[int], fresh: int, low: int) -> Map:
    """Another map of the same tiles, in which the lowest bits are still alone, each in some column."""
    masks = [columns[bit] for bit in tile]
    lanes, others = [m for m in masks if m < 1 << low], [m for m in masks if m >= 1 << low]
    for _ in range(3 * len(others)):
        if len(others) > 1:
            one, other = rng.permutation(len(others))[:2]
            others[one] ^= others[other]
    made = list(units(range(len(columns))))
    for bit, mask in zip(tile, rng.permutation(np.array([*lanes, *others], dtype=object)), strict=True):
        made[bit] = int(mask)
    free = [k for k, bit in enumerate(tile) if made[bit] >= 1 << low]
    return with_bases(rng, [tile[k] for k in free], made, fresh | sum(1 << b for b in tile), 0) if free else tuple(made)
