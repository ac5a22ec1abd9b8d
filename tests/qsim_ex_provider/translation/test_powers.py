"""Inverses and powers that modifiers ask for are those of the gates that an operation is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit.circuit import AnnotatedOperation, InverseModifier, PowerModifier, QuantumCircuit
from qiskit.circuit.library import GraphStateGate, PauliEvolutionGate, TGate
from qiskit.quantum_info import Operator, SparsePauliOp

from qsim_ex import reference
from qsim_ex_provider.translation.circuits import translate

EVOLUTION = PauliEvolutionGate(SparsePauliOp(["XX", "ZI", "YX"], [1, 0.5, 0.3]), 0.7)


def matrix_of(circuit: QuantumCircuit) -> np.ndarray:
    """The matrix of the translated circuit, by definition."""
    made, columns = translate(circuit), np.eye(1 << circuit.num_qubits, dtype=np.complex128)
    return np.array([reference.simulate(made, column) for column in columns]).T


def within(gate: Any) -> QuantumCircuit:
    """A circuit of a gate and one more, which do not commute."""
    circuit = QuantumCircuit(gate.num_qubits)
    circuit.append(TGate(), [0])
    circuit.append(gate, circuit.qubits)
    return circuit


CASES = {
    "evolution": (EVOLUTION, EVOLUTION.definition),
    "evolution within a gate": (within(EVOLUTION).to_gate(), within(EVOLUTION.definition.to_gate())),
    "controlled": (within(EVOLUTION).to_gate().control(1, ctrl_state=0, annotated=False),
                   within(EVOLUTION.definition.to_gate()).control(1, ctrl_state=0, annotated=False)),
    "annotated": (within(EVOLUTION).to_gate().control(1, annotated=True),
                  within(EVOLUTION.definition.to_gate()).control(1, annotated=False)),
    "graph state": (within(GraphStateGate([[0, 1], [1, 0]])).to_gate(), within(GraphStateGate([[0, 1], [1, 0]]))),
}  # fmt: skip
"""Operations whose parts have inverses of their own in Qiskit, or none; and the same as gates that have not."""

MODIFIERS: list[tuple[Any, int]] = [
    (InverseModifier(), -1),
    (PowerModifier(-2), -2),
    (PowerModifier(3), 3),
    (PowerModifier(9), 9),
]


@pytest.mark.parametrize(("modifier", "power"), MODIFIERS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_powers_of_product_formulas(name: str, modifier: Any, power: int) -> None:
    """A modified evolution has the power of its formula's matrix, where Qiskit's own inverse is another formula."""
    operation, gates = CASES[name]
    circuit = QuantumCircuit(operation.num_qubits)
    circuit.append(AnnotatedOperation(operation, [modifier]), circuit.qubits)
    expected = np.linalg.matrix_power(Operator(gates).data, power)
    np.testing.assert_allclose(matrix_of(circuit), expected, atol=1e-12)


def test_a_half_of_a_product_formula_is_half_of_its_gates() -> None:
    """Half of an evolution, twice, is the evolution by its formula."""
    circuit = QuantumCircuit(2)
    for _ in range(2):
        circuit.append(AnnotatedOperation(EVOLUTION, [PowerModifier(0.5)]), [0, 1])
    np.testing.assert_allclose(matrix_of(circuit), Operator(EVOLUTION.definition).data, atol=1e-12)
