"""What a job is made of: circuits translated, and those that share a structure put together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from qiskit.circuit import QuantumCircuit

from qsim_ex.circuit.families import Family, families
from qsim_ex.circuit.noise_model import Noise
from qsim_ex.circuit.readout import ReadoutErrors, key_of
from qsim_ex.circuit.sweeping import Sweep
from qsim_ex_provider.binds import Binds
from qsim_ex_provider.experiments import Head, head
from qsim_ex_provider.sweep import Number, sweep_noisy
from qsim_ex_provider.translate import translate_noisy


@dataclass(frozen=True, eq=False, slots=True)
class Work:
    """The circuits of a job, translated.

    families: bindings of one structure whose bits are misread alike. owners: of each experiment its circuit, and which
    binding of it. heads, readout_errors: of each circuit.
    """

    families: Sequence[Family]
    owners: Sequence[tuple[int, int]]
    heads: Sequence[Head]
    readout_errors: Sequence[ReadoutErrors]

    def alone(self) -> list[Family]:
        """Each experiment for itself, in order."""
        one = [family.of(np.array([k])) for family in self.families for k in range(len(family))]
        return sorted(one, key=lambda family: int(family.place[0]))

    def circuits(self, family: Family) -> list[int]:
        """The numbers of the circuits that a family's members belong to, in increasing order."""
        return sorted({self.owners[place][0] for place in family.place.tolist()})


def translated(circuits: Sequence[QuantumCircuit], binds: Sequence[Binds], noise: Noise | None) -> Work:
    """Translate circuits with their bindings; raises errors of `qsim_ex.errors` that name the instruction."""
    sweeps: list[Sweep] = []
    alike: list[Hashable] = []
    owners: list[tuple[int, int]] = []
    heads, readout_errors = [], []
    for number, (circuit, of) in enumerate(zip(circuits, binds, strict=True)):
        if of.columns:
            made, misread = sweep_noisy(circuit, of.columns, of.count, noise)
            phases = Number(of.columns, of.count)(circuit.global_phase) % (2 * np.pi)  # as Qiskit has it
        else:
            one, misread = translate_noisy(circuit, noise)
            made, phases = (Sweep(one),), float(circuit.global_phase)
        sweeps += made
        alike += [key_of(misread)] * len(made)
        owners += [(number, binding) for binding in range(of.count)]
        heads.append(head(circuit, phases))
        readout_errors.append(misread)
    return Work(families(sweeps, alike), owners, heads, readout_errors)
