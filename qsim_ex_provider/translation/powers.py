"""Inverses and powers of operations, which modifiers ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import qiskit.circuit.library as qiskit_library
from qiskit.circuit import AnnotatedOperation, Barrier, ControlledGate, Delay, Gate, Instruction, QuantumCircuit
from qiskit.circuit.library import GraphStateGate, PauliEvolutionGate, UnitaryGate
from qiskit.quantum_info import Clifford, Operator

from qsim_ex.errors import NotSupported
from qsim_ex_provider.translation.matrices import sum_gates

REPEATED = 4
"""The largest whole exponent for which an operation is repeated, so that its structure stays."""

MULTIPLIED = 8
"""The most qubits of an operation whose matrix is raised to a larger power, by repeated squaring."""

_BY_DEFINITION = (PauliEvolutionGate, GraphStateGate)
"""Classes whose inverse is not that of their definition: another product formula, or an error."""


_WEIGHTED_SUM = getattr(qiskit_library, "WeightedSumGate", ())
"""Qiskit's sum of weighted bits, if it has it."""


def power_of(operation: Any, power: float) -> Any:
    """Return a power of an operation: repetitions for a small whole exponent, for a large one the power of its matrix.

    For an exponent that is not whole it is Qiskit's own power. All are those of the gates that the operation is, as
    Qiskit's transpiler has it: an evolution by a product formula is not the inverse of that by the opposite time.
    Raises `NotSupported` for an operation that is not made of gates.
    """
    if isinstance(operation, AnnotatedOperation):
        return operation.power(power)
    if isinstance(operation, Clifford):
        operation = operation.to_instruction()
    if isinstance(operation, Instruction) and not isinstance(operation, Gate):
        operation = _as_gate(operation)
    if not 0 <= power <= REPEATED or power != int(power):
        operation = _by_its_gates(operation)
    if isinstance(operation, AnnotatedOperation) or power != int(power):
        return operation.power(power)
    if abs(power) > REPEATED and operation.num_qubits <= MULTIPLIED and not _has_unbound(operation):
        return UnitaryGate(np.linalg.matrix_power(np.array(Operator(operation)), int(power)))
    if power < 0:
        operation = operation.inverse()
    circuit = QuantumCircuit(operation.num_qubits, name=f"{operation.name}^{int(power)}")
    for _ in range(abs(int(power))):
        circuit.append(operation, circuit.qubits)
    return circuit.to_gate()


def _as_gate(operation: Instruction) -> Gate:
    """Return an instruction that is made of gates, or that only waits, as a gate."""
    if isinstance(operation, Barrier | Delay):
        return QuantumCircuit(operation.num_qubits, name=operation.name).to_gate()
    if operation.definition is None or operation.num_clbits:
        raise NotSupported(
            f"expected an operation made of gates to invert or to raise to a power, got {operation.name!r}; append it "
            "without the modifier."
        )
    circuit = operation.definition.copy_empty_like()
    for item in operation.definition:
        inner = item.operation
        plain = isinstance(inner, Instruction) and not isinstance(inner, Gate)
        circuit.append(_as_gate(inner) if plain else inner, item.qubits)
    return circuit.to_gate()


def _by_its_gates(operation: Any) -> Any:
    """Return an operation in which gates by definition stand for those whose own inverse is another one."""
    if isinstance(operation, _WEIGHTED_SUM):
        return sum_gates(operation).to_gate()
    if isinstance(operation, _BY_DEFINITION):
        return operation.definition.to_gate()
    if isinstance(operation, AnnotatedOperation):
        base = _by_its_gates(operation.base_op)
        return operation if base is operation.base_op else AnnotatedOperation(base, operation.modifiers)
    if isinstance(operation, ControlledGate):
        base = _by_its_gates(operation.base_gate)
        if base is operation.base_gate:
            return operation
        return base.control(operation.num_ctrl_qubits, ctrl_state=operation.ctrl_state, annotated=True)
    if type(operation) not in (Gate, Instruction) or operation.definition is None:
        return operation
    gates = [_by_its_gates(item.operation) for item in operation.definition]
    if all(gate is item.operation for gate, item in zip(gates, operation.definition, strict=True)):
        return operation
    circuit = operation.definition.copy_empty_like()
    for gate, item in zip(gates, operation.definition, strict=True):
        circuit.append(gate, item.qubits, item.clbits)
    return circuit.to_gate()


def _has_unbound(operation: Any) -> bool:
    """Return whether an operation has a parameter that is no number yet."""
    return any(getattr(parameter, "parameters", None) for parameter in operation.params)
