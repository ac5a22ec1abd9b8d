"""Observables: sums of Pauli strings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from qsim_ex.circuit import check
from qsim_ex.errors import CircuitError, NotSupported

MATRIX_WIRES = 6
"""The most wires of a matrix that is written as Pauli strings: 4,096 of them."""

StoredSum = tuple[tuple[int, int, complex], ...]
"""A sum of operators c · X-part · Z-part on stored amplitudes: masks of index bits for both parts, and c."""


@dataclass(frozen=True, slots=True)
class PauliString:
    """A product of Pauli matrices times a coefficient.

    x, z: masks of wires; a wire in `x` alone is X, in `z` alone Z, in both Y.
    """

    x: int
    z: int
    coefficient: complex = 1.0

    @classmethod
    def parse(cls, paulis: str, wires: Iterable[int], coefficient: complex = 1.0) -> PauliString:
        """Return the string whose ``paulis[k]`` in "IXYZ" acts on ``wires[k]``; raises `CircuitError`."""
        on = list(wires)
        check.paulis(paulis, on)
        x = sum(1 << w for p, w in zip(paulis, on, strict=True) if p in "XY")
        z = sum(1 << w for p, w in zip(paulis, on, strict=True) if p in "YZ")
        return cls(x, z, coefficient)

    @property
    def num_y(self) -> int:
        """The number of wires that carry Y; the string is i^num_y times its X part and its Z part."""
        return (self.x & self.z).bit_count()


@dataclass(frozen=True, slots=True)
class PauliSum:
    """A sum of Pauli strings, Σ coefficient · string."""

    terms: tuple[PauliString, ...]

    def __post_init__(self) -> None:
        terms: object = self.terms
        if not isinstance(terms, tuple) or not all(isinstance(term, PauliString) for term in terms):
            raise CircuitError(
                f"PauliSum: expected a tuple of PauliStrings, got {self.terms!r}; pass them, or make the sum with "
                "PauliSum.from_labels({'ZZ': 1.0})."
            )

    @classmethod
    def from_labels(cls, labels: Mapping[str, complex]) -> PauliSum:
        """Return the sum of labels such as "XIZ", whose last letter acts on wire 0, as in Qiskit."""
        return cls(
            tuple(
                PauliString.parse(label[::-1], range(len(label)), coefficient) for label, coefficient in labels.items()
            )
        )

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, wires: Sequence[int]) -> PauliSum:
        """Return a matrix [2^k, 2^k] on some wires, ``wires[0]`` least significant, as a sum of up to 4^k strings.

        Coefficients are real for a Hermitian matrix.
        Raises `MatrixError` for another shape, and `NotSupported` for more than 6 wires.
        """
        if len(wires) > MATRIX_WIRES:
            raise NotSupported(
                f"expected a matrix on at most {MATRIX_WIRES} wires, got {len(wires)}; write it as Pauli strings."
            )
        array = check.square(matrix, len(wires), "PauliSum.from_matrix")
        hermitian = np.allclose(array, array.conj().T, rtol=0, atol=1e-13 * np.abs(array).max(initial=0))
        values = np.arange(len(array))
        signs = 1 - 2 * (np.bitwise_count(values[:, None] & values) % 2).astype(np.float64)
        terms = []
        for x in values.tolist():
            # Tr(P·M)/2^k for P = i^num_y · X · Z, whose entry at [i XOR x, i] is i^num_y times a sign
            traces = signs @ array[values, values ^ x] / len(array)
            for z, trace in enumerate(traces.tolist()):
                coefficient = (1, 1j, -1, -1j)[(x & z).bit_count() % 4] * trace
                coefficient = coefficient.real if hermitian else coefficient
                if coefficient:
                    terms.append(PauliString(x, z, coefficient))
        return cls(tuple(terms)).on(wires)

    def num_wires(self) -> int:
        """Return the least number of wires that the sum needs: the highest wire that it acts on, plus 1."""
        return max(((t.x | t.z).bit_length() for t in self.terms), default=0)

    def without_idle(self, places: Mapping[int, int]) -> PauliSum:
        """Return the sum for a state of which only some wires are kept, and all others are |0⟩.

        places: for each kept wire its new number. Z and I are 1 on |0⟩, and the mean of X and Y is 0.
        """
        kept = sum(1 << wire for wire in places)
        terms = (t for t in self.terms if not t.x & ~kept)
        return PauliSum(tuple(PauliString(_moved(t.x, places), _moved(t.z, places), t.coefficient) for t in terms))

    def on(self, wires: Sequence[int]) -> PauliSum:
        """Return the sum whose wire k is ``wires[k]``."""
        bits = [1 << wire for wire in wires]

        def moved(mask: int) -> int:
            return sum(bit for k, bit in enumerate(bits) if mask >> k & 1)

        return PauliSum(tuple(PauliString(moved(t.x), moved(t.z), t.coefficient) for t in self.terms))

    def squared(self) -> PauliSum:
        """Return the product of the sum with itself, each string once; strings that cancel are left out."""
        found: dict[tuple[int, int], complex] = {}
        for a in self.terms:
            for b in self.terms:
                # a·b = i^(y_a + y_b) X_a Z_a X_b Z_b, where Z_a X_b = ± X_b Z_a, and the string (x, z) has i^y again.
                x, z = a.x ^ b.x, a.z ^ b.z
                turns = a.num_y + b.num_y - (x & z).bit_count() + 2 * (a.z & b.x).bit_count()
                found[x, z] = found.get((x, z), 0) + a.coefficient * b.coefficient * (1, 1j, -1, -1j)[turns % 4]
        return PauliSum(tuple(PauliString(x, z, c) for (x, z), c in found.items() if c))


def _moved(mask: int, places: Mapping[int, int]) -> int:
    """Return a mask of wires in the new numbers, without the wires that have none."""
    return sum(1 << place for wire, place in places.items() if mask >> wire & 1)


def require_sums(given: Sequence[object]) -> None:
    """Raise `CircuitError` for observables that are no sums of Pauli strings."""
    for one in given:
        if not isinstance(one, PauliSum):
            wrong = given if isinstance(given, str) else one
            raise CircuitError(
                f"expected observables as a list of qsim_ex.PauliSum, got {wrong!r}; pass "
                "[PauliSum.from_labels({'ZZ': 1.0})]."
            )
