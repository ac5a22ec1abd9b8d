"""The rest of a plan, planned anew for a state that is divided otherwise, ends in the state of the whole plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from planning.linear.test_schedule import CPU, drawn
from planning.stages.test_staging import SHAPES, divisions, planned
from support import literal_executor as literal
from support.strategies import circuits

from qsim_ex import reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.errors import NotSupported
from qsim_ex.planning import compiled
from qsim_ex.planning.cut import cut
from qsim_ex.planning.planner import bind
from qsim_ex.planning.resumed import operands_of, resumed
from qsim_ex.planning.verify import verify
from qsim_ex.steps import Layout, Levels, Plan


def by_parts(plan: Plan, operands: np.ndarray, buffer: np.ndarray, begin: int, end: int) -> np.ndarray:
    """The amplitudes after some parts of a plan."""
    for part in cut(plan)[begin:end]:
        buffer = literal.run(part, bind(part, operands), buffer, whole=False)
    return buffer


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(circuit=circuits(min_qubits=3, max_qubits=7, max_gates=30), data=st.data())
def test_a_plan_continues_on_other_levels(circuit: Circuit, data: st.DataObject) -> None:
    """A new state is stopped after any part of a plan, and again after any part of the rest, and ends as defined."""
    n, shape = circuit.num_qubits, data.draw(st.sampled_from([*SHAPES, replace(SHAPES[0], floats=True)]))
    fresh = (1 << n) - 1
    psi = np.zeros(1 << n, dtype=np.complex128)
    psi[0] = 1
    each = [data.draw(st.one_of(st.just(Levels(n)), divisions(n))) for _ in range(3)]
    plan = planned(circuit, Layout.identity(n), each[0], shape, fresh, place=True)
    operands, buffer = circuit.operands, literal.stored(psi, plan.start)
    for levels in each[1:]:
        parts = data.draw(st.integers(0, len(cut(plan))), label="parts")
        buffer = by_parts(plan, operands, buffer, 0, parts)
        operands = operands_of(plan, operands)
        try:
            plan = resumed(plan, parts, levels, shape)
        except NotSupported:  # an operation that is wider than a sub state vector
            reject()
        verify(plan)
    buffer = by_parts(plan, operands, buffer, 0, len(cut(plan)))
    found = literal.in_order(buffer, plan.end)
    assert np.allclose(found, reference.simulate(circuit), rtol=0, atol=1e-12)


def test_a_plan_over_subspaces_continues_on_other_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped between sweeps whose layouts are linear maps, a run goes on wherever index bits are divided otherwise."""
    monkeypatch.setattr(compiled, "PROMISE", compiled.ANY_PROMISE)
    shape = replace(CPU, tile=5, near=5)
    for seed in range(6):
        circuit, n = drawn(seed, 8, 40), 8
        plan = planned(circuit, Layout.identity(n), Levels(n), shape, (1 << n) - 1, place=True)
        assert plan.made_from[-1] == "linear"
        for parts in range(len(cut(plan)) + 1):
            buffer = by_parts(plan, circuit.operands, np.eye(1, 1 << n, dtype=np.complex128)[0], 0, parts)
            for levels in (Levels(n), Levels(n - 1, 1), Levels(n - 2), Levels(n - 2, 1)):
                rest = resumed(plan, parts, levels, shape)
                verify(rest)
                after = by_parts(rest, operands_of(plan, circuit.operands), buffer.copy(), 0, len(cut(rest)))
                found = literal.in_order(after, rest.end)
                assert np.allclose(found, reference.simulate(circuit), rtol=0, atol=1e-12), (seed, parts, levels)
