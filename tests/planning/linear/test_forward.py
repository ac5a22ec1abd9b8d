"""Where a state that is there lies between sweeps, from a plain layout to a plain one."""

from __future__ import annotations

import numpy as np
import pytest
from planning.linear.test_ends import drawn

from qsim_ex.planning.linear.forward import cleared, moved, walked
from qsim_ex.planning.linear.goals import uncovered
from qsim_ex.planning.linear.growth import TileVisit
from qsim_ex.steps.algebra import Map, Span, image, inverse, kernel, units

SIZE, TILE, LOW = 14, 6, 2


def visits_to(
    rng: np.random.Generator, directions: Map, count: int, *, stays: bool
) -> tuple[list[TileVisit], list[int]]:
    """Tiles that share their lanes and lead to the ends of all bits, and the bits that are lowest in the end."""
    visits: list[TileVisit] = []
    lanes, covered, lowest = list(units(range(LOW))), Span(), list[int]()
    while len(visits) < count or uncovered(directions, covered, stays=stays) or not lowest:
        near = Span(lanes)
        if len(visits) >= count:
            for direction in uncovered(directions, covered, stays=stays):
                if len(near) < TILE:
                    near.add(direction)
            for direction in directions[:LOW]:
                if len(near) < TILE:
                    near.add(direction)
        while len(near) < TILE:
            near.add(int(rng.integers(1, 1 << SIZE)))
        visits.append(TileVisit(tuple(near.vectors), tuple(lanes), (), units(range(SIZE))))
        covered = Span([*covered.vectors, *near.vectors])
        lowest = list(range(LOW)) if all(direction in near for direction in directions[:LOW]) else []
        lanes = [near.vectors[k] for k in rng.permutation(TILE)[:LOW]]
    return visits, lowest


@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("changes", [0, 2, 50])
def test_walks(changes: int, stays: bool) -> None:
    """A walk begins plain and ends at the goals; each sweep adds directions of its tile, and has its lanes lowest."""
    rng = np.random.default_rng(changes)
    added = 0
    for count in (1, 2, 3, 6):
        directions = drawn(rng, SIZE, changes)
        given, lowest = visits_to(rng, directions, count, stays=stays)
        walk = walked(given, directions, lowest, TILE, stays=stays)
        assert walk.layouts[0] == units(range(SIZE))
        assert walk.layouts[-1] == tuple(directions[bit] for bit in walk.bits)
        assert sorted(walk.bits) == list(range(SIZE))
        assert walk.bits == list(range(SIZE)) or not stays
        assert walk.visits[: len(given)] == given
        added += len(walk.visits) - len(given)
        for number, visit in enumerate(walk.visits):
            before, behind = walk.layouts[number : number + 2]
            assert before[:LOW] == visit.lanes
            assert len(Span(behind)) == SIZE
            assert all(one ^ other in Span(visit.tile) for one, other in zip(before, behind, strict=True))
    assert added <= 6


def test_a_move_within_one_tile() -> None:
    """What a tile can do alone it does: then nothing is missing of what lies in it."""
    rng = np.random.default_rng(3)
    for changes in (1, 5, 60):
        now, goals = drawn(rng, SIZE, 30), drawn(rng, SIZE, changes)
        lanes = now[:LOW]
        goals = (*lanes, *[goal for goal in goals if goal not in lanes])[:SIZE]
        if len(Span(goals)) < SIZE:
            continue
        missing = [one ^ other for one, other in zip(now, goals, strict=True)]
        tile = Span([*lanes, *Span(missing).vectors[: TILE - LOW]])
        behind = moved(tile.vectors, lanes, Span(), now, goals)
        for name in kernel([tile.reduced(vector)[0] for vector in missing]):
            assert image(behind, name) == image(goals, name)


def test_lanes_are_cleared() -> None:
    """The directions that are asked for have no part on the lowest bits; others change by lanes alone."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        now = drawn(rng, SIZE, 60)
        wanted = [int(rng.integers(1, 1 << SIZE)) for _ in range(TILE - LOW)]
        if len(Span([*now[:LOW], *wanted])) < TILE:
            continue
        after = cleared(wanted, LOW, now)
        lanes = Span(now[:LOW])
        assert after[:LOW] == now[:LOW]
        assert all(one ^ other in lanes for one, other in zip(now, after, strict=True))
        assert all(not image(inverse(after), direction) & (1 << LOW) - 1 for direction in wanted)
