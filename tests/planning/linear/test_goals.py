"""Which bit of the work each index bit becomes, and what tiles lack for that."""

from __future__ import annotations

import numpy as np
from planning.linear.test_ends import drawn

from qsim_ex.planning.linear.goals import matched, uncovered
from qsim_ex.steps.algebra import Span, units


def test_the_nearest_goals() -> None:
    """Equal directions are matched first, then those that differ within the first space, then within the next ones."""
    goals = (0b1000, 0b0100, 0b0010, 0b0001)
    assert matched(goals[::-1], goals, ()) == [3, 2, 1, 0]
    spaces = [Span([0b1100]), Span([0b1100, 0b0011])]
    assert matched([0b0001, 0b0100, 0b1100, 0b0111], [0b0010, 0b1011, 0b1000, 0b0000], spaces) == [0, 2, 3, 1]


def test_each_goal_is_taken_once() -> None:
    """Whatever the directions are, each has a goal of its own."""
    rng = np.random.default_rng(0)
    for changes in (0, 3, 40):
        now, goals = drawn(rng, 10, changes), drawn(rng, 10, changes)
        assert sorted(matched(now, goals, [Span(now[:4])])) == list(range(10))


def test_what_tiles_lack() -> None:
    """With what is lacking, tiles cover all ways; a layout that only exchanges bits lacks nothing unless they stay."""
    rng = np.random.default_rng(1)
    for changes in (1, 5, 60):
        directions = drawn(rng, 12, changes)
        for stays in (False, True):
            tiles = Span(units(range(4)))
            for direction in uncovered(directions, tiles, stays=stays):
                tiles.add(direction)
            assert uncovered(directions, tiles, stays=stays) == []
    exchanged = units([1, 0, 2, 4, 3])
    assert uncovered(exchanged, Span(), stays=False) == []
    assert len(uncovered(exchanged, Span(), stays=True)) == 2
