"""Plans of operations that are not unitary: the matrix that was chosen of a channel."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from literal import run
from strategies import circuits, layouts, shapes

from qsim_ex import reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import ALWAYS, Entry, Op
from qsim_ex.planning.planner import bind, make_plan
from qsim_ex.steps import Shape

PATTERNS = {  # what channels are made of: anything, a damping, a projection, a reset
    "anything": [Entry.COMPLEX] * 4,
    "damping": [Entry.COMPLEX, Entry.COMPLEX, Entry.ZERO, Entry.COMPLEX],
    "projection": [Entry.REAL, Entry.ZERO, Entry.ZERO, Entry.REAL],
    "reset": [Entry.REAL, Entry.REAL, Entry.ZERO, Entry.ZERO],
    "flip": [Entry.ZERO, Entry.COMPLEX, Entry.COMPLEX, Entry.ZERO],
}


@st.composite
def disturbed(draw: st.DrawFn) -> Circuit:
    """A circuit with operations in it that are not unitary, projections onto one value among them."""
    circuit = draw(circuits().filter(lambda drawn: drawn.num_qubits > 0))
    instructions, operands = list(circuit.instructions), [*circuit.operands[0]]
    first = max((k + 1 for k, i in enumerate(instructions) if type(i).__name__ == "Initialize"), default=0)
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    for _ in range(draw(st.integers(1, 6))):
        pair = circuit.num_qubits > 1 and draw(st.booleans())
        wires = tuple(draw(st.permutations(range(circuit.num_qubits)))[: 1 + pair])
        kind = [Entry.COMPLEX] * 16 if pair else PATTERNS[draw(st.sampled_from(sorted(PATTERNS)))]
        entries = rng.normal(size=len(kind)) + 1j * rng.normal(size=len(kind))
        if Entry.REAL in kind:
            entries[[entry == Entry.REAL for entry in kind]] = draw(st.permutations([0, 1.25]))
        entries[[entry == Entry.ZERO for entry in kind]] = 0
        op = Op(wires, (), ALWAYS, bytes(kind), len(operands), "kraus", unitary=False)
        operands += list(entries)
        instructions.insert(draw(st.integers(first, len(instructions))), op)
    return Circuit(circuit.num_qubits, circuit.num_clbits, tuple(instructions), np.array([operands]))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(circuit=disturbed(), shape=shapes(), data=st.data())
def test_any_matrix_is_applied_as_it_is(circuit: Circuit, shape: Shape, data: st.DataObject) -> None:
    """A matrix that is not unitary is taken for a rotation, a table of phases or a relabelling."""
    start = data.draw(layouts(circuit.num_qubits))
    expected = reference.simulate(circuit)
    buffer = np.zeros(1 << circuit.num_qubits, dtype=np.complex128)
    buffer[start.index(0)] = 1
    plan = make_plan(circuit.instructions, circuit.num_qubits, start, shape)
    found = run(plan, bind(plan, circuit.operands), buffer)[[plan.end.index(value) for value in range(buffer.size)]]
    assert np.linalg.norm(found - expected) <= 1e-12 * max(1, np.linalg.norm(expected))
