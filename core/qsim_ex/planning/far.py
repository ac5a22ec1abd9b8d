"""Which bits to keep far: `grow` seen from the other side, where few bits are far and most are near.

A stage holds all bits near but a few. The reasons of the pending work (`locality.reasons`) say which of it runs: all
whose reason holds none of the far bits. So the far bits are chosen that lose least work, one after another, and the
best few sets are kept, for a search that looks several stages ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qsim_ex.planning.work import Work, bits_of_mask

_STAYS = 1e-3
"""What keeping a bit far that is far already weighs, in pieces of work: it breaks ties."""


@dataclass(frozen=True, slots=True)
class Freedom:
    """Which bits may be far: not those below `Levels.slice`.

    pinned: bits that are known to lie there. fresh: bits that are fresh at the start, which may change places for
        nothing, so that which of them lie below the slice is decided when all stages are known.
    ever: those of the fresh bits that are far in some stage. most: how many of them may be.
    """

    pinned: int
    fresh: int
    most: int
    ever: int = 0

    def allows(self, far: int) -> bool:
        """Whether these bits may be far together, besides all that were far before."""
        return not far & self.pinned and (self.ever | far & self.fresh).bit_count() <= self.most

    def after(self, far: int) -> Freedom:
        """The freedom that is left when these bits have been far."""
        return replace(self, ever=self.ever | far & self.fresh)


def far_sets(
    pending: Sequence[Work], found: Sequence[int], count: int, allowed: int, freedom: Freedom, stays: int, most: int
) -> list[tuple[int, Freedom]]:
    """At most `most` sets of `count` bits of `allowed` that may be far, those that let most work run first.

    Each comes with the freedom that it leaves.
    found: the reason of every piece when no bit that may be far is near. stays: bits that are far already.
    Every set lets some work run; there is none if no set does.
    """
    masks, weights = _distinct(pending, found, count, allowed)
    if not weights.size:
        return []
    bits = bits_of_mask(allowed)
    holds = (masks[:, None] >> np.array(bits, dtype=np.uint64) & 1).astype(np.float64)
    liked = np.array([_STAYS * (stays >> bit & 1) for bit in bits])
    kept = [(0, 0.0)]  # sets and what their bits weigh by themselves
    alive = np.ones((1, len(masks)))
    for _ in range(count):
        runs = (alive @ weights)[:, None] - (alive * weights) @ holds
        values = runs + np.array([own for _, own in kept])[:, None] + liked
        chosen: dict[int, tuple[int, int]] = {}
        for flat in np.argsort(-values, axis=None, kind="stable"):
            row, column = divmod(int(flat), len(bits))
            bit = 1 << bits[column]
            wider = kept[row][0] | bit
            if kept[row][0] & bit or wider in chosen or runs[row, column] < _STAYS or not freedom.allows(wider):
                continue
            chosen[wider] = row, column
            if len(chosen) == most:
                break
        if not chosen:
            return []
        alive = np.array([alive[row] * (1 - holds[:, column]) for row, column in chosen.values()])
        kept = [(wider, kept[row][1] + liked[column]) for wider, (row, column) in chosen.items()]
    return [(far, freedom.after(far)) for far, _ in kept]


def _distinct(
    pending: Sequence[Work], found: Sequence[int], count: int, allowed: int
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """The distinct reasons that some set of `count` bits leaves alone, and how much work has each."""
    weights: dict[int, float] = {}
    for piece, reason in zip(pending, found, strict=True):
        weights[reason] = weights.get(reason, 0.0) + piece.weight
    fitting = {reason: w for reason, w in weights.items() if (allowed & ~reason).bit_count() >= count}
    masks = np.fromiter(fitting, dtype=np.uint64, count=len(fitting))
    return masks, np.fromiter(fitting.values(), dtype=np.float64, count=len(fitting))
