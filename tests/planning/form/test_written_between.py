"""Tests of what is written between the gates on several wires that a circuit has: `Manner.BETWEEN`."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.forms import transpiled
from benchmarks.gates import Gate
from qsim_ex import reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Op
from qsim_ex.planning.written import Manner, written_out

BASES = (("rz", "sx", "x", "cx"), ("rz", "sx", "x", "cz"), ("r", "cz"), ("u", "cz"))


def names(circuit: Circuit) -> list[str]:
    """Return the names of what is written of a circuit, which is checked to be the circuit."""
    written = written_out(circuit, manner=Manner.BETWEEN)
    assert written
    found = written.circuit(circuit.operands)
    rng = np.random.default_rng(3)
    psi = rng.normal(size=1 << circuit.num_qubits) + 1j * rng.normal(size=1 << circuit.num_qubits)
    assert np.abs(reference.simulate(found, psi) - reference.simulate(circuit, psi)).max() < 1e-12
    return [one.name for one in found.instructions if isinstance(one, Op)]


@pytest.mark.parametrize("basis", BASES)
def test_an_ansatz_comes_back_with_its_cx(basis: tuple[str, ...]) -> None:
    """Turns about Y and a circle of CX are a turn for each turn and a CX or CZ for each CX, in whatever basis."""
    gates = []
    for layer in range(3):
        gates += [Gate("ry", (wire,), (0.3 + 0.1 * wire + layer,)) for wire in range(5)]
        gates += [Gate("cx", (wire, (wire + 1) % 5)) for wire in range(5)]
    found = names(transpiled(gates, 5, basis, 1))
    assert found.count("pauli_rotation") == 15
    assert found.count("cx") + found.count("cz") <= 15
    assert found.count("h") <= 6


@pytest.mark.parametrize("basis", BASES)
def test_swaps_are_found(basis: tuple[str, ...]) -> None:
    """Three CX of two wires are a SWAP at the end, and what comes behind them is on other wires."""
    turns = [Gate("ry", (wire,), (0.3 + 0.1 * wire,)) for wire in range(3)]
    found = names(transpiled([*turns, Gate("swap", (0, 2)), *turns, Gate("swap", (1, 2)), *turns], 3, basis, 0))
    assert found.count("swap") == 2
    assert not {"cx", "cz"} & set(found)


@pytest.mark.parametrize("basis", BASES)
def test_phases_between_two_cx_are_those_of_parities(basis: tuple[str, ...]) -> None:
    """RZZ that was taken apart is one rotation again, and H stands where it makes phases of rotations."""
    gates = [Gate("h", (wire,)) for wire in range(4)]
    gates += [Gate("rzz", (wire, wire + 1), (0.2 + wire,)) for wire in range(3)]
    found = names(transpiled(gates, 4, basis, 0))
    assert found.count("pauli_rotation") == 3
    assert not {"cx", "cz"} & set(found)


def test_turns_of_a_wire_are_as_few_as_it_takes() -> None:
    """Turns about one axis that are written about others, each by an angle that means nothing, are one again."""
    rng = np.random.default_rng(5)
    gates = []
    for angle in rng.uniform(-3, 3, 8):
        more = rng.uniform(-3, 3)
        gates += [Gate("rz", (0,), (more,)), Gate("ry", (0,), (angle,)), Gate("rz", (0,), (-more,)), Gate("cz", (0, 1))]
        gates += [Gate("rx", (1,), (angle,)), Gate("rx", (1,), (-angle,))]
    found = names(transpiled(gates, 2, ("u", "cz"), 0))
    assert found.count("pauli_rotation") <= 17  # 8 turns, between H, and what a transpiler has left of two
