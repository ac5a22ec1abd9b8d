"""A noisy machine's channels stand where its gates are, and its readout errors follow the measurements."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from qsim_ex import errors, reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.noise.model import NoiseModel, NoisyBuilder, add_error
from qsim_ex.circuit.ops import Channel, Measure

FLIP = noise.bit_flip(0.1)
PAIR = noise.pauli_channel({"XZ": 0.2})
READ = [[0.9, 0.1], [0.2, 0.8]]


def channels(circuit: Circuit) -> list[tuple[str, tuple[int, ...]]]:
    """Names and wires of a circuit's channels, in order."""
    return [(i.name, i.wires) for i in circuit.instructions if isinstance(i, Channel)]


def test_same_as_by_hand() -> None:
    """The channel of a gate follows it, on the gate's wires in the gate's order."""
    machine = NoiseModel().with_error("cx", PAIR).with_error("ry", noise.amplitude_damping(0.3))
    found = NoisyBuilder(3, 0, machine).gate("ry", [2], 0.7).gate("cx", [2, 0]).gate("ry", [0], 0.4).build()
    by_hand = CircuitBuilder(3).gate("ry", [2], 0.7).channel(noise.amplitude_damping(0.3), [2]).gate("cx", [2, 0])
    by_hand.channel(PAIR, [2, 0]).gate("ry", [0], 0.4).channel(noise.amplitude_damping(0.3), [0])
    assert reference.density_matrix(found) == pytest.approx(reference.density_matrix(by_hand.build()), abs=1e-15)


def test_wires_of_their_own() -> None:
    """A channel for given wires replaces the general one on these wires, in this order, and nowhere else."""
    machine = NoiseModel().with_error(["cx", "cz"], PAIR).with_error("cx", FLIP, [1, 0])
    found = NoisyBuilder(2, 0, machine).gate("cx", [0, 1]).gate("cx", [1, 0]).gate("cz", [1, 0]).build()
    assert channels(found) == [("cx error", (0, 1)), ("cx error", (1,)), ("cx error", (0,)), ("cz error", (1, 0))]


def test_controls_come_first() -> None:
    """A gate under a control is noisy on its controls and then on its targets."""
    found = NoisyBuilder(3, 0, NoiseModel().with_error("x", PAIR)).gate("x", [0], controls=[2]).build()
    assert channels(found) == [("x error", (2, 0))]


def test_a_gate_of_many_operations_is_noisy_once() -> None:
    """Gates that a gate is made of bring no noise of their own."""
    every = NoiseModel().with_error(["h", "s", "sdg", "rz", "diagonal", "pauli_rotation", "global_phase"], FLIP)
    builder = NoisyBuilder(2, 0, every).gate("rz", [0], 0.3).pauli_rotation(0.2, "XY", [0, 1])
    builder.unitary(np.diag([1, 1j]), [1], name="phase").global_phase(0.5)
    found = channels(builder.build())
    assert found == [("rz error", (0,)), ("pauli_rotation error", (0,)), ("pauli_rotation error", (1,))]


def test_everything_with_a_name_may_be_noisy() -> None:
    """Everything that a builder can append under a name gets the noise of this name."""
    names = ["unitary", "diagonal", "multiplexer", "permutation", "reset"]
    builder = NoisyBuilder(3, 0, NoiseModel().with_error(names, FLIP))
    builder.unitary([[0, 1], [1, 0]], [0]).diagonal([1, 1j], [1]).multiplexer([np.eye(2)] * 2, [2], [1])
    builder.permutation([1, 0], [2]).reset([0, 2])
    expected = [("unitary", 0), ("diagonal", 1), ("multiplexer", 2), ("multiplexer", 1), ("permutation", 2)]
    expected += [("reset", 0), ("reset", 2)]
    assert channels(builder.build()) == [(f"{name} error", (wire,)) for name, wire in expected]


def test_measurement_errors_stand_in_front() -> None:
    """The channel of a measurement precedes it."""
    built = NoisyBuilder(1, 1, NoiseModel().with_error("measure", FLIP)).measure([0], [0]).build()
    assert [type(i) for i in built.instructions] == [Channel, Measure]


def test_readout_follows_the_wires() -> None:
    """A classical bit is misread as the wire is that was measured into it, for each measurement separately."""
    machine = NoiseModel().with_misreading(READ).with_misreading(np.eye(2)[::-1], wire=2)
    builder = NoisyBuilder(3, 4, machine).measure([0, 2], [3, 1]).measure([1], [1])
    found = {(misread.clbits, misread.measurement): misread.matrix.tolist() for misread in builder.readout_errors}
    assert found == {((3,), None): READ, ((1,), 0): [[0, 1], [1, 0]], ((1,), 1): READ}
    builder.measure([2], [0])
    assert builder.readout_errors[0].matrix.tolist() == [[0, 1], [1, 0]]
    ideal = NoisyBuilder(2, 1, NoiseModel().with_misreading(READ, wire=0)).measure([0], [0])
    assert len(ideal.readout_errors) == 1  # type: ignore[attr-defined]
    found = {one.measurement: one.matrix.tolist() for one in ideal.measure([1], [0]).readout_errors}  # type: ignore[attr-defined]
    assert found == {0: READ, 1: np.eye(2).tolist()}


def test_models_do_not_change() -> None:
    """Adding an error makes a new model and leaves the old one as it was."""
    before = NoiseModel()
    before.with_error("x", FLIP).with_misreading(READ)
    assert channels(NoisyBuilder(1, 0, before).gate("x", [0]).build()) == []
    assert before.misreading(0) is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: m.with_error("x", [np.eye(2) / 2]), "the error of x"),
        (lambda m: m.with_error("x", np.eye(2)), "[count, 2^k, 2^k], got (2, 2)"),
        (lambda m: m.with_error("x", [np.eye(3)]), "got (1, 3, 3)"),
        (lambda m: m.with_error("ccx", PAIR, [0, 1, 2]), "8 or 2 rows on wires (0, 1, 2), got 4"),
        (lambda m: m.with_misreading([[0.9, 0.2], [0, 1]]), "[0.9, 0.2] in row 0"),
        (lambda m: m.with_misreading([[1.5, -0.5], [0, 1]]), "[1.5, -0.5] in row 0"),
        (lambda m: m.with_misreading(np.eye(4)), "shape (2, 2) for 1 bits, got (4, 4)"),
    ],
)
def test_what_is_no_noise(make: Any, message: str) -> None:
    """A matrix that is no channel, or a number that is no probability, is refused with the reason."""
    with pytest.raises(errors.NoiseError, match=re.escape(message)):
        make(NoiseModel())


def test_an_error_that_does_not_fit_its_gate() -> None:
    """An error of two wires for a gate of three is refused."""
    with pytest.raises(errors.NoiseError, match="error of 'ccx' on 1 or 3 wires, got one on 2"):
        NoisyBuilder(3, 0, NoiseModel().with_error("ccx", PAIR)).gate("ccx", [0, 1, 2])


@pytest.mark.parametrize("kraus", [PAIR, FLIP], ids=["for both wires", "for each wire"])
def test_the_channels_of_a_gate_are_counted(kraus: Any) -> None:
    """`add_error` returns how many instructions it has appended."""
    builder = CircuitBuilder(2)
    assert add_error(builder, kraus, "cx", (1, 0)) == builder.num_instructions
