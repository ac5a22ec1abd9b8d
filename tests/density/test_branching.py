"""The circuit on density matrices with branches: markers stay, and a measured wire loses its coherences."""

from __future__ import annotations

from qsim_ex import CircuitBuilder, depolarizing
from qsim_ex.circuit.control import End, If, Leave, While
from qsim_ex.circuit.ops import Conditional, Measure, Op, Reset
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.density.branching import doubled_in_branches
from qsim_ex.density.superoperators import patterns_of, places_of


def test_markers_stay_and_all_else_is_on_both_sides() -> None:
    """A gate has its conjugate, a channel and a reset are one operation, and a measurement is of the row wire."""
    builder = CircuitBuilder(1, 1)
    with builder.loop():
        builder.gate("ry", [0], 0.3).channel(depolarizing(0.1), [0]).reset([0]).gate("h", [0]).measure([0], [0])
        with builder.condition([0], [1]):
            builder.gate("x", [0])
        with builder.branch(builder.bits([0])):
            builder.leave()
    circuit = builder.build()
    bound = Bindings.of(circuit.operands)
    patterns = patterns_of(places_of(circuit.structure), bound)
    made = doubled_in_branches(circuit.structure, circuit.operands.shape[1], patterns)
    kinds = [type(one) for one in made.structure.instructions]
    assert kinds == [While, Op, Op, Op, Op, Op, Op, Measure, Op, Conditional, Conditional, If, Leave, End, End]
    assert Reset not in kinds
    named = [one for one in made.structure.instructions if isinstance(one, Op)]
    assert [one.mixes for one in named] == [(0,), (1,), (0, 1), (0, 1), (0,), (1,), ()]
    assert named[-1].reads == (0b11,)  # behind the measurement: row and column must agree
    assert made.size == 2
