"""Tests of the order in which manners are compared, and of which are left out."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import itemgetter

import pytest

from qsim_ex.planning.written.out import Manner, WritingLimits
from qsim_ex.run.manners import in_manners, writing_limits

READ, FORMS = [Manner.BETWEEN, Manner.CLUSTERS], [Manner.LOCAL, Manner.GROWN]
LIKE_FORMS = [Manner.MOVES, Manner.BACK]


def asked(times: dict[Manner, float], least: float) -> tuple[list[Manner], list[Manner]]:
    """Return which manners are begun, and which are found; of other times than those given nothing is found."""
    begun = list[Manner]()

    def begin(manner: Manner, most: float) -> Callable[[], tuple[float, Manner] | None]:
        begun.append(manner)
        return lambda: (times[manner], manner) if times.get(manner, math.inf) < most else None

    return begun, [manner for _, manner in in_manners(begin, itemgetter(0), least)]


@pytest.mark.parametrize(("seconds", "others"), [(1.0, 2), (2.3, 2), (2.5, 1), (2.9, 1), (3.1, 0), (math.inf, 0)])
def test_what_is_nearly_like_a_form_is_looked_at_where_a_form_is_near(seconds: float, others: int) -> None:
    """MOVES is begun only where LOCAL or GROWN takes 1.5 times the least so far or less, BACK where it is 1.2 times."""
    begun, _ = asked({Manner.BETWEEN: 2.0, Manner.LOCAL: seconds, Manner.BACK: 0.5}, 10.0)
    assert begun == READ + FORMS + LIKE_FORMS[:others]


def test_writing_may_take_as_long_as_ten_runs() -> None:
    """A circuit that comes again has paid for comparing: a frame may change ten times as often as in one run."""
    assert writing_limits(7, 2.5e-3) == WritingLimits(7, 25_000)


def test_the_least_so_far_bounds_what_comes_next() -> None:
    """What takes longer than something before it is not found, and nothing that takes longer than all may."""
    times = {Manner.CLUSTERS: 3.0, Manner.BETWEEN: 9.0, Manner.GROWN: 3.4, Manner.BACK: 3.2, Manner.MOVES: 2.9}
    assert asked(times, 8.0) == (READ + FORMS + LIKE_FORMS, [Manner.CLUSTERS, Manner.GROWN, Manner.MOVES])
    assert asked(times, 1.0) == (READ + FORMS, [])
