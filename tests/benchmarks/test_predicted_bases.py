"""Predicted times of a circuit in the bases of machines."""

from __future__ import annotations

from qiskit import QuantumCircuit

from benchmarks.predicted_bases import PLACES, row


def test_a_basis_is_left_out_where_it_is_not_exact() -> None:
    """A circuit has a time as it is written and in each basis; in Clifford gates and T only without other angles."""
    place, wires = PLACES["cpu"]
    circuit = QuantumCircuit(wires)
    circuit.h(0)
    circuit.t(0)
    for wire in range(1, wires):
        circuit.cx(wire - 1, wire)
    found = dict(row(circuit, place(), ["cz", "t"], [0, 1], zeros=True))
    assert [*found] == ["as", "cz 0", "cz 1", "t 0", "t 1"]
    assert all(time.ms > 0 for time in found.values())
    circuit.rz(0.3, 2)
    assert [*dict(row(circuit, place(), ["cz", "t"], [1], zeros=True))] == ["as", "cz 1"]
