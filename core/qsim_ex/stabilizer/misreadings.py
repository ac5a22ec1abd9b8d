"""Readout errors of a circuit for Stim: flips of bits that are needed early are noisy measurements, others are late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from qsim_ex.circuit.control import Store
from qsim_ex.circuit.noise.readout import ReadoutErrors, matrix_of
from qsim_ex.circuit.structure import Structure

Group = tuple[int, ...]


class Misreadings:
    """The readout errors of the measurements of a circuit, asked for in their order.

    needed: the bits that something reads, or writes again otherwise, before the end. read: the groups of bits whose
    errors are flips that Stim makes. All others are misread at the end.
    """

    def __init__(self, errors: ReadoutErrors, needed: Iterable[int]) -> None:
        self._errors = errors
        groups = dict.fromkeys(error.clbits for error in errors)
        flips = [of for of in groups if all(_flips(error.matrix) for error in errors if error.clbits == of)]
        early = set(needed)
        self.read: frozenset[Group] = frozenset(of for of in flips if not early.isdisjoint(of))
        self._late = {clbit for of in groups if of not in self.read for clbit in of}
        self._early = self._late & early
        self._times: Counter[int] = Counter()

    @classmethod
    def of(cls, structure: Structure, errors: ReadoutErrors) -> Misreadings:
        """Return the readout errors of a circuit."""
        return cls(errors, _needed(structure) if errors else ())

    def measured(self, clbit: int) -> float | None:
        """Return with which probability the next measurement into a bit is flipped; None if it must be known early."""
        if not self._errors:
            return 0.0
        time = self._times[clbit]
        self._times[clbit] += 1
        if clbit in self._early:
            return None
        matrix = matrix_of(self._errors, (clbit,), time) if (clbit,) in self.read else None
        return 0.0 if matrix is None else float(matrix[0, 1])

    def unread(self, clbits: Sequence[int]) -> bool:
        """Return whether some bits are misread at the end, whatever is written into them."""
        return not self._late.isdisjoint(clbits)


def _flips(matrix: np.ndarray) -> bool:
    """Return whether a readout error flips one bit with a probability that does not depend on the bit."""
    return matrix.shape == (2, 2) and bool(matrix[0, 1] == matrix[1, 0])


def _needed(structure: Structure) -> set[int]:
    """Return the classical bits that something reads before the end, or that a store writes."""
    if any(one.reads_every_bit for one in structure.distinct):
        return set(range(structure.num_clbits))
    stored = {clbit for one in structure.distinct if isinstance(one, Store) for clbit in one.written_bits}
    return stored.union(*[one.read_bits for one in structure.distinct])
