"""Pairs of rotations on two bits, which runs of work become, keep every phase and every sign."""

from __future__ import annotations

from math import pi

from planning.test_drawn_plans import does_what_it_says

from qsim_ex import CircuitBuilder, thresholds
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps.layout import Layout, Shape

SHAPE = Shape(
    tile=5, registers=5, low=2, edge=0, most_blocks=3, dense=3, table=10, thin=0, item_work=0.0, start=1, balance=4.0
)


def test_a_sign_that_no_phase_tells_is_kept() -> None:
    """Of a matrix [a, b; −b, −a] the products of entries are those of [a, b; b, a], and the sign between them stays."""
    with thresholds.instead(quarter_wires=0, run_work=8):
        builder = CircuitBuilder(num_qubits=2)
        builder.gate("cx", [0, 1]).gate("s", [1]).gate("h", [1]).gate("sx", [0]).gate("cx", [0, 1])
        builder.gate("rz", [1], 2.0).gate("cx", [0, 1]).gate("rz", [1], -pi / 2)
        circuit = builder.gate("sx", [0]).gate("sx", [1]).gate("cx", [0, 1]).build()
        plan = make_plan(circuit.instructions, 2, Layout.identity(2), SHAPE, 0)
    assert does_what_it_says(plan, circuit, 0)
