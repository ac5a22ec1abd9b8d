"""The choice of the wires on the lowest index bits of a new state, and of how it grows.

The lowest bits are in every tile, and in a growing state from its first sweep on. Nothing else about the order of the
wires makes a difference to a plan: which wires are the lowest changes its predicted time by a factor of 0.67 to 1.35
(decision 0006), and no simple rule finds good ones. So some choices are tried, with a schedule that leaves out phases
and numbers.

So are two other amounts of arithmetic for which the state grows (`Growth.worth`): with a large one it grows in few
steps, and more of the arithmetic is done in a large state.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import inf

from qsim_ex.circuit.ops import mask_of
from qsim_ex.planning.compiled import TRIES
from qsim_ex.planning.locality import split
from qsim_ex.planning.rewrite.rotate import MOST_ITEM_WORK
from qsim_ex.planning.tiles.schedule import Growth
from qsim_ex.planning.work import Work
from qsim_ex.steps.layout import Shape

_PATIENCE = 2.0
"""How much of the time of a run may be spent on trying; see `_tries`."""


_WORTHS = (1.4, 0.5)
"""The other values of `Growth.worth` that are tried, where phases are weighed (see `rotate`)."""

_SHORT = 8
"""The most passes over the whole state of a plan for which they are tried: a state grows in the first few."""

_LOOKED_AT = 4096
"""The pieces of work by which choices are compared: a state has grown by then, and trying takes bounded time."""

_ROUNDED = 1 + 1e-9
"""The error of a sum of times by rounding, so that no choice is discarded that is as good as another."""


def reorder(pending: Sequence[Work], num_bits: int, shape: Shape) -> tuple[int, ...] | None:
    """Return a better order of the bits of a new state: bit b on bit ``to[b]``; None if the given order is as good.

    All bits are fresh, and they are more than a tile holds: otherwise every tile is all bits, whichever are low.
    The same work always gives the same order: plans have names, and kernels are stored under them.
    """
    pending = pending[:_LOOKED_AT]
    first = (1 << shape.low) - 1
    best, least = first, foresee(pending, num_bits, shape, first)
    chance = random.Random(0)
    for _ in range(min(TRIES, _tries(least, len(pending), shape))):
        low = mask_of(tuple(chance.sample(range(num_bits), shape.low)))
        cost = foresee(pending, num_bits, shape, low, least)
        if cost < least:
            best, least = low, cost
    if best == first:
        return None
    order = sorted(range(num_bits), key=lambda bit: (not best >> bit & 1, bit))
    to = [0] * num_bits
    for place, bit in enumerate(order):
        to[bit] = place
    return tuple(to)


def worth_of(pending: Sequence[Work], num_bits: int, shape: Shape, low: int) -> float:
    """Return the `Growth.worth` with which a plan for a new state takes the least time. low: as for `floats`."""
    if shape.item_work > MOST_ITEM_WORK:
        return 1.0
    pending = pending[:_LOOKED_AT]
    best, least = 1.0, foresee(pending, num_bits, shape, low)
    tries = _tries(least, len(pending), shape) - TRIES if least <= _SHORT << num_bits else 0
    for worth in _WORTHS[: max(0, tries)]:
        cost = foresee(pending, num_bits, shape, low, least, worth=worth)
        if cost < least:
            best, least = worth, cost
    return best


def floats(pending: Sequence[Work], num_bits: int, shape: Shape, fresh: int, low: int, worth: float = 1.0) -> bool:
    """Return whether a plan takes less time if the lowest bits change from sweep to sweep, see `tiles.floating`.

    pending: as `reorder` takes it. low: the bits that are lowest in the order that it chose; bits are not moved before
    this is asked, since which of equally good tiles is foreseen depends on their numbers. Plans that are so short are
    not worth two forecasts: then bits stay where they are.
    """
    if not shape.floats or not shape.start <= num_bits > shape.tile:
        return False
    pending = pending[:_LOOKED_AT]
    fixed = foresee(pending, num_bits, shape, low, fresh=fresh, worth=worth)
    if not _tries(fixed, len(pending), shape):
        return False
    return foresee(pending, num_bits, shape, low, fixed, fresh, floats=True, worth=worth) < fixed


def foresee(
    pending: Sequence[Work],
    num_bits: int,
    shape: Shape,
    low: int,
    most: float = inf,
    fresh: int | None = None,
    *,
    floats: bool = False,
    worth: float = 1.0,
) -> float:
    """Return the time of a plan for a state with the bits of `low` lowest, in passes over one amplitude.

    A sweep takes as long as its reading and writing or as its arithmetic, whichever is longer (`Shape.balance`), a
    share of the shorter time, and some time to be started (`Shape.start`). Steps that are no sweeps cost the same
    whichever bits are low.
    A time that is sure to be `most` or longer is not computed to the end.
    fresh: bits that are fresh before, all by default. floats: whether the lowest bits may change. worth: see `Growth`.
    """
    growth = Growth(num_bits, shape, (1 << num_bits) - 1 if fresh is None else fresh, low, worth=worth)
    time = 0.0
    left = [piece for piece in pending if piece.kind in ("mix", "diagonal", "rename")]
    while left:
        before = num_bits - growth.fresh.bit_count()
        tile, found = growth.tile(left)
        ready, left = split(left, tile, found)
        after = 1 << num_bits - growth.fresh.bit_count()
        work = sum(piece.work for piece in ready)
        if floats:
            low = growth.low
            growth.float_low(ready, left, tile)
            work += shape.transposed * (growth.low != low)
        arithmetic = work * after / shape.balance
        memory = ((1 << before) + after) / 2
        time += max(memory, arithmetic) + shape.seen * min(memory, arithmetic) + (1 << shape.start)
        least = time + sum(piece.work for piece in left) * after / shape.balance  # the state never shrinks
        if least > most * _ROUNDED:
            return least
    return time


def _tries(time: float, pieces: int, shape: Shape) -> int:
    """Return how many choices may be tried.

    Starting a sweep takes about 5 µs, in which 2^`Shape.start` amplitudes are swept over; trying a choice takes about
    50 µs for each piece of work. So trying takes at most as long as about twenty runs, and small states try nothing.
    """
    runs = time / (1 << shape.start) / max(pieces, 1)
    return int(_PATIENCE * runs)
