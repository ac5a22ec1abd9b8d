"""A circuit is cut where states are saved, and refused where this version would be wrong."""

from __future__ import annotations

import pytest

from qsim_ex.circuit.circuit import CircuitBuilder
from qsim_ex.errors import NotSupported
from qsim_ex.program import divide


def test_segments_and_measurements() -> None:
    """Work lands in the wrong segment, or a classical bit is given another wire."""
    builder = CircuitBuilder(3, 4).gate("h", [0]).save("a").save("b").gate("cx", [0, 1]).measure([0, 1], [3, 0])
    program = divide(builder.gate("x", [2]).measure([2], [0]).build())
    assert [(len(s.work), s.label) for s in program.segments] == [(1, "a"), (0, "b"), (2, None)]
    assert program.measured == {3: 0, 0: 2}
    assert program.labels == ("a", "b")
    assert program.touched == 0b111


def test_no_segment_for_nothing() -> None:
    """A circuit that ends in a saved state is given a further pass, or an empty one has none at all."""
    assert len(divide(CircuitBuilder(1).gate("h", [0]).save().build()).segments) == 1
    assert len(divide(CircuitBuilder(1).build()).segments) == 1
    assert not divide(CircuitBuilder(1).build()).has_measurement


@pytest.mark.parametrize("gate", [("cz", [0, 1]), ("rz", [1], 0.3), ("cx", [1, 2]), ("x", [1])])
def test_nothing_may_follow_a_measurement(gate: tuple) -> None:
    """A gate that mixes, reads or is controlled by a measured wire is run as if it came before."""
    name, wires, *parameters = gate
    builder = CircuitBuilder(3, 1).gate("h", [1]).measure([1], [0]).gate(name, wires, *parameters)
    with pytest.raises(NotSupported, match=rf"measurement in the middle of a circuit.*\({name}\) acts on wire 1"):
        divide(builder.build())


def test_other_wires_may_go_on() -> None:
    """Gates on wires that nobody has measured are refused."""
    builder = CircuitBuilder(3, 1).measure([1], [0]).gate("cx", [0, 2]).global_phase(0.3)
    assert len(divide(builder.build()).segments[0].work) == 2
