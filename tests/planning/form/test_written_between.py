"""Tests of what is written between the gates on several wires that a circuit has: `Manner.BETWEEN`."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.engine import circuit_of
from benchmarks.forms import transpiled
from benchmarks.gates import Gate
from qsim_ex import CircuitBuilder, reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Op
from qsim_ex.planning.written.out import Manner, WritingLimits, written_out
from tools.golden_counts import FAMILIES

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


@pytest.mark.parametrize("name", ["qft", "hubbard", "su2_8", "walk"])
def test_what_was_read_is_all_that_it_takes(name: str) -> None:
    """What is written of a circuit that was only read is, number by number, what is written beside its form."""
    circuit = transpiled(FAMILIES[name](8), 8, ("rz", "sx", "x", "cz"), 1)
    read, form = written_out(circuit, manner=Manner.BETWEEN), written_out(circuit)
    assert read
    assert form
    beside = form.again(Manner.BETWEEN, WritingLimits())
    assert beside
    assert read.structure is beside.structure
    assert np.array_equal(read.numbers(circuit.operands), beside.numbers(circuit.operands))
    again = read.again(Manner.LOCAL, WritingLimits())
    assert again
    assert again.structure is form.structure


def test_a_circuit_of_too_many_rotations_is_given_up_while_it_is_read() -> None:
    """With more rotations than it may be, quarter turns, too, nothing is written, and as much as with a block."""
    circuit = transpiled(FAMILIES["qft"](8), 8, ("rz", "sx", "x", "cz"), 1)
    for share, there in ((4, True), (0.25, False)):
        limits = WritingLimits(read=int(share * circuit.num_gates))
        assert (written_out(circuit, manner=Manner.BETWEEN, limits=limits) is not None) == there
    assert written_out(circuit_of(FAMILIES["three_wires"](8), 8), manner=Manner.BETWEEN) is None


@pytest.mark.parametrize("basis", [*BASES, ("rx", "ry", "rz", "rzz")])
@pytest.mark.parametrize("level", [0, 1])
def test_controlled_phases_come_back(basis: tuple[str, ...], level: int) -> None:
    """What is written of a QFT has a phase of two wires for each controlled phase; single ones are quarter turns."""
    circuit = transpiled(FAMILIES["qft"](8), 8, basis, level)
    written = written_out(circuit, manner=Manner.BETWEEN)
    assert written
    found = written.circuit(circuit.operands)
    phases = [one for one in found.instructions if isinstance(one, Op) and not one.mixes and not one.reads]
    assert sum(one.when.mask.bit_count() == 2 for one in phases) == 28
    for one in phases:
        turns = np.angle(found.operands[0, one.operand]) / (np.pi / 2)
        assert one.when.mask.bit_count() != 1 or abs(turns - round(turns)) < 1e-9


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


@pytest.mark.parametrize("basis", BASES)
def test_a_turn_between_two_cx_is_one_rotation_of_two_wires(basis: tuple[str, ...]) -> None:
    """A turn under a control, as one between two CX and one behind them, leaves no CX, and two rotations."""
    rng = np.random.default_rng(8)
    gates = []
    tilt = 0.7  # one axis for all, so that what leads to it and back meets and is nothing
    for wire in range(4):
        angle = rng.uniform(0.2, 1.2)
        for half in (angle, -angle):
            gates += [
                Gate("cx", (wire, 4)),
                Gate("rx", (4,), (tilt,)),
                Gate("ry", (4,), (half,)),
                Gate("rx", (4,), (-tilt,)),
            ]
    found = names(transpiled(gates, 5, basis, 1))
    assert not {"cx", "cz"} & set(found)
    assert found.count("pauli_rotation") <= 10


def test_small_turns_of_many_gates_are_not_taken_for_rounding() -> None:
    """10,000 turns by 1e-11, each between two that are undone, are a turn, but for what all gates are rounded."""
    turns, angle = np.random.default_rng(1).uniform(0.2, 1.2, 10_000), 1e-11
    builder = CircuitBuilder(2)
    for turn in turns:
        builder.gate("rzz", (0, 1), turn).gate("rx", (0,), angle).gate("rzz", (0, 1), -turn)
    circuit = builder.build()
    written = written_out(circuit, manner=Manner.BETWEEN)
    assert written
    flipped = -0.5j * angle * np.exp(-1j * turns).sum()  # of |0…0⟩, to first order: 5e-8
    found = reference.simulate(written.circuit(circuit.operands))
    assert abs(found[1] / found[0] - flipped) < 32 * np.finfo(float).eps * len(circuit.instructions)


def test_turns_around_controls_are_as_few_as_if_they_had_stayed_together() -> None:
    """What turns a control, and back behind its gate, is one with the turns that come next."""
    found = []
    for moved in (False, True):
        rng, gates = np.random.default_rng(5), list[Gate]()
        for _ in range(3):
            for wire in range(6):
                angles = rng.uniform(-3, 3, 3).tolist()
                around = [Gate("rz", (wire,), (sign * angles[2],)) for sign in (1, -1)] if moved else []
                gates += [Gate("ry", (wire,), (angles[0],)), Gate("rz", (wire,), (angles[1],))]
                gates += [*around[:1], Gate("cx", (wire, wire + 1)), *around[1:]] if wire < 5 else []
        circuit = transpiled(gates, 6, ("rz", "sx", "x", "cz"), 1)
        written = written_out(circuit, manner=Manner.BETWEEN)
        assert written
        ops = [one for one in written.structure.instructions if isinstance(one, Op)]
        found.append(sum(one.name == "pauli_rotation" for one in ops))
        assert np.abs(reference.simulate(written.circuit(circuit.operands)) - reference.simulate(circuit)).max() < 1e-11
    assert found[1] == found[0]
