"""Stages with far parities: all work in its order, no direction that changes a far parity, bits of the end at last."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.planning.linear.frame import framed
from qsim_ex.planning.rewrite.absorb import absorb
from qsim_ex.planning.stages.far_parities import FarParities, follows
from qsim_ex.steps import Layout, Shape
from qsim_ex.steps.algebra import Span, units

WIRES = 7
TINY = Shape(tile=4, near=2, low=1, edge=0, phases=None, dense=2)


@settings(max_examples=100, deadline=None)
@given(
    gates=st.lists(st.tuples(st.sampled_from(["cx"] * 5 + ["h", "ry", "rz", "cp"]), st.permutations(range(WIRES)))),
    count=st.integers(1, 3),
    full=st.booleans(),
)
def test_stages(gates: list[tuple[str, list[int]]], count: int, full: bool) -> None:
    """Each piece runs once, behind those that it does not commute with, and leaves all far parities as they are."""
    builder = CircuitBuilder(WIRES)
    for name, on in gates:
        builder.gate(name, on[: 1 if name in ("h", "ry", "rz") else 2], *([0.3] if name in ("ry", "rz", "cp") else []))
    work, _ = absorb(builder.build().instructions, Layout.identity(WIRES), TINY)
    given_frame = framed(work, WIRES)
    assert given_frame is not None
    pieces, end = given_frame
    first = units(range(1, WIRES))
    stages = FarParities(work, pieces, end, count, new=not full).stages(12, first)
    if stages is None:
        return
    done = [number for stage in stages for number in stage.pieces]
    assert sorted(done) == list(range(len(pieces)))
    place = {number: k for k, number in enumerate(done)}
    for late in done:
        for early in range(late):
            crosses = [
                (d & p).bit_count() & 1
                for one, other in ((early, late), (late, early))
                for d in pieces[one].directions
                for p in pieces[other].parities
            ]
            assert not any(crosses) or place[early] < place[late]
    for stage in stages:
        assert len(Span(stage.far)) == count
        assert not any((d & p).bit_count() & 1 for n in stage.pieces for d in pieces[n].directions for p in stage.far)
    assert set(stages[-1].far) <= set(end.parities)
    assert not full or set(stages[0].far) <= set(first)
    assert all(follows(one.far, other.far) for one, other in pairwise(stages))


def test_what_can_be_far_next() -> None:
    """The same parities or independent ones, but no sum of those that are far: a CX would have to act among these."""
    assert follows((1, 2), (1, 4))
    assert follows((1, 2), (4, 8))
    assert not follows((1, 2), (3, 4))
    assert not follows((1, 2), (4, 7))


def test_first_stages_that_are_given() -> None:
    """Where the far bits of the start are given, work that mixes them waits for the next stage."""
    builder = CircuitBuilder(3)
    for wire in range(3):
        builder.gate("h", [wire])
    work, _ = absorb(builder.build().instructions, Layout.identity(3), TINY)
    found = framed(work, 3)
    assert found is not None
    search = FarParities(work, *found, 1, new=False)
    stages = search.stages(2, units([2]), forced=True)
    assert stages is not None
    assert [set(stage.pieces) for stage in stages] == [{0, 1}, {2}]
    assert stages[0].far == (4,)
    assert search.stages(1, units([2]), forced=True) is None
