"""The choice of directions to bring near: `planning.locality` with subspaces in place of sets of bits.

A piece of work may run when the directions that it mixes are near, and nothing that it does not commute with waits
before it. Its *reason* is the least subspace that lets it run. A greedy choice adds the reason that lets most work run
for each dimension that it costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import wires_of
from qsim_ex.planning.linear.frame import Framed
from qsim_ex.steps.algebra import Span

Reason = tuple[int, ...]
"""A subspace, as its reduced basis without what is near; empty if nothing is missing."""

WINDOW = 768
"""How many pieces of work may be left behind before the scan stops looking further ahead."""

_CANDIDATES = 192
"""The most distinct reasons that are compared, the earliest first."""

_TENTHS, _RANK_UNIT = 10, 1_000_000
"""As in `planning.locality`: weights are integers, and earlier reasons win ties."""


class Order:
    """Which pieces have to run before which: two of them may change places if directions and parities overlap evenly.

    before: for each piece the mask of those that come just before it.
    """

    def __init__(self, work: Sequence[Framed]) -> None:
        crossing = _crossing(work)
        self.before: list[int] = []
        all_before: list[int] = []
        for number, row in enumerate(crossing):
            left = int.from_bytes(np.packbits(row[:number], bitorder="little").tobytes(), "little")
            just, every = 0, left
            while left:
                last = left.bit_length() - 1
                just |= 1 << last
                every |= all_before[last]
                left &= ~(all_before[last] | 1 << last)
            self.before.append(just)
            all_before.append(every)


def _crossing(work: Sequence[Framed]) -> NDArray[np.bool_]:
    """Return which pairs of pieces do not commute."""
    flips = [(number, d) for number, piece in enumerate(work) for d in piece.directions]
    sums = [(number, p) for number, piece in enumerate(work) for p in piece.parities]
    crossing = np.zeros((len(work), len(work)), dtype=bool)
    if flips and sums:
        movers, directions = (np.array(values, dtype=np.uint64) for values in zip(*flips, strict=True))
        readers, parities = (np.array(values, dtype=np.uint64) for values in zip(*sums, strict=True))
        for mover, direction in zip(movers.tolist(), directions, strict=True):
            crossing[mover, readers[np.bitwise_count(parities & direction) & 1 == 1]] = True
    return crossing | crossing.T


def basis_of(vectors: Iterable[int]) -> Reason:
    """Return the reduced basis of the span of some vectors, the same for every set that spans it."""
    rows: list[int] = []
    for vector in vectors:
        for row in rows:
            vector = min(vector, vector ^ row)
        if vector:
            rows = [min(row, row ^ vector) if row >> vector.bit_length() - 1 & 1 else row for row in rows]
            rows.append(vector)
            rows.sort(reverse=True)
    return tuple(rows)


def reasons(
    pending: Sequence[int], work: Sequence[Framed], order: Order, near: Span, most: int
) -> dict[int, Reason | None]:
    """Return for each pending piece what is missing before it can run, None where that is more than `most` dimensions.

    The result is shorter if the window ended.
    """
    found: dict[int, Reason | None] = {}
    missing: dict[int, int] = {}
    waiting = 0
    for number in pending:
        for direction in work[number].directions:
            if direction not in missing:
                missing[direction] = near.reduced(direction)[0]
        parts: list[int] = [missing[d] for d in work[number].directions if missing[d]]
        known = True
        for other in wires_of(order.before[number] & waiting):
            reason = found[other]
            if reason is None:
                known = False
                break
            parts += reason
        made = basis_of(parts) if known else None
        found[number] = made if made is not None and len(made) <= most else None
        if found[number] != ():
            waiting |= 1 << number
            if waiting.bit_count() >= WINDOW:
                break
    return found


def chosen(
    found: dict[int, Reason | None],
    work: Sequence[Framed],
    near: Sequence[int],
    capacity: int,
    inside: Sequence[int] = (),
    outside: int = -1,
) -> list[int]:
    """Return at most `capacity` directions besides `near` that let most work run, given its reasons.

    inside, outside: at most so many dimensions of the result are not in the span of `inside`; −1 for no such bound.
    """
    weights: dict[Reason, int] = {}
    for number, reason in found.items():
        if reason and (reason in weights or len(weights) < _CANDIDATES):
            weights[reason] = weights.get(reason, 0) + round(_TENTHS * work[number].piece.weight)
    ranked = {r: w * (_RANK_UNIT + len(weights) - k) for k, (r, w) in enumerate(weights.items())}
    span, added = Span(near), list[int]()
    known = Span(inside)
    while True:
        left: dict[Reason, int] = {}
        for reason, weight in ranked.items():
            rest = basis_of([span.reduced(vector)[0] for vector in reason])
            if rest:
                left[rest] = left.get(rest, 0) + weight
        ranked = left
        room = capacity - len(added)
        fits = [r for r in left if len(r) <= room and (outside < 0 or _beyond(known, r) <= outside)]
        if not fits:
            return added
        best = fits[int(np.argmax(_gains(fits, left) / [len(r) for r in fits]))]
        added += best
        for vector in best:
            span.add(vector)
            outside -= known.add(vector) if outside >= 0 else 0


def _beyond(known: Span, reason: Reason) -> int:
    return len(basis_of([known.reduced(vector)[0] for vector in reason]))


def _gains(candidates: Sequence[Reason], weights: dict[Reason, int]) -> NDArray[np.int64]:
    """Return for each candidate the weight of the reasons that lie in it."""
    vectors = np.array(sorted({vector for reason in weights for vector in reason}), dtype=np.uint64)
    column = {vector: k for k, vector in enumerate(vectors.tolist())}
    made_of = np.zeros((len(weights), len(vectors)), dtype=np.int64)
    for row, reason in enumerate(weights):
        made_of[row, [column[vector] for vector in reason]] = 1
    rest = np.tile(vectors, (len(candidates), 1))
    rows = np.zeros((len(candidates), max(map(len, candidates))), dtype=np.uint64)
    for number, reason in enumerate(candidates):
        rows[number, : len(reason)] = reason
    for taken in rows.T:
        rest = np.minimum(rest, rest ^ taken[:, None])
    inside = (rest != 0) @ made_of.T == 0
    return np.asarray(inside @ np.fromiter(weights.values(), dtype=np.int64))


def split(pending: Sequence[int], work: Sequence[Framed], order: Order, near: Span) -> tuple[list[int], list[int]]:
    """Divide pieces into those that can run with some directions near, and those that are left behind; in order."""
    ready, left, waiting = [], [], 0
    known: dict[int, bool] = {}
    for number in pending:
        for direction in work[number].directions:
            if direction not in known:
                known[direction] = direction in near
        if order.before[number] & waiting or not all(known[d] for d in work[number].directions):
            left.append(number)
            waiting |= 1 << number
        else:
            ready.append(number)
    return ready, left
