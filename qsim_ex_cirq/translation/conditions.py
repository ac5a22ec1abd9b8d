"""Cirq's controls: values of control qubits, and conditions on measured keys as values of classical bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import cirq

from qsim_ex.errors import MeasurementError, NotSupported
from qsim_ex.frameworks import check
from qsim_ex_cirq.translation.measurements import MeasuredKey, PendingMeasurements

Condition = tuple[tuple[int, ...], tuple[int, ...]]
"""Classical bits, the first one least significant, and the values of them at which a condition holds."""


def condition_of(condition: cirq.Condition, pending: PendingMeasurements) -> Condition:
    """Return the classical bits that a condition looks at, which are measured now, and where it holds.

    Cirq's own condition is asked for every value of the bits. Raises `MeasurementError` for a key that was not measured
    before, and `NotSupported` for too many bits.
    """
    index = getattr(condition, "index", -1)
    reads = {key: _read(str(key), index, pending) for key in dict.fromkeys(condition.keys)}
    clbits = tuple(clbit for read in reads.values() for clbit in read.clbits)
    if len(clbits) > check.CONDITION_BITS:
        most = check.CONDITION_BITS
        raise NotSupported(f"expected a classical control on at most {most} measured qubits, got one on {len(clbits)}.")
    return clbits, tuple(value for value in range(1 << len(clbits)) if _holds(condition, reads, index, value))


def _read(key: str, index: int, pending: PendingMeasurements) -> MeasuredKey:
    read = pending.now(key, index)
    if read is None:
        raise MeasurementError(
            f"Measurement key {key} missing when testing classical control; measure it before what it controls."
        )
    return read


def _holds(condition: cirq.Condition, reads: dict[Any, MeasuredKey], index: int, value: int) -> bool:
    """Return whether a condition holds where the classical bits of all keys together have a value."""
    store = cirq.ClassicalDataDictionaryStore()
    for key, read in reads.items():
        digits = [(value >> k & 1) ^ invert for k, invert in enumerate(read.invert)]
        value >>= len(digits)
        if read.is_choice:
            number = int("".join(map(str, digits)) or "0", 2)
            for instance in range(read.instances):
                store.record_channel_measurement(key, number if instance == index % read.instances else 0)
            continue
        qubits = cirq.LineQubit.range(len(digits))
        for instance in range(read.instances):
            mine = instance == index % read.instances
            store.record_measurement(key, digits if mine else [0] * len(digits), qubits)
    return bool(condition.resolve(store))


def nested(conditions: Sequence[cirq.Condition], pending: PendingMeasurements) -> list[Condition]:
    """Return conditions that must all hold; those that always do are left out."""
    found = [condition_of(condition, pending) for condition in conditions]
    return [(clbits, values) for clbits, values in found if len(values) < 1 << len(clbits)]


def conjunctions(
    wires: tuple[int, ...], values: cirq.ops.AbstractControlValues
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield the controls and control values of each term; the terms exclude each other, so they commute."""
    if isinstance(values, cirq.ProductOfSums):
        free = [k for k, allowed in enumerate(values) if len(allowed) == 2]
        terms: Any = [[min(allowed) for allowed in values]]
    else:
        free, terms = [], values.expand()
    kept = [k for k in range(len(wires)) if k not in free]
    for term in terms:
        yield tuple(wires[k] for k in kept), tuple(term[k] for k in kept)
