"""Unitary matrices of a circuit, checked and classified many at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.check import UNITARY_TOLERANCE
from qsim_ex.circuit.ops import Entry, Pattern
from qsim_ex.native.library import address, function

Complex = NDArray[np.complex128]

_OPERAND = np.dtype(np.complex128)
"""The type of the operands of gates, in every precision."""


@lru_cache(maxsize=4096)
def kept_wires(wires: tuple[int, ...]) -> tuple[int, ...]:
    """Return equal wires that were here before, so that the gates of a circuit hold one object."""
    return wires


def kept_pattern(of: Pattern) -> Pattern:
    """Return an equal pattern that was here before, unless it is large."""
    return _small_pattern(of) if len(of) <= thresholds.now.kept_pattern else of


@lru_cache(maxsize=4096)
def _small_pattern(of: Pattern) -> Pattern:
    return of


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

    None stands for what is no array of complex128, is not square, is not unitary within `tolerance`, or is large.
    """
    shapes = [one.shape if type(one) is np.ndarray and one.dtype == _OPERAND else () for one in matrices]
    distinct = {*shapes}
    if len(distinct) == 1:
        return _of_one_shape(matrices, distinct.pop(), tolerance)
    found: list[UnitaryMatrix | None] = [None] * len(matrices)
    for shape in distinct:
        places = [k for k, of in enumerate(shapes) if of == shape]
        for k, one in zip(places, _of_one_shape([matrices[k] for k in places], shape, tolerance), strict=True):
            found[k] = one
    return found


def _of_one_shape(matrices: Sequence[Any], shape: tuple[int, ...], tolerance: float) -> list[UnitaryMatrix | None]:
    """Return matrices of a shape as `unitary_matrices` does."""
    count = len(matrices)
    if not (len(shape) == 2 and shape[0] == shape[1] <= thresholds.now.checked_rows and shape[0].bit_count() == 1):
        return [None] * count
    size, array = shape[0], np.ascontiguousarray(np.concatenate(matrices))  # of column-ordered ones it is one, too
    classes, kinds = np.empty(array.size, dtype=np.uint8), np.empty(count, dtype=np.uint8)
    out = address(classes), address(kinds)
    _classify()(address(array), count, size, tolerance, UNITARY_TOLERANCE, Entry.ZERO, Entry.COMPLEX, *out)
    flat, text = array.reshape(count, size * size), classes.tobytes()
    diagonals = np.ascontiguousarray(flat[:, :: size + 1]) if (kinds == _DIAGONAL).any() else flat
    patterns = [text[begin : begin + size * size] for begin in range(0, len(text), size * size)]
    kept = {pattern: kept_pattern(pattern) for pattern in {*patterns}}
    new = tuple.__new__  # which takes half as long as the class
    return [
        new(UnitaryMatrix, (size, flat, k, kept[pattern]))
        if kind == _GENERAL
        else UnitaryMatrix(size, diagonals, k, None)
        if kind == _DIAGONAL
        else None
        for k, (kind, pattern) in enumerate(zip(kinds.tolist(), patterns, strict=True))
    ]


_GENERAL, _DIAGONAL = 1, 2  # the kinds of unitary matrices in core/native/readers/matrices.cpp


@lru_cache(maxsize=1)
def _classify() -> Callable[..., int]:
    return function("matrices_classify")
