"""Families: bindings of several sweeps that share a structure, so that they can be one batch."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.parameters.bindings import Bindings, Operands
from qsim_ex.circuit.parameters.sweep import Numbers, ParameterSweep, bindings_of
from qsim_ex.circuit.structure import Structure


@dataclass(frozen=True, eq=False, slots=True)
class Family:
    """Bindings of one structure. Member k is binding ``binding[k]`` of ``sweeps[sweep[k]]``.

    place: int [members], the number of each among all bindings of all sweeps, in the order of the argument of
        `families`. Both `place` and `sweep` increase.
    """

    sweeps: tuple[ParameterSweep, ...]
    sweep: Numbers
    binding: Numbers
    place: Numbers

    @property
    def template(self) -> Circuit:
        """A circuit that has the structure."""
        return self.sweeps[0].template

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.place)

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

    def circuit(self, member: int) -> Circuit:
        """Return the circuit of one member."""
        sweep = self.sweeps[int(self.sweep[member])]
        return sweep.circuit(int(self.binding[member])) if sweep.swept else sweep.template

    def key(self) -> str:
        """Return a digest of the structure, of the numbers of all members, and of their places."""
        digest = hashlib.blake2b(self.template.key.encode(), digest_size=8)
        digest.update(np.ascontiguousarray(self.place, dtype=np.int64).tobytes())
        step = thresholds.now.bindings_at_once
        for begin in range(0, len(self), step):
            digest.update(self.operands(begin, min(begin + step, len(self))).tobytes())
        return digest.hexdigest()

    def of(self, members: Numbers) -> Family:
        """Return the family of some of the members, given by their numbers in increasing order."""
        return Family(self.sweeps, self.sweep[members], self.binding[members], self.place[members])


def families(sweeps: Iterable[ParameterSweep], also: Iterable[Hashable] = repeat(None)) -> list[Family]:
    """Group the bindings that share a structure; families are in the order of their first members.

    also: for each sweep, a key that must be equal within a family too.
    """
    grouped: dict[tuple[Structure, Hashable], list[tuple[int, ParameterSweep]]] = {}  # equal structures are one object
    begin = 0
    for sweep, other in zip(sweeps, also, strict=False):
        if sweep.count:
            grouped.setdefault((sweep.template.structure, other), []).append((begin, sweep))
        begin += sweep.count
    return [_family(members) for members in grouped.values()]


def _family(members: list[tuple[int, ParameterSweep]]) -> Family:
    if len(members) == 1:
        ((begin, sweep),) = members
        binding = np.arange(sweep.count)
        return Family((sweep,), np.zeros_like(binding), binding, binding + begin)
    counts = [sweep.count for _, sweep in members]
    binding = np.concatenate([np.arange(count) for count in counts])
    begins = np.repeat([begin for begin, _ in members], counts)
    return Family(
        tuple(sweep for _, sweep in members),
        np.repeat(np.arange(len(members)), counts),
        binding,
        (begins + binding).astype(np.intp),
    )
