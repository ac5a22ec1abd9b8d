"""What a job is made of: circuits translated, and those that share a structure put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from qiskit.circuit import QuantumCircuit

from qsim_ex.circuit.families import Family, families
from qsim_ex.circuit.sweeping import Sweep
from qsim_ex_provider.binds import Binds
from qsim_ex_provider.experiments import Head, head
from qsim_ex_provider.sweep import Number, sweep
from qsim_ex_provider.translate import translate


@dataclass(frozen=True, eq=False, slots=True)
class Work:
    """The circuits of a job, translated.

    families: bindings of one structure. owners: of each experiment its circuit, and which binding of it.
    heads: of each circuit.
    """

    families: Sequence[Family]
    owners: Sequence[tuple[int, int]]
    heads: Sequence[Head]

    def alone(self) -> list[Family]:
        """Each experiment for itself, in order."""
        one = [family.of(np.array([k])) for family in self.families for k in range(len(family))]
        return sorted(one, key=lambda family: int(family.place[0]))


def translated(circuits: Sequence[QuantumCircuit], binds: Sequence[Binds]) -> Work:
    """Translate circuits with their bindings; raises errors of `qsim_ex.errors` that name the instruction."""
    sweeps: list[Sweep] = []
    owners: list[tuple[int, int]] = []
    heads = []
    for number, (circuit, of) in enumerate(zip(circuits, binds, strict=True)):
        if of.columns:
            sweeps += sweep(circuit, of.columns, of.count)
            phases = Number(of.columns, of.count)(circuit.global_phase) % (2 * np.pi)  # as Qiskit has it
        else:
            sweeps.append(Sweep(translate(circuit)))
            phases = float(circuit.global_phase)
        owners += [(number, binding) for binding in range(of.count)]
        heads.append(head(circuit, phases))
    return Work(families(sweeps), owners, heads)
