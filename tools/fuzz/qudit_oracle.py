"""The oracle for circuits of qudits: a density matrix for every record, by Cirq's own Kraus matrices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from typing import Any

import cirq
import numpy as np
from numpy.typing import NDArray

Record = tuple[tuple[str, tuple[int, ...]], ...]
"""What was measured, in order: each key with the digits of its qids."""

DIGIT = 3
"""How many bits a digit takes in the number of a record."""


def walk(circuit: cirq.AbstractCircuit, qids: Sequence[cirq.Qid]) -> dict[Record, NDArray[np.complex128]]:
    """The unnormalised density matrix of every record, as a tensor whose axes of rows come first."""
    shape = tuple(qid.dimension for qid in qids)
    start = np.zeros(shape * 2, dtype=np.complex128)
    start[(0,) * len(start.shape)] = 1
    axis_of = {qid: axis for axis, qid in enumerate(qids)}
    branches: dict[Record, NDArray[np.complex128]] = {(): start}
    for op in circuit.all_operations():
        on = [axis_of[qid] for qid in op.qubits]
        gate = op.gate
        if isinstance(gate, cirq.MeasurementGate):
            branches = _measured(branches, gate, on)
        elif isinstance(op, cirq.ClassicallyControlledOperation):
            bare = op.without_classical_controls()
            conditions = op.classical_controls
            branches = {
                record: _applied(bare, rho, on) if _hold(conditions, record, circuit) else rho
                for record, rho in branches.items()
            }
        else:
            branches = {record: _applied(op, rho, on) for record, rho in branches.items()}
    return branches


def _applied(op: cirq.Operation, rho: NDArray[np.complex128], on: Sequence[int]) -> NDArray[np.complex128]:
    half, shape = rho.ndim // 2, [rho.shape[axis] for axis in on]
    total = np.zeros_like(rho)
    for matrix in cirq.kraus(op):
        tensor = np.asarray(matrix, dtype=np.complex128).reshape(shape * 2)
        left = cirq.targeted_left_multiply(tensor, rho, on)
        total += cirq.targeted_left_multiply(tensor.conj(), left, [half + axis for axis in on])
    return total


def _measured(branches: dict[Record, Any], gate: cirq.MeasurementGate, on: Sequence[int]) -> dict[Record, Any]:
    """Projections on all digits, which are confused in groups and then inverted, as Cirq's simulators do."""
    found: dict[Record, Any] = defaultdict(lambda: 0)
    key = cirq.measurement_key_name(gate)
    for record, rho in branches.items():
        half, shape = rho.ndim // 2, [rho.shape[axis] for axis in on]
        for digits in product(*map(range, shape)):
            at: list[Any] = [slice(None)] * rho.ndim
            for axis, digit in zip(on, digits, strict=True):
                at[axis] = at[half + axis] = digit
            kept = np.zeros_like(rho)
            kept[tuple(at)] = rho[tuple(at)]
            for read, weight in _confused(gate, digits, shape):
                told = tuple(
                    digit ^ (digit < 2 and invert) for digit, invert in zip(read, gate.full_invert_mask(), strict=True)
                )
                found[*record, (key, told)] += weight * kept
    return {record: rho for record, rho in found.items() if weight_of(rho) > 1e-14}


def _confused(
    gate: cirq.MeasurementGate, digits: tuple[int, ...], shape: Sequence[int]
) -> list[tuple[tuple[int, ...], float]]:
    reads = [(digits, 1.0)]
    for group, matrix in gate.confusion_map.items():
        base, after = [shape[k] for k in group], []
        for read, weight in reads:
            row = np.asarray(matrix)[cirq.big_endian_digits_to_int([read[k] for k in group], base=base)]
            for value, p in enumerate(row):
                told = list(read)
                for k, digit in zip(group, cirq.big_endian_int_to_digits(value, base=base), strict=True):
                    told[k] = digit
                after.append((tuple(told), weight * float(p)))
        reads = after
    return reads


def _hold(conditions: Any, record: Record, circuit: cirq.AbstractCircuit) -> bool:
    store = cirq.ClassicalDataDictionaryStore()
    gates = {cirq.measurement_key_name(op): op for op in circuit.all_operations() if cirq.is_measurement(op)}
    for key, digits in record:
        store.record_measurement(cirq.MeasurementKey(key), digits, gates[key].qubits)
    return all(condition.resolve(store) for condition in conditions)


def weight_of(rho: NDArray[np.complex128]) -> float:
    """The probability of a branch."""
    size = int(np.sqrt(rho.size))
    return float(np.trace(rho.reshape(size, size)).real)


def number_of(record: Record) -> int:
    """A record as a number, the first digit lowest."""
    digits = [digit for _, told in record for digit in told]
    return sum(digit << DIGIT * k for k, digit in enumerate(digits))


def distribution(circuit: cirq.AbstractCircuit, qids: Sequence[cirq.Qid]) -> dict[Record, float]:
    """The probability of every record that is possible."""
    return {record: weight_of(rho) for record, rho in walk(circuit, qids).items()}
