"""Where a circuit is divided: straight-line work takes a short way, which must lead to the same course."""

from __future__ import annotations

import pytest

from qsim_ex.circuit.circuit import Circuit, CircuitBuilder
from qsim_ex.dynamics import course_of


def straight(*, idle_reset: bool) -> Circuit:
    """Operations and then measurements, after a reset of a wire that is |0⟩ anyhow, or without it."""
    builder = CircuitBuilder(3, 3)
    if idle_reset:
        builder.reset([2])
    builder.gate("h", [0]).gate("cx", [0, 1]).permutation([1, 0], [1]).gate("x", [2])
    return builder.measure([0, 1], [2, 0]).measure([], []).measure([2], [0]).build()


@pytest.mark.parametrize("observed", [False, True])
def test_straight_circuits(observed: bool) -> None:
    """Straight-line circuits get other work, measurements or facts than those divided instruction by instruction."""
    short, long = (course_of(straight(idle_reset=reset).structure, observed=observed) for reset in (False, True))
    assert [segment.work for segment in short.segments] == [segment.work for segment in long.segments]
    assert short.measured == long.measured == {2: 0, 0: 2}
    assert (short.labels, short.recorded, short.choices) == (long.labels, long.recorded, long.choices)
    assert (short.has_measurement, short.num_gates, short.dynamic) == (long.has_measurement, long.num_gates, False)


def test_what_goes_on_is_not_straight() -> None:
    """A gate behind a measurement of its wire is taken for straight-line work."""
    builder = CircuitBuilder(2, 2).gate("h", [0]).measure([0], [0]).gate("h", [0])
    assert course_of(builder.build().structure).dynamic
