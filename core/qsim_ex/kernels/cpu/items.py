"""The application of a matrix to rows: the rows it couples, and the source of each coefficient.

A Mix consists of **blocks**, sets of values that it mixes among themselves: an iSWAP is one pair and two values
that do not change. A block whose entries are real or imaginary in the right places acts on real and imaginary
planes separately and costs half. All of this depends on the pattern alone and is computed once for each pattern.

Coefficients are **codes**: 2·k is the k-th float of an item's packed numbers (real parts at even k), 2·k + 1 its
negative, and negative codes are constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Entry, Pattern
from qsim_ex.steps.step import NUMBERED

ZERO, ONE, MINUS_ONE = -1, -2, -3
Codes = NDArray[np.int64]

_CONSTANT = {Entry.ZERO: ZERO, Entry.ONE: ONE, Entry.MINUS_ONE: MINUS_ONE}
_REAL = frozenset({Entry.ZERO, Entry.ONE, Entry.MINUS_ONE, Entry.REAL})


@dataclass(frozen=True)
class MatrixBlock:
    """One set of values that a matrix mixes among themselves.

    values: values of the mixed bits, ascending.
    planes: for each, whether its real and imaginary planes trade places; empty for a complex matrix.
    codes: [blocks selected by the reads, entries], for a table that begins at number 0.
    identity: the entries of the unit matrix in the same order.
    """

    values: tuple[int, ...]
    planes: tuple[int, ...]
    codes: Codes
    identity: Codes


def negative(codes: Codes) -> Codes:
    """Return the codes of the negated numbers."""
    constants = np.select([codes == ONE, codes == MINUS_ONE], [MINUS_ONE, ONE], codes)
    return np.where(codes >= 0, codes ^ 1, constants)


def entry_codes(pattern: Pattern, dense: bool) -> tuple[Codes, Codes]:
    """Return the codes of the real and the imaginary part of each entry.

    dense: whether constants too have a place among the numbers.
    """
    real, imag = np.full((2, len(pattern)), ZERO, dtype=np.int64)
    place = 0
    for k, entry in enumerate(pattern):
        numbered = entry in NUMBERED
        number = k if dense else place
        place += numbered
        if not numbered:
            real[k] = _CONSTANT[Entry(entry)]
        if entry in (Entry.REAL, Entry.COMPLEX):
            real[k] = 4 * number
        if entry in (Entry.IMAG, Entry.COMPLEX):
            imag[k] = 4 * number + 2
    return real, imag


@lru_cache(maxsize=4096)
def diagonal(pattern: Pattern) -> tuple[Codes, Codes] | None:
    """Return codes and identity of a table of phases; one code an entry if all are real; None if all are 1."""
    if all(entry == Entry.ONE for entry in pattern):
        return None
    real, imag = entry_codes(pattern, dense=True)
    if all(entry in _REAL for entry in pattern):
        return real.reshape(-1, 1), np.array([ONE])
    return np.stack([real, imag], axis=1), np.array([ONE, ZERO])


@lru_cache(maxsize=4096)
def blocks(pattern: Pattern, num_bits: int, num_reads: int) -> tuple[MatrixBlock, ...]:
    """Return the blocks of a Mix with this pattern; values that do not change are left out."""
    size = 1 << num_bits
    shape = (1 << num_reads, size, size)
    classes = np.frombuffer(pattern, dtype=np.uint8).reshape(shape)
    real, imag = (codes.reshape(shape) for codes in entry_codes(pattern, dense=num_reads > 0))
    found = []
    for values in _coupled((classes != Entry.ZERO).any(axis=0)):
        here = np.ix_(range(shape[0]), values, values)
        if len(values) > 1 or (classes[here] != Entry.ONE).any():
            found.append(_block(values, classes[here], real[here], imag[here]))
    return tuple(found)


def _coupled(nonzero: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Return sets of values that are mixed among themselves; all values, if the size of a set is no power of two."""
    size = len(nonzero)
    sets: list[set[int]] = []
    for value in range(size):
        joined = {value} | {c for c in range(size) if nonzero[value, c] or nonzero[c, value]}
        for other in [s for s in sets if s & joined]:
            sets.remove(other)
            joined |= other
        sets.append(joined)
    if any(len(s) & len(s) - 1 for s in sets):
        return [tuple(range(size))]
    return sorted(tuple(sorted(s)) for s in sets)


def _block(values: tuple[int, ...], classes: NDArray[np.uint8], real: Codes, imag: Codes) -> MatrixBlock:
    size = len(values)
    unit = np.where(np.eye(size, dtype=bool), ONE, ZERO)
    planes = _planes(classes) if size in (2, 4) else None
    if planes is not None:
        first, second = _plane_matrices(planes, real, imag)
        both = np.concatenate([first, second], axis=1).reshape(len(real), -1)
        return MatrixBlock(values, planes, both, np.concatenate([unit, unit]).ravel())
    entries = np.stack([real, imag], axis=-1)
    identity = np.stack([unit, np.full_like(unit, ZERO)], axis=-1)
    if size > 4:  # four outputs at a time, column after column: see `vectors.four_outputs`
        entries = entries.reshape(-1, size // 4, 4, size, 2).transpose(0, 1, 3, 2, 4)
        identity = identity.reshape(size // 4, 4, size, 2).transpose(0, 2, 1, 3)
    return MatrixBlock(values, (), entries.reshape(len(real), -1), identity.ravel())


def _planes(classes: NDArray[np.uint8]) -> tuple[int, ...] | None:
    """Return 0 or 1 for each value, with real entries between equal ones and all others imaginary; None if impossible.

    Then the matrix is D·R·D⁻¹ with R real and D = diag(i^planes), and D only renames the planes of a row.
    """
    size = classes.shape[-1]
    label: list[int | None] = [None] * size
    kinds = np.zeros((size, size), dtype=np.int64)  # bit 0: some entry is real, bit 1: some entry is imaginary
    for block in classes:
        if (block == Entry.COMPLEX).any():
            return None
        kinds |= np.isin(block, (Entry.ONE, Entry.MINUS_ONE, Entry.REAL)) | (block == Entry.IMAG) * 2
    for start in range(size):
        if label[start] is None:
            label[start] = 0
            stack = [start]
            while stack:
                r = stack.pop()
                for c in range(size):
                    kind = int(kinds[r, c] | kinds[c, r])
                    if kind == 0:
                        continue
                    wanted = int(label[r] or 0) ^ (kind >> 1)
                    if kind == 3 or (label[c] is not None and label[c] != wanted):
                        return None
                    if label[c] is None:
                        label[c] = wanted
                        stack.append(c)
    return tuple(int(value or 0) for value in label)


def _plane_matrices(planes: tuple[int, ...], real: Codes, imag: Codes) -> tuple[Codes, Codes]:
    """Return R for the first planes, and R with the signs of the second planes.

    A row with planes = 1 stands for −i times itself: its first plane is its imaginary part, its second plane the
    negative of its real part.
    """
    p = np.array(planes)
    row, column = p[:, None], p[None, :]
    first = np.where(row == column, real, np.where(row == 1, imag, negative(imag)))
    return first, np.where(row == column, first, negative(first))
