"""The forecast of a plan's time: a schedule that leaves out phases and numbers.

What differs from one plan to another are the wires on the lowest index bits of a new state, whether the lowest bits
change from sweep to sweep, and how the state grows. The lowest bits are in every tile, and in a growing state from its
first sweep on. Nothing else about the order of the wires makes a difference to a plan: which wires are the lowest
changes its predicted time by a factor of 0.67 to 1.35 (decision 0006), and no simple rule finds good ones. So some
choices are tried; see `ways`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from qsim_ex.planning.locality import split
from qsim_ex.planning.tiles.schedule import Growth
from qsim_ex.planning.work import Work
from qsim_ex.steps.layout import Shape

_ROUNDED = 1 + 1e-9
"""The error of a sum of times by rounding, so that no choice is discarded that is as good as another."""


def order_of(low: int, num_bits: int) -> tuple[int, ...] | None:
    """Return the order in which the bits of `low` are the lowest: bit b on bit ``to[b]``; None if they are already."""
    if low & low + 1 == 0:
        return None
    order = sorted(range(num_bits), key=lambda bit: (not low >> bit & 1, bit))
    to = [0] * num_bits
    for place, bit in enumerate(order):
        to[bit] = place
    return tuple(to)


def foresee(
    pending: Sequence[Work],
    num_bits: int,
    shape: Shape,
    low: int,
    most: float = inf,
    fresh: int | None = None,
    *,
    floats: bool = False,
    worth: float = 0.0,
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
        work = sum(map(growth.work_of, ready))
        if floats:
            low = growth.low
            growth.float_low(ready, left, tile)
            work += shape.transposed * (growth.low != low)
        arithmetic = work * after / shape.balance
        memory = shape.slowed * ((1 << before) + after) / 2
        time += max(memory, arithmetic) + shape.seen * min(memory, arithmetic) + (1 << shape.start)
        least = time + sum(map(growth.work_of, left)) * after / shape.balance  # the state never shrinks
        if least > most * _ROUNDED:
            return least
    return time
