"""`grow`: which bits to bring near, at every level of the memory hierarchy.

Work may run when the bits it mixes are near and nothing left behind stands in its way; it may overtake what it only
shares read bits with. One scan finds for every piece its *reason*: the exact set of bits that would have to come
near before it could run. Choosing bits is then a coverage problem over those sets, solved greedily; no second scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from qsim_ex.planning.work import Work

WINDOW = 768
"""How many pieces may be left behind before the scan stops looking further ahead."""

NEVER = 1 << 64
"""Part of a reason that no choice of bits can meet (a step of its own stands in the way)."""

_CANDIDATES = 192
"""Most distinct reasons that are weighed against each other, the earliest first."""

_MOST_BITS = 64
"""Masks of bits are weighed as 64-bit numbers."""

_IN_A_SWEEP = frozenset({"mix", "diagonal", "rename"})


def reasons(pending: Sequence[Work], near: int, window: int = WINDOW, alone: int = NEVER) -> list[int]:
    """For each piece the mask of bits that it waits for, 0 if it can run now; shorter if the window ended.

    A piece waits for the bits it mixes that are not in `near`, and for all that any earlier waiting piece waits for
    if one of the two mixes a bit that the other touches. alone: what a step of its own waits for besides.
    """
    mixing = [0] * _MOST_BITS  # for each bit, what the waiting pieces that mix it wait for
    touching = [0] * _MOST_BITS  # for each bit, what the waiting pieces that touch it wait for
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


class Choice(NamedTuple):
    """Bits that are near, and the reasons of the pending work that they were chosen by, for `split`."""

    bits: int
    found: list[int]


def grow(pending: Sequence[Work], near: int, allowed: int, capacity: int) -> Choice:
    """Return `near` with at most `capacity` bits of `allowed` added, chosen so that most of the work can run.

    Raises nothing; returns `near` if no choice lets more run.
    """
    found = reasons(pending, near)
    return Choice(chosen(pending, found, near, allowed, capacity), found)


def chosen(pending: Sequence[Work], found: Sequence[int], near: int, allowed: int, capacity: int) -> int:
    """The bits of `grow`, for work whose reasons are known: one scan serves several questions.

    Greedy: again and again the reason whose missing bits bring the most weight for each bit.
    """
    weights: dict[int, float] = {}
    forbidden = ~(near | allowed)
    for piece, reason in zip(pending, found, strict=False):
        if reason and not reason & forbidden and reason.bit_count() <= capacity:
            weights[reason] = weights.get(reason, 0.0) + piece.weight
            if len(weights) >= _CANDIDATES:
                break
    if not weights:
        return near
    masks = np.fromiter(weights, dtype=np.uint64, count=len(weights))
    weight_of = np.fromiter(weights.values(), dtype=np.float64, count=len(weights))
    # Earlier reasons win ties: what was asked for first tends to hold up the most.
    weight_of = weight_of * (1 + 1e-6 * np.arange(len(weights), 0, -1))
    added = np.uint64(0)
    while True:
        missing = np.bitwise_count(masks & ~added)
        unmet = missing != 0
        masks, weight_of, missing = masks[unmet], weight_of[unmet], missing[unmet]
        fits = (missing <= capacity - int(added).bit_count()).nonzero()[0]
        if not fits.size:
            return near | int(added)
        grown = masks[fits] | added
        gain = ((masks & ~grown[:, None]) == 0) @ weight_of
        added = grown[(gain / missing[fits]).argmax()]


def arithmetic(pending: Sequence[Work], found: Sequence[int], near: int) -> list[float]:
    """Multiply-adds for one amplitude of each piece that can run with `near` bits near; arguments as of `split`."""
    far = ~near
    return [piece.work for piece, reason in zip(pending, found, strict=False) if not reason & far]


def split(pending: Sequence[Work], near: int, found: Sequence[int]) -> tuple[list[Work], list[Work]]:
    """Divide work into what can run with `near` bits near, and what is left behind; both in order.

    found: the reasons of the work for bits that are all in `near`. They are exact, so no second scan is needed.
    """
    far = ~near
    ready: list[Work] = []
    left: list[Work] = []
    for piece, reason in zip(pending, found, strict=False):
        (left if reason & far else ready).append(piece)
    return ready, [*left, *pending[len(found) :]]


def fill(chosen: int, allowed: int, count: int, *, lowest: bool) -> int:
    """Add bits of `allowed` until `count` are chosen, the lowest or the highest first."""
    bits = [b for b in range(allowed.bit_length()) if allowed >> b & 1 and not chosen >> b & 1]
    for bit in bits if lowest else reversed(bits):
        if chosen.bit_count() >= count:
            break
        chosen |= 1 << bit
    return chosen
