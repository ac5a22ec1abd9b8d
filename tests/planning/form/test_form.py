"""Tests of the form of a circuit: that it is the circuit, global phase and all, and the same in every basis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import strategies
from support.forms import apply_form

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.gates import GATES
from qsim_ex.planning.form import Form, form_of


def distance(circuit: Circuit, form: Form) -> float:
    """Return how far a form is from its circuit on a random state."""
    rng = np.random.default_rng(1)
    psi = rng.normal(size=1 << circuit.num_qubits) + 1j * rng.normal(size=1 << circuit.num_qubits)
    psi /= np.linalg.norm(psi)
    return float(np.abs(apply_form(psi, form, circuit) - reference.simulate(circuit, psi)).max())


@pytest.mark.parametrize("name", sorted(GATES))
def test_the_form_of_a_gate_is_the_gate(name: str) -> None:
    """Each gate of the table, behind turns and with drawn angles, has a form that does the same, phase included."""
    rng = np.random.default_rng(2)
    gate = GATES[name]
    builder = CircuitBuilder(gate.qubits + 1)
    for _ in range(2):
        builder.gate(name, tuple(rng.permutation(gate.qubits + 1)[: gate.qubits].tolist()), *rng.uniform(-7, 7, len(gate.parameters)))
        builder.gate("u", (0,), 0.3, 0.4, 0.5)
    circuit = builder.build()
    assert distance(circuit, form_of(circuit)) < 1e-12


@settings(max_examples=200)
@given(strategies.circuits().filter(lambda circuit: circuit.structure.only_gates))
def test_the_form_of_a_drawn_circuit_is_the_circuit(circuit: Circuit) -> None:
    """Drawn gates, matrices and permutations under drawn controls have a form that does the same."""
    assert distance(circuit, form_of(circuit)) < 1e-11
