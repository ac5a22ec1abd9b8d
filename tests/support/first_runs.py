"""First and later runs of one circuit on a GPU that need not be there, by the times that are predicted, or given."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from benchmarks.forms import transpiled
from qsim_ex import Circuit
from qsim_ex.circuit.structure import Structure
from qsim_ex.deployment.hypothetical import assign_hypothetical
from qsim_ex.devices.hypothetical import HypotheticalGpu
from qsim_ex.execution.prepare import plans_of
from qsim_ex.options import Options
from qsim_ex.planning.written.out import Manner, WrittenCircuit
from qsim_ex.program.divide import program_of
from qsim_ex.program.program import Program
from qsim_ex.run import looks, tried
from qsim_ex.run.looks import Look, Option
from qsim_ex.run.request import own_bindings
from qsim_ex.run.tried import Tried
from qsim_ex.run.where import Times, Where
from qsim_ex.run.written_out import Written, written_out
from qsim_ex.steps import Plan
from tools.golden_counts import FAMILIES

N, FEW_WIRES, CZ = 20, 8, ("rz", "sx", "x", "cz")

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

LATE = {**EAGER, "planned_microseconds": 1 << 20}
"""Those with which what is written between gates is all that a first run looks at."""


class OfHypotheticalGpu:
    """Runs of one circuit on a GPU that need not be there: what they would take. asked: how often it was planned."""

    def __init__(self, circuit: Circuit, **options: object) -> None:
        self.circuit, self.asked = circuit, 0
        self.options = Options(device="gpu", precision="single", **options)  # type: ignore[arg-type]
        self.where = Where(
            *assign_hypothetical(circuit.num_qubits, self.options, gpu=HypotheticalGpu(0, True)), self.options
        )

    def planned(self, structure: Structure) -> tuple[Program, Sequence[Plan]]:
        """Return the program of a structure, and its plans."""
        program, device = program_of(structure, False, 0, ()), self.where.device
        levels = self.where.deployment.planning_levels
        shape = device.shape(self.options.dtype)
        return program, [*plans_of(program, structure.num_qubits, shape, levels, device.grows).values()]

    def plans(self) -> Sequence[Plan]:
        """Return those of the circuit as it came."""
        self.asked += 1
        return self.planned(self.circuit.structure)[1]

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
        return self.where.times(self.planned((found or self).circuit.structure)[1]).first


def gates(name: str, wires: int = N) -> Circuit:
    """Return a family of the benchmarks in the gates of a machine."""
    return transpiled(FAMILIES[name](wires), wires, CZ, 1)


def of_manners(came: Times, of: dict[Manner, Times], patch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """Let manners take some times, and the circuit as it came; return what is begun in the background, as it comes."""
    begun, made = list[Callable[[], object]](), Look._option

    def option(look: Look, written: WrittenCircuit, fact: str, _: float = math.inf) -> Option:
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
