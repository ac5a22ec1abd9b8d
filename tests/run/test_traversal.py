"""Averages over trajectories with noise, measurements in the middle and resets are those of exact density matrices."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from support.noisy_circuits import KINDS, random_noisy

from qsim_ex import CircuitBuilder, Options, PauliString, PauliSum, Simulator, errors, reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.ops import Measure
from qsim_ex.placement.batch import Batch

ALL = (*KINDS, "measure", "reset", "condition")
STRINGS = [PauliSum((PauliString(x, z),)) for x, z in ((0, 1), (0, 6), (1, 0), (3, 1), (5, 2), (6, 7), (0, 7), (4, 4))]


def exact(circuit: Circuit) -> np.ndarray:
    """tr(ρ P) for each of `STRINGS`, from the definition, without measurements that nothing follows."""
    kept, later = [], 0
    for instruction in reversed(circuit.instructions):
        acted = instruction.acts_on
        if not isinstance(instruction, Measure) or acted & later:
            kept.append(instruction)
            later |= acted
    rho = reference.density_matrix(replace(circuit, instructions=tuple(kept[::-1])))
    index = np.arange(len(rho))
    found = []
    for one in STRINGS:
        x, z = one.terms[0].x, one.terms[0].z
        signs = 1 - 2.0 * (np.bitwise_count(index & z) & 1)
        found.append((1j ** (x & z).bit_count() * (signs * rho[index, index ^ x]).sum()).real)
    return np.array(found)


def _trajectories(count: int, options: Options) -> int:
    """Fewer on the device that is slow on purpose."""
    return count if Simulator(options).placement(3).device.name != "plain" else count // 10


def off(circuit: Circuit, wanted: np.ndarray, trajectories: int, options: Options, seed: int = 7) -> np.ndarray:
    """How many standard errors each mean over trajectories is away from the expected one."""
    result = Simulator(options).run_batch(circuit, observables=STRINGS, trajectories=trajectories, seeds=seed)
    return np.abs(result.values[0] - wanted) / np.maximum(result.errors[0], 1e-6)


@pytest.mark.parametrize("kind", [*sorted(KINDS), "measure", "reset", "condition", "all"])
@pytest.mark.parametrize("seed", range(2))
def test_means_are_those_of_the_density_matrix(kind: str, seed: int, options: Options) -> None:
    """Means over trajectories are those of the density matrix, for every kind of chance."""
    circuit = random_noisy(3, 16, seed, ALL if kind == "all" else (kind, "measure") if kind == "condition" else (kind,))
    assert off(circuit, exact(circuit), _trajectories(4000, options), options).max() < 4.5


@functools.cache
def _joint(seed: int) -> tuple[Circuit, np.ndarray]:
    """A circuit and the probability of each value of its bits."""
    circuit = random_noisy(3, 14, seed, ("pauli", "damping", "measure", "reset", "condition"))
    wanted = np.zeros(8)
    for bits, rho in reference.by_bits(circuit).items():
        wanted[bits] = np.trace(rho).real
    return circuit, wanted


@pytest.mark.parametrize("seed", range(10))
def test_bits_have_their_joint_distribution(seed: int, options: Options) -> None:
    """Bits that are measured in the middle and at the end have the joint distribution of the definition."""
    circuit, wanted = _joint(seed)
    shots = 20_000
    counts = Simulator(options).run(circuit, shots, seed=seed).counts()
    found = np.array([counts.get(k, 0) for k in range(8)])
    spread = np.sqrt(shots * wanted * (1 - wanted) + 1)
    assert (np.abs(found - shots * wanted) / spread).max() < 4.5


def test_a_planted_error_is_caught(options: Options) -> None:
    """The comparison notices a damping of 0.11 in place of 0.10."""

    def damped(strength: float) -> Circuit:
        builder = CircuitBuilder(3, 3).gate("x", [0])
        for _ in range(3):
            builder.channel(noise.amplitude_damping(strength), [0])
        return builder.measure([0], [0]).build()

    assert off(damped(0.1), exact(damped(0.1)), 60_000, options).max() < 4
    assert off(damped(0.11), exact(damped(0.1)), 60_000, options).max() > 4


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_shots_do_not_depend_on_how_many_states_there_is_room_for(
    rows: int, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shots are the same however many states there is room for."""
    monkeypatch.setattr("qsim_ex.run.methods.trajectories._enabled", False)
    circuit = random_noisy(4, 30, 5, ALL)
    simulator = Simulator(options.with_({"precision": "double"}))
    wanted = simulator.run(circuit, 300, seed=3)
    monkeypatch.setattr("qsim_ex.run.methods.trajectories._enabled", False)  # which has no such limit
    monkeypatch.setattr("qsim_ex.run.machine.Machine._rows", lambda *_: rows)
    found = simulator.run(circuit, 300, seed=3)
    assert (found.packed == wanted.packed).all()
    assert found.facts["rows"] <= 2 * max(rows, 4)


@pytest.mark.parametrize("channel", ["damping", "kraus"])
def test_states_are_copied_together_for_a_question(channel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where states fill all rows, those that a few shots ask about are still copied at once and not in turn."""
    monkeypatch.setattr("qsim_ex.run.methods.trajectories._enabled", False)
    damping = noise.amplitude_damping(0.2)
    turned = np.asarray(damping) @ np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    channels = {"damping": damping, "kraus": turned}  # by populations, and by density matrices
    builder = CircuitBuilder(3)
    for k in range(30):
        builder.gate("ry", [k % 3], 0.4 + k).gate("cx", [k % 3, (k + 1) % 3])
        builder.channel(channels[channel], [(k + 1) % 3]).channel(channels[channel], [k % 3])
    copies: list[int] = []
    take = Batch.take

    def counted(batch: Batch, rows: Any) -> Batch:
        copies.append(len(rows))
        return take(batch, rows)

    with patch.object(Batch, "take", counted):
        found = Simulator(device="cpu").run_batch(builder.build(), observables=STRINGS[:1], trajectories=200, seeds=1)
    assert found.facts["branch_points"] > 20
    assert len(copies) <= 3 * 60, "at most one for each channel, and some where states divide"


def test_explain_says_what_is_left_to_chance() -> None:
    """`explain` says how often the state is asked on the way, and how shots share states."""
    builder = CircuitBuilder(3, 3).gate("h", [0]).channel(noise.depolarizing(0.1), [0]).gate("cx", [0, 1])
    builder.gate("cx", [0, 2])
    builder.measure([1], [1]).gate("h", [1]).channel(noise.amplitude_damping(0.1), [2]).measure([0, 1, 2], [0, 1, 2])
    text = Simulator(device="cpu").explain(builder.build())
    assert "1 mixed-unitary channel, chosen before the first sweep" in text
    assert "the state decides 2 measurements, resets and channels in the middle, at 1 branch point, with" in text
    assert "tree of branches" in text


def test_a_condition_on_a_bit_that_was_never_measured() -> None:
    """A classical bit that was never measured is 0."""
    builder = CircuitBuilder(2, 2)
    with builder.condition([0], [1]):
        builder.gate("x", [0])
    with builder.condition([1, 0], [0]):
        builder.gate("x", [1])
    assert Simulator(device="cpu").run(builder.measure([0, 1], [0, 1]).build(), 20).counts() == {2: 20}


def test_a_state_that_is_set_is_handed_on_once() -> None:
    """However many branches are set to it, one binding's state is read once; each of two bindings has its own."""
    builder = CircuitBuilder(2, 2).gate("h", [0]).measure([0], [0])
    circuit = builder.set_statevector([0.6, 0, 0, 0.8]).measure([1], [1]).build()
    rows: list[tuple[int, int]] = []
    overwrite = Batch.overwrite

    def noted(batch: Batch, amplitudes: Any) -> None:
        rows.append((batch.rows, len(amplitudes)))
        overwrite(batch, amplitudes)

    with patch.object(Batch, "overwrite", noted):
        for count in (1, 2):
            operands = np.repeat(circuit.operands, count, axis=0)
            Simulator(device="cpu").run_batch(circuit, operands, shots=50, seeds=1)
    assert rows == [(2, 1), (4, 4)]


CONDITIONS_REFUSED: dict[str, tuple[list[int], list[int], type[Exception], str]] = {
    "no such bit": ([0, 5], [0], errors.CircuitError, "0 <= c < 2, got bit 5, which is out of range"),
    "no such value": ([0, 1], [4], errors.CircuitError, r"from 0 to 3, which 2 bits hold, got \[4\]"),
}


@pytest.mark.parametrize("name", sorted(CONDITIONS_REFUSED))
def test_bad_conditions(name: str) -> None:
    """A condition that is malformed is refused with its own error."""
    clbits, values, error, message = CONDITIONS_REFUSED[name]
    with pytest.raises(error, match=message), CircuitBuilder(1, 2).condition(clbits, values):
        pass
