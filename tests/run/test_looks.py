"""Tests of which form of a circuit a first run takes, and which one later runs take."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from queue import Queue
from types import SimpleNamespace

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.held import Hold

from benchmarks.engine import circuit_of
from benchmarks.first_drawn import structure
from benchmarks.forms import transpiled
from qsim_ex import Circuit, CircuitBuilder, Simulator
from qsim_ex.circuit.structure import Structure
from qsim_ex.deployment.hypothetical import assign_hypothetical
from qsim_ex.devices import discover
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.devices.hypothetical import HypotheticalGpu
from qsim_ex.execution.prepare import plans_of
from qsim_ex.options import Options
from qsim_ex.planning.written.out import Manner, WrittenCircuit
from qsim_ex.program.divide import program_of
from qsim_ex.program.program import Program
from qsim_ex.reference import simulate
from qsim_ex.run import beside, candidates, first_look, looks, tried
from qsim_ex.run.looks import Look, Option, _quietly
from qsim_ex.run.request import own_bindings
from qsim_ex.run.tried import FEWER, Chosen, Tried, is_taken_apart
from qsim_ex.run.where import Times, Where
from qsim_ex.run.written_out import Written, written_out
from qsim_ex.steps import Plan
from tools.fuzz.sides import BEYOND, WITHIN, watched
from tools.golden_counts import FAMILIES

N, CZ = 20, ("rz", "sx", "x", "cz")
PATIENCE = 60


class OfHypotheticalGpu:
    """Runs of one circuit on a GPU that need not be there: what they would take. asked: how often it was planned."""

    def __init__(self, circuit: Circuit, **options: object) -> None:
        self.circuit, self.asked = circuit, 0
        self.options = Options(device="gpu", precision="single", **options)  # type: ignore[arg-type]
        self.where = Where(
            *assign_hypothetical(circuit.num_qubits, self.options, gpu=HypotheticalGpu(0, True)), self.options
        )

    def planned(self, circuit: Circuit) -> tuple[Program, Sequence[Plan]]:
        """Return the program of a circuit, and its plans."""
        program, device = program_of(circuit.structure, False, 0, ()), self.where.device
        levels = self.where.deployment.planning_levels
        shape = device.shape(self.options.dtype)
        return program, [*plans_of(program, circuit.num_qubits, shape, levels, device.grows).values()]

    def plans(self) -> Sequence[Plan]:
        """Return those of the circuit as it came."""
        self.asked += 1
        return self.planned(self.circuit)[1]

    def run(self, plans: Callable[[], Sequence[Plan]] | None = None) -> Written | None:
        """Return what the next run takes."""
        made = self.circuit.structure
        return written_out(made, own_bindings(self.circuit), plans or self.plans, self.where, self.planned)

    @property
    def tried(self) -> Tried:
        """What is known."""
        deployment, options = self.where.deployment, self.options
        return tried.tried(self.circuit.structure, deployment, options.dtype, options.threads, False, False)

    def seconds(self, found: Written | None) -> float:
        """Return how long what was taken takes at first."""
        return self.where.times(self.planned(found.circuit if found else self.circuit)[1]).first


def gates(name: str, wires: int = N) -> Circuit:
    """Return a family of the benchmarks in the gates of a machine."""
    return transpiled(FAMILIES[name](wires), wires, CZ, 1)


MANY = 1 << 30

EAGER = {
    "written_microseconds": 10,
    "written_nanoseconds": 0,
    "gate_nanoseconds": 10,
    "between_microseconds": 0,
    "change_microseconds": 0,
    "clustered_microseconds": 0,
}
"""Those with which a circuit of few wires looks as one of many does."""


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


def test_short_runs_are_compared_once_all_have_taken_as_long(hold: Hold) -> None:
    """A run that is too short for a look within it runs as it came until all runs pay for comparing all manners."""
    hold(planned_microseconds=1)
    made = transpiled(FAMILIES["surface_code"](27), 27, ("rx", "ry", "rz", "rzz"), 1)
    one = OfHypotheticalGpu(made, threads=1, compile="never")
    milliseconds = 1e3 * one.seconds(None)
    assert 0.5 < milliseconds < 2
    taken = [one.run() is not None for _ in range(12)]
    runs = (len(Manner) - 1) * len(made.instructions) / (1e3 * milliseconds)
    assert taken == sorted(taken)
    assert taken.index(True) == pytest.approx(runs, abs=1.5)
    assert one.tried.chosen
    assert one.seconds(one.run()) < 0.6e-3


def test_all_manners_are_compared_before_kernels_are_compiled(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a first run waits for its kernels, it takes what is fastest of all, and later runs take the same."""
    hold(**LATE)
    times = {Manner.BETWEEN: Times(5e-5, 5e-5), Manner.BACK: Times(1e-5, 1e-5)}
    begun = of_manners(Times(8e-5, 8e-5), times, monkeypatch)
    one, compared, compare = OfHypotheticalGpu(gates("adder"), threads=1, compile="always"), [0], Look.in_all_manners

    def counted(look: Look, *, alike: bool = False) -> Option | None:
        compared[0] += 1
        return compare(look, alike=alike)

    monkeypatch.setattr(Look, "in_all_manners", counted)
    assert [manner_of(one) for _ in range(4)] == [Manner.BACK] * 4
    assert compared == [1]
    assert begun == []
    tried.tried.cache_clear()
    assert manner_of(OfHypotheticalGpu(one.circuit, threads=1)) is Manner.BETWEEN  # which waits for nothing
    assert [manner_of(one) for _ in range(2)] == [Manner.BACK] * 2
    assert compared == [2]


def test_a_job_compiles_kernels_of_one_manner(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """With compile="always" the kernels of what is chosen are compiled in the first run, and none in later ones."""
    hold(
        **{**EAGER, "method_work": 0, "written_microseconds": 0, "compared_microseconds": 0, "planned_microseconds": 0}
    )
    runtime, made = EmulatedRuntime(), gates("hubbard", FEW_WIRES)
    device, expected = GpuDevice.on(runtime), simulate(made)
    monkeypatch.setattr(discover, "gpu", lambda _number=0: device)
    monkeypatch.setattr(discover, "gpu_missing", lambda: None)
    simulator, compiled = Simulator(device="gpu", precision="double", compile="always"), list[int]()
    for _ in range(3):
        np.testing.assert_allclose(simulator.state(made).to_numpy(), expected, atol=1e-12)
        compiled.append(len(runtime.compiled))
    assert compiled[0] == compiled[-1]


@pytest.mark.parametrize("name", ["ghz", "grid", "brick"])
def test_what_promises_nothing_is_not_planned(name: str, hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """A circuit that is dense or short as it is written is planned alone."""
    hold(written_microseconds=10, written_nanoseconds=0)
    one = OfHypotheticalGpu(circuit_of(FAMILIES[name](N), N), threads=1)
    monkeypatch.setattr(
        one, "planned", lambda circuit: planned.append(circuit) or OfHypotheticalGpu.planned(one, circuit)
    )
    planned: list[Circuit] = []
    assert one.run() is None
    assert planned == [one.circuit]


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
def test_far_fewer_gates_are_taken_before_the_circuit_as_it_came_is_planned(
    threads: int, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are where gates look taken apart and a quarter of them is left; else, and in short circuits, both are."""
    for name, fewer, beside_it, asked in (
        ("hubbard", FEWER, 0, 0),
        ("hubbard", MANY, 0, 1),
        ("hubbard", FEWER, MANY, 1),
        ("clifford_t", FEWER, 0, 1),  # a third of them is left
    ):
        tried.tried.cache_clear()
        monkeypatch.setattr(first_look, "FEWER", fewer)
        hold(**EAGER, short_runs=0, beside_microseconds=beside_it, sooner_microseconds=MANY)
        one = OfHypotheticalGpu(gates(name), threads=threads)
        assert manner_of(one) is (None if asked and name == "clifford_t" else Manner.BETWEEN)
        assert one.asked == asked


@pytest.mark.parametrize(("fewer", "taken"), [(FEWER, Manner.GROWN), (MANY, None)])
def test_few_rotations_are_taken_before_the_circuit_as_it_came_is_planned(
    fewer: int, taken: Manner | None, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are where they are far fewer gates than the circuit; else it is planned, and its run may be too short."""
    monkeypatch.setattr(first_look, "FEWER", fewer)
    hold(**EAGER | {"gate_nanoseconds": 2000}, short_runs=0, sooner_microseconds=0, beside_microseconds=MANY)
    one = OfHypotheticalGpu(circuit_of(FAMILIES["pauli_strings"](N), N), threads=1)
    assert manner_of(one) is taken
    assert one.asked == (taken is None)


@pytest.mark.parametrize("basis", [CZ, ("r", "cz")])
def test_which_circuits_look_taken_apart(basis: tuple[str, ...]) -> None:
    """Those that a transpiler wrote do, but for dense ones; no circuit with one gate for each turn does."""
    for name in ("qft", "qaoa", "ucc", "hubbard", "draper"):
        came, written = circuit_of(FAMILIES[name](N), N), transpiled(FAMILIES[name](N), N, basis, 1)
        assert [is_taken_apart(made.structure, len(made.instructions)) for made in (came, written)] == [False, True]
    # Of one a sample cuts most pairs, and one is matrices on three wires.
    for name, seed in (("qv", 2), ("qv", 3), ("heisenberg", 0), ("givens", 0), ("three_wires", 0)):
        dense = transpiled(structure(FAMILIES[name](N), N, seed), N, basis, 1).structure
        assert not is_taken_apart(dense, len(dense.instructions))


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
    made = [one.build().structure for one in (builder, written)]
    assert [is_taken_apart(one, len(one.instructions)) for one in made] == [False, True]


def of_manners(came: Times, of: dict[Manner, Times], patch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """Let manners take some times, and the circuit as it came; return what is begun in the background, as it comes."""
    begun, made = list[Callable[[], object]](), Look._option

    def option(look: Look, written: WrittenCircuit, fact: str) -> Option:
        planned = made(look, written, fact)
        assert planned
        return planned._replace(times=of.get(written.manner, Times(1.0, 1.0)))

    patch.setattr(Look, "_option", option)
    patch.setattr(Look, "_came", lambda _: came)
    patch.setattr(looks, "_BACKGROUND", SimpleNamespace(later=begun.append))
    return begun


def manner_of(one: OfHypotheticalGpu) -> Manner | None:
    """Return the manner in which the next run is written; None if it runs as it came."""
    found = one.run()
    if found is None:
        return None
    assert one.tried.chosen
    assert found.circuit.structure is one.tried.chosen.structure
    return one.tried.chosen.manner


LATE = {**EAGER, "planned_microseconds": 1 << 20}
"""Those with which what is written between gates is all that a first run looks at."""


def test_later_runs_take_what_was_compared_in_the_background(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """All manners are compared when a circuit comes again, and no run waits for that; nor is any slower than the first.

    What takes longer than the first run until its kernels are there is taken when all runs have taken a second.
    """
    hold(**LATE)
    times = {Manner.BETWEEN: (5e-5, 1e-4), Manner.LOCAL: (1e-5, 2e-4), Manner.BACK: (3e-5, 1.1e-4)}
    begun = of_manners(Times(8e-5, 3e-4), {of: Times(*one) for of, one in times.items()}, monkeypatch)
    one = OfHypotheticalGpu(gates("adder"), threads=2)
    assert [manner_of(one) for _ in range(3)] == [Manner.BETWEEN] * 3
    (look,) = begun
    look()
    assert [manner_of(one) for _ in range(3)] == [Manner.BACK] * 3
    one.tried.spent = 10**6
    assert manner_of(one) is Manner.BACK
    begun[1]()
    assert [manner_of(one) for _ in range(2)] == [Manner.LOCAL] * 2
    assert len(begun) == 2


def test_what_is_faster_at_first_alone_stays_until_kernels_pay(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the first run gains, later ones stay with it as long as sweeps are interpreted."""
    hold(**LATE)
    begun = of_manners(Times(8e-5, 3e-4), {Manner.BETWEEN: Times(8e-5, 1e-4)}, monkeypatch)
    one = OfHypotheticalGpu(gates("adder"), threads=1)
    assert [manner_of(one) for _ in range(2)] == [Manner.BETWEEN] * 2
    begun[0]()
    assert manner_of(one) is Manner.BETWEEN
    one.tried.spent = 10**6
    assert manner_of(one) is Manner.BETWEEN
    begun[1]()
    assert manner_of(one) is None


def test_an_error_in_the_background_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody is there to be told but the log."""
    _quietly(lambda: 1 // 0)
    assert "division" in caplog.text


def test_the_background_compares_by_itself(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """A circuit that comes again is compared in one thread of its own, which chooses as the same work here does."""
    hold(**EAGER)
    one, done, compare = (
        OfHypotheticalGpu(gates("hubbard"), threads=2),
        Queue[tuple[int, Chosen | None, int]](),
        Look.in_all_manners,
    )

    def told(look: Look, *, alike: bool = False) -> Option | None:
        found = compare(look, alike=alike)
        done.put((threading.get_ident(), one.tried.chosen, look._threads))
        return found

    monkeypatch.setattr(Look, "in_all_manners", told)
    assert [one.run() is not None for _ in range(2)] == [True, True]
    thread, chosen, threads = done.get(timeout=PATIENCE)
    assert thread != threading.get_ident()
    assert threads == 1
    tried.tried.cache_clear()
    monkeypatch.setattr(looks, "_BACKGROUND", SimpleNamespace(later=lambda work: work()))
    for _ in range(2):
        one.run()
    assert one.tried.chosen == chosen


FEW_WIRES = 8

ROWS = ("short_runs", "sooner_microseconds", "beside_microseconds", "worth_percent")


@pytest.mark.parametrize("name", ROWS)
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


@pytest.mark.parametrize("settled", [0, 1 << 40])
def test_when_all_manners_are_compared_again(settled: int, hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """New kernels pay, and manners are compared once more, from a time of all runs on and not before."""
    met = dict[str, int]()
    hold(**{**LATE, "settled_microseconds": settled, "written_microseconds": 0})
    begun = of_manners(Times(8e-5, 3e-4), {Manner.BETWEEN: Times(5e-5, 1e-4)}, monkeypatch)
    one = OfHypotheticalGpu(gates("adder", FEW_WIRES), threads=1)
    with watched(met):
        for _ in range(4):
            one.run()
    assert len(begun) == (1 if settled else 2)
    assert met["settled_microseconds"] & (WITHIN if settled else BEYOND)


def test_few_rotations_are_written_once(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a short first run found is what a second run takes, and nothing is written of the circuit again."""
    hold(**EAGER, short_runs=1 << 40, sooner_microseconds=0, planned_microseconds=0)
    written, write = list[Manner](), candidates.write
    monkeypatch.setattr(
        candidates,
        "write",
        lambda *of, **named: written.append(named.get("manner", Manner.LOCAL)) or write(*of, **named),
    )
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
        hold(**{**EAGER, **limits, "gates_of_a_rotation": 0, "written_rotations": 0})
        of_manners(Times(1e-3, 1e-3), times, monkeypatch)
        assert manner_of(OfHypotheticalGpu(made, threads=1)) is taken
