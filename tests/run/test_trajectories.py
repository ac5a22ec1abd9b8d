"""Narrow trajectories in compiled code give the shots and values of the general way, and cost what their gates cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.noisy_circuits import KINDS, random_kraus, random_noisy
from support.strategies import random_unitary

from qsim_ex import CircuitBuilder, PauliString, PauliSum, Simulator, thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.noise.readout import ReadoutError
from qsim_ex.run.methods import trajectories

ALL = (*KINDS, "measure", "reset", "condition")
STRINGS = [PauliSum((PauliString(1, 0),)), PauliSum((PauliString(0, 1),)), PauliSum((PauliString(1, 3, 0.5),))]
COMPILED, GENERAL = "compiled trajectories", "plans"


def both(circuit: Circuit, **asked: Any) -> tuple[Any, Any]:
    """Return the result of a circuit in compiled code, and that of the general way."""
    simulator = Simulator(device="cpu", precision=asked.pop("precision", "double"), threads=asked.pop("threads", None))
    asked.setdefault("trajectories", asked.get("shots"))
    compiled = simulator.run_batch(circuit, **asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trajectories, "_enabled", False)
        general = simulator.run_batch(circuit, **asked)
    return compiled, general


def same_shots(circuit: Circuit, shots: int, seed: int, **asked: Any) -> bool:
    """Return whether both ways give the same shots; the circuit must have trajectories."""
    compiled, general = both(circuit, shots=shots, seeds=seed, **asked)
    if general.trajectories is not None and "way" in general.facts:  # else its largest part has no random outcomes
        assert (compiled.facts["way"], general.facts["way"]) == (COMPILED, GENERAL)
        assert compiled.provenance.plans == ()
    return bool((compiled.packed == general.packed).all())


@settings(max_examples=60)
@given(
    wires=st.integers(2, 5),
    length=st.integers(1, 60),
    seed=st.integers(0, 2**32),
    kinds=st.lists(st.sampled_from(ALL), min_size=1, unique=True),
    shots=st.sampled_from([1, 3, 64, 257]),
)
def test_shots_are_those_of_the_general_way(wires: int, length: int, seed: int, kinds: list[str], shots: int) -> None:
    """A seed gives the same shots, whatever kinds of chance a circuit has."""
    assert same_shots(random_noisy(wires, length, seed, tuple(kinds)), shots, seed)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), threads=st.integers(1, 3))
def test_misread_conditions_are_those_of_the_general_way(seed: int, threads: int) -> None:
    """Conditions on bits with readout errors, of one bit and of two together, read the same values."""
    rng = np.random.default_rng(seed)
    circuit = random_noisy(3, 30, seed, ("measure", "condition", "reset", "pauli"))
    builder = CircuitBuilder(3, 3).gate("h", [0]).gate("ry", [1], 0.7).measure([0, 1, 2], [0, 1, 2])
    for _ in range(3):
        with builder.condition([int(b) for b in rng.permutation(3)[:2]], [int(rng.integers(4))]):
            builder.gate("x", [int(rng.integers(3))])
        builder.gate("h", [2]).measure([0, 1, 2], [0, 1, 2])
    pair = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
    errors = (ReadoutError((0, 1), pair), ReadoutError((2,), np.array([[0.9, 0.1], [0.3, 0.7]])))
    assert same_shots(builder.build(), 300, seed, readout=errors, threads=threads)
    single = tuple(ReadoutError((bit,), np.array([[0.8, 0.2], [0.1, 0.9]])) for bit in range(3))
    assert same_shots(circuit, 300, seed, readout=single, threads=threads)


def test_steps_that_are_put_together_end_where_shots_part() -> None:
    """A misread bit divides shots between two operations on another wire, each of which is applied once."""
    builder = CircuitBuilder(2, 2).gate("h", [0]).gate("ry", [1], 0.9).gate("cx", [0, 1]).measure([0], [0])
    for _ in range(3):
        builder.channel(noise.amplitude_damping(0.05), [1])
        with builder.condition([0], [1]):
            builder.gate("x", [0])
        builder.gate("ry", [1], 0.4).measure([0], [0])
    errors = (ReadoutError((0,), np.array([[0.7, 0.3], [0.2, 0.8]])),)
    assert same_shots(builder.measure([0, 1], [0, 1]).build(), 500, 1, readout=errors)


def test_wide_operations_are_those_of_the_general_way() -> None:
    """Initial states, permutations, multiplexers, diagonals, controls and wide matrices give the same shots."""
    rng = np.random.default_rng(5)
    amplitudes = rng.normal(size=8) + 1j * rng.normal(size=8)
    builder = CircuitBuilder(8, 8).initialize(amplitudes / np.linalg.norm(amplitudes), [5, 1, 3])
    builder.channel(random_kraus(2, 4, rng), [7, 1]).permutation(rng.permutation(16).tolist(), [0, 5, 2, 1])
    builder.unitary(random_unitary(8, 1), [4, 0, 3], controls=[1], control_values=0)
    builder.channel(random_kraus(1, 3, rng), [3]).diagonal(np.exp(1j * rng.uniform(0, 6, 8)), [2, 3, 7])
    builder.multiplexer([random_unitary(2, k) for k in range(4)], [6, 0], [5]).pauli_rotation(0.4, "XYZ", [1, 2, 6])
    builder.reset([1, 5]).initialize([0.6, 0.8j], [1]).channel(noise.depolarizing(0.3, 2), [1, 0])
    builder.gate("h", [7], controls=[0, 1, 2]).global_phase(0.3).measure(list(range(8)), list(range(8)))
    assert same_shots(builder.build(), 2000, 3)


@pytest.mark.parametrize("strength", [1e-4, 0.02, 0.4])
@pytest.mark.parametrize("wires", [1, 2, 3, 4])
def test_long_circuits_are_those_of_the_general_way(wires: int, strength: float) -> None:
    """Blocks of steps that are taken as one matrix, at any strength of the noise, do not change a shot."""
    rng = np.random.default_rng(wires)
    builder = CircuitBuilder(wires, wires)
    channels = (
        noise.depolarizing(strength),
        noise.amplitude_damping(strength),
        noise.thermal_relaxation(1, 1.3, strength),
    )
    for k in range(150):
        wire = int(rng.integers(wires))
        builder.gate("u", [wire], *rng.uniform(0, 6, 3)).channel(channels[k % 3], [wire])
        if wires > 1 and k % 4 == 0:
            builder.gate("cx", [wire, (wire + 1) % wires]).channel(
                noise.depolarizing(strength, 2), [wire, (wire + 1) % wires]
            )
    builder.measure(list(range(wires)), list(range(wires)))
    assert same_shots(builder.build(), 500, 11)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_expectation_values_are_those_of_the_general_way(precision: str) -> None:
    """Means over trajectories, and their errors, are those of the general way up to rounding."""
    circuit = random_noisy(3, 40, 9, ALL)
    compiled, general = both(circuit, observables=STRINGS, trajectories=300, seeds=4, precision=precision)
    assert compiled.facts["way"] == COMPILED
    np.testing.assert_allclose(compiled.values, general.values, atol=1e-4 if precision == "single" else 1e-10)
    np.testing.assert_allclose(compiled.errors, general.errors, atol=1e-4 if precision == "single" else 1e-8)


def test_every_binding_has_its_own_numbers_and_seed() -> None:
    """Many bindings in one run have the shots of their own runs, in units of any size and on any number of threads."""
    circuits = []
    for angle in np.linspace(0, 3, 7):
        builder = CircuitBuilder(2, 2).gate("ry", [0], angle).channel(noise.amplitude_damping(0.2), [0])
        circuits.append(builder.gate("cx", [0, 1]).measure([0, 1], [0, 1]).build())
    operands = np.concatenate([circuit.operands for circuit in circuits])
    with thresholds.instead(unit_bytes=1 << 13, work_alone=0):
        found = Simulator(device="cpu", threads=2).run_batch(circuits[0], operands, shots=333, seeds=range(7))
    for k, circuit in enumerate(circuits):
        alone = Simulator(device="cpu", threads=1).run(circuit, 333, seed=k)
        assert alone.packed is not None
        assert (found[k].packed == alone.packed).all()


def test_what_it_leaves_to_the_general_way() -> None:
    """Saves, wide states, checkpoints and circuits without chance run as before."""
    plain = CircuitBuilder(2, 2).gate("h", [0]).measure([0, 1], [0, 1]).build()
    assert "way" not in Simulator(device="cpu").run(plain, 10).facts
    builder = CircuitBuilder(11, 1).gate("h", [0]).channel(noise.depolarizing(0.1), [0])
    for wire in range(10):
        builder.gate("cx", [wire, wire + 1])
    wide = builder.measure([0], [0]).build()
    assert Simulator(device="cpu").run(wide, 10).facts["way"] == GENERAL
    builder = CircuitBuilder(2, 2).gate("h", [0]).measure([0], [0]).gate("cx", [0, 1])
    given = builder.set_statevector([0, 0, 0, 1]).gate("x", [0]).measure([0, 1], [0, 1]).build()
    result = Simulator(device="cpu").run(given, 50)
    assert result.facts["way"] == GENERAL
    assert result.counts() == {2: 50}
    saved = CircuitBuilder(1, 1).channel(noise.depolarizing(0.1), [0]).save().measure([0], [0]).build()
    assert Simulator(device="cpu").run(saved, 1).facts["way"] == GENERAL


@pytest.mark.parametrize("wires", [9, 12, 13])
def test_states_wider_than_a_tile_are_those_of_the_general_way(wires: int) -> None:
    """Operations on wires inside and outside of tiles, with controls and phases on either, give the same shots."""
    rng = np.random.default_rng(wires)
    builder = CircuitBuilder(wires, wires)
    for k in range(6 * wires):
        one, two, three = rng.permutation(wires)[:3].tolist()
        builder.gate("u", [one], *rng.uniform(0, 6, 3)).channel(noise.amplitude_damping(0.02), [one])
        builder.gate(("cx", "cz", "swap", "crx")[k % 4], [one, two], *([0.3] if k % 4 == 3 else []))
        builder.gate("h", [three], controls=[two]).channel(noise.amplitude_damping(0.02), [two])
        builder.gate("rzz", [one, three], 0.7).channel(noise.amplitude_damping(0.02), [three])
    circuit = builder.measure(list(range(wires)), list(range(wires))).build()
    assert Simulator(device="cpu").run(circuit, 2).facts["way"] == COMPILED
    assert same_shots(circuit, 40, 1)


def test_nothing_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A narrow circuit with chance is neither cut into segments nor planned."""
    monkeypatch.setattr("qsim_ex.program.division.OpenLevel.segment", None)
    monkeypatch.setattr("qsim_ex.run.machine.plans_of", None)
    builder = CircuitBuilder(1, 1)
    for _ in range(50):
        builder.gate("x", [0]).channel(noise.amplitude_damping(0.01), [0])
    (result,) = Simulator(device="cpu").run_batch(builder.measure([0], [0]).build(), shots=100, trajectories=100)
    assert result.facts["way"] == COMPILED
    assert result.facts["branch_points"] == 50
    assert result.plan.sweeps == result.plan.gates == 0


def test_a_run_can_be_cancelled_and_watched() -> None:
    """Each shot is one step of the progress, and a run ends when it is cancelled."""
    import threading

    from qsim_ex.errors import Cancelled

    circuit, told = random_noisy(3, 20, 1, ALL), []
    Simulator(device="cpu", progress=lambda done, total: told.append((done, total))).run(circuit, 500, seed=1)
    assert told[-1] == (500, 500)
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        Simulator(device="cpu").run(circuit, 500, cancel=stop)


def test_explain_says_that_no_plan_is_followed() -> None:
    """`explain` names the way in which a narrow circuit with chance runs, and names it for no other circuit."""
    builder = CircuitBuilder(2, 2).gate("h", [0]).measure([0], [0]).gate("h", [0])
    assert "compiled trajectories" in Simulator(device="cpu").explain(builder.measure([0, 1], [0, 1]).build())
    plain = CircuitBuilder(2, 2).gate("h", [0]).measure([0, 1], [0, 1]).build()
    assert "compiled trajectories" not in Simulator(device="cpu").explain(plain)


def test_averages_take_a_thousand_trajectories() -> None:
    """Where nobody says how many trajectories, an average takes 1,000: of a save without observables too."""
    noisy = CircuitBuilder(1).gate("h", [0]).channel(noise.amplitude_damping(0.3), [0])
    circuit = noisy.save("p", "probabilities", wires=[0], how="average").build()
    assert Simulator(device="cpu", method="statevector").run(circuit, seed=1).metadata()["trajectories"] == 1000
