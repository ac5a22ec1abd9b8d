"""In which order manners are compared: what others have taken bounds the plan of one, and some are not looked at."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from qsim_ex import thresholds
from qsim_ex.planning.written.out import Manner, WritingLimits

_READ, _FORMS, _LIKE_FORMS = (
    (Manner.BETWEEN, Manner.CLUSTERS),
    (Manner.LOCAL, Manner.GROWN),
    (Manner.MOVES, Manner.BACK),
)
"""Those of what is read, those of the form, and those that write it nearly alike."""

_NEAR = {Manner.MOVES: 1.5, Manner.BACK: 1.2}
"""How many times the least a form may take so that others that are nearly alike may take less than all. Of 1,300
circuits and bases on a CPU five would take less than 0.97 of the time in one that is left out (0.83 to 0.96)."""

_RUNS = 10
"""The runs for which writing in a manner may make up: all so far have taken as long as comparing. Of 518 circuits and
bases of 0.25 to 8 ms on a GPU three take 0.21 to 0.77 of the time that they would with one; comparing takes as long."""

Found = TypeVar("Found")


def wanted(seconds: float) -> float:
    """Return the seconds below which something has to stay in place of what takes some seconds."""
    return thresholds.now.written_percent / 100 * seconds


def writing_limits(rotations: int, seconds: float) -> WritingLimits:
    """Return the limits of what is written where manners are compared; seconds: what a run as it came takes."""
    return WritingLimits(rotations, int(1e6 * _RUNS * seconds))


def in_manners(
    begin: Callable[[Manner, float], Callable[[], Found | None]], seconds: Callable[[Found], float], least: float
) -> list[Found]:
    """Return what is found in all manners that may be the fastest.

    begin: begins to look in a manner for what takes less than some seconds, and returns how to ask for it. seconds:
    returns those of something, infinitely many if it is not to be taken. least: those which anything has to be below.
    """
    every, near = list[Found](), math.inf
    for manners in _READ, _FORMS, _LIKE_FORMS:
        most = max(_NEAR.values()) * least if manners is _FORMS else least
        begun = [begin(manner, most) for manner in manners if near <= _NEAR.get(manner, math.inf) * least]
        found = [one for ask in begun if (one := ask()) is not None]
        near = min(map(seconds, found), default=math.inf)
        least = min(least, near)
        every += found
    return every
