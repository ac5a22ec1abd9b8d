"""Unitary matrices of a circuit, checked and classified many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.check import UNITARY_TOLERANCE
from qsim_ex.circuit.ops import Entry, Pattern

Complex = NDArray[np.complex128]

_OPERAND = np.dtype(np.complex128)
"""The type of the operands of gates, in every precision."""


class UnitaryMatrix(NamedTuple):
    """A matrix that is known to be unitary; `CircuitBuilder.unitary` takes it as it takes an array.

    size: its number of rows. entries: the flat entries of many matrices, one in each row; of diagonal matrices the
    diagonals alone. row: which of them it is. pattern: the classes of its entries; None for a diagonal matrix.
    """

    size: int
    entries: Complex
    row: int
    pattern: Pattern | None

    def array(self) -> Complex:
        """Return the matrix, complex128 [size, size]."""
        entries = self.entries[self.row]
        return np.diag(entries) if self.pattern is None else entries.reshape(self.size, self.size)


def unitary_matrices(matrices: Sequence[object], tolerance: float = UNITARY_TOLERANCE) -> list[UnitaryMatrix | None]:
    """Return matrices as the builder takes them fastest, and None for each one that it must check by itself.

    None stands for what is no array of complex128, is not square, or is not unitary within `tolerance`.
    """
    found: list[UnitaryMatrix | None] = [None] * len(matrices)
    alike: dict[tuple[int, ...], list[int]] = {}
    for k, matrix in enumerate(matrices):
        if type(matrix) is np.ndarray and matrix.dtype == _OPERAND:
            alike.setdefault(matrix.shape, []).append(k)
    for shape, places in alike.items():
        if len(shape) == 2 and shape[0] == shape[1] and shape[0].bit_count() == 1:
            made = _of_one_size(np.array([matrices[k] for k in places]), tolerance)
            for k, one in zip(places, made, strict=True):
                found[k] = one
    return found


def _of_one_size(array: Complex, tolerance: float) -> list[UnitaryMatrix | None]:
    """Return matrices [count, size, size] as `unitary_matrices` does."""
    count, size = array.shape[:2]
    with np.errstate(all="ignore"):  # entries that are not finite are found by the comparison
        off = np.abs(array.conj().swapaxes(1, 2) @ array - np.eye(size)).max(axis=(1, 2))
    right = (off <= tolerance).tolist()
    flat = array.reshape(count, size * size)
    zero = flat == 0
    classes = np.where(zero, np.uint8(Entry.ZERO), np.uint8(Entry.COMPLEX)).tobytes()
    beside = np.ones(size * size, dtype=bool)
    beside[:: size + 1] = False  # the diagonal
    diagonal = zero[:, beside].all(axis=1)
    # An entry of a diagonal must have modulus 1 by itself, which the builder checks.
    patterns = [classes[k : k + size * size] for k in range(0, len(classes), size * size)]
    if not diagonal.any():
        return [
            UnitaryMatrix(size, flat, k, of) if fine else None
            for k, (of, fine) in enumerate(zip(patterns, right, strict=True))
        ]
    diagonals = np.ascontiguousarray(flat[:, :: size + 1])
    modulus = (np.abs(np.abs(diagonals) - 1).max(axis=1) <= UNITARY_TOLERANCE).tolist()
    made: list[UnitaryMatrix | None] = []
    for k, (of, fine, plain) in enumerate(zip(patterns, right, diagonal.tolist(), strict=True)):
        if not fine or (plain and not modulus[k]):
            made.append(None)
        else:
            made.append(UnitaryMatrix(size, diagonals, k, None) if plain else UnitaryMatrix(size, flat, k, of))
    return made
