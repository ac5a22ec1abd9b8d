"""Bindings that one run of the engine takes together, whichever circuits of a job they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.noise.readout import ReadoutErrors, key_of
from qsim_ex.circuit.parameters.families import Family, families
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.result import BatchResult
from qsim_ex.simulator import Simulator


@dataclass(frozen=True, eq=False, slots=True)
class BindingGroup:
    """Bindings of one structure whose classical bits are misread alike.

    places: the number of each binding among all that were grouped, in increasing order, as a list of Python's numbers.
    """

    family: Family
    places: list[int]
    readout_errors: ReadoutErrors

    def __len__(self) -> int:
        """Return the number of bindings."""
        return len(self.places)

    def run(self, simulator: Simulator, seeds: Sequence[int], **requested: Any) -> BatchResult:
        """Run all bindings, each with its seed; requested: other arguments of `Simulator.run_batch`."""
        family = self.family
        return simulator.run_batch(
            family.template, family.bindings(), seeds=seeds, readout=self.readout_errors, **requested
        )

    def among(self, places: NDArray[np.intp]) -> BindingGroup:
        """Return the group of those bindings whose numbers are in `places`; it may be empty."""
        if self.places == places.tolist():
            return self
        chosen = np.isin(self.family.place, places)
        if chosen.all():
            return self
        family = self.family.of(np.flatnonzero(chosen))
        return BindingGroup(family, family.place.tolist(), self.readout_errors)

    def key(self) -> str:
        """Return what tells this work from other work: a digest of structure, numbers, places and readout errors."""
        return f"{self.family.key()} {key_of(self.readout_errors)!r}"


def binding_groups(sweeps: Sequence[ParameterSweep], readout_errors: Sequence[ReadoutErrors]) -> list[BindingGroup]:
    """Group the bindings of all sweeps; groups come in the order of their first bindings.

    readout_errors: how the classical bits of each sweep are misread.
    """
    alike = [key_of(errors) if errors else () for errors in readout_errors]
    owner = [number for number, sweep in enumerate(sweeps) for _ in range(sweep.count)]  # of each binding, its sweep
    found = ((family, family.place.tolist()) for family in families(sweeps, alike))
    return [BindingGroup(family, places, readout_errors[owner[places[0]]]) for family, places in found]
