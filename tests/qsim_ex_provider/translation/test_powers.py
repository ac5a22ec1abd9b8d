"""Inverses and powers that modifiers ask for are those of the gates that an operation is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit.circuit import (
    AnnotatedOperation,
    Barrier,
    ControlModifier,
    Delay,
    IfElseOp,
    Instruction,
    InverseModifier,
    Measure,
    PowerModifier,
    QuantumCircuit,
    Reset,
)
from qiskit.circuit.library import (
    DiagonalGate,
    GraphStateGate,
    Initialize,
    Isometry,
    PauliEvolutionGate,
    TGate,
    WeightedSumGate,
)
from qiskit.quantum_info import Operator, SparsePauliOp

from qsim_ex import reference
from qsim_ex.errors import NotSupported
from qsim_ex_provider.translation.circuits import translate

EVOLUTION = PauliEvolutionGate(SparsePauliOp(["XX", "ZI", "YX"], [1, 0.5, 0.3]), 0.7)


def matrix_of(circuit: QuantumCircuit) -> np.ndarray:
    """The matrix of the translated circuit, by definition."""
    made, columns = translate(circuit), np.eye(1 << circuit.num_qubits, dtype=np.complex128)
    return np.array([reference.simulate(made, column) for column in columns]).T


def test_a_gate_is_known_by_its_class_and_not_by_its_name() -> None:
    """A gate of somebody's own that is called as Qiskit's weighted sum is inverted by its own definition."""
    own = QuantumCircuit(1, name="WeightedSum")
    own.append(TGate(), [0])
    inverse = AnnotatedOperation(own.to_gate(), [InverseModifier()])
    assert np.allclose(matrix_of(within(inverse)), np.eye(2))


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
    "isometry": (Isometry([0.6, 0.8], 0, 0), Isometry([0.6, 0.8], 0, 0).definition.decompose()),
    "instruction of gates": (within(TGate()).to_instruction(), within(TGate())),
    "diagonal": (DiagonalGate([1, 1j, -1, 1]), np.diag([1, 1j, -1, 1])),
    "waits": (Delay(3), np.eye(2)),
    "barrier": (Barrier(2), np.eye(4)),
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


def test_an_inverse_as_a_class() -> None:
    """Qiskit's annotated inverse of a diagonal names the modifier by its class, and is the inverse."""
    entries = np.exp(1j * np.arange(4))
    circuit = QuantumCircuit(2)
    circuit.append(DiagonalGate(entries.tolist()).inverse(annotated=True), [0, 1])
    np.testing.assert_allclose(matrix_of(circuit), np.diag(entries.conj()), atol=1e-12)


@pytest.mark.parametrize("weights", [[1, 1], [3, 1], [0, 2], [1, 2, 3], [4]], ids=str)
@pytest.mark.parametrize(
    "modifier", [None, InverseModifier(), PowerModifier(3), PowerModifier(11), PowerModifier(-2)], ids=str
)
def test_weighted_sums_are_added(weights: list[int], modifier: Any) -> None:
    """A weighted sum, which has no definition, adds the weights of qubits that are 1, and subtracts them inverted."""
    gate = WeightedSumGate(len(weights), weights)
    circuit = QuantumCircuit(gate.num_qubits)
    circuit.append(gate if modifier is None else AnnotatedOperation(gate, [modifier]), circuit.qubits)
    factor = {None: 1, InverseModifier: -1}.get(modifier if modifier is None else type(modifier))
    factor = int(modifier.power) if factor is None else factor
    expected = np.zeros((1 << gate.num_qubits,) * 2)
    for value in range(1 << gate.num_qubits):
        state, total = value & (1 << len(weights)) - 1, value >> len(weights)
        total += factor * sum(weight for k, weight in enumerate(weights) if state >> k & 1)
        expected[state | total % (1 << gate.num_sum_qubits) << len(weights), value] = 1
    np.testing.assert_allclose(matrix_of(circuit), expected, atol=1e-10)


def _if_else() -> Instruction:
    inner = QuantumCircuit(1, 1)
    inner.append(IfElseOp((inner.clbits[0], 0), QuantumCircuit(1), None), [0])
    found = Instruction("conditional", 1, 1, [])
    found.definition = inner
    return found


NO_GATES = {
    "reset": Reset(),
    "measure": Measure(),
    "initialize": Initialize([0.6, 0.8]),
    "within": within(TGate()).compose(Initialize(1)).to_instruction(),
    "control flow": _if_else(),
}


@pytest.mark.parametrize("modifier", [*(one for one, _ in MODIFIERS), PowerModifier(0.5)], ids=str)
@pytest.mark.parametrize("name", NO_GATES)
def test_what_is_no_gate_has_no_powers(name: str, modifier: Any) -> None:
    """An inverse or a power of what measures or resets is refused, and the error says what to do."""
    operation = NO_GATES[name]
    circuit = QuantumCircuit(1, 1)
    circuit.append(AnnotatedOperation(operation, [modifier]), [0], [0] * operation.num_clbits)
    with pytest.raises(NotSupported, match="expected an operation made of gates to invert"):
        translate(circuit)


@pytest.mark.parametrize("name", NO_GATES)
def test_what_is_no_gate_has_no_controls(name: str) -> None:
    """A controlled measurement, reset, initialisation or block is refused, and not done whatever its control is."""
    operation = NO_GATES[name]
    circuit = QuantumCircuit(2, 1)
    circuit.append(AnnotatedOperation(operation, [ControlModifier(1)]), [0, 1], [0] * operation.num_clbits)
    with pytest.raises(NotSupported, match="expected gates alone in a controlled operation, got"):
        translate(circuit)
