"""The multiply-adds of matrices and tables of phases, which follow from the classes of their entries alone."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from qsim_ex.circuit.ops import Entry, Pattern
from qsim_ex.native.library import function

_WORK = {Entry.ZERO: 0, Entry.ONE: 2, Entry.MINUS_ONE: 2, Entry.REAL: 2, Entry.IMAG: 2, Entry.COMPLEX: 4}
"""Multiply-adds (or adds) per amplitude for one entry, as part of a row with other entries."""


@lru_cache(maxsize=4096)
def mix_work(of: Pattern, size: int) -> float:
    """Return the multiply-adds per amplitude of a matrix [blocks, size, size]; a row of one ±1 costs nothing."""
    return function("matrix_work")(of, len(of), size) * size / len(of)


@lru_cache(maxsize=4096)
def diagonal_work(of: Pattern, looked_up: int = 0) -> float:
    """Return the multiply-adds per amplitude of a table of phases; a factor of 1 costs nothing.

    looked_up: which reads threads tell, as a mask. Of factors that differ in these alone nobody knows which are 1, and
        all are of one class.
    """
    if not looked_up:
        return (_work(of) - _WORK[Entry.ONE] * of.count(Entry.ONE)) / len(of)
    entries, known = np.frombuffer(of, dtype=np.uint8), np.arange(len(of)) & ~looked_up
    total = 0
    for first in sorted({*known.tolist()}):  # np.unique imports masked arrays
        some = set(entries[known == first].tolist())
        if some != {Entry.ONE}:
            total += _WORK[Entry.COMPLEX if some & {Entry.IMAG, Entry.COMPLEX} else Entry.REAL] << looked_up.bit_count()
    return total / len(of)


def _work(entries: Pattern) -> int:
    """Return the multiply-adds of some entries; counted by class, since a table has a thousand entries."""
    return sum([_WORK[kind] * entries.count(kind) for kind in _WORK])
