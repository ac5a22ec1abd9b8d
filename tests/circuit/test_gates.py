"""The gate table: every row against its own definition and Qiskit's; tools/house finds columns without a reader."""

from __future__ import annotations

import numpy as np
import pytest
from qiskit.circuit.library import get_standard_gate_name_mapping

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.gate import Gate
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.ops import Entry, Known, letters
from qsim_ex.circuit.placed_gate import placed_gate

ROWS = [pytest.param(gate, id=name) for name, gate in GATES.items()]


def parameters(gate: Gate, seed: int = 0) -> list[float]:
    """Angles that no formula treats specially."""
    return list(np.random.default_rng(seed).uniform(0.2, 3.0, len(gate.parameters)))


def matrix(name: str, angles: list[float]) -> np.ndarray:
    """The gate on all basis states, by the reference simulator; argument 0 least significant."""
    n = GATES[name].qubits
    circuit = CircuitBuilder(n).gate(name, range(n), *angles).build()
    return np.array([reference.simulate(circuit, column) for column in np.eye(1 << n)]).T


@pytest.mark.parametrize("gate", ROWS)
def test_unitary(gate: Gate) -> None:
    """The matrix of every row is unitary."""
    made = matrix(gate.name, parameters(gate))
    assert made.conj().T @ made == pytest.approx(np.eye(len(made)), abs=1e-14)


@pytest.mark.parametrize("gate", ROWS)
def test_pattern_holds(gate: Gate) -> None:
    """For any angles the entries are what the pattern says of them, and they fill its shape."""
    angles = np.array([parameters(gate, seed) for seed in range(5)]).reshape(5, -1)
    entries = gate.entries(angles)
    assert entries.shape == (5, len(gate.pattern))
    assert len(gate.pattern) == 1 << (2 * len(gate.mixes) + len(gate.reads)), letters(gate.pattern)
    root = np.sqrt(0.5)
    exact = {Entry.ZERO: 0, Entry.ONE: 1, Entry.MINUS_ONE: -1, Known.I: 1j, Known.MINUS_I: -1j, Known.ROOT: root}
    exact |= {Known.MINUS_ROOT: -root, Known.I_ROOT: 1j * root, Known.MINUS_I_ROOT: -1j * root}
    exact |= {Known.EIGHTH: root * (1 + 1j), Known.MINUS_EIGHTH: root * (1 - 1j)}
    exact |= {Known.THREE_EIGHTHS: root * (-1 + 1j), Known.MINUS_THREE_EIGHTHS: root * (-1 - 1j)}
    for column, kind in zip(entries.T, gate.pattern, strict=True):
        match kind:
            case Entry.REAL:
                assert (column.imag == 0).all()
            case Entry.IMAG:
                assert np.abs(column.real).max() < 1e-15
            case Entry.COMPLEX:
                pass
            case known:
                assert (column == exact[known]).all()


@pytest.mark.parametrize("gate", [row for row in ROWS if row.values[0].factors])
def test_factors(gate: Gate) -> None:
    """The product of a gate's factors is the matrix that its own row defines."""
    angles = parameters(gate)
    builder = CircuitBuilder(gate.qubits)
    builder._put(placed_gate(gate.name, tuple(range(gate.qubits)), gate.qubits, whole=True), tuple(angles))
    whole = builder.build()
    expected = np.array([reference.simulate(whole, column) for column in np.eye(1 << gate.qubits)]).T
    assert matrix(gate.name, angles) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("gate", [row for row in ROWS if row.values[0].of])
def test_controls(gate: Gate) -> None:
    """A row that is another one with controls acts as the other where its first arguments are 1, and nowhere else."""
    angles = parameters(gate)
    builder = CircuitBuilder(gate.qubits)
    builder.gate(gate.of, range(gate.controls, gate.qubits), *angles, controls=range(gate.controls))
    circuit = builder.build()
    expected = np.array([reference.simulate(circuit, column) for column in np.eye(1 << gate.qubits)]).T
    assert matrix(gate.name, angles) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("gate", [row for row in ROWS if row.values[0].qiskit])
def test_matches_qiskit(gate: Gate) -> None:
    """A row's matrix is that of the Qiskit gate which it names."""
    angles = parameters(gate)
    theirs = get_standard_gate_name_mapping()[gate.qiskit].base_class(*angles).to_matrix()
    assert matrix(gate.name, angles) == pytest.approx(theirs, abs=1e-14)


def test_every_standard_gate_of_qiskit_is_a_row() -> None:
    """Every standard gate of Qiskit has a row, but for those that are not unitary and RC3X (by its definition)."""
    named = {gate.qiskit for gate in GATES.values()}
    assert set(get_standard_gate_name_mapping()) - named == {"id", "delay", "measure", "reset", "rcccx"}
