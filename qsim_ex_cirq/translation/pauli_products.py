"""Measurements of products of Pauli operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import cirq

from qsim_ex_cirq.translation.place import Place

if TYPE_CHECKING:
    from qsim_ex_cirq.translation.translator import Translator


def measure(to: Translator, op: cirq.Operation, place: Place) -> None:
    """Measure a product of Pauli operators: turn it onto one qubit, read that one, and turn back when need be."""
    parts = list(cirq.decompose_once(op))
    reads = next(k for k, part in enumerate(parts) if isinstance(part.gate, cirq.MeasurementGate))
    wires = [to.wires(part.qubits) for part in parts]
    for part, on in zip(parts[:reads], wires, strict=False):
        to.unitary(part, Place(to.builder, on))
    to.pending.read(cast(cirq.MeasurementGate, parts[reads].gate), wires[reads])
    to.turn_back_later(place.wires, parts[reads + 1 :])
