"""Aer as the oracle of states that take too long by definitions: one thread, no fusion, double precision.

Aer is given by name what it has kernels for, and everything else as the matrix of its definition. Where a state
differs from Aer's, `by_definition` says which of the two is wrong: slowly, and without Aer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import cirq
import numpy as np
from qiskit.circuit import QuantumCircuit
from qiskit.circuit.library import UnitaryGate, get_standard_gate_name_mapping
from qiskit_aer import AerSimulator

from tools.fuzz.numbers import Matrix
from tools.fuzz.oracle import Oracle
from tools.fuzz.qiskit_oracle import matrix_of


@lru_cache(maxsize=1)
def _aer() -> tuple[AerSimulator, frozenset[str]]:
    """The simulator, and the standard gates of Qiskit that it has kernels for."""
    simulator = AerSimulator(method="statevector", fusion_enable=False, max_parallel_threads=1)
    return simulator, frozenset(get_standard_gate_name_mapping()) & frozenset(simulator.target.operation_names)


def states(circuits: Sequence[QuantumCircuit]) -> list[Matrix]:
    """The states at the end of circuits without parameters."""
    result = _aer()[0].run([_known(circuit) for circuit in circuits]).result()
    if not result.success:
        raise RuntimeError(f"Aer: {result.status}")
    return [np.asarray(result.data(k)["statevector"]) for k in range(len(circuits))]


def by_definition(circuit: QuantumCircuit) -> Matrix:
    """The state at the end of a circuit by the matrices of its gates."""
    oracle = Oracle(circuit.num_qubits)
    oracle.global_phase(float(circuit.global_phase))
    for operation, on in _gates(circuit):
        oracle.unitary(matrix_of(operation), on)
    return oracle.vector()


def state_of_cirq(circuit: cirq.Circuit, qubits: Sequence[cirq.Qid]) -> Matrix:
    """The state at the end of a circuit of Cirq, whose first qubit is the most significant bit."""
    place = {qubit: len(qubits) - 1 - k for k, qubit in enumerate(qubits)}
    found = QuantumCircuit(len(qubits))
    for operation in circuit.all_operations():
        _append(found, cirq.unitary(operation), [place[qubit] for qubit in reversed(operation.qubits)])
    return states([found])[0]


def _gates(circuit: QuantumCircuit) -> list[tuple[Any, list[int]]]:
    """The gates of a circuit with the numbers of their qubits."""
    return [
        (item.operation, [circuit.find_bit(qubit).index for qubit in item.qubits])
        for item in circuit.data
        if item.operation.name != "barrier"
    ]


def _known(circuit: QuantumCircuit) -> QuantumCircuit:
    """The circuit as Aer is given it."""
    found = QuantumCircuit(circuit.num_qubits, global_phase=circuit.global_phase)
    for operation, on in _gates(circuit):
        if operation.name in _aer()[1]:
            found.append(operation, on, copy=False)
        else:
            _append(found, matrix_of(operation), on)
    found.save_statevector()
    return found


def _append(circuit: QuantumCircuit, matrix: Matrix, on: Sequence[int]) -> None:
    """Append a matrix, or a global phase if it has no qubits."""
    if not on:
        circuit.global_phase += float(np.angle(matrix[0, 0]))
    elif len(on) == 1 and matrix[1, 1] == 1 and not matrix[0, 1] and not matrix[1, 0]:  # Aer takes diag(i, 1) for S
        circuit.x(on[0])
        circuit.append(UnitaryGate(np.diag([1, matrix[0, 0]]), check_input=False), on, copy=False)
        circuit.x(on[0])
    else:
        circuit.append(UnitaryGate(np.ascontiguousarray(matrix), check_input=False), on, copy=False)
