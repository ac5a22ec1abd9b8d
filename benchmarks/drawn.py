"""Drawn circuits for whole calls: 20 gates a qubit of many kinds, the same for Qiskit and for Cirq."""

from __future__ import annotations

from typing import NamedTuple

import cirq
import numpy as np
from qiskit import QuantumCircuit

GATES_A_QUBIT = 20

ONE = ("h", "x", "s", "t", "sx")
TURNS = ("rx", "ry", "rz")
TWO = ("cx", "cz", "swap")
TWO_TURNS = ("cp", "rzz", "rxx")


class DrawnGate(NamedTuple):
    """A gate: its name in Qiskit, its qubits, its angle (0 for gates without one)."""

    name: str
    qubits: tuple[int, ...]
    angle: float


def drawn(num_qubits: int, seed: int) -> list[DrawnGate]:
    """Return 20 gates a qubit: two fifths on two qubits, half of all with an angle."""
    rng = np.random.default_rng((num_qubits, seed))
    gates = []
    for _ in range(GATES_A_QUBIT * num_qubits):
        two, turned = rng.random() < 0.4, rng.random() < 0.5
        names = (TWO_TURNS if turned else TWO) if two else (TURNS if turned else ONE)
        qubits = tuple(int(q) for q in rng.choice(num_qubits, 1 + two, replace=False))
        angle = float(rng.uniform(-np.pi, np.pi)) if turned else 0.0
        gates.append(DrawnGate(names[int(rng.integers(len(names)))], qubits, angle))
    return gates


def for_qiskit(gates: list[DrawnGate], num_qubits: int) -> QuantumCircuit:
    """Return the circuit with all qubits measured at the end."""
    circuit = QuantumCircuit(num_qubits)
    for gate in gates:
        angle = (gate.angle,) if gate.name in TURNS + TWO_TURNS else ()
        getattr(circuit, gate.name)(*angle, *gate.qubits)
    circuit.measure_all()
    return circuit


def for_cirq(gates: list[DrawnGate], num_qubits: int) -> cirq.Circuit:
    """Return the circuit with all qubits measured at the end; global phases may differ from Qiskit's."""
    line = cirq.LineQubit.range(num_qubits)
    made = [_cirq_gate(gate.name, gate.angle).on(*(line[q] for q in gate.qubits)) for gate in gates]
    return cirq.Circuit(made, cirq.measure(*line, key="end"))


def _cirq_gate(name: str, angle: float) -> cirq.Gate:
    half_turns = angle / np.pi
    match name:
        case "rx":
            return cirq.rx(angle)
        case "ry":
            return cirq.ry(angle)
        case "rz":
            return cirq.rz(angle)
        case "cp":
            return cirq.CZ**half_turns
        case "rzz":
            return cirq.ZZ**half_turns
        case "rxx":
            return cirq.XX**half_turns
        case "sx":
            return cirq.X**0.5
        case _:
            fixed = {"h": cirq.H, "x": cirq.X, "s": cirq.S, "t": cirq.T, "cx": cirq.CNOT, "cz": cirq.CZ}
            return {**fixed, "swap": cirq.SWAP}[name]
