"""`grow`: the choice of bits to bring near, at every level of the memory hierarchy.

Work may run when the bits it mixes are near and no earlier work that is left behind has to run before it; it may
overtake work with which it only shares read bits. One scan finds the *reason* of every piece of work: the exact set of
bits that would have to come near before it could run. Choosing bits is then a coverage problem over those sets, solved
greedily; no second scan.

`far_sets` solves the reverse problem, where few bits are far and most are near: all work runs whose reason contains
none of the far bits. The far bits that lose least work are chosen one after another, and the best few sets are kept,
for a search that looks several stages ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.planning.work import Work, bits_of_mask

WINDOW = 768
"""How many pieces of work may be left behind before the scan stops looking further ahead."""

NEVER = 1 << 64
"""A bit of a reason that no choice of bits can meet (a step of its own has to run first)."""

_CANDIDATES = 192
"""The most distinct reasons that are compared, the earliest first."""

_MOST_BITS = 64
"""Masks of bits are compared as 64-bit numbers."""

EVERY = (1 << _MOST_BITS) - 1
"""All bits that work may mix."""

_STAYS = 1
"""The weight, in thousandths of a piece of work, of keeping a bit far that is far already: it breaks ties."""

_TENTHS = 10
"""Weights are compared as integers, in this part of a piece of work."""

_RANK_UNIT = 1_000_000
"""The share of a reason's weight by which each place that it comes earlier counts more."""

_IN_A_SWEEP = frozenset({"mix", "diagonal", "rename"})


def reasons(pending: Sequence[Work], near: int, window: int = WINDOW, alone: int = NEVER) -> list[int]:
    """Return for each piece the mask of bits that it waits for, 0 if it can run now; shorter if the window ended.

    A piece waits for the bits it mixes that are not in `near`, and for all that an earlier waiting piece waits for
    if one of the two mixes a bit that the other touches. alone: added to the reason of a step of its own.
    """
    mixing = [0] * _MOST_BITS  # for each bit, the reasons of the waiting pieces that mix the bit
    touching = [0] * _MOST_BITS  # for each bit, the reasons of the waiting pieces that touch the bit
    far = ~near
    out: list[int] = []
    waiting = 0
    for piece in pending:
        reason = piece.mix & far
        if piece.kind not in _IN_A_SWEEP:
            reason |= alone
        if waiting:
            for bit in piece.touched:
                reason |= mixing[bit]
            for bit in piece.bits:
                reason |= touching[bit]
        out.append(reason)
        if reason:
            for bit in piece.bits:
                mixing[bit] |= reason
            for bit in piece.touched:
                touching[bit] |= reason
            waiting += 1
            if waiting >= window:
                break
    return out


class NearBits(NamedTuple):
    """Bits that are near, and the reasons of the pending work by which they were chosen, for `split`."""

    bits: int
    found: list[int]


def grow(pending: Sequence[Work], near: int, allowed: int, capacity: int) -> NearBits:
    """Return `near` with at most `capacity` bits of `allowed` added, chosen so that most of the work can run.

    The result has `near` unchanged if no choice lets more work run.
    """
    found = reasons(pending, near)
    return NearBits(chosen(pending, found, near, allowed, capacity), found)


def chosen(
    pending: Sequence[Work],
    found: Sequence[int],
    near: int,
    allowed: int,
    capacity: int,
    inside: int = -1,
    outside: int = 0,
) -> int:
    """Return the bits of `grow`, for work whose reasons are known: one scan serves several choices.

    Greedy: repeatedly add the missing bits of the reason that bring the most weight for each bit.
    inside, outside: at most so many of the bits are not in `inside`.
    """
    weights: dict[int, int] = {}
    forbidden = ~(near | allowed)
    for piece, reason in zip(pending, found, strict=False):
        if (
            reason
            and not reason & forbidden
            and reason.bit_count() <= capacity
            and (reason in weights or len(weights) < _CANDIDATES)
        ):
            weights[reason] = weights.get(reason, 0) + round(_TENTHS * piece.weight)
    if not weights:
        return near
    masks = np.fromiter(weights, dtype=np.uint64, count=len(weights))
    weight_of = np.fromiter(weights.values(), dtype=np.int64, count=len(weights))
    # Earlier reasons win ties: the earliest work tends to hold up the most. Sums of integers are exact, so that a plan
    # does not depend on the order in which a processor adds them up.
    weight_of = weight_of * (_RANK_UNIT + np.arange(len(weights), 0, -1))
    added = np.uint64(0)
    while True:
        missing = np.bitwise_count(masks & ~added)
        unmet = missing != 0
        masks, weight_of, missing = masks[unmet], weight_of[unmet], missing[unmet]
        fits = missing <= capacity - int(added).bit_count()
        if inside != -1:
            fits &= np.bitwise_count((masks | added) & np.uint64(~inside & EVERY)) <= outside
        fits = fits.nonzero()[0]
        if not fits.size:
            return near | int(added)
        grown = masks[fits] | added
        gain = ((masks & ~grown[:, None]) == 0) @ weight_of
        added = grown[(gain / missing[fits]).argmax()]


def split(pending: Sequence[Work], near: int, found: Sequence[int]) -> tuple[list[Work], list[Work]]:
    """Divide work into pieces that can run with `near` bits near, and pieces that are left behind; both in order.

    found: the reasons of the work for bits that are all in `near`. They are exact, so no second scan is needed.
    """
    far = ~near
    ready: list[Work] = []
    left: list[Work] = []
    for piece, reason in zip(pending, found, strict=False):
        (left if reason & far else ready).append(piece)
    return ready, [*left, *pending[len(found) :]]


def fill(chosen: int, allowed: int, count: int, *, lowest: bool) -> int:
    """Return `chosen` with bits of `allowed` added until it has `count`, the lowest or the highest first."""
    bits = [b for b in range(allowed.bit_length()) if allowed >> b & 1 and not chosen >> b & 1]
    for bit in bits if lowest else reversed(bits):
        if chosen.bit_count() >= count:
            break
        chosen |= 1 << bit
    return chosen


# --- sets of far bits ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Freedom:
    """The bits that may be far: not those below `Levels.slice`.

    pinned: bits that are known to be below the slice. fresh: bits that are fresh at the start, which may trade places
        at no cost, so the choice of those below the slice is made when all stages are known.
    ever: the fresh bits that are far in some stage. most: how many bits `ever` may have.
    """

    pinned: int
    fresh: int
    most: int
    ever: int = 0

    def allows(self, far: int) -> bool:
        """Return whether these bits may be far together, besides all that were far before."""
        return not far & self.pinned and (self.ever | far & self.fresh).bit_count() <= self.most

    def after(self, far: int) -> Freedom:
        """Return the freedom that is left when these bits have been far."""
        return replace(self, ever=self.ever | far & self.fresh)


def far_sets(
    pending: Sequence[Work], found: Sequence[int], count: int, allowed: int, freedom: Freedom, stays: int, most: int
) -> list[tuple[int, Freedom]]:
    """Return at most `most` sets of `count` bits of `allowed` that may be far; sets that let most work run come first.

    Each set comes with the freedom that it leaves.
    found: the reason of every piece when no bit that may be far is near. stays: bits that are far already.
    Every set lets some work run; the result is empty if no set does.
    """
    masks, weights = _distinct(pending, found, count, allowed)
    if not weights.size:
        return []
    bits = bits_of_mask(allowed)
    holds = (masks[:, None] >> np.array(bits, dtype=np.uint64) & 1).astype(np.int64)
    liked = np.array([_STAYS * (stays >> bit & 1) for bit in bits])
    kept = [(0, 0)]  # sets, and the weights of their bits
    alive = np.ones((1, len(masks)), dtype=np.int64)
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
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the distinct reasons that some set of `count` bits does not meet, and the weight of the work of each."""
    weights: dict[int, int] = {}
    for piece, reason in zip(pending, found, strict=True):
        weights[reason] = weights.get(reason, 0) + piece.thousandths
    fitting = {reason: w for reason, w in weights.items() if (allowed & ~reason).bit_count() >= count}
    masks = np.fromiter(fitting, dtype=np.uint64, count=len(fitting))
    return masks, np.fromiter(fitting.values(), dtype=np.int64, count=len(fitting))
