"""Where a sweep's amplitudes are in memory, by definition; and drawn directions for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.steps.algebra import Span

Index = NDArray[np.int64]


def in_memory(index: Index, tile: Sequence[int], masks: Sequence[int]) -> Index:
    """The place base ⊕ Σ y_j mask_j, where y are the bits of the tile in an index, and the base is the rest of it."""
    place = index & ~np.int64(sum(1 << bit for bit in tile))
    for bit, mask in zip(tile, masks, strict=True):
        place = place ^ (index >> bit & 1) * np.int64(mask)
    return place


def drawn(rng: np.random.Generator, tile: Sequence[int], num_bits: int, fresh: int, low: int) -> list[int]:
    """Directions for a tile, with the `low` lowest bits as they are and fresh bits in none but their own."""
    fixed = tile[:low]
    others = [bit for bit in tile[low:] if not fresh >> bit & 1]
    outside = [bit for bit in range(num_bits) if bit not in tile and not fresh >> bit & 1]
    while True:
        chosen = [int(rng.integers(1 << len(others))) for _ in others]
        if len(Span(chosen)) == len(others):
            break
    beyond = [sum(1 << bit for bit in outside if rng.random() < 0.4) for _ in others]
    made = {
        bit: sum(1 << o for k, o in enumerate(others) if c >> k & 1) ^ b
        for bit, c, b in zip(others, chosen, beyond, strict=True)
    }
    own = {bit: 1 << bit ^ sum(1 << o for o in outside if rng.random() < 0.3) for bit in tile if fresh >> bit & 1}
    return [1 << bit if bit in fixed else own[bit] if bit in own else made[bit] for bit in tile]


def shuffled(rng: np.random.Generator, masks: Sequence[int], low: int) -> list[int]:
    """Other directions of the same space, in which the lowest bits are still alone, each in some direction."""
    units, others = [m for m in masks if m < 1 << low], [m for m in masks if m >= 1 << low]
    for _ in range(3 * len(others)):
        if len(others) > 1:
            one, other = rng.permutation(len(others))[:2]
            others[one] ^= others[other]
    return [int(m) for m in rng.permutation(np.array([*units, *others], dtype=object))]
