"""How the numbers of a circuit that is written out of a form follow from those of the circuit: a coefficient program.

Phases are arguments of sums of the circuit's numbers, and angles are sums of multiples of phases. Both are found for
one binding or many with a few calls of NumPy. What is taken to be so of the circuit's numbers, that some never differ
and that matrices keep their eigenvectors, is checked for each binding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.derivatives import add_at
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

    def __call__(self, numbers: Numbers) -> Numbers:
        """Return the combinations [bindings, combinations] of numbers [bindings, …]."""
        if not len(self.starts):
            return np.empty((len(numbers), 0), dtype=np.result_type(numbers, self.by))
        found: Numbers = np.add.reduceat(numbers[:, self.places] * self.by, self.starts, axis=1)
        return found

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


def _and_one(numbers: Numbers) -> Numbers:
    """Return numbers [bindings, …] with a 1 behind those of each binding, which is the place −1."""
    return np.concatenate([numbers, np.ones((len(numbers), 1), dtype=numbers.dtype)], axis=1)


@dataclass(frozen=True, eq=False, slots=True)
class WrittenNumbers:
    """The operands of a written circuit as a function of those of the circuit.

    first: operands of the circuit [total], of which all but `varying` are the same for all bindings. A place may be
    there twice, for two gates that share a number.
    phases: the numbers whose arguments are phases, combinations of the circuit's operands.
    entries: what the operands at `varying` are, combinations of e^{iφ} of all phases φ, then of their conjugates.
    tolerance: how far these may be off.
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

    @property
    def size(self) -> int:
        """The number of operands of the written circuit."""
        return len(self.constants) + len(self.rotations.angles) + 1

    def unfit(self, operands: Complex) -> NDArray[np.bool_]:
        """Return which operands [bindings, total] are not what they were taken to be, read by a gate or not."""
        wrong: NDArray[np.bool_] = operands != self.first
        turned = self._turned(operands)
        made = self.entries(_and_one(np.concatenate([turned, turned.conj()], axis=1)))
        wrong[:, self.varying] = False
        binding, entry = np.nonzero(~(np.abs(made - operands[:, self.varying]) <= self.tolerance))
        wrong[binding, self.varying[entry]] = True
        return wrong

    def __call__(self, operands: Complex) -> Complex:
        """Return the operands of the written circuit, complex128 [bindings, …], for those of the circuit that fit."""
        angles: Floats = np.real(self.angles(_and_one(np.angle(self._turned(operands)))))
        known = len(self.constants)
        found = np.empty((len(operands), self.size), dtype=np.complex128)
        found[:, :known] = self.constants
        found[:, known:-1] = self.rotations(angles)
        found[:, -1] = np.exp(1j * angles[:, -1])
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
        sums = self.phases(_and_one(operands))
        angles: Floats = np.real(self.angles(_and_one(np.angle(sums))))
        known = len(self.constants)
        of_angles = self.rotations.pull_back(angles, cotangents[..., known:-1])
        of_angles[..., -1] += (cotangents[..., -1] * 1j * np.exp(1j * angles[:, -1])[:, None]).real
        of_phases = self.angles.pull_back(of_angles, len(self.phases.starts))
        return np.asarray(self.phases.pull_back(-1j * of_phases / sums[:, None], operands.shape[1]))

    def _turned(self, operands: Complex) -> Complex:
        """Return e^{iφ} of each phase [bindings, phases]; not a number where a sum of operands is 0."""
        sums = self.phases(_and_one(operands))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums / np.abs(sums))
