"""Tests of which form of a circuit a first run takes, and which one later runs take."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest
from support.held import Hold

from benchmarks.forms import transpiled
from qsim_ex import Circuit, CircuitBuilder
from qsim_ex.circuit.structure import Structure
from qsim_ex.deployment.hypothetical import assign_hypothetical
from qsim_ex.devices.hypothetical import HypotheticalGpu
from qsim_ex.execution.prepare import plans_of
from qsim_ex.options import Options
from qsim_ex.planning.written import Manner
from qsim_ex.program.divide import program_of
from qsim_ex.program.program import Program
from qsim_ex.run import tried
from qsim_ex.run.pipeline import own_bindings
from qsim_ex.run.tried import Tried
from qsim_ex.run.where import Where
from qsim_ex.run.written_out import Written, written_out
from qsim_ex.steps import Plan
from tools.golden_counts import FAMILIES

N, CZ = 20, ("rz", "sx", "x", "cz")
PATIENCE = 60


class OnGpu:
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
        return program, plans_of(program, circuit.num_qubits, device.shape(self.options.dtype), levels, device.grows)

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


def structure_of_run(made: Circuit, threads: int, slow: float) -> Structure | None:
    """Return the structure that a first run takes where planning the circuit as it came takes some seconds longer."""
    one = OnGpu(made, threads=threads)
    found = one.run(lambda: time.sleep(slow) or one.plans())  # type: ignore[func-returns-value]
    return found and found.circuit.structure


@pytest.mark.parametrize("name", ["adder", "uccsd", "hubbard"])
def test_what_is_taken_depends_neither_on_threads_nor_on_time(name: str, hold: Hold) -> None:
    """A first run takes the same with one thread and with many, whatever is planned first."""
    hold(written_microseconds=10, gate_nanoseconds=100, between_microseconds=1, planned_microseconds=1)
    made = gates(name)
    found = {
        structure_of_run(made, threads, slow) for threads, slow in ((1, 0.0), (2, 0.0), (3, 0.2), (8, 0.2), (8, 0.0))
    }
    assert len(found) == 1
    assert found != {None}


def test_few_rotations_are_planned_in_place_of_a_long_circuit() -> None:
    """What runs sooner than the circuit as it came is planned is taken at once, and the circuit is not planned."""
    one = OnGpu(gates("uccsd"), threads=1)
    found = one.run()
    assert found
    assert one.tried.chosen
    assert one.tried.chosen.manner is not Manner.BETWEEN
    assert len(found.circuit.instructions) < len(one.circuit.instructions) / 20
    assert one.asked == 0


def test_a_first_run_is_chosen_by_its_own_time(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes less time interpreted runs first; where later runs alone are faster, the circuit runs as it came."""
    hold(written_microseconds=10, gate_nanoseconds=10, between_microseconds=0)
    made, seconds, at_first = gates("adder"), Where.seconds, 0.0
    monkeypatch.setattr(Where, "seconds", lambda where, plans: seconds(where, plans) if len(plans[0].steps) else 0.0)

    def longer(_: Where, plans: Sequence[Plan]) -> float:
        return at_first if plans[0].num_gates == len(made.instructions) else 1.0 - at_first

    monkeypatch.setattr(Where, "at_first", longer)
    for at_first in (1.0, 0.0):
        tried.tried.cache_clear()
        assert bool(OnGpu(made, threads=1).run()) == bool(at_first)


@pytest.mark.parametrize("name", ["ghz", "grid", "brick"])
def test_what_promises_nothing_is_not_planned(name: str, hold: Hold) -> None:
    """A circuit as it is written, dense or short, is planned once, whatever its form is."""
    hold(written_microseconds=10)
    made, one = CircuitBuilder(N), None
    for gate in FAMILIES[name](N):
        made = (
            made.gate(gate.name, gate.wires, *gate.params)
            if gate.matrix is None
            else made.unitary(gate.matrix, gate.wires)
        )
    one = OnGpu(made.build(), threads=1)
    planned: list[int] = []
    of = one.planned
    one.planned = lambda circuit: planned.append(len(circuit.instructions)) or of(circuit)  # type: ignore
    assert one.run() is None
    assert planned == [len(one.circuit.instructions)]
