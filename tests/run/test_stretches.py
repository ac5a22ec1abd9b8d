"""Tests of what runs in place of stretches of gates: the same answers, taken where it is faster, and told."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.deployments import ON_CPU
from support.held import Hold
from support.noisy_circuits import KINDS, random_noisy

from qsim_ex import Circuit, CircuitBuilder, PauliString, PauliSum, Simulator, reference
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.program.divide import program_of
from qsim_ex.program.gathered import acted, is_gate
from qsim_ex.program.turns import turns_of, with_segments, with_turns
from qsim_ex.run import instead, stretches
from qsim_ex.run.foreseen import BRANCHES
from qsim_ex.run.instead import CHECKPOINT
from qsim_ex.run.stretches import SHORT, SLOWER, InStretches, StretchLook
from qsim_ex.run.where import Where
from tools.fuzz.engine_ranks import on_ranks
from tools.fuzz.thresholds import STRETCHES

N = 8
SOME = PauliSum((PauliString(5, 0), PauliString(0, 130), PauliString(12, 33)))


def stretch(builder: CircuitBuilder, seed: int) -> None:
    """Append rotations about strings and single wires, with what makes them, in the words of a transpiler."""
    rng = np.random.default_rng(seed)
    for _ in range(2):
        on = rng.permutation(N)[:3].tolist()
        for wire in on:
            builder.gate("h", [wire])
        for one, other in pairwise(on):
            builder.gate("h", [other]).gate("cz", [one, other]).gate("h", [other])
        builder.gate("rz", [on[-1]], rng.uniform(0.2, 0.7))
        for one, other in zip(on[-2::-1], on[:0:-1], strict=False):
            builder.gate("h", [other]).gate("cz", [one, other]).gate("h", [other])
        for wire in on:
            builder.gate("sx", [wire]).gate("rz", [wire], np.pi / 2)


def measured() -> Circuit:
    """Measurements in the middle, a reset, a condition and a channel between stretches; all is measured at the end."""
    builder = CircuitBuilder(N, N)
    stretch(builder, 0)
    builder.measure([2, 5], [0, 1])
    with builder.condition([0], [1]):
        builder.gate("ry", [3], 0.7)
    stretch(builder, 1)
    builder.reset([4]).channel(noise.amplitude_damping(0.2), [1])
    stretch(builder, 2)
    builder.channel(noise.depolarizing(0.1), [6])
    stretch(builder, 3)
    return builder.measure(range(N), range(N)).build()


def saved() -> Circuit:
    """Saves between stretches, and a state that is set."""
    builder = CircuitBuilder(N)
    for number in range(3):
        stretch(builder, number)
        builder.save(f"mean {number}", "expectation_value", observable=SOME, wires=range(N), how="average")
    builder.save("rho", "density_matrix", wires=[2, 0])
    stretch(builder, 3)
    return builder.save("psi").build()


def looped() -> Circuit:
    """A loop whose rounds are stretches, until a bit is 1."""
    builder = CircuitBuilder(N, N)
    stretch(builder, 0)
    with builder.loop(builder.bits([0]).invert()):
        stretch(builder, 1)
        builder.measure([0], [0])
    stretch(builder, 2)
    return builder.measure(range(1, N), range(1, N)).build()


CIRCUITS = {"measured": measured, "saved": saved, "looped": looped}


def told(result: Any) -> str | None:
    """Return how a run was written."""
    found: str | None = result.provenance.facts.get("written")
    return found


def answers(simulator: Simulator, circuit: Circuit) -> tuple[str | None, list[Any]]:
    """Return how a run was written, its shots or what it saved, and means, if there is anything random."""
    shots = 20 if circuit.num_clbits else None
    found = simulator.run(circuit, shots, seed=5) if shots else simulator.run(circuit, seed=5)
    numbers = [found.packed if shots else None, *found.saved.values()]
    if shots:
        numbers.append(simulator.run_batch(circuit, observables=[SOME], trajectories=4, seeds=3).values)
    return told(found), numbers


def agree(found: list[Any], expected: list[Any]) -> None:
    """Assert that shots are equal, and all else but for rounding."""
    for one, other in zip(found, expected, strict=True):
        if one is not None and one.dtype == np.uint8:
            assert np.array_equal(one, other)
        elif one is not None:
            np.testing.assert_allclose(one, other, atol=1e-11)


@pytest.mark.parametrize(
    ("name", "where"), [*(("measured", where) for where in ON_CPU), *((name, "single") for name in CIRCUITS)]
)
def test_stretches_have_the_answers_of_the_circuit(name: str, where: str, hold: Hold) -> None:
    """In every placement shots of a seed, means and saves are those of the circuit as it came, and results tell it."""
    hold(**STRETCHES)
    made, simulator = CIRCUITS[name](), Simulator(device="cpu", precision="double", **ON_CPU[where].options)
    how, found = answers(simulator, made)
    assert how is not None
    assert how.startswith("as Pauli rotations in ")
    assert f"the circuit runs {how}" in str(simulator.explain(made))
    hold(written_percent=0)
    how, expected = answers(simulator, made)
    assert how is None
    agree(found, expected)


@pytest.mark.parametrize("seed", range(4))
def test_drawn_circuits_have_their_joint_distribution(seed: int, hold: Hold) -> None:
    """Bits of drawn circuits with chance of every kind are distributed as by the definition."""
    hold(**STRETCHES, jointly=1 + seed % 3)
    circuit = random_noisy(4, 30, seed, (*KINDS, "measure", "reset", "condition") if seed % 2 else ("measure", "reset"))
    simulator, shots = Simulator(device="cpu", precision="double"), 1000
    simulator.run(circuit, 4, seed=seed)
    counts = simulator.run(circuit, shots, seed=seed).counts()
    for bits, rho in reference.by_bits(circuit).items():
        wanted = shots * float(np.trace(rho).real)
        assert abs(counts.get(bits, 0) - wanted) < 5 * np.sqrt(wanted) + 2


@pytest.mark.parametrize("seed", range(4))
def test_density_matrices_are_those_of_the_definition(seed: int, hold: Hold) -> None:
    """A density matrix of which stretches are written is that of the definition, and the run says so."""
    hold(**STRETCHES)
    rng, builder = np.random.default_rng(seed), CircuitBuilder(4)
    for _ in range(6):
        one, other = rng.permutation(4)[:2].tolist()
        builder.gate("rzz", [one, other], 0.3).gate("rx", [one], rng.uniform(0, 1)).gate("h", [other])
        builder.gate("cx", [one, other]).gate("rz", [other], rng.uniform(0, 1))
        if rng.random() < 0.4:
            builder.channel(noise.amplitude_damping(0.2), [one])
    found = Simulator(device="cpu", precision="double", method="density_matrix").run(
        builder.save("rho", "density_matrix", how="average").build()
    )
    np.testing.assert_allclose(found.saved["rho"], reference.density_matrix(builder.build()), atol=1e-12)
    assert told(found)


def test_a_batch_is_written_for_all_bindings(hold: Hold) -> None:
    """Bindings of a circuit that measures in the middle have the shots that they have as it came."""
    hold(**STRETCHES)
    simulator, circuit, rng = Simulator(device="cpu", precision="double"), rotated(), np.random.default_rng(3)
    bound = np.concatenate([rotated(rng.uniform(0.2, 1, N)).operands for _ in range(5)])
    found = simulator.run_batch(circuit, bound, shots=100, seeds=7)
    again = [simulator.run(rotated(angles), 100, seed=7) for angles in rng.uniform(0.2, 1, (3, N))]
    assert told(found)
    assert all(map(told, again))
    hold(written_percent=0)
    rng = np.random.default_rng(3)
    rng.uniform(0.2, 1, (5, N))
    came = [simulator.run(rotated(angles), 100, seed=7) for angles in rng.uniform(0.2, 1, (3, N))]
    assert np.array_equal(found.packed, simulator.run_batch(circuit, bound, shots=100, seeds=7).packed)
    assert all(np.array_equal(one.packed, other.packed) for one, other in zip(again, came, strict=True))


def rotated(angles: Any = (0.3,) * N) -> Circuit:
    """RZZ and RX by some angles, a measurement in the middle, and the same again."""
    builder = CircuitBuilder(N, N)
    for half in range(2):
        for wire, angle in enumerate(angles):
            builder.gate("h", [wire]).gate("rzz", [wire, (wire + 1) % N], float(angle)).gate("rx", [wire], float(angle))
        builder.measure([half], [half])
    return builder.measure(range(N), range(N)).build()


# --- what is chosen -----------------------------------------------------------------------------------------------


def test_short_stretches_run_as_they_came(hold: Hold) -> None:
    """Where each segment takes too little time, nothing is written, and `explain` says so."""
    hold(**{**STRETCHES, "compared_microseconds": 1 << 40, "written_microseconds": 1 << 40})
    simulator, made = Simulator(device="cpu"), measured()
    assert told(simulator.run(made, 10, seed=1)) is None
    assert f"the circuit runs as it came: {SHORT}" in str(simulator.explain(made))


def test_what_is_not_faster_runs_as_it_came(hold: Hold) -> None:
    """Where nothing written is predicted to be faster, the circuit runs as it came, and `explain` says so."""
    hold(**{**STRETCHES, "written_percent": 1})
    simulator, made = Simulator(device="cpu"), measured()
    assert told(simulator.run(made, 10, seed=1)) is None
    assert f"the circuit runs as it came: {SLOWER}" in str(simulator.explain(made))


def test_manners_are_compared_when_all_runs_have_taken_as_long(hold: Hold) -> None:
    """A short run waits for nothing; when all runs, each state counted, have taken as long, the fastest is taken."""
    hold(**{**STRETCHES, "planned_microseconds": 1})
    made, waited = measured(), list[int]()
    for shots in (1, 1000):
        stretches.tried_stretches.cache_clear()
        simulator = Simulator(device="cpu", precision="double", threads=1)
        taken = [told(simulator.run(made, shots, seed=seed)) is not None for seed in range(60)]
        assert taken == sorted(taken)
        waited.append(taken.index(True))
    assert waited[0] > 1 + 2 * waited[1]


def test_a_run_that_waits_for_kernels_compares_at_once(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """With compile="always" on a GPU all manners are compared in the first run, and not again."""
    hold(**{**STRETCHES, "planned_microseconds": 1 << 30})
    monkeypatch.setattr(Where, "compiles", True)
    compared, compare = [0], StretchLook.in_all_manners

    def counted(look: StretchLook) -> None:
        compared[0] += 1
        compare(look)

    monkeypatch.setattr(StretchLook, "in_all_manners", counted)
    simulator, made = Simulator(device="cpu"), measured()
    assert all(told(simulator.run(made, 1, seed=1)) for _ in range(3))
    assert compared == [1]


def test_checkpoints_and_branches_of_density_matrices_say_why(tmp_path: Path, hold: Hold) -> None:
    """Runs with checkpoints, and density matrices of circuits with loops, are as they came, and `explain` says why."""
    hold(**STRETCHES)
    kept = Simulator(device="cpu", checkpoint=tmp_path / "kept")
    assert f"the circuit runs as it came: {CHECKPOINT}" in str(kept.explain(measured()))
    assert told(kept.run(measured(), 10, seed=1)) is None
    builder = CircuitBuilder(3, 1)
    builder.gate("h", [0])
    with builder.loop(builder.bits([0]).invert()):
        builder.gate("ry", [0], 1.0).gate("cx", [0, 1]).gate("rx", [1], 0.3).measure([0], [0])
    exact = Simulator(device="cpu", method="density_matrix")
    assert f"the circuit runs as it came: {BRANCHES}" in str(exact.explain(builder.build()))
    assert told(exact.run(builder.build(), 10, seed=1)) is None


@pytest.mark.parametrize("others", ["alike", "other numbers"])
def test_ranks_run_what_all_of_them_write(hold: Hold, monkeypatch: pytest.MonkeyPatch, others: str) -> None:
    """Ranks that share a state find the shots of one process, and by what all write alike if they do."""
    hold(**STRETCHES)
    made, usual = measured(), instead.as_told
    alone = Simulator(device="cpu", precision="double", processes="never").run(made, 7, seed=5)

    def off(*given: Any) -> InStretches | str:
        found = usual(*given)
        assert isinstance(found, InStretches)
        return found._replace(bound=Bindings.of(found.bound.operands(0, 1) * np.exp(1e-15j)))

    if others == "other numbers":
        monkeypatch.setattr(instead, "as_told", off)
    together = Simulator(device="cpu", precision="double", processes=2)
    for found in on_ranks(2, lambda: together.run(made, 7, seed=5)):  # fewer shots than are shared out
        assert (told(found) is not None) == (others == "alike")
        assert np.array_equal(found.packed, alone.packed)


def test_trajectories_that_are_compiled_or_shared_out(hold: Hold) -> None:
    """Compiled trajectories follow the circuit as it came, and say so; shared out, each process writes for itself."""
    hold(**{**STRETCHES, "damped_trajectory_wires": N, "trajectory_wires": N, "measured_trajectory_wires": N})
    simulator, made = Simulator(device="cpu", precision="double"), measured()
    expected = simulator.run(made, 40, seed=5)
    assert expected.facts["way"] == "compiled trajectories"
    assert told(expected) is None
    assert "compiled trajectories: gate by gate" in str(simulator.explain(made))
    assert "the circuit runs as Pauli" not in str(simulator.explain(made))
    hold(**STRETCHES)
    together = Simulator(device="cpu", precision="double", processes=2)
    for found in on_ranks(2, lambda: [together.run(made, 40, seed=5) for _ in range(2)][-1]):
        assert found.facts["shared_out"] == "trajectories"
        assert told(found)
        assert np.array_equal(found.packed, expected.packed)


# --- turns ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*CIRCUITS, "drawn"])
def test_turns_keep_the_order_on_each_wire(name: str) -> None:
    """Gates and others take turns, all pieces are there once, and those on a wire in common stand as they stood."""
    circuit = CIRCUITS[name]() if name in CIRCUITS else random_noisy(4, 60, 3, (*KINDS, "measure", "condition"))
    program = program_of(circuit.structure)
    for segment in program.segments:
        turns = turns_of(segment)
        order = [piece for turn in turns for piece in turn]
        assert all(is_gate(piece) == (number % 2 == 0) for number, turn in enumerate(turns) for piece in turn)
        assert sorted(map(id, order)) == sorted(map(id, segment.pieces))
        for wire in range(circuit.num_qubits):
            on = [[id(piece) for piece in of if acted(piece) >> wire & 1] for of in (order, segment.pieces)]
            assert on[0] == on[1]
    same = {
        of: with_turns(program.segment_at(of), turns_of(program.segment_at(of)), {}) for of in program.segment_places
    }
    assert with_segments(program, same).choices is program.choices
