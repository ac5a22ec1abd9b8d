"""A plan, executed by the definition of its steps, does what its circuit says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import literal_executor as literal
from support.strategies import circuits, layouts, random_unitary, shapes

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Initialize
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import SINGLE
from qsim_ex.steps import Layout, Shape

GPU = Shape(tile=12, registers=4, low=4, edge=4, most_blocks=None, dense=4)


def execute(circuit: Circuit, shape: Shape, start: Layout, psi: np.ndarray, fresh: int = 0) -> np.ndarray:
    """Run a circuit's plan on a state in wire order and return the result in wire order."""
    plan = make_plan(circuit.instructions, circuit.num_qubits, start, shape, fresh)
    return literal.after(plan, circuit, psi)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(circuit=circuits(), shape=shapes(), data=st.data())
def test_plan_equals_definition(circuit: Circuit, shape: Shape, data: st.DataObject) -> None:
    """Any circuit on any machine from any layout gives the state of the definitions."""
    start = data.draw(layouts(circuit.num_qubits))
    psi = reference.zero_state(circuit.num_qubits)
    expected = reference.simulate(circuit, psi)
    found = execute(circuit, shape, start, psi)
    assert np.linalg.norm(found - expected) <= 1e-12


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(circuit=circuits(), shape=shapes(), data=st.data())
def test_growing_plan_equals_definition(circuit: Circuit, shape: Shape, data: st.DataObject) -> None:
    """A state that grows, in memory that held garbage, ends as the definitions say."""
    n = circuit.num_qubits
    start, fresh = data.draw(layouts(n)), data.draw(st.integers(0, (1 << n) - 1))
    psi = np.array([start.index(value) & fresh == 0 for value in range(1 << n)], dtype=np.complex128)
    psi *= np.arange(1, psi.size + 1)
    wires = {w for i in circuit.instructions if isinstance(i, Initialize) for w in i.wires}
    for value in range(psi.size):  # what is initialised must be |0>
        if any(value >> w & 1 for w in wires):
            psi[value] = 0
    psi /= np.linalg.norm(psi) or 1
    expected = reference.simulate(circuit, psi)
    assert np.linalg.norm(execute(circuit, shape, start, psi, fresh) - expected) <= 1e-12


def test_shallow_circuits_grow_late() -> None:
    """GHZ on 28 wires moves less than two passes over the large state."""
    builder = CircuitBuilder(28).gate("h", [0])
    for wire in range(27):
        builder.gate("cx", [wire, wire + 1])
    circuit, shape = builder.build(), replace(GPU, start=20)
    plan = make_plan(circuit.instructions, 28, Layout.identity(28), shape, (1 << 28) - 1)
    assert summary(plan, SINGLE).bytes_moved < 2 * 8 * 2**28


@pytest.mark.parametrize("shape", [GPU, Shape(15, 11, 5, 4, 3, 5), Shape(2, 1, 1, 1, None, 1)])
def test_product_machines(shape: Shape) -> None:
    """The shapes of the real devices, and the smallest one, run a circuit wider than their tiles."""
    rng = np.random.default_rng(5)
    builder = CircuitBuilder(8)
    for _ in range(120):
        a, b = (int(w) for w in rng.choice(8, 2, replace=False))
        builder.gate(str(rng.choice(["h", "t", "sx", "y"])), [a]).gate("cx", [a, b]).gate("rzz", [b, a], rng.random())
    circuit = builder.build()
    psi = reference.zero_state(8)
    assert np.linalg.norm(execute(circuit, shape, Layout.identity(8), psi) - reference.simulate(circuit)) <= 1e-12


def test_a_phase_does_not_overtake_a_matrix() -> None:
    """A matrix that a neighbour was multiplied into still stands between what came before and after it."""
    builder = CircuitBuilder(8).gate("yypow", [7, 0], 0.3, 0.1)
    builder.unitary(random_unitary(4, 3), [0, 3]).gate("rz", [7], 0.7).gate("t", [0])
    circuit = builder.build()
    psi = random_unitary(256, 1)[0]
    found = execute(circuit, GPU, Layout.identity(8), psi)
    assert np.linalg.norm(found - reference.simulate(circuit, psi)) <= 1e-12


def test_an_angle_that_is_all_but_nothing() -> None:
    """A gate within rounding of the identity, whose entries are subnormal numbers, does not overflow."""
    circuit = CircuitBuilder(2).gate("hpow", [0], 1e-311, 0.0).gate("cx", [0, 1]).build()
    psi = reference.zero_state(2)
    assert execute(circuit, GPU, Layout.identity(2), psi) == pytest.approx(reference.simulate(circuit), abs=1e-12)


def test_new_angles_have_the_same_plan() -> None:
    """Circuits that differ in angles alone have equal plans, special angles included."""
    plans = []
    for angle in (0.0, 0.3, np.pi):
        builder = CircuitBuilder(3).gate("rx", [0], angle).gate("cp", [0, 2], angle).gate("rzz", [1, 2], angle)
        plans.append(make_plan(builder.build().instructions, 3, Layout.identity(3), GPU))
    assert plans[0].key == plans[1].key == plans[2].key


def test_swaps_and_flips_cost_nothing() -> None:
    """A circuit of SWAPs, Xs and wire permutations has no step at all; its end layout says where wires went."""
    builder = CircuitBuilder(4).gate("swap", [0, 3]).gate("x", [1]).gate("swap", [1, 2]).gate("x", [0])
    builder.permutation([0, 2, 1, 3], [2, 3])
    circuit = builder.build()
    plan = make_plan(circuit.instructions, 4, Layout.identity(4), GPU)
    assert plan.steps == ()
    assert literal.in_order(reference.zero_state(4), plan.end) == pytest.approx(reference.simulate(circuit))


def test_six_gates_are_one_sweep() -> None:
    """Six one-qubit gates on bits 0, 2, 4, 8, 9, 10 of 12 read and write the state once, not six times."""
    builder = CircuitBuilder(12)
    for wire in (0, 2, 4, 8, 9, 10):
        builder.gate("h", [wire])
    plan = make_plan(builder.build().instructions, 12, Layout.identity(12), GPU)
    assert len(plan.steps) == 1


def test_wide_matrix_is_a_step_of_its_own() -> None:
    """A matrix wider than a register block's registers becomes a step of its own between the sweeps."""
    matrix = np.linalg.qr(np.random.default_rng(0).normal(size=(32, 32)))[0]
    circuit = CircuitBuilder(6).gate("h", [0]).unitary(matrix, [0, 1, 2, 3, 4]).gate("h", [0]).build()
    plan = make_plan(circuit.instructions, 6, Layout.identity(6), GPU)
    assert [type(step).__name__ for step in plan.steps] == ["Sweep", "DenseMatrix", "Sweep"]
    psi = reference.zero_state(6)
    assert np.linalg.norm(execute(circuit, GPU, Layout.identity(6), psi) - reference.simulate(circuit)) <= 1e-12


def test_numbers_of_a_qft_merge_into_few_tables() -> None:
    """The 66 controlled phases of a 12-qubit QFT become a few tables, not 66 multiplications."""
    builder = CircuitBuilder(12)
    for j in reversed(range(12)):
        builder.gate("h", [j])
        for k in reversed(range(j)):
            builder.gate("cp", [k, j], np.pi / 2 ** (j - k))
    plan = make_plan(builder.build().instructions, 12, Layout.identity(12), GPU)
    diagonals = [i for s in plan.sweeps for b in s.register_blocks for i in b.items if type(i).__name__ == "Diagonal"]
    assert len(diagonals) < 66 / 2


def test_two_phases_that_are_looked_up_share_a_table() -> None:
    """Two S of parities, which threads tell, are one factor: each alone would multiply all amplitudes by a number."""
    builder = CircuitBuilder(12)
    for wire in range(12):
        builder.gate("h", [wire])
    for pair in ((0, 7), (3, 11)):
        builder.gate("cx", pair).gate("s", [pair[1]]).gate("cx", pair)
    plan = make_plan(builder.build().instructions, 12, Layout.identity(12), GPU)
    items = [item for sweep in plan.sweeps for block in sweep.register_blocks for item in block.items]
    (phases,) = [item for item in items if type(item).__name__ == "Diagonal"]
    assert len(phases.reads) == 2
