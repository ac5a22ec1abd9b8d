"""Which ways of making a plan are found worth it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.engine import circuit_of
from benchmarks.held_out import FAMILIES
from qsim_ex.planning import ways as search
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.ordering import foresee
from qsim_ex.planning.rewrite.absorb import absorb
from qsim_ex.planning.rewrite.fuse import fuse
from qsim_ex.planning.rewrite.rotate import rotate
from qsim_ex.planning.ways import PlanWay, Ways
from qsim_ex.planning.work import Work
from qsim_ex.steps import Layout, Shape

N = 18
EVERY = (1 << N) - 1
GPU = Shape(
    tile=8, near=4, low=3, edge=3, phases=None, dense=4, start=6, floats=True, seen=0.2, counted=72.0, exchanged=8.0
)
"""A small GPU: a run of 18 wires takes long beside a launch."""


def work_of(family: str) -> list[Work]:
    """The work of a family of circuits."""
    instructions, program = circuit_of(FAMILIES[family](N), N).instructions, NumberProgram(100_000)
    work, _ = absorb(instructions, Layout.identity(N), GPU)
    return rotate(fuse(work, program), program)


def ways(work: list[Work], num_bits: int, shape: Shape, fresh: int, *, new: bool) -> list[PlanWay]:
    """All ways that are found, the usual one first."""
    found = Ways(work, num_bits, shape, fresh, new=new)
    return [found.usual, *found.others()]


@pytest.mark.parametrize("family", ["qft", "su2", "grid", "iqp"])
def test_the_usual_way_comes_first(family: str) -> None:
    """The first way is the one that is taken where plans are not compared; others differ in phases or floating."""
    work = work_of(family)
    alone = ways(work, N, replace(GPU, counted=0.0), EVERY, new=True)
    found = ways(work, N, GPU, EVERY, new=True)
    assert alone == found[:1]
    assert not found[0].worth
    assert 1 < len(found) <= 5
    assert len(set(found)) == len(found)
    for way in found[1:]:
        assert way.worth or way == replace(found[0], floats=not found[0].floats)


def test_other_ways_are_near_the_best_of_their_forecasts() -> None:
    """What is made to the end is foreseen to take at most 1.15 times the least that was foreseen."""
    work = work_of("qft")
    others = [way for way in ways(work, N, GPU, EVERY, new=True) if way.worth]
    times = [foresee(work, N, GPU, way.low, fresh=EVERY, floats=way.floats, worth=way.worth) for way in others]
    assert times == sorted(times)
    assert times[-1] <= 1.15 * times[0]


def test_short_runs_have_one_way() -> None:
    """Where a run takes less time than other ways would, only the usual one is found."""
    assert ways(work_of("qft"), N, replace(GPU, start=N), EVERY, new=True) == [PlanWay(0b111)]


def test_a_full_state_does_not_grow() -> None:
    """Of a full state the lowest bits may float or stay; there is no growth to choose, and no order of new bits."""
    assert not any(way.worth for way in ways(work_of("grid"), N, GPU, 0, new=False))


def test_fewer_lowest_bits_are_tried_where_they_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ways with fewer lowest bits stand among the others, of full states too, and only where a shape allows them."""
    monkeypatch.setattr(search, "_KEPT", 6)
    monkeypatch.setattr(search, "_MOST", 80)
    narrow = replace(GPU, fewer=2)
    for fresh in (0, EVERY):
        found = ways(work_of("iqp"), N, narrow, fresh, new=bool(fresh))
        assert {way.low.bit_count() for way in found} == {2, 3}
        assert {way.low.bit_count() for way in ways(work_of("iqp"), N, GPU, fresh, new=bool(fresh))} == {3}


def test_nothing_to_do_has_one_way() -> None:
    """Without work there is one way, and so there is where a tile holds the state."""
    assert ways([], N, GPU, EVERY, new=True) == [PlanWay(0b111)]
    assert ways(work_of("qft"), N, replace(GPU, tile=N), EVERY, new=True) == [PlanWay(0b111)]
