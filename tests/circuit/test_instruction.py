"""What instructions answer about themselves is what they do, by the definition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from qsim_ex import CircuitBuilder, PauliString, PauliSum, reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.classical import Expression
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.ops import Conditional, Instruction, Measure, Op, Save, SetState

WIRES, BITS = 4, 3
RNG = np.random.default_rng(53)
TURN = np.linalg.qr(RNG.normal(size=(2, 2)) + 1j * RNG.normal(size=(2, 2)))[0]


def _made() -> Circuit:
    """One instruction of each kind, and gates that mix, read and are controlled."""
    builder = CircuitBuilder(WIRES, BITS).gate("ry", [2], 0.4).gate("cx", [3, 0]).gate("rzz", [1, 3], 0.7)
    builder.gate("h", [1], controls=[0, 2], control_values=1).gate("swap", [0, 2]).global_phase(0.2)
    builder.permutation([2, 0, 3, 1], [3, 1]).reset([0, 2]).measure([3, 1], [2, 0])
    builder.channel(noise.amplitude_damping(0.3), [1]).channel(noise.pauli_channel({"II": 0.7, "XZ": 0.3}), [3, 0])
    with builder.condition([2, 0], [1, 2]):
        builder.gate("cry", [2, 1], 0.9)
    builder.initialize([0.6, 0, 0, 0.8j], [3, 1]).set_statevector(np.eye(16)[5]).save("state")
    return builder.save("some", "probabilities", wires=[2, 0], how="c_average").build()


CIRCUIT = _made()
ON_STATES = [one for one in CIRCUIT.instructions if not isinstance(one, Save)]


def _after(instruction: Instruction, rho: np.ndarray) -> np.ndarray:
    """The density matrix after an instruction, where classical bits are 0 or what it measures."""
    return reference.density_matrix(Circuit(WIRES, BITS, (instruction,), CIRCUIT.operands), rho)


def _states(zeros: Sequence[int] = ()) -> np.ndarray:
    """The density matrix of a random state in which some wires are |0⟩."""
    psi = RNG.normal(size=1 << WIRES) + 1j * RNG.normal(size=1 << WIRES)
    psi[[value for value in range(1 << WIRES) if any(value >> wire & 1 for wire in zeros)]] = 0
    psi /= np.linalg.norm(psi)
    return np.outer(psi, psi.conj())


def _measured(rho: np.ndarray, wire: int) -> np.ndarray:
    value = np.arange(1 << WIRES) >> wire & 1
    return np.where(value[:, None] == value, rho, 0)


def _turned(rho: np.ndarray, wire: int) -> np.ndarray:
    turn = np.kron(np.kron(np.eye(1 << WIRES - 1 - wire), TURN), np.eye(1 << wire))
    return turn @ rho @ turn.conj().T


@pytest.mark.parametrize("instruction", ON_STATES, ids=repr)
def test_wires_that_it_does_not_act_on_may_be_turned_before_or_after(instruction: Instruction) -> None:
    """An instruction commutes with what happens on wires that it does not name, and not with all on those it does."""
    zeros = instruction.wires if type(instruction).__name__ == "Initialize" else ()
    for wire in range(WIRES):
        rho = _states(zeros)
        same = np.allclose(_after(instruction, _turned(rho, wire)), _turned(_after(instruction, rho), wire))
        if not instruction.acts_on >> wire & 1:
            assert same
        elif wire not in zeros and not isinstance(instruction, SetState | Conditional):
            assert not same


@pytest.mark.parametrize("instruction", ON_STATES, ids=repr)
def test_wires_that_it_does_not_mix_may_be_measured_before_or_after(instruction: Instruction) -> None:
    """A measurement of a wire that an instruction does not mix commutes with it."""
    for wire in range(WIRES):
        if not instruction.mixed_wires >> wire & 1:
            rho = _states(instruction.wires if type(instruction).__name__ == "Initialize" else ())
            before, after = _after(instruction, _measured(rho, wire)), _measured(_after(instruction, rho), wire)
            np.testing.assert_allclose(before, after, atol=1e-12)
    if isinstance(instruction, Op) and instruction.mixes:
        (wire, *_) = instruction.mixes
        rho = _states()
        assert not np.allclose(_after(instruction, _measured(rho, wire)), _measured(_after(instruction, rho), wire))


class _Reversed:
    """The numbers of a part whose wires and bits are those of the circuit in reverse, with its operands."""

    def wires(self, wires: Sequence[int]) -> tuple[int, ...]:
        return tuple([WIRES - 1 - wire for wire in wires])

    def clbits(self, clbits: Sequence[int]) -> tuple[int, ...]:
        return tuple([BITS - 1 - clbit for clbit in clbits])

    def operand(self, at: int, size: int) -> int:
        assert size > 0
        return at


@pytest.mark.parametrize(
    "instruction", [one for one in ON_STATES if not isinstance(one, Op | Conditional | SetState)], ids=repr
)
def test_it_does_the_same_in_other_numbers(instruction: Instruction) -> None:
    """Renumbered, an instruction does to renumbered wires what it did, and its answers follow."""
    back = [int(f"{value:0{WIRES}b}"[::-1], 2) for value in range(1 << WIRES)]
    found, numbers = instruction.renumbered(_Reversed()), _Reversed()
    rho = _states(instruction.wires if type(instruction).__name__ == "Initialize" else ())
    moved = rho[np.ix_(back, back)]
    np.testing.assert_allclose(_after(found, moved), _after(instruction, rho)[np.ix_(back, back)], atol=1e-12)
    assert found.acts_on == back[instruction.acts_on]
    assert found.written_bits == numbers.clbits(instruction.written_bits)
    assert found.streams == instruction.streams


def test_a_structure_keeps_what_its_instructions_answer() -> None:
    """Masks, first streams and bits of a structure are those of its instructions, one after another."""
    structure, every = CIRCUIT.structure, CIRCUIT.instructions
    assert list(structure.acted) == [one.acts_on for one in every]
    assert list(np.diff(structure.first_streams)) == [one.streams for one in every]
    assert structure.first_streams[-1] == 2 + 2 + 1 + 1 + 2  # a reset, a measurement, two channels, an initialisation
    assert (structure.unwritten_bits, structure.measures, structure.reads_bits) == ({1}, True, True)
    assert (structure.is_noisy, structure.has_saves, structure.on_every_wire, structure.only_gates) == (
        *[True] * 3,
        False,
    )


def test_bits_that_are_read_and_written() -> None:
    """A condition reads its bits, a measurement writes its own, and a save by memory reads all that there are."""
    told = {type(one): (one.read_bits, one.written_bits, one.reads_every_bit) for one in CIRCUIT.instructions}
    assert told[Conditional] == ((2, 0), (), False)
    assert told[Measure] == ((), (2, 0), False)
    assert told[Save] == ((), (), True)
    observable = PauliSum((PauliString(1, 0),))
    whole = CircuitBuilder(2).save("a", "expectation_value", wires=[1], observable=observable).build()
    assert [one.on_every_wire for one in whole.instructions] == [False]


def test_a_store_writes_the_bits_of_its_target() -> None:
    """A store writes the bits that it is given, which count as measured; one into a variable writes none."""
    builder = CircuitBuilder(1, 3)
    builder.store(builder.bits([2, 0]), Expression.constant(1, 2)).store(builder.variable(2), builder.bits([0, 1]))
    structure = builder.build().structure
    assert [(one.written_bits, one.read_bits) for one in structure.instructions] == [((2, 0), ()), ((), (0, 1))]
    assert (structure.unwritten_bits, structure.measures) == ({1}, True)
