"""Plans of operations that are not unitary: the chosen matrix of a channel."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import literal_executor as literal
from support.strategies import disturbed, layouts, shapes

from qsim_ex import reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Shape


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(circuit=disturbed(), shape=shapes(), data=st.data())
def test_any_matrix_is_applied_as_it_is(circuit: Circuit, shape: Shape, data: st.DataObject) -> None:
    """A matrix that is not unitary is applied as it is."""
    start = data.draw(layouts(circuit.num_qubits))
    expected = reference.simulate(circuit)
    plan = make_plan(circuit.instructions, circuit.num_qubits, start, shape)
    found = literal.after(plan, circuit, reference.zero_state(circuit.num_qubits))
    assert np.linalg.norm(found - expected) <= 1e-12 * max(1, np.linalg.norm(expected))
