"""Tests of what a first run takes, and of what it does to find that."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.first_runs import (
    CZ,
    EAGER,
    FEW_WIRES,
    LATE,
    MANY,
    N,
    OfHypotheticalGpu,
    gates,
    manner_of,
    of_manners,
)
from support.held import Hold

from benchmarks.engine import circuit_of
from benchmarks.first_drawn import structure
from benchmarks.forms import transpiled
from qsim_ex import Circuit, CircuitBuilder, Simulator
from qsim_ex.circuit.structure import Structure
from qsim_ex.planning.written.out import Manner, WritingLimits, WrittenCircuit, _Gates
from qsim_ex.planning.written.writer import Writer
from qsim_ex.reference import simulate
from qsim_ex.run import beside, candidates, first_look, looks, tried
from qsim_ex.run.first_look import FirstLook
from qsim_ex.run.looks import Look, Option
from qsim_ex.run.tried import TakenApart, taken_apart
from qsim_ex.run.where import Times, Where
from qsim_ex.steps import Plan
from tools.fuzz.sides import BEYOND, WITHIN, watched
from tools.golden_counts import FAMILIES


def structure_of_run(made: Circuit, threads: int, slow: float) -> Structure | None:
    """Return the structure that a first run takes where planning the circuit as it came takes some seconds longer."""
    tried.tried.cache_clear()
    one = OfHypotheticalGpu(made, threads=threads)

    def plans() -> Sequence[Plan]:
        time.sleep(slow)
        return one.plans()

    found = one.run(plans)
    return found and found.circuit.structure


@pytest.mark.parametrize("name", ["adder", "uccsd", "hubbard"])
def test_what_is_taken_depends_neither_on_threads_nor_on_time(name: str, hold: Hold) -> None:
    """A first run takes the same with one thread and with many, whatever is planned first."""
    hold(**EAGER)
    made = gates(name)
    found = {structure_of_run(made, *of) for of in ((1, 0.0), (2, 0.0), (3, 0.2), (8, 0.2), (8, 0.0))}
    assert len(found) == 1
    assert found != {None}


def test_few_rotations_are_planned_in_place_of_a_long_circuit() -> None:
    """What runs sooner than the circuit as it came is planned is taken at once, and the circuit is not planned."""
    one = OfHypotheticalGpu(gates("uccsd"), threads=1)
    found = one.run()
    assert found
    assert one.tried.chosen
    assert one.tried.chosen.manner is not Manner.BETWEEN
    assert len(found.circuit.instructions) < len(one.circuit.instructions) / 20
    assert one.asked == 0


def test_a_first_run_is_chosen_by_its_own_time(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes less time interpreted runs first; where later runs alone are faster, the circuit runs as it came."""
    hold(**EAGER)
    made = gates("adder")
    for came, written, taken in ((Times(1.0, 3.0), Times(1.0, 2.0), True), (Times(1.0, 3.0), Times(0.1, 2.9), False)):

        def times(
            _: Where, plans: Sequence[Plan], __: float = 0.0, came: Times = came, written: Times = written
        ) -> Times:
            return came if sum(plan.num_gates for plan in plans) == len(made.instructions) else written

        tried.tried.cache_clear()
        monkeypatch.setattr(Where, "times", times)
        assert bool(OfHypotheticalGpu(made, threads=1).run()) == taken


def test_short_runs_make_no_pieces_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is too short for any look is planned at once, and nothing is made that another thread might do."""
    monkeypatch.setattr(beside, "Begun", None)
    one = OfHypotheticalGpu(gates("su2"))
    assert one.run() is None
    assert one.asked == 1


@pytest.mark.parametrize("sooner", [0, MANY])
def test_what_is_written_as_its_author_wrote_it_runs_as_it_came(
    sooner: int, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a first run nothing but few rotations is looked for where gates do not look taken apart, unless it lasts
    far longer; nor in a circuit that takes long to plan.
    """
    made, met = circuit_of(FAMILIES["hubbard"](FEW_WIRES), FEW_WIRES), dict[str, int]()
    for percent, taken in ((MANY, None), (0, Manner.BETWEEN)):
        tried.tried.cache_clear()
        hold(**LATE | {"sooner_microseconds": sooner}, whole_percent=percent)
        begun = of_manners(Times(8e-5, 3e-4), {Manner.BETWEEN: Times(5e-5, 1e-4)}, monkeypatch)
        one = OfHypotheticalGpu(made, threads=2)
        with watched(met):
            assert manner_of(one) is taken
        assert not begun
        manner_of(one)
        (look,) = begun  # which no run waits for
        look()
        assert manner_of(one) is Manner.BETWEEN
    assert met["whole_percent"] == WITHIN | BEYOND


@pytest.mark.parametrize("threads", [1, 2])
def test_far_fewer_gates_are_taken_before_the_circuit_as_it_came_is_planned(threads: int, hold: Hold) -> None:
    """They are where gates look taken apart and a quarter of them is left; else, and in short circuits, both are."""
    for name, fewer, beside_it, asked in (
        ("hubbard", 4, 0, 0),
        ("hubbard", MANY, 0, 1),
        ("hubbard", 4, MANY, 1),
        ("clifford_t", 4, 0, 1),  # a third of them is left
    ):
        tried.tried.cache_clear()
        hold(**EAGER, far_fewer=fewer, short_runs=0, beside_microseconds=beside_it, sooner_microseconds=MANY)
        one = OfHypotheticalGpu(gates(name), threads=threads)
        assert manner_of(one) is (None if asked and name == "clifford_t" else Manner.BETWEEN)
        assert one.asked == asked


@pytest.mark.parametrize(("fewer", "taken"), [(4, Manner.GROWN), (MANY, None)])
def test_few_rotations_are_taken_before_the_circuit_as_it_came_is_planned(
    fewer: int, taken: Manner | None, hold: Hold
) -> None:
    """They are where they are far fewer gates than the circuit; else it is planned, and its run may be too short."""
    planning = {"gate_nanoseconds": 2000, "planned_microseconds": 60, "beside_microseconds": MANY}
    hold(**EAGER | planning, far_fewer=fewer, short_runs=0, sooner_microseconds=0)
    one = OfHypotheticalGpu(circuit_of(FAMILIES["pauli_strings"](N), N), threads=1)
    assert manner_of(one) is taken
    assert one.asked == (taken is None)


def look_of(circuit: Circuit) -> TakenApart:
    """Return what a circuit looks like."""
    return taken_apart(circuit.structure, len(circuit.instructions))


@pytest.mark.parametrize("basis", [CZ, ("r", "cz")])
def test_which_circuits_look_taken_apart(basis: tuple[str, ...]) -> None:
    """Those that a transpiler wrote do, but for dense pairs; no circuit with one gate for each turn does."""
    for name in ("qft", "qaoa", "ucc", "hubbard", "draper"):
        assert look_of(circuit_of(FAMILIES[name](N), N)) is TakenApart.NOTHING
        assert look_of(transpiled(FAMILIES[name](N), N, basis, 1)) is TakenApart.GATES
    for name, seed in (("qv", 2), ("qv", 3), ("heisenberg", 0), ("givens", 0)):  # of one a sample cuts most pairs
        assert look_of(transpiled(structure(FAMILIES[name](N), N, seed), N, basis, 1)) is TakenApart.NOTHING
    assert look_of(transpiled(FAMILIES["three_wires"](N), N, basis, 1)) is TakenApart.MATRICES


def test_a_turn_counts_once_however_many_operations_it_is_translated_to() -> None:
    """Circuits of u gates do not look taken apart, though each is three operations; those in rz, sx and x do."""
    rng, builder, written = np.random.default_rng(2), CircuitBuilder(N), CircuitBuilder(N)
    for layer in range(20):
        for wire in range(N):
            angles = rng.uniform(0.1, 3, 3).tolist()
            builder.gate("u", (wire,), *angles)
            for name, angle in zip(("rz", "sx", "rz"), angles, strict=True):
                written.gate(name, (wire,), *([] if name == "sx" else [angle]))
        for wire in range(layer % 2, N - 1, 2):
            builder.gate("cz", (wire, wire + 1))
            written.gate("cz", (wire, wire + 1))
    assert [look_of(one.build()) for one in (builder, written)] == [TakenApart.NOTHING, TakenApart.GATES]


@pytest.mark.parametrize("name", ["short_runs", "sooner_microseconds", "beside_microseconds", "worth_percent"])
def test_each_side_of_a_row_has_the_state(name: str, hold: Hold) -> None:
    """Whatever is looked for first, and in how many threads, a run has the circuit's state; both sides are met."""
    made, met = gates("hubbard", FEW_WIRES), dict[str, int]()
    expected = simulate(made)
    for value in (0, 1 << 40):
        tried.tried.cache_clear()
        hold(**{**EAGER, "method_work": 0, "written_microseconds": 0, name: value})
        with watched(met):
            found = Simulator(device="cpu", threads=2).state(made).to_numpy()
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert met[name] == WITHIN | BEYOND


def manners_written(patch: pytest.MonkeyPatch) -> list[Manner]:
    """Return the manners in which something is written from now on, as it is asked for."""
    written, write = list[Manner](), candidates.write
    patch.setattr(candidates, "write", lambda *of, **named: written.append(named["manner"]) or write(*of, **named))
    return written


def test_few_rotations_are_written_once(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a short first run found is what a second run takes, and nothing is written of the circuit again."""
    hold(**EAGER, short_runs=1 << 40, sooner_microseconds=0, planned_microseconds=0)
    written = manners_written(monkeypatch)
    monkeypatch.setattr(looks, "_BACKGROUND", SimpleNamespace(later=lambda _: None))
    one = OfHypotheticalGpu(gates("uccsd", FEW_WIRES), threads=1)
    first, second = one.run(), one.run()
    assert first
    assert second
    assert first.circuit.structure is second.circuit.structure
    assert written == [Manner.GROWN]


def test_a_first_run_takes_clusters(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where looking for clusters pays within a first run, and they run in less time, they are what it takes."""
    times = {Manner.BETWEEN: Times(5e-4, 5e-4), Manner.CLUSTERS: Times(1e-4, 1e-4)}
    made = transpiled(FAMILIES["walk"](FEW_WIRES), FEW_WIRES, CZ, 1)
    for planned, entries, least, taken in (
        (1, MANY, 0, Manner.CLUSTERS),
        (MANY, MANY, 0, Manner.BETWEEN),
        (1, 0, 0, Manner.BETWEEN),
        (1, MANY, MANY, Manner.BETWEEN),
    ):
        tried.tried.cache_clear()
        limits = {"planned_microseconds": planned, "clustered_entries": entries, "clustered_microseconds": least}
        hold(**{**EAGER, **limits, "rotations_of_a_gate": 0, "written_rotations": 0})
        of_manners(Times(1e-3, 1e-3), times, monkeypatch)
        assert manner_of(OfHypotheticalGpu(made, threads=1)) is taken


@pytest.mark.parametrize("threads", [1, 3])
def test_matrices_on_three_wires_are_found_before_the_circuit_as_it_came_is_planned(
    threads: int, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where gates look like them they are looked for, and nothing else; in short circuits they are not."""
    made = transpiled(FAMILIES["three_wires"](FEW_WIRES), FEW_WIRES, CZ, 1)
    for least, manners in ((0, [Manner.CLUSTERS]), (MANY, [])):
        tried.tried.cache_clear()
        candidates.written_bindings.cache_clear()
        late = {"beside_microseconds": least, "sooner_microseconds": least, "few_percent": MANY, "worth_percent": MANY}
        hold(**EAGER | late | {"written_microseconds": 0}, short_runs=0)
        with monkeypatch.context() as patch:
            written, one = manners_written(patch), OfHypotheticalGpu(made, threads=threads)
            found = one.run()
        assert written == manners
        assert one.asked == (not manners)
        if found:
            assert one.tried.chosen
            assert one.tried.chosen.manner is Manner.CLUSTERS


@pytest.mark.parametrize(("fewer", "planned"), [(True, [Manner.CLUSTERS]), (False, [Manner.BETWEEN, Manner.CLUSTERS])])
def test_clusters_are_planned_in_place_of_as_many_gates(
    fewer: bool, planned: list[Manner], hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands between gates is not planned where clusters are no more; where they are more, both are."""
    made = transpiled(FAMILIES["walk"](FEW_WIRES), FEW_WIRES, CZ, 1)
    limits = {"planned_microseconds": 1, "clustered_entries": MANY, "rotations_of_a_gate": 0, "written_rotations": 0}
    hold(**EAGER | limits)
    times = {Manner.BETWEEN: Times(5e-4, 5e-4), Manner.CLUSTERS: Times(1e-4, 1e-4)}
    of_manners(Times(1e-3, 1e-3), times, monkeypatch)
    manners, option, clusters = list[Manner](), Look._option, FirstLook._in_clusters

    def told(look: Look, written: WrittenCircuit, fact: str, most: float = math.inf) -> Option | None:
        manners.append(written.manner)
        return option(look, written, fact, most)

    def more(look: FirstLook, written: WrittenCircuit, of: Times) -> WrittenCircuit | None:
        found = clusters(look, written, of)
        return found and replace(found, count=found.count if fewer else lambda: written.num_gates + 1)

    monkeypatch.setattr(Look, "_option", told)
    monkeypatch.setattr(FirstLook, "_in_clusters", more)
    assert manner_of(OfHypotheticalGpu(made, threads=1)) is Manner.CLUSTERS
    assert manners == planned


FEW_ROTATIONS = {"planned_microseconds": 1, "gate_nanoseconds": 2000, "worth_percent": 0, "whole_percent": MANY}
"""Those with which a circuit that does not look taken apart may have few rotations."""


@pytest.mark.parametrize(("percent", "taken"), [(0, Manner.GROWN), (MANY, None)])
def test_few_rotations_of_a_circuit_as_its_author_wrote_it(
    percent: int, taken: Manner | None, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are looked for within a first run that takes long beside its planning."""
    made, met = circuit_of(FAMILIES["pauli_strings"](FEW_WIRES), FEW_WIRES), dict[str, int]()
    hold(**EAGER | FEW_ROTATIONS, few_percent=percent)
    of_manners(Times(1e-3, 1e-3), {Manner.GROWN: Times(1e-4, 1e-4)}, monkeypatch)
    with watched(met):
        assert manner_of(OfHypotheticalGpu(made, threads=1)) is taken
    assert met["few_percent"] == (BEYOND if taken else WITHIN)


@pytest.mark.parametrize(("late", "taken"), [(1 << 40, Manner.GROWN), (0, None)])
def test_rotations_that_no_wire_is_free_for_take_their_time(
    late: float, taken: Manner | None, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state that grows is not planned where those behind its growth alone take as long as the run does."""
    monkeypatch.setattr(first_look, "_LATE", late or 1e-9)
    made = circuit_of(FAMILIES["pauli_strings"](FEW_WIRES), FEW_WIRES)
    hold(**EAGER | FEW_ROTATIONS, few_percent=0)
    of_manners(Times(1e-3, 1e-3), {Manner.GROWN: Times(1e-4, 1e-4)}, monkeypatch)
    assert manner_of(OfHypotheticalGpu(made, threads=1)) is taken


@pytest.mark.parametrize(("planned", "asked"), [(1, True), (30, False)])
def test_a_state_that_grows_is_not_written_of_more_rotations_than_are_few(
    planned: int, asked: bool, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a form is known to have more rotations than pay within a run, nobody writes it to find that out again."""
    made, manners, write = gates("hubbard", FEW_WIRES), list[Manner](), _Gates._writer

    def told(of: _Gates, manner: Manner, limits: WritingLimits) -> Writer | None:
        manners.append(manner)
        return write(of, manner, limits)

    monkeypatch.setattr(_Gates, "_writer", told)
    rotations = {"rotations_of_a_gate": 0, "written_rotations": 0}
    hold(**EAGER | rotations | {"planned_microseconds": planned}, whole_percent=0)
    of_manners(Times(1e-3, 1e-3), {Manner.BETWEEN: Times(1e-4, 1e-4)}, monkeypatch)
    assert manner_of(OfHypotheticalGpu(made, threads=1)) is Manner.BETWEEN
    assert manners[:2] == [Manner.GROWN, Manner.BETWEEN]
    assert (Manner.GROWN in manners[2:]) == asked
