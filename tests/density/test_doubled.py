"""The circuit on density matrices has no chance in it, and as few bit wires as the classical bits need."""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.ops import Conditional, Measure, Reset
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.density.doubled import Doubled, doubled
from qsim_ex.density.superoperators import patterns_of, places_of
from qsim_ex.errors import NotSupported
from qsim_ex.program.divide import program_of


def of(circuit: Circuit, *, observed: bool = False, sampled: bool = True) -> Doubled:
    """The circuit on density matrices."""
    patterns = patterns_of(places_of(circuit.structure), Bindings.of(circuit.operands))
    return doubled(circuit.structure, circuit.operands.shape[1], patterns, observed=observed, sampled=sampled)


def repeated(rounds: int) -> Circuit:
    """A wire that is measured into another bit in every round, and mixed in between."""
    builder = CircuitBuilder(1, rounds)
    for bit in range(rounds):
        builder.gate("h", [0]).measure([0], [bit])
    return builder.build()


def test_nothing_is_left_to_chance() -> None:
    """Channels, resets, measurements on the way and conditions become operations of a program without choices."""
    builder = CircuitBuilder(3, 2).gate("h", [0]).channel(noise.depolarizing(0.2, 2), [0, 1]).measure([0], [0])
    with builder.condition([0], [1]):
        builder.gate("ry", [1], 0.4)
    builder.gate("h", [0]).reset([0]).initialize([0.6, 0.8], [0]).measure([0, 1], [0, 1])
    made = of(builder.build())
    assert not {type(one) for one in made.structure.instructions} & {Measure, Reset, Conditional}
    program = program_of(made.structure)
    assert not program.branches
    assert program.first_random is None


def test_a_measurement_at_the_end_needs_no_bit_wire() -> None:
    """A bit is held by its wire as long as nothing mixes that wire; a gate that reads it does not."""
    circuit = CircuitBuilder(2, 2).gate("h", [0]).measure([0], [0]).gate("cx", [0, 1]).measure([1], [1]).build()
    assert (of(circuit).bits, of(circuit).final) == (0, {0: 0, 1: 1})


def test_a_bit_that_nothing_reads_needs_no_bit_wire() -> None:
    """Without shots the outcomes of measurements on the way are not kept; all but the last of one bit never are."""
    assert [of(repeated(4), sampled=sampled).bits for sampled in (True, False)] == [3, 0]
    builder = CircuitBuilder(1, 1)
    for _ in range(5):
        builder.gate("h", [0]).measure([0], [0])
    assert of(builder.build()).bits == 0


def test_a_bit_wire_is_used_again() -> None:
    """A bit that conditions read round after round has one bit wire, which is cleared in between."""
    builder = CircuitBuilder(2, 1)
    for _ in range(6):
        builder.gate("h", [0]).measure([0], [0]).gate("h", [0])
        with builder.condition([0], [1]):
            builder.gate("x", [1])
    assert of(builder.build(), sampled=False).bits == 1


def test_real_gates_share_their_numbers_with_their_conjugates() -> None:
    """The columns of a gate with real entries read the same operands as its rows, others the conjugates behind them."""
    circuit = CircuitBuilder(2).gate("h", [0]).gate("p", [0], 0.3).build()
    made, total = of(circuit), circuit.operands.shape[1]
    hadamard, its_columns, phase, its_conjugate = made.structure.instructions
    assert its_columns.operand == hadamard.operand
    assert its_conjugate.operand == total + phase.operand
    operands = made.operands(circuit.operands)
    assert np.array_equal(operands[:, total : 2 * total], circuit.operands.conj())


def test_the_same_circuit_is_doubled_once() -> None:
    """Circuits of one structure have one doubled structure, so they share plans."""
    one, other = (CircuitBuilder(2).gate("ry", [0], angle).build() for angle in (0.1, 0.2))
    assert of(one) is of(other)


@pytest.mark.parametrize("what", ["statevector", "amplitudes", "unitary"])
def test_a_mixed_state_has_no_amplitudes(what: str) -> None:
    """Saves of amplitudes are refused, and the message says what to save instead."""
    circuit = CircuitBuilder(1).save(what=what, values=[0] if what == "amplitudes" else None).build()
    with pytest.raises(NotSupported, match="save the density matrix"):
        of(circuit)
