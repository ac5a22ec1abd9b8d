"""The ways in which a plan is made: of several the one is kept whose steps take least time.

Forecasts choose which ways are worth a plan. First the usual one: phases weigh what they take alone, and the state
grows for a pass's arithmetic. Then, if a run takes long enough, ways in which phases weigh what they take in a table
and the state grows for other amounts of arithmetic. A forecast sees sweeps, but neither phases nor blocks: forecasts
within 2 % belong to plans that are 10 % apart. So the best few are made to the end and compared (decision 0036). A
circuit full of CX is planned over subspaces before that, in `linear_worths`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import inf

from qsim_ex.planning.compiled import lows
from qsim_ex.planning.ordering import foresee
from qsim_ex.planning.work import Work
from qsim_ex.steps.layout import Shape

_PATIENCE = 2.0
"""How much of the time of a run may be spent on trying; see `_runs`."""

_MORE, _MOST = 14.0, 24
"""How much of it may be spent on other ways, where plans are compared, and at most as much as so many forecasts take: a
GPU interprets first runs, and compiles their kernels beside the planner."""

_LOOKED_AT = 4096
"""The pieces of work by which choices are compared: a state has grown by then, and trying takes bounded time. Of more
work one plan is made."""

_WORTHS = (0.7, 0.98, 0.35)
"""The amounts of arithmetic for which a state grows that are tried, see `Growth`."""

_WIDER = 6
"""Other ways are tried for states of so many bits more than `Shape.start`: 26 on a GPU. On 24 other ways gain 0.3 % in
the mean of 39 circuits, and 5 % at most, and make first runs longer."""

_KEPT, _TURNED = 2, 1
"""Of the other ways so many are made to the end, and so many tried with lowest bits that do the other thing."""

_NEAR = 1.15
"""A way is made to the end if it is foreseen to take at most so many times the least."""

_MADE = 4
"""Making a plan to the end takes about as long as so many forecasts."""


@dataclass(frozen=True, slots=True)
class PlanWay:
    """A way to make a plan.

    low: mask of the bits that are the lowest in the beginning: as many as `Shape.low`, or `Shape.fewer`.
    floats: whether the lowest bits change from sweep to sweep. worth: see `Growth`.
    """

    low: int
    floats: bool = False
    worth: float = 0.0


def linear_worths(shape: Shape) -> tuple[float, ...]:
    """Return the amounts of arithmetic for which a state grows in plans over subspaces, the most promising first."""
    return (0.35, 0.15) if shape.counted else (0.7, 0.35, 1.0)


class Ways:
    """The ways in which a plan for some work should be made.

    The same work always has the same ways: plans have names, and kernels are stored under them.
    new: whether wires of this new state may be put on other bits. usual: the way of a plan that stands alone.
    """

    def __init__(self, work: Sequence[Work], num_bits: int, shape: Shape, fresh: int, *, new: bool) -> None:
        self._work, self._num_bits, self._shape, self._fresh = work[:_LOOKED_AT], num_bits, shape, fresh
        self._whole = len(work) <= _LOOKED_AT
        self._compares = shape.counted > 0 and num_bits >= shape.start + _WIDER
        self._first = (1 << shape.low) - 1
        grows = new and shape.tile < num_bits
        self._lows = lows(num_bits, shape.low) if grows else ()
        self._narrow_lows = lows(num_bits, shape.fewer) if grows else ()
        self._may_float = shape.floats and shape.start <= num_bits > shape.tile
        self.usual, self._turned = PlanWay(self._first), PlanWay(self._first, floats=True)
        self._least = self._turned_time = inf
        if self._work and (self._lows or self._may_float):
            self._choose_low()
            self._choose_floating()

    def others(self) -> list[PlanWay]:
        """Return other ways that are worth a plan, which is then compared with the usual one."""
        if self._least == inf or not (self._compares and self._whole):
            return []
        more = int(min(self._runs(self._least) * _MORE, _MOST))
        room = more // (2 * _MADE)  # half is spent on forecasts
        found = self._others(self.usual.low, more // 2 if room else 0)
        if self._turned_time <= _NEAR * self._least:
            found.append(self._turned)
        return found[:room]

    def _choose_low(self) -> None:
        """Choose the lowest bits of the usual way."""
        self._least = self._time(self.usual)
        for low in self._lows[: int(self._runs(self._least) * _PATIENCE)]:
            time = self._time(PlanWay(low), self._least)
            if time < self._least:
                self.usual, self._least = PlanWay(low), time

    def _choose_floating(self) -> None:
        """Let the lowest bits of the usual way change if that is foreseen to take less time."""
        self._turned = replace(self.usual, floats=True)
        if self._may_float and self._runs(self._least) * _PATIENCE >= 1:
            bound = _NEAR * self._least if self._compares else self._least
            self._turned_time = self._time(self._turned, bound)
        if self._turned_time < self._least:
            self.usual, self._turned = self._turned, self.usual
            self._least, self._turned_time = self._turned_time, self._least

    def _others(self, low: int, most: int) -> list[PlanWay]:
        """Return the best of at most so many other ways that are tried. low: the bits that are tried first."""
        if self._shape.tile >= self._num_bits or not most:
            return []
        times: list[tuple[float, int, PlanWay]] = []

        def add(way: PlanWay) -> None:
            bound = sorted(times)[_KEPT - 1][0] if len(times) >= _KEPT else inf
            time = self._time(way, bound)
            if not any(time == other and replace(way, worth=one.worth) == one for other, _, one in times):
                times.append((time, len(times), way))  # else the state grows as it does with that amount

        for way in self._tried(low)[:most]:
            add(way)
        if self._may_float:
            for _, _, way in sorted(times)[: min(_TURNED, most // 4)]:
                add(replace(way, floats=not way.floats))
        return [way for time, _, way in sorted(times)[:_KEPT] if time <= _NEAR * min(times)[0]]

    def _tried(self, low: int) -> list[PlanWay]:
        """Return the other ways to try, the most promising first: in turns with all lowest bits and with fewer."""
        worths = _WORTHS if self._fresh else ()
        wide = self._with((low, self._first, *self._lows), worths)
        narrow: list[PlanWay] = []
        if self._shape.fewer:
            narrow = self._with(((1 << self._shape.fewer) - 1, *self._narrow_lows), worths or (0.0,))
        pairs = zip_longest(wide, narrow)
        return [way for pair in pairs for way in pair if way]

    def _with(self, choices: Iterable[int], worths: Iterable[float]) -> list[PlanWay]:
        return [PlanWay(low, self._may_float, worth) for low in dict.fromkeys(choices) for worth in worths]

    def _time(self, way: PlanWay, most: float = inf) -> float:
        shape = self._shape if way.low.bit_count() == self._shape.low else self._shape.narrow()
        given = self._work, self._num_bits, shape, way.low, most, self._fresh
        return foresee(*given, floats=way.floats, worth=way.worth)

    def _runs(self, time: float) -> float:
        """Return how long a run takes, in the time in which a choice is tried in Python.

        Starting a sweep takes about 5 µs, in which 2^`Shape.start` amplitudes are swept over; trying a choice takes
        about 50 µs for each piece of work in Python, 0.1 to 0.2 µs in native code. Small states try nothing.
        """
        return time / (1 << self._shape.start) / len(self._work)
