"""What a circuit of Cirq records, by definition: density matrices of all outcomes, followed one operation at a time.

Cirq's own simulators run such circuits once for each repetition, which takes hundreds of times as long as this.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from typing import Any

import cirq
import numpy as np

Bits = tuple[int, ...]
Record = tuple[tuple[str, Bits], ...]
"""The key and the bits of each measurement, in the order of time."""


def distribution(circuit: cirq.Circuit, qubits: Sequence[cirq.Qid]) -> dict[Record, float]:
    """Return the probability of every record that is possible, of a circuit on these qubits from |0…0⟩."""
    size = 1 << len(qubits)
    found: Mapping[Record, Any] = {(): np.diag(np.eye(size, dtype=np.complex128)[0])}
    for op in cirq.unroll_circuit_op(circuit, deep=True, tags_to_check=None).all_operations():
        later: dict[Record, Any] = defaultdict(lambda: np.zeros((size, size), dtype=np.complex128))
        for record, density in found.items():
            for more, part in _after(op, record, density, qubits):
                later[record + more] += part
        found = later
    weights = {record: float(np.trace(density).real) for record, density in found.items()}
    return {record: weight for record, weight in weights.items() if weight > 1e-12}


def assert_from(result: cirq.Result, wanted: Mapping[Record, float]) -> None:
    """Assert that repetitions may come from a distribution: its shapes, nothing impossible, and no count far off."""
    shots = result.repetitions
    for key, found in result.records.items():
        (widths,) = {tuple(len(bits) for name, bits in record if name == key) for record in wanted}
        assert found.shape == (shots, len(widths), widths[0]), key
    rows = [result.records[key].reshape(shots, -1) for key in sorted(result.records)]
    assert_alike(Counter(map(tuple, np.concatenate(rows, axis=1).tolist())), wanted)


def assert_alike(counts: Mapping[Bits, int], wanted: Mapping[Record, float]) -> None:
    """Assert that counts of all bits, in the order of the keys, are within five standard deviations."""
    shots, shares = sum(counts.values()), Counter()
    for record, share in wanted.items():
        shares[tuple(bit for _, bits in sorted(record, key=lambda one: one[0]) for bit in bits)] += share
    assert set(counts) <= set(shares)
    for bits, share in shares.items():
        assert abs(counts.get(bits, 0) - shots * share) <= 5 * np.sqrt(shots * share + 1), bits


def _after(op: cirq.Operation, record: Record, density: Any, qubits: Any) -> Iterator[tuple[Record, Any]]:
    """Yield what an operation adds to a record, and the density matrix after it times the probability of that."""
    if op.classical_controls:
        if not all(control.resolve(_stored(record)) for control in op.classical_controls):
            yield (), density
            return
        op = op.without_classical_controls()
    match op.gate:
        case cirq.MeasurementGate() as gate:
            for actual in product((0, 1), repeat=len(op.qubits)):
                part = _between(cirq.kron(*(np.diag([1 - bit, bit]) for bit in actual)), op.qubits, density, qubits)
                for read, share in _read(gate, actual).items():
                    bits = tuple(bit ^ flip for bit, flip in zip(read, gate.full_invert_mask(), strict=True))
                    yield ((gate.key, bits),), share * part
        case cirq.PauliMeasurementGate() as gate:
            observable = cirq.unitary(gate.observable())
            for bit in (0, 1):
                projection = (np.eye(len(observable)) + (-1) ** bit * observable) / 2
                yield ((gate.key, (bit,)),), _between(projection, op.qubits, density, qubits)
        case _:
            yield (), sum(_between(matrix, op.qubits, density, qubits) for matrix in cirq.kraus(op))


def _stored(record: Record) -> cirq.ClassicalDataDictionaryStore:
    """Return a record as Cirq's conditions read it."""
    store = cirq.ClassicalDataDictionaryStore()
    for key, bits in record:
        store.record_measurement(cirq.MeasurementKey.parse_serialized(key), bits, cirq.LineQubit.range(len(bits)))
    return store


def _read(gate: cirq.MeasurementGate, actual: Bits) -> dict[Bits, float]:
    """Return the probabilities of the bits that are read in place of the actual ones."""
    reads = {actual: 1.0}
    for places, confusion in gate.confusion_map.items():
        row = confusion[reduce(lambda number, place: 2 * number + actual[place], places, 0)]
        more: dict[Bits, float] = defaultdict(float)
        for (read, share), (others, chance) in product(
            reads.items(), zip(product((0, 1), repeat=len(places)), row, strict=True)
        ):
            changed = dict(zip(places, others, strict=True))
            more[tuple(changed.get(place, bit) for place, bit in enumerate(read))] += share * chance
        reads = more
    return reads


def _between(matrix: Any, on: Sequence[cirq.Qid], density: Any, qubits: Sequence[cirq.Qid]) -> Any:
    """Return M ρ M†, for a matrix on some of the qubits."""
    for _ in range(2):  # (M (M ρ)†)† with ρ = ρ†
        target = np.asarray(matrix, dtype=np.complex128).reshape((2,) * 2 * len(on))
        rows = density.reshape((2,) * len(qubits) + (-1,))
        density = cirq.targeted_left_multiply(target, rows, [qubits.index(one) for one in on])
        density = density.reshape(1 << len(qubits), -1).conj().T
    return density
