"""Tests of which form of a circuit a first run takes, and which one later runs take."""

from __future__ import annotations

import threading
from queue import Queue
from types import SimpleNamespace

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.first_runs import (
    EAGER,
    FEW_WIRES,
    LATE,
    N,
    OfHypotheticalGpu,
    gates,
    manner_of,
    of_manners,
)
from support.held import Hold

from benchmarks.engine import circuit_of
from benchmarks.forms import transpiled
from qsim_ex import Circuit, CircuitBuilder, Simulator
from qsim_ex.circuit.structure import Structure
from qsim_ex.devices import discover
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.planning.written.out import Manner
from qsim_ex.reference import simulate
from qsim_ex.run import looks, tried
from qsim_ex.run.looks import Look, Option, _quietly
from qsim_ex.run.tried import Chosen
from qsim_ex.run.where import Times
from tools.fuzz.sides import BEYOND, WITHIN, watched
from tools.golden_counts import FAMILIES

PATIENCE = 60


def test_short_runs_are_compared_once_all_have_taken_as_long(hold: Hold) -> None:
    """A run that is too short for a look within it runs as it came until all runs pay for comparing all manners."""
    hold(planned_microseconds=1)
    made = transpiled(FAMILIES["surface_code"](26), 26, ("rx", "ry", "rz", "rzz"), 1)
    one = OfHypotheticalGpu(made, threads=1, compile="never")
    milliseconds = 1e3 * one.seconds(None)
    assert 0.5 < milliseconds < 2
    taken = [one.run() is not None for _ in range(12)]
    runs = (len(Manner) - 1 + 0.4) * len(made.instructions) / (1e3 * milliseconds)
    assert taken == sorted(taken)
    assert taken.index(True) == pytest.approx(runs, abs=1.5)
    assert one.tried.chosen
    assert one.seconds(one.run()) < 0.6e-3


@pytest.mark.parametrize(
    ("manner", "gates", "run", "microseconds"),
    [
        (None, 100, 1, 500 * 100),
        (Manner.BETWEEN, 100, 1, 500 * 100),
        (Manner.BETWEEN, 1000, 1, 500 * (200 + 100)),
        (Manner.CLUSTERS, 1000, 1, 500 * 1000),
        (None, 1000, 1, 500 * 1000),
        (Manner.BETWEEN, 1000, 50_000, 6 * 50_000),
        (Manner.BETWEEN, 1000, 500_000, 500 * 1000),
    ],
)
def test_when_all_manners_are_compared(
    manner: Manner | None, gates: int, run: int, microseconds: int, hold: Hold
) -> None:
    """That is sooner in runs of what stands between many gates, but not within the first ones."""
    hold(planned_microseconds=100, compared_gates=200)
    one, structure = tried.Tried(), transpiled(FAMILIES["ghz"](3), 3, ("rz", "sx", "x", "cz"), 1).structure
    one.gates, one.run, one.chosen = gates, run, Chosen(structure, manner) if manner is not None else None
    one.spent = microseconds - 1
    assert not one.is_time(interprets=False)
    one.spent = microseconds
    assert one.is_time(interprets=False)


def test_clusters_are_looked_for_among_all_gates(hold: Hold) -> None:
    """What is written of ten times as many gates is compared once all runs have paid for reading these, too."""
    hold(planned_microseconds=100)
    one = tried.Tried()
    one.gates, one.read, one.spent = 100, 1000, 500 * 100 + 40 * 1000 - 1
    assert not one.is_time(interprets=False)
    one.spent += 1
    assert one.is_time(interprets=False)


def computed_phases(wires: int = 26) -> Circuit:
    """Turns of a wire between two Toffolis that write it, on all wires that are superpositions."""
    builder = CircuitBuilder(wires)
    for wire in range(wires):
        builder.gate("h", [wire])
    for number in range(80):
        on = [(number + 5 * k) % wires for k in range(3)]
        builder.gate("ccx", on).gate("rz", on[2:], 0.1 + number / 50).gate("ccx", on)
    return builder.build()


def test_gates_that_are_many_rotations_are_compared_later(hold: Hold) -> None:
    """What stands between such gates is not written for a first run, but once all runs pay for reading them."""
    hold(planned_microseconds=1)
    made = computed_phases()
    one = OfHypotheticalGpu(made, threads=1, compile="never")
    each = [one.run() for _ in range(12)]
    taken = [found is not None for found in each]
    runs = (len(Manner) - 1 + 0.4 * tried._MANY) * len(made.instructions) / (1e6 * one.seconds(None))
    assert taken == sorted(taken)
    assert taken.index(True) == pytest.approx(runs, abs=1.5)
    assert one.tried.many
    assert one.seconds(each[-1]) < 0.2 * one.seconds(None)


def test_all_manners_are_compared_before_kernels_are_compiled(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a first run waits for its kernels, it takes what is fastest of all, and later runs take the same."""
    hold(**LATE)
    times = {Manner.BETWEEN: Times(5e-5, 5e-5), Manner.GROWN: Times(1e-5, 1e-5)}
    begun = of_manners(Times(8e-5, 8e-5), times, monkeypatch)
    one, compared, compare = OfHypotheticalGpu(gates("hubbard"), threads=1, compile="always"), [0], Look.in_all_manners

    def counted(look: Look, *, alike: bool = False) -> Option | None:
        compared[0] += 1
        return compare(look, alike=alike)

    monkeypatch.setattr(Look, "in_all_manners", counted)
    assert [manner_of(one) for _ in range(4)] == [Manner.GROWN] * 4
    assert compared == [1]
    assert begun == []
    tried.tried.cache_clear()
    assert manner_of(OfHypotheticalGpu(one.circuit, threads=1)) is Manner.BETWEEN  # which waits for nothing
    assert [manner_of(one) for _ in range(2)] == [Manner.GROWN] * 2
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
        one, "planned", lambda structure: planned.append(structure) or OfHypotheticalGpu.planned(one, structure)
    )
    planned: list[Structure] = []
    assert one.run() is None
    assert planned == [one.circuit.structure]


def test_later_runs_take_what_was_compared_in_the_background(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """All manners are compared when a circuit comes again, and no run waits for that; nor is any slower than the first.

    What takes longer than the first run until its kernels are there is taken when all runs have taken a second.
    """
    hold(**LATE)
    times = {Manner.BETWEEN: (5e-5, 1e-4), Manner.LOCAL: (1e-5, 2e-4), Manner.GROWN: (3e-5, 1.1e-4)}
    begun = of_manners(Times(8e-5, 3e-4), {of: Times(*one) for of, one in times.items()}, monkeypatch)
    one = OfHypotheticalGpu(gates("hubbard"), threads=2)
    assert [manner_of(one) for _ in range(3)] == [Manner.BETWEEN] * 3
    (look,) = begun
    look()
    assert [manner_of(one) for _ in range(3)] == [Manner.GROWN] * 3
    one.tried.spent = 10**6
    assert manner_of(one) is Manner.GROWN
    begun[1]()
    assert [manner_of(one) for _ in range(2)] == [Manner.LOCAL] * 2
    assert len(begun) == 2


def test_what_is_faster_at_first_alone_stays_until_kernels_pay(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the first run gains, later ones stay with it as long as sweeps are interpreted."""
    hold(**LATE)
    begun = of_manners(Times(8e-5, 3e-4), {Manner.BETWEEN: Times(8e-5, 1e-4)}, monkeypatch)
    one = OfHypotheticalGpu(gates("hubbard"), threads=1)
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

    def told(look: Look, **how: bool) -> Option | None:
        found = compare(look, **how)
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
