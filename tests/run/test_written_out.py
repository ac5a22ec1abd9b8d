"""Tests of runs of what is written out of a circuit's form: the same answers, taken where it is faster, and told."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import strategies
from support.deployments import ON_CPU
from support.held import Hold

from benchmarks.engine import circuit_of
from benchmarks.forms import transpiled
from qsim_ex import Circuit, CircuitBuilder, PauliSum, Simulator, reference, thresholds
from qsim_ex.circuit.ops import Op, When
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.planning.written.out import Manner, WrittenCircuit
from qsim_ex.run import candidates, foreseen, written_by_ranks, written_out
from qsim_ex.run.looks import Look
from qsim_ex.run.where import Where
from qsim_ex.run.written_out import Written
from qsim_ex.steps import Plan
from tools.fuzz.engine_ranks import on_ranks
from tools.fuzz.thresholds import WRITTEN
from tools.golden_counts import FAMILIES

N = 8


def with_end(gates: Circuit, measured: bool = False, saves: bool = False) -> Circuit:
    """Return gates with a measurement of all wires, or saves, behind them."""
    builder = CircuitBuilder(N, N)
    if saves:
        builder.save("psi").save("rho", "density_matrix", wires=[2, 0])
        builder.save("p", "probabilities", wires=[1, 3])
    if measured:
        builder.measure(range(N), range(N))
    whole = structure_of(N, N, (*gates.instructions, *builder.build().instructions))
    return Circuit.of_structure(whole, gates.operands)


@cache
def gates(name: str) -> Circuit:
    """Return a family of the benchmarks in the gates of a machine."""
    return transpiled(FAMILIES[name](N), N, ("rz", "sx", "x", "cz"), 1)


@cache
def state_of(name: str) -> np.ndarray:
    """Return the state of these gates by definition."""
    return reference.simulate(gates(name))


@pytest.mark.parametrize(("name", "where"), [("uccsd", "single"), *(("hubbard", where) for where in ON_CPU)])
def test_what_is_written_out_has_the_answers_of_the_circuit(name: str, where: str, hold: Hold) -> None:
    """Saved states, shots of a seed and means are those of the circuit, in every placement, and results tell it."""
    hold(**WRITTEN)
    made, simulator = gates(name), Simulator(device="cpu", precision="double", **ON_CPU[where].options)
    psi = state_of(name)
    found = simulator.run(with_end(made, saves=True))
    assert found.provenance.facts["written"] == "as Pauli rotations"
    np.testing.assert_allclose(found.saved["psi"], psi, atol=2e-12)
    with simulator.state(made) as state:
        np.testing.assert_allclose(state.to_numpy(), psi, atol=2e-12)
    shots = [simulator.run(with_end(made, measured=True), 200, seed=5)]
    means = [simulator.run_batch(made, observables=[SOME])]
    hold(written_percent=0)
    shots.append(simulator.run(with_end(made, measured=True), 200, seed=5))
    means.append(simulator.run_batch(made, observables=[SOME]))
    plain = simulator.run(with_end(made, saves=True))
    assert "written" not in plain.provenance.facts
    for label in ("rho", "p"):
        np.testing.assert_allclose(found.saved[label], plain.saved[label], atol=2e-12)
    assert np.array_equal(shots[0].packed, shots[1].packed)
    np.testing.assert_allclose(means[0].values, means[1].values, atol=2e-12)


def toffolis(first: float) -> Circuit:
    """Turns of a wire between two Toffolis that write it: a gate is five rotations in the mean."""
    builder = CircuitBuilder(N)
    for wire in range(N):
        builder.gate("h", [wire])
    for number in range(24):
        on = [(number + 3 * k) % N for k in range(3)]
        builder.gate("ccx", on).gate("rz", on[2:], first + number / 9).gate("ccx", on)
    return builder.build()


def test_what_is_written_of_gates_that_are_many_rotations_has_their_state(hold: Hold) -> None:
    """A first run takes the circuit as it came, and later ones, with other numbers too, what was read of it again."""
    hold(**(WRITTEN | {"rotations_of_a_gate": 1}))
    simulator, written = Simulator(device="cpu", precision="double"), []
    for circuit in map(toffolis, (0.1, 0.1, 0.4, 0.7)):
        found = simulator.run(with_end(circuit, saves=True))
        written.append("written" in found.provenance.facts)
        np.testing.assert_allclose(found.saved["psi"], reference.simulate(circuit), atol=2e-12)
    assert not written[0]
    assert written[-1]


@pytest.mark.parametrize("name", ["hubbard", "uccsd"])
def test_a_saved_unitary_is_that_of_all_states(name: str, hold: Hold) -> None:
    """The unitary of a circuit, which says what becomes of every state, is not that of what is written for |0…0⟩."""
    made, simulator = gates(name), Simulator(device="cpu", precision="double")
    saved = CircuitBuilder(N).save("u", "unitary").build().instructions
    whole = Circuit.of_structure(structure_of(N, 0, (*made.instructions, *saved)), made.operands)
    hold(**WRITTEN)
    found = simulator.run(whole)
    hold(written_percent=0)
    assert "written" in found.provenance.facts
    np.testing.assert_allclose(found.saved["u"], simulator.run(whole).saved["u"], atol=2e-12)


def plans_of(simulator: Simulator, circuit: Circuit) -> int:
    """Return how many gates the plans of a circuit have."""
    return sum(plan.num_gates for plan in simulator.plans(circuit))


@pytest.mark.parametrize("name", ["uccsd", "ucc"])
def test_a_circuit_in_another_basis_finds_its_plan(name: str, hold: Hold) -> None:
    """As written and in each machine's gates it has one form, which `explain` tells, and one plan, made once."""
    hold(**WRITTEN)
    simulator, made = Simulator(device="cpu"), circuit_of(FAMILIES[name](N), N)
    bases = ("rz", "sx", "x", "cz"), ("rz", "sx", "x", "cx"), ("r", "cz")
    circuits = [made, *(transpiled(FAMILIES[name](N), N, basis, 1) for basis in bases)]
    assert len({id(simulator.plans(one)[0]) for one in circuits}) == 1
    forms = {line for one in circuits for line in str(simulator.explain(one)).splitlines() if line.startswith("form: ")}
    assert len(forms) == 1
    assert " Pauli rotations in " in forms.pop()


def test_a_circuit_in_another_basis_takes_the_faster_plan() -> None:
    """A large circuit in a machine's gates is planned as its form is written, and explained so; a dense one is not."""
    simulator = Simulator(device="cpu", precision="single")
    made = transpiled(FAMILIES["uccsd"](20), 20, ("rz", "sx", "x", "cz"), 1)
    assert plans_of(simulator, made) < len(made.instructions) / 4
    assert "the circuit runs as Pauli rotations" in str(simulator.explain(made))
    dense = circuit_of(FAMILIES["brick"](20), 20)
    assert plans_of(simulator, dense) == len(dense.instructions)
    assert "Pauli rotations" not in str(simulator.explain(dense))


def reset(builder: CircuitBuilder) -> CircuitBuilder:
    """Something random in the middle."""
    return builder.gate("h", [0]).reset([0]).gate("h", [0])


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ({"written_microseconds": 1 << 40}, foreseen.SHORT),
        ({"written_percent": 1}, foreseen.SLOWER),
    ],
)
def test_what_takes_no_time_or_is_not_faster_runs_as_it_came(numbers: dict[str, int], why: str, hold: Hold) -> None:
    """Short runs and what is not predicted to be faster stay what they are, and `explain` says why."""
    hold(**(WRITTEN | numbers))
    simulator, made = Simulator(device="cpu"), with_end(gates("hubbard"), measured=True)
    assert "written" not in simulator.run(made, 10).provenance.facts
    assert f"the circuit runs as it came: {why}" in str(simulator.explain(made))


def test_what_is_slower_in_one_place_is_tried_in_another(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """That a structure is not faster is known of the placement in which it was tried, and of no other."""

    def seconds(where: Where, plans: Sequence[Plan]) -> float:
        gates = float(sum(plan.num_gates for plan in plans))
        return gates if where.options.virtual_peers == 1 else 1 / gates

    monkeypatch.setattr(Where, "seconds", seconds)
    hold(**(WRITTEN | {"written_percent": 100}))
    made = with_end(gates("uccsd"), measured=True)
    told = [
        "written" in Simulator(device="cpu", virtual_peers=peers).run(made, 10).provenance.facts for peers in (2, 1, 2)
    ]
    assert told == [False, True, False]


def test_a_batch_that_is_too_small_says_nothing_of_larger_ones(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bindings that take no time run as they came, and many of the same circuit as Pauli rotations."""
    monkeypatch.setattr(Where, "seconds", lambda _, plans: 1e-9 * sum(plan.num_gates for plan in plans))
    made, one = gates("hubbard"), [PauliSum.from_labels({"Z" * N: 1.0})]
    hold(**(WRITTEN | {"written_percent": 100, "written_microseconds": made.num_gates // 100}))

    def told(count: int) -> bool:
        many = Circuit.of_structure(made.structure, np.repeat(made.operands, count, axis=0))
        return "written" in Simulator(device="cpu").run_batch(many, observables=one).provenance.facts

    assert [told(2), told(20)] == [False, True]


@pytest.mark.parametrize(("name", "microseconds", "apart"), [("ucc", 20, True), ("hubbard", 5, False)])
def test_what_takes_longer_to_plan_than_all_runs_waits(
    name: str, microseconds: int, apart: bool, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No run waits for plans that take longer than all runs so far; later ones have them, and what `explain` shows.

    Of a circuit that looks taken apart a part of its gates is expected to be written; clusters are found in all gates.
    """
    monkeypatch.setattr(Where, "seconds", lambda _, plans: 1e-6 * sum(plan.num_gates for plan in plans))
    hold(**(WRITTEN | {"planned_microseconds": microseconds, "gate_nanoseconds": 2000}))
    simulator, made, looks = Simulator(device="cpu", threads=1), with_end(gates(name), measured=True), []
    write = candidates.write

    def counted(*given: object, **named: object) -> WrittenCircuit | None:
        looks.append(runs)
        return write(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(candidates, "write", counted)
    told, runs = [], 0
    for runs in range(1, (1 + len(Manner)) * microseconds):  # noqa: B007  (of which `counted` tells)
        told += ["written" in simulator.run(made, 10).provenance.facts]
    assert told == sorted(told)
    expected = microseconds * ((len(Manner) - 1) / (thresholds.now.far_fewer if apart else 1) + 0.4)
    assert told.index(True) == pytest.approx(expected, abs=2)  # microseconds are rounded
    assert {*looks} == {1 + told.index(True)}
    hold(planned_microseconds=1 << 41)  # so that nothing is known
    assert "as Pauli rotations" in str(simulator.explain(made))


def test_a_circuit_that_comes_again_is_written_in_all_manners(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first run plans one manner, the second one the others, and later ones the fastest of all alone."""
    asked, ran, structure_of_look = [0.0], list[tuple[int, Manner]](), Look._in_place

    def seconds(_: Where, plans: Sequence[Plan]) -> float:
        gates = float(sum(plan.num_gates for plan in plans))
        asked.append(gates)
        return 1.0 if gates == made.structure.num_gates else 1 / gates  # the longest is the fastest

    def in_place(look: Look, written: WrittenCircuit) -> Structure:
        found = structure_of_look(look, written)
        ran.append((len(found.instructions), written.manner))
        return found

    monkeypatch.setattr(Where, "seconds", seconds)
    monkeypatch.setattr(Look, "_in_place", in_place)
    hold(**(WRITTEN | {"written_percent": 100, "planned_microseconds": 0, "clustered_percent": 0}))
    simulator, made, found = Simulator(device="cpu", threads=1), with_end(gates("ucc"), saves=True), []
    for _ in range(4):
        asked.clear()
        ran.clear()
        assert simulator.run(made).provenance.facts["written"] == "as Pauli rotations"
        found.append((len(asked), [*ran]))
    assert [times for times, _ in found] == [2, 1 + len(Manner), 0, 0]  # with that of the circuit as it came
    (_, first), (_, all_of_them), *later = found
    assert {manner for _, manner in all_of_them} == {*Manner}
    assert first == [one for one in all_of_them if one[1] is Manner.GROWN]
    assert [which for _, which in later] == [[max(all_of_them)]] * 2
    assert max(all_of_them) > first[0]


def test_other_runs_are_as_they_came(hold: Hold) -> None:
    """Something random before the end and gates behind a save are run as they came."""
    hold(**WRITTEN)
    simulator = Simulator(device="cpu")
    results = [
        simulator.run(reset(CircuitBuilder(1, 1)).measure([0], [0]).build(), 10),
        simulator.run(CircuitBuilder(2).gate("h", [0]).save("a").gate("cx", [0, 1]).build()),
    ]
    assert not [one for one in results if "written" in one.provenance.facts]


def several(circuit: Circuit, count: int) -> Circuit:
    """Return bindings of a circuit: its phases are drawn, later on with quarter turns among them; one of them stays."""
    rng = np.random.default_rng(4)
    operands = np.repeat(circuit.operands, count, axis=0)
    places = [one.operand for one in circuit.instructions if isinstance(one, Op) and one.name == "rz"][1:]
    angles = rng.uniform(-4, 4, (count, len(places)))
    angles[2:, ::3] = rng.integers(-4, 5, angles[2:, ::3].shape) * np.pi / 2
    operands[:, places] = np.exp(1j * angles)
    return Circuit.of_structure(circuit.structure, operands)


SOME = PauliSum.from_labels({"XYZIIZZX": 0.7, "IZZXIIII": -1.2})


@cache
def two() -> tuple[Circuit, list[np.ndarray]]:
    """Return a circuit with two bindings, and its states by definition."""
    made = several(gates("ucc"), 2)
    return made, [reference.simulate(Circuit.of_structure(made.structure, one[None])) for one in made.operands]


@pytest.mark.parametrize("where", ON_CPU)
def test_many_bindings_run_what_is_written_for_all(where: str, hold: Hold) -> None:
    """A batch has the states, means and shots of its seeds that it has as it came, in every placement."""
    simulator = Simulator(device="cpu", precision="double", **ON_CPU[where].options)
    made, expected = two()
    found = []
    for percent in (WRITTEN["written_percent"], 0):
        hold(**(WRITTEN | {"written_percent": percent}))
        sampled = simulator.run_batch(with_end(made, measured=True, saves=True), shots=100, seeds=range(2))
        found.append((sampled, simulator.run_batch(made, observables=[SOME])))
    (shots, means), (plain_shots, plain_means) = found
    assert [one.provenance.facts.get("written") for one in found[0]] == ["as Pauli rotations"] * 2
    assert not [one for one in found[1] if "written" in one.provenance.facts]
    assert np.array_equal(shots.packed, plain_shots.packed)
    np.testing.assert_allclose(means.values, plain_means.values, atol=2e-12)
    for k, psi in enumerate(expected):
        np.testing.assert_allclose(shots[k].saved["psi"], psi, atol=2e-12)


def written(circuit: Circuit, **options: bool) -> str | None:
    """Return how a run of a circuit, or a batch, was written; checked to have the means of the circuit as it came."""
    simulator = Simulator(device="cpu", precision="double", **options)
    some = PauliSum.from_labels(
        {("XYZIIZZXZX" * 3)[: circuit.num_qubits]: 0.7, "Z" + "I" * (circuit.num_qubits - 1): 1.0}
    )
    found = simulator.run_batch(circuit, observables=[some])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(written_out, "written_out", lambda *_, **__: None)
        plain = simulator.run_batch(circuit, observables=[some])
    np.testing.assert_allclose(found.values, plain.values, atol=2e-12)
    return found.provenance.facts.get("written")


def test_a_loop_is_written_twice(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first binding is written as it is and the second for all; later ones are what is known, and planned once."""
    writes, write = [], candidates.write

    def counted(circuit: Circuit, **limits: int) -> WrittenCircuit | None:
        writes.append(len(circuit.operands))
        return write(circuit, **limits)

    monkeypatch.setattr(candidates, "write", counted)
    hold(**WRITTEN)
    made = several(gates("hubbard"), 6)
    for binding in made.operands:
        assert written(Circuit.of_structure(made.structure, binding[None])) == "as Pauli rotations"
    assert writes == [1, 2]


def test_matrices_that_differ_are_written_for_each_binding(hold: Hold) -> None:
    """Where matrices have other eigenvectors in each binding, each runs what is written for it, and says so."""
    hold(**WRITTEN)
    operands = []
    for seed in range(5):
        builder = CircuitBuilder(N)
        for wire in range(N):
            builder.unitary(strategies.random_unitary(2, 20 * seed + wire), [wire]).gate("cx", [wire, (wire + 1) % N])
        operands.append(builder.build().operands)
    one = builder.build()
    alone = "as Pauli rotations, for this binding alone"
    told = [written(Circuit.of_structure(one.structure, numbers)) for numbers in operands]
    assert told == ["as Pauli rotations", alone, alone, alone, alone]
    assert "this binding alone" in str(Simulator(device="cpu").explain(one))
    assert written(Circuit.of_structure(one.structure, np.concatenate(operands))) is None


def test_what_is_slower_for_all_may_be_faster_for_each(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bindings whose angles vanish are written for themselves where what is written for all takes longer."""

    def seconds(_: Where, plans: Sequence[Plan]) -> float:
        return float(sum(plan.num_gates for plan in plans))

    monkeypatch.setattr(Where, "seconds", seconds)
    hold(**(WRITTEN | {"written_percent": 60}))
    builders = [CircuitBuilder(N) for _ in range(3)]
    for k, builder in enumerate(builders):
        for j in range(300):
            builder.gate("rx", [j % N], np.pi if j % 3 == k else np.pi / 2).gate("cz", [j % N, (j + 1) % N])
    given = [builder.build() for builder in builders]
    told = [written(Circuit.of_structure(given[0].structure, one.operands)) for one in given]
    assert told == ["as Pauli rotations", *["as Pauli rotations, for this binding alone"] * 2]


def beside(first: Circuit, last: Circuit | None = None) -> Circuit:
    """Return a circuit with an idle wire above it, or with another circuit that nothing joins to it."""
    builder, columns = CircuitBuilder(2 * N if last else N + 1), [first.operands]
    instructions, place = list(first.instructions), first.operands.shape[1]
    for one in last.instructions if last else ():
        assert isinstance(one, Op)
        moved = one._replace(
            mixes=tuple(wire + N for wire in one.mixes),
            reads=tuple(read << N for read in one.reads),
            when=When(one.when.mask << N, one.when.value << N),
            operand=one.operand + place,
        )
        instructions.append(moved)
    columns += [last.operands] if last else []
    return Circuit.of_structure(
        structure_of(builder.num_qubits, 0, tuple(instructions)), np.concatenate(columns, axis=1)
    )


@pytest.mark.parametrize("count", [1, 3])
def test_what_is_left_of_idle_wires_and_parts_are_written_out(count: int, hold: Hold) -> None:
    """A circuit with idle wires, and each part of one that is in parts, runs what is written out of it."""
    hold(**WRITTEN, table_wires=0)
    one, other = several(gates("hubbard"), count), several(gates("ucc"), count)
    assert written(beside(one)) == "as Pauli rotations"
    assert written(beside(one, other)) == "as Pauli rotations"
    assert written(beside(one, one)) == "as Pauli rotations"
    assert written(beside(one), separate=False) == "as Pauli rotations"


@pytest.mark.parametrize("others", ["alike", "nothing", "other numbers"])
def test_ranks_run_what_all_of_them_write(hold: Hold, monkeypatch: pytest.MonkeyPatch, others: str) -> None:
    """Ranks find the states, shots and means of one process by what all write alike, else by the circuit as it came."""
    hold(**WRITTEN)
    made, alone = gates("hubbard"), Simulator(device="cpu", precision="double", processes="never")
    together = Simulator(device="cpu", precision="double", processes=2)
    usual = written_by_ranks.completed

    def off(*given: Any) -> Written:
        found = usual(*given)
        return found._replace(bound=Bindings.of(found.bound.operands(0, 1) * np.exp(1e-15j)))

    if others == "nothing":
        monkeypatch.setattr(written_by_ranks, "_in_manner", lambda *_: None)
    elif others == "other numbers":
        monkeypatch.setattr(written_by_ranks, "completed", off)

    def answers(simulator: Simulator) -> tuple[object, ...]:
        found = simulator.run(with_end(made, saves=True))
        shots = simulator.run(with_end(made, measured=True), 200, seed=5)
        means = simulator.run_batch(made, observables=[SOME])
        return found.provenance.facts.get("written"), found.saved["psi"], shots.packed, means.values

    _, psi, packed, means = answers(alone)
    for told, *found in on_ranks(2, lambda: answers(together)):
        assert told == ("as Pauli rotations" if others == "alike" else None)
        np.testing.assert_allclose(found[0], psi, atol=2e-12)
        assert np.array_equal(found[1], packed)
        np.testing.assert_allclose(found[2], means, atol=2e-12)


def test_a_run_with_checkpoints_says_that_it_runs_as_it_came(tmp_path: Path, hold: Hold) -> None:
    """Its plan is that of the circuit, and `explain` gives the reason."""
    hold(**WRITTEN)
    told = str(Simulator(device="cpu", checkpoint=tmp_path / "kept").explain(gates("hubbard")))
    assert "the circuit runs as it came: a checkpoint is found again by its own numbers" in told
    assert "the circuit runs as Pauli rotations" not in told
