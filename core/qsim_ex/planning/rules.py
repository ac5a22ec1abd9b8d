"""The rules of planning that may be left out: `Shape.left_out` names some, core/native/planner/rules.hpp has them all.

Without a rule plans take longer, but do the same. Tests leave out one rule after another, and compare the state that a
plan makes with its definition.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from qsim_ex.errors import OptionError
from qsim_ex.native.library import function, integers


@lru_cache(maxsize=1)
def rules() -> tuple[str, ...]:
    """Return the names of all rules, in the order of native code."""
    function("plan_rules")(out := integers(2))
    at, length = out
    return tuple(ctypes.string_at(at, length).decode().split())


def mask_of_rules(names: Iterable[str]) -> int:
    """Return some rules as native code takes them; raises `OptionError` for a name that is none."""
    mask, known = 0, rules()
    for name in names:
        if name not in known:
            raise OptionError(f"expected rules of planning, got {name!r}; choose from {', '.join(known)}.")
        mask |= 1 << known.index(name)
    return mask


TRIES = 4
"""The most choices of the lowest bits that are tried: 4 gained 3.5 % of the predicted time, 8 gained 3.7 % (102
circuits, 16 to 28 bits).
"""


class Promise(NamedTuple):
    """When a plan in a CNOT frame is tried, and what it has to save so that it is taken.

    cx_ratio: one is tried from this multiple of `Shape.cx_ratio` (or `cx_ratio_there`) on: 1, and 0 in tests.
    piece: the planner's time for a piece of work (ten diagonals count as one), in units of a sweep over
        2^`Shape.start` amplitudes (about 5 µs). Planning may take half of the time that such a plan can save.
    gain: the share of the predicted time that the plan may take. Of 110 circuits of 20 and 21 wires the ratio of two
        plans' times was measured to be off the predicted one by a factor of 1.2 (the standard deviation).
    """

    cx_ratio: float
    piece: float
    gain: float


PROMISE = Promise(cx_ratio=1.0, piece=2.0, gain=0.85)
ANY_PROMISE = Promise(cx_ratio=0.0, piece=0.0, gain=float("inf"))
"""For tests: wherever there is a plan in a CNOT frame, it is taken."""

PARITIES = -1
"""When a plan has far parities: −1 where that is faster, 0 never, to see what they gain. In tests, another number takes
every such plan of at most so many stages.
"""
