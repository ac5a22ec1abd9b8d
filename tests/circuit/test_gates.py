"""The gate table: every row against its own definition, its inverse, and the frameworks that name it."""

from __future__ import annotations

import numpy as np
import pytest
from qiskit.circuit.library import get_standard_gate_name_mapping

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.gates import GATES, Gate
from qsim_ex.circuit.ops import Entry, letters

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
def test_inverse(gate: Gate) -> None:
    """A gate followed by the gate that its row calls the inverse is the identity."""
    angles = parameters(gate)
    product = matrix(gate.inverse, list(gate.inverse_parameters(*angles))) @ matrix(gate.name, angles)
    assert product == pytest.approx(np.eye(len(product)), abs=1e-14)


@pytest.mark.parametrize("gate", ROWS)
def test_pattern_holds(gate: Gate) -> None:
    """For any angles the entries are what the pattern says of them, and they fill its shape."""
    angles = np.array([parameters(gate, seed) for seed in range(5)]).reshape(5, -1)
    entries = gate.entries(angles)
    assert entries.shape == (5, len(gate.pattern))
    assert len(gate.pattern) == 1 << (2 * len(gate.mixes) + len(gate.reads)), letters(gate.pattern)
    exact = {Entry.ZERO: 0, Entry.ONE: 1, Entry.MINUS_ONE: -1}
    for column, kind in zip(entries.T, gate.pattern, strict=True):
        match Entry(kind):
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
    builder._append(gate.name, tuple(range(gate.qubits)), tuple(angles), (), -1, "whole")
    whole = builder.build()
    expected = np.array([reference.simulate(whole, column) for column in np.eye(1 << gate.qubits)]).T
    assert matrix(gate.name, angles) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("gate", [row for row in ROWS if row.values[0].qiskit in get_standard_gate_name_mapping()])
def test_matches_qiskit(gate: Gate) -> None:
    """A row's matrix is that of the Qiskit gate which it names."""
    angles = parameters(gate)
    theirs = get_standard_gate_name_mapping()[gate.qiskit].base_class(*angles).to_matrix()
    assert matrix(gate.name, angles) == pytest.approx(theirs, abs=1e-14)


def test_every_standard_gate_of_qiskit_is_a_row() -> None:
    """Every standard gate of Qiskit has a row, but for those that are not unitary and RC3X (by its definition)."""
    named = {gate.qiskit for gate in GATES.values()}
    assert set(get_standard_gate_name_mapping()) - named == {"id", "delay", "measure", "reset", "rcccx"}
