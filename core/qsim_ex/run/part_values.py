"""Expectation values of circuits in separate parts: products of values of Pauli strings on the parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.observables import PauliString, PauliSum
from qsim_ex.circuit.ops import wires_of
from qsim_ex.observe import expectation
from qsim_ex.placement.base import States
from qsim_ex.program.program import Program
from qsim_ex.program.separation import Separation
from qsim_ex.run.branches import Branches
from qsim_ex.run.request import Request


class String(NamedTuple):
    """A Pauli string on a part: masks of its wires, and a mask of bits whose outcomes have the letter Z."""

    x: int
    z: int
    kept: int


@dataclass(eq=False, slots=True)
class _Found:
    """The values of a part's strings in its final states, float64 [bindings, trajectories or 1, strings]."""

    strings: dict[String, int]
    values: NDArray[np.float64]


Term = tuple[complex, tuple[tuple[int, int], ...]]
"""A Pauli string over parts: its coefficient, and for each part that it acts on the part's number and string."""


class PartValues:
    """The values of all strings on all parts, which a run fills in; parts of one program share their strings."""

    def __init__(self, separation: Separation, programs: Sequence[Program], request: Request, count: int) -> None:
        self._separation = separation
        self._programs = programs
        self._request = request
        self._count = count
        self._strings: dict[int, dict[String, int]] = {}  # of each program
        self._terms = [self._split(one) for one in request.observables]
        self._found = []
        for program in programs:
            mine = self._strings.get(id(program), {})
            trajectories = request.trajectories if program.branches else 1
            self._found.append(_Found(mine, np.zeros((count, trajectories, len(mine)))))

    def asked(self, part: int) -> bool:
        """Return whether an observable acts on a part."""
        return bool(self._found[part].strings)

    def kept(self, part: int) -> set[int]:
        """Return the bits of a part whose outcomes an observable acts on."""
        return {bit for string in self._found[part].strings for bit in wires_of(string.kept)}

    def of(self, part: int, states: States, branches: Branches) -> NDArray[np.float64]:
        """Return the values of a part's strings in some states, [rows, strings]; branch b is in row b."""
        program, strings = self._programs[part], self._found[part].strings
        values, norms = expectation.in_rows(states, [PauliSum((PauliString(one.x, one.z),)) for one in strings])
        found: NDArray[np.float64] = (values / norms[:, None] if program.choices else values).real
        for place, string in enumerate(strings):
            for bit in wires_of(string.kept):
                if (column := program.recorded.get(bit)) is not None:
                    found[:, place] *= 1 - 2.0 * branches.outcomes[:, column]
        return found

    def put(
        self, part: int, binding: NDArray[np.int64], shot: NDArray[np.int64] | int, found: NDArray[np.generic]
    ) -> None:
        """Keep the values of some bindings and shots, [shots, strings]."""
        self._found[part].values[binding, shot] = found

    def sums(self) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
        """Return the sums of all observables and of their squares over trajectories, [bindings, observables]."""
        request, count = self._request, self._count
        sums = np.zeros((count, len(request.observables)), dtype=np.complex128)
        squares = np.zeros(sums.shape)
        for column, terms in enumerate(self._terms):
            values: NDArray[np.complex128] = np.zeros((count, 1), dtype=np.complex128)
            for coefficient, strings in terms:
                product: NDArray[Any] = np.full((count, 1), coefficient, dtype=np.complex128)
                for part, string in strings:
                    product = product * self._found[part].values[:, :, string]
                values = values + product
            repeated = request.trajectories // values.shape[1]
            sums[:, column] = values.sum(axis=1) * repeated
            squares[:, column] = (np.abs(values) ** 2).sum(axis=1) * repeated
        return sums, squares

    def _split(self, one: PauliSum) -> list[Term]:
        """Return the terms of an observable as products of strings on parts.

        X and Y of a wire in a basis state have mean 0: of an idle wire, and of one whose outcome is known.
        """
        place, known = self._separation.place, self._separation.known
        terms: list[Term] = []
        for term in one.terms:
            strings: dict[int, String] = {}
            vanishes = False
            for wire in wires_of(term.x | term.z):
                flips, signs = term.x >> wire & 1, term.z >> wire & 1
                vanishes = vanishes or (wire not in place and bool(flips))
                if wire in place:
                    part, local = place[wire]
                    x, z, kept = strings.get(part, _NONE)
                    strings[part] = String(x | flips << local, z | signs << local, kept)
                elif wire in known:
                    part, bit = known[wire]
                    strings[part] = (own := strings.get(part, _NONE))._replace(kept=own.kept | 1 << bit)
            if not vanishes:
                numbered = tuple((part, self._number(part, string)) for part, string in strings.items())
                terms.append((term.coefficient, numbered))
        return terms

    def _number(self, part: int, string: String) -> int:
        known = self._strings.setdefault(id(self._programs[part]), {})
        return known.setdefault(string, len(known))


_NONE = String(0, 0, 0)
