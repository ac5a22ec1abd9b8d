"""Bindings that one run of the engine takes together, whichever circuits of a job they belong to."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise.readout import ReadoutErrors, key_of
from qsim_ex.circuit.parameters.bindings import Bindings, Operands
from qsim_ex.circuit.parameters.sweep import Numbers, ParameterSweep, bindings_of
from qsim_ex.circuit.structure import Structure
from qsim_ex.result import BatchResult
from qsim_ex.simulator import Simulator


@dataclass(frozen=True, eq=False, slots=True)
class BindingGroup:
    """Bindings of one structure whose classical bits are misread alike; member k is ``binding[k]`` of a sweep.

    template: a circuit that has the structure. sweep: of each member which of `sweeps` it is of, int [members],
    increasing. places: the number of each member among all bindings that were grouped, in increasing order, as a list
    of Python's numbers.
    """

    template: Circuit
    sweeps: tuple[ParameterSweep, ...]
    sweep: Numbers
    binding: Numbers
    places: list[int]
    readout_errors: ReadoutErrors

    def __len__(self) -> int:
        """Return the number of bindings."""
        return len(self.places)

    def run(self, simulator: Simulator, seeds: Sequence[int], **requested: Any) -> BatchResult:
        """Run all bindings, each with its seed; requested: other arguments of `Simulator.run_batch`."""
        alone = len(self.sweeps) == len(self.places) == 1 and not self.sweeps[0].swept  # the template's own numbers
        bindings = None if alone else self.bindings()
        return simulator.run_batch(self.template, bindings, seeds=seeds, readout=self.readout_errors, **requested)

    def operands(self, begin: int, end: int) -> Operands:
        """Return the operands of the members from `begin` up to `end`, complex128 [end − begin, total]."""
        if len(self.sweeps) == 1:
            return self.sweeps[0].operands(self.binding[begin:end])
        owners, first = np.unique(self.sweep[begin:end], return_index=True)
        parts = np.split(self.binding[begin:end], first[1:])
        found = [self.sweeps[owner].operands(part) for owner, part in zip(owners.tolist(), parts, strict=True)]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def bindings(self) -> Bindings:
        """Return the operands of all members; see `bindings_of`."""
        return bindings_of(self.template, len(self), self.operands)

    def among(self, places: NDArray[np.intp]) -> BindingGroup:
        """Return the group of those bindings whose numbers are in `places`; it may be empty."""
        if self.places == places.tolist():
            return self
        own = np.array(self.places)
        chosen = np.isin(own, places)
        if chosen.all():
            return self
        return replace(self, sweep=self.sweep[chosen], binding=self.binding[chosen], places=own[chosen].tolist())

    def key(self) -> str:
        """Return what tells this work from other work: a digest of structure, numbers, places and readout errors."""
        digest = hashlib.blake2b(self.template.key.encode(), digest_size=8)
        digest.update(np.array(self.places, dtype=np.int64).tobytes())
        for begin, end in thresholds.pieces(len(self), thresholds.now.bindings_at_once):
            digest.update(self.operands(begin, end).tobytes())
        return f"{digest.hexdigest()} {key_of(self.readout_errors)!r}"


def binding_groups(sweeps: Sequence[ParameterSweep], readout_errors: Sequence[ReadoutErrors]) -> list[BindingGroup]:
    """Group the bindings of all sweeps; groups come in the order of their first bindings.

    readout_errors: how the classical bits of each sweep are misread.
    """
    grouped: dict[tuple[Structure, Hashable], list[tuple[int, ParameterSweep, ReadoutErrors]]] = {}
    begin = 0
    for sweep, errors in zip(sweeps, readout_errors, strict=True):
        if sweep.count:  # equal structures are one object
            alike = sweep.template.structure, key_of(errors) if errors else ()
            grouped.setdefault(alike, []).append((begin, sweep, errors))
        begin += sweep.count
    return [_group(members) for members in grouped.values()]


_FIRST = np.zeros(1, dtype=np.int64)
_FIRST.flags.writeable = False


def _group(members: list[tuple[int, ParameterSweep, ReadoutErrors]]) -> BindingGroup:
    begins, sweeps, errors = zip(*members, strict=True)
    counts = [sweep.count for sweep in sweeps]
    if counts == [1]:  # a circuit of a job, most often
        sweep = binding = _FIRST
        places = list(begins)
    elif len(members) == 1:
        sweep, binding = np.zeros(counts[0], dtype=np.int64), np.arange(counts[0])
        places = list(range(begins[0], begins[0] + counts[0]))
    else:
        sweep = np.repeat(np.arange(len(members)), counts)
        binding = np.concatenate([np.arange(count) for count in counts])
        places = (np.repeat(begins, counts) + binding).tolist()
    return BindingGroup(sweeps[0].template, sweeps, sweep, binding, places, errors[0])
