"""How the numbers of a circuit that is written out of a form follow from those of the circuit: a coefficient program.

Phases are arguments of sums of the circuit's numbers, and angles are sums of multiples of phases. Native code finds
both, for one binding or many (core/native/planner/form/write/numbers.cpp). What is taken to be so of the circuit's
numbers, that some never differ and that matrices keep their eigenvectors, is checked for each binding.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.derivatives import add_at
from qsim_ex.native.library import address, function, structure
from qsim_ex.planning.written.rotations import RotationEntries

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]
Numbers = Complex | Floats
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Combinations:
    """Linear combinations of numbers, each of one number at least.

    places: of the numbers, those of the first combination first. by: what each is multiplied by. starts: where the
    numbers of each combination begin.
    """

    places: Integers
    by: Numbers
    starts: Integers

    @classmethod
    def of(cls, rows: Integers, places: Integers, by: Numbers) -> Combinations:
        """Return combinations of some summands; rows: the combination of each, in any order, none left out."""
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        return cls(places[order], by[order], starts)

    def pull_back(self, cotangents: Numbers, count: int) -> Numbers:
        """Return cotangents [..., count] of the numbers for those of the combinations; none of the place −1."""
        found = np.zeros((*cotangents.shape[:-1], count + 1), dtype=np.result_type(cotangents, self.by))
        if len(self.places):
            add_at(found, self.places % (count + 1), cotangents[..., self._rows()] * self.by)
        return found[..., :count]

    def depending(self, numbers: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which combinations depend on some of the numbers."""
        if not len(self.starts):
            return np.empty(0, dtype=np.bool_)
        found: NDArray[np.bool_] = np.logical_or.reduceat(np.append(numbers, False)[self.places], self.starts)
        return found

    def _rows(self) -> Integers:
        """Return the combination of each summand."""
        return np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(self.places)))


@dataclass(frozen=True, eq=False, slots=True)
class WrittenNumbers:
    """The operands of a written circuit as a function of those of the circuit.

    first: operands of the circuit [total], of which all but `varying` are the same for all bindings. A place may be
    there twice, for two gates that share a number.
    phases: the numbers whose arguments are phases, combinations of the circuit's operands.
    entries: what the operands at `varying` are, combinations of e^{iφ} of all phases φ, then of their conjugates.
    tolerance: how far each of these may be off, and all together not much more than their rounding.
    angles: those of the written rotations, and the global phase, combinations of phases.
    rotations: the operands of written gates that have an angle. constants: those of gates that have none.
    """

    first: Complex
    varying: Integers
    phases: Combinations
    entries: Combinations
    tolerance: float
    angles: Combinations
    rotations: RotationEntries
    constants: Complex
    lists: _Lists = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """List all numbers for native code, once."""
        object.__setattr__(self, "lists", _Lists.of(self))

    @property
    def size(self) -> int:
        """The number of operands of the written circuit."""
        return len(self.constants) + len(self.rotations.angles) + 1

    def unfit(self, operands: Complex) -> NDArray[np.bool_]:
        """Return which operands [bindings, total] are not what they were taken to be, read by a gate or not."""
        wrong = np.empty(operands.shape, dtype=np.bool_)
        self._made(operands, wrong=wrong)
        return wrong

    def __call__(self, operands: Complex) -> Complex:
        """Return the operands of the written circuit, complex128 [bindings, …], for those of the circuit that fit."""
        found = np.empty((len(operands), self.size), dtype=np.complex128)
        self._made(operands, out=found)
        return found

    def depending(self, operands: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which operands of the written circuit depend on some of the circuit's."""
        angles = self.angles.depending(self.phases.depending(operands))
        return np.concatenate(
            [np.zeros(len(self.constants), dtype=np.bool_), angles[self.rotations.angles], angles[-1:]]
        )

    def pull_back(self, operands: Complex, cotangents: Complex) -> Complex:
        """Return cotangents [bindings, values, total] of the circuit's operands for those of the written circuit's.

        A cotangent w of a number z says that a value changes by Re(w·dz). A phase φ = arg S changes by Im(dS/S).
        """
        sums, angles = self._made(operands)
        known = len(self.constants)
        of_angles = self.rotations.pull_back(angles, cotangents[..., known:-1])
        of_angles[..., -1] += (cotangents[..., -1] * 1j * np.exp(1j * angles[:, -1])[:, None]).real
        of_phases = self.angles.pull_back(of_angles, len(self.phases.starts))
        return np.asarray(self.phases.pull_back(-1j * of_phases / sums[:, None], operands.shape[1]))

    def _made(
        self, operands: Complex, wrong: NDArray[np.bool_] | None = None, out: Complex | None = None
    ) -> tuple[Complex, Floats]:
        """Return the sums whose arguments are phases, and the angles; fill what is given as well."""
        operands = np.ascontiguousarray(operands, dtype=np.complex128)
        count, width = operands.shape
        sums = np.empty((count, len(self.phases.starts)), dtype=np.complex128)
        angles = np.empty((count, len(self.angles.starts)))
        at = [0 if one is None else address(one) for one in (operands, sums, angles, wrong, out)]
        function("written_numbers")(ctypes.addressof(self.lists.form), self.tolerance, count, width, *at)
        return sums, angles


class _Lists(NamedTuple):
    """What the native function is given, with its arrays."""

    form: ctypes.Structure
    arrays: object

    @classmethod
    def of(cls, numbers: WrittenNumbers) -> _Lists:
        """Return the lists of all numbers."""
        entries, complex128 = numbers.rotations, np.complex128
        counts = [len(numbers.first), len(numbers.varying), len(numbers.constants), len(entries.angles)]
        arrays: list[NDArray[Any]] = [numbers.first, numbers.varying, numbers.constants, entries.angles]
        arrays += [entries.cos, entries.sin, entries.number]
        arrays = [np.ascontiguousarray(one) for one in arrays]
        words = [*counts, *map(address, arrays)]
        by = [numbers.phases.by.astype(complex128), numbers.entries.by.astype(complex128), numbers.angles.by.real]
        for one, each in zip((numbers.phases, numbers.entries, numbers.angles), by, strict=True):
            lists = [np.ascontiguousarray(array) for array in (one.places, one.starts, each)]
            words += [len(one.starts), len(one.places), *map(address, lists)]
            arrays += lists
        return cls(_Form(*words), arrays)


_SUMS = " ".join(
    f"{one}_count {one}_summands {one}_places {one}_starts {one}_by" for one in ("phase", "entry", "angle")
)
_Form = structure(
    f"total num_varying num_constants num_entries first varying constants angle_of cos sin number {_SUMS}"
)
"""The lists of `WrittenNumbers`, as core/native/planner/form/write/numbers.cpp has them."""


def sums_of_angles(
    angles: NDArray[np.float64],
    places: Integers,
    by: NDArray[np.float64],
    alone: NDArray[np.bool_],
    numbered: NDArray[np.bool_],
) -> Combinations:
    """Return the angles that gates have numbers of, and the global phase, as combinations of phases.

    angles: without what varies, the global phase last. places, by: of an angle and a phase, and its multiple of that.
    alone: angles that are twice those of gates, of which the global phase takes half; numbered: what is asked for.
    """
    turned = alone[places[:, 0]]
    places, by = np.concatenate([places, places[turned]]), np.concatenate([by * (1 + turned), -by[turned] / 2])
    places[len(turned) :, 0] = len(angles) - 1
    rows, constant = np.cumsum(numbered) - 1, np.flatnonzero(numbered)
    return Combinations.of(
        np.concatenate([rows[constant], rows[places[:, 0]]]),
        np.concatenate([np.full(len(constant), -1), places[:, 1]]),
        np.concatenate([angles[constant], by]),
    )
