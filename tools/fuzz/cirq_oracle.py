"""The oracle for circuits of Cirq: a walk over the operations with Cirq's own unitary and Kraus matrices.

Wire k of the oracle is the k-th qubit, and a matrix of Cirq's has its first qubit as the most significant bit. Every
record of a key becomes classical bits in the order in which it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cirq
import numpy as np

from tools.fuzz.oracle import Oracle


class Records:
    """Where the bits of all records stand: key -> for each instance, the classical bit of each qubit."""

    def __init__(self) -> None:
        self.bits: dict[str, list[list[int]]] = {}
        self.count = 0

    def new(self, key: str, size: int) -> list[int]:
        """Classical bits for one more instance of a key."""
        bits = list(range(self.count, self.count + size))
        self.count += size
        self.bits.setdefault(key, []).append(bits)
        return bits


def walk(circuit: cirq.AbstractCircuit, qubits: Sequence[cirq.Qid], oracle: Oracle) -> Records:
    """Apply a circuit's operations to the oracle; returns where the records stand."""
    records, wire_of = Records(), {qubit: k for k, qubit in enumerate(qubits)}
    for operation in circuit.all_operations():
        _step(operation, wire_of, oracle, records)
    return records


def _step(operation: cirq.Operation, wire_of: dict[cirq.Qid, int], oracle: Oracle, records: Records) -> None:
    if isinstance(operation, cirq.CircuitOperation):
        for inner in operation.mapped_circuit(deep=True).all_operations():
            _step(inner, wire_of, oracle, records)
        return
    on = [wire_of[qubit] for qubit in operation.qubits]
    if isinstance(operation, cirq.ClassicallyControlledOperation):
        clbits, values = _condition(operation, records)
        with oracle.condition(clbits, values):
            oracle.unitary(cirq.unitary(operation.without_classical_controls()), on[::-1])
        return
    gate = operation.gate
    if isinstance(gate, cirq.MeasurementGate):
        _measure(gate, on, oracle, records)
    elif isinstance(gate, cirq.PauliMeasurementGate):
        _measure_product(gate, on, oracle, records)
    elif cirq.has_unitary(operation):
        oracle.unitary(cirq.unitary(operation), on[::-1])
    else:
        oracle.channel(np.array(cirq.kraus(operation)), on[::-1])


def _measure(gate: cirq.MeasurementGate, on: list[int], oracle: Oracle, records: Records) -> None:
    """A measurement: the true bits, then confused in groups, then inverted, as Cirq's documentation has it."""
    bits = records.new(cirq.measurement_key_name(gate), len(on))
    oracle.measure(on, bits)
    for group, matrix in gate.confusion_map.items():
        confuse(oracle, [bits[k] for k in reversed(group)], np.asarray(matrix))
    flipped = sum(1 << bit for bit, invert in zip(bits, gate.full_invert_mask(), strict=True) if invert)
    oracle.branches = {value ^ flipped: state for value, state in oracle.branches.items()}


def confuse(oracle: Oracle, clbits: Sequence[int], matrix: Any) -> None:
    """Misread bits that were just written; ``clbits[0]`` is the least significant bit of a row of the matrix."""
    found: dict[int, list[Any]] = {}
    for bits, state in oracle.branches.items():
        true = sum((bits >> bit & 1) << k for k, bit in enumerate(clbits))
        rest = bits & ~sum(1 << bit for bit in clbits)
        for read, weight in enumerate(matrix[true]):
            if weight > 0:
                value = rest | sum((read >> k & 1) << bit for k, bit in enumerate(clbits))
                found.setdefault(value, []).append(np.sqrt(weight) * state)
    oracle.branches = {value: np.concatenate(parts, axis=1) for value, parts in found.items()}


def _measure_product(gate: cirq.PauliMeasurementGate, on: list[int], oracle: Oracle, records: Records) -> None:
    """Project on the eigenvalues of a product of Pauli operators; −1 is recorded as 1."""
    (bit,) = records.new(cirq.measurement_key_name(gate), 1)
    product = cirq.unitary(cirq.DensePauliString(gate.observable()))
    one = np.eye(len(product))
    found: dict[int, Any] = {}
    for bits, state in oracle.branches.items():
        for value, projector in enumerate(((one + product) / 2, (one - product) / 2)):
            branch = Oracle(oracle.wires)
            branch.branches = {0: state}
            kept = branch.unitary(projector, on[::-1]).branches[0]
            if np.vdot(kept, kept).real > 1e-28:
                found[bits | value << bit] = kept
    oracle.branches = found


def _condition(operation: cirq.ClassicallyControlledOperation, records: Records) -> tuple[list[int], list[int]]:
    """The bits of the keys that an operation's conditions read, and the values at which all of them hold."""
    conditions = list(operation.classical_controls)
    keys = sorted({str(key) for condition in conditions for key in condition.keys})
    clbits = [bit for key in keys for instance in records.bits[key] for bit in instance]
    wanted = []
    for value in range(1 << len(clbits)):
        store, at = cirq.ClassicalDataDictionaryStore(), 0
        for key in keys:
            for instance in records.bits[key]:
                digits = [value >> at + k & 1 for k in range(len(instance))]
                at += len(instance)
                store.record_measurement(cirq.MeasurementKey(key), digits, cirq.LineQubit.range(len(digits)))
        if all(condition.resolve(store) for condition in conditions):
            wanted.append(value)
    return clbits, wanted
