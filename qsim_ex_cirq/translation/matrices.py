"""Matrix gates, whose matrices are read and checked together."""

from __future__ import annotations

from collections.abc import Mapping

import cirq

from qsim_ex.frameworks import unitary_matrices
from qsim_ex_cirq.translation.place import TOLERANCE


class MatrixGates:
    """The matrix gates among some gates, which are given by their places, and their matrices as they were read.

    checked: by their places, the matrices as the builder takes them fastest; those left out are looked at one by one.
    """

    def __init__(self, gates: Mapping[int, cirq.Gate | None]) -> None:
        found = {place: gate for place, gate in gates.items() if type(gate) is cirq.MatrixGate}
        self._gates = list(found.values())
        self._read = [gate._unitary_() for gate in self._gates]
        matrices = unitary_matrices(self._read, TOLERANCE) if len(found) > 1 else []
        self.checked = {place: one for place, one in zip(found, matrices, strict=False) if one is not None}

    def are_unchanged(self) -> bool:
        """Return whether the matrices are now what they were: a gate keeps the array that its user gave it."""
        return all(
            was.tobytes() == gate._unitary_().tobytes() for was, gate in zip(self._read, self._gates, strict=True)
        )
