"""Readout errors: the probabilities of the value that is read, given the value that was measured."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.bits import gathered
from qsim_ex.errors import NoiseError

READOUT_BITS = 10
"""Most classical bits of one readout error; its matrix has 4^bits entries."""


@dataclass(frozen=True, eq=False, slots=True)
class ReadoutError:
    """The readout error of some classical bits together.

    clbits: ``clbits[0]`` is the least significant bit of a value.
    matrix: float64 [2^k, 2^k]; row = true value, column = value that is read; every row adds up to 1. Only what
        is measured is misread: not a bit that nothing measures, and not what a store writes over a measured bit.
    measurement: the measurement into these bits that has this error, counted from 0 in the order of the circuit; all of
        them if None. It matters where a condition reads bits that are measured again later.
    """

    clbits: tuple[int, ...]
    matrix: NDArray[np.float64]
    measurement: int | None = None


ReadoutErrors = tuple[ReadoutError, ...]
"""The readout errors of a circuit. A classical bit is in one group at most; an empty tuple means no readout error."""


def key_of(errors: ReadoutErrors) -> Hashable:
    """Return a key that is equal for equal readout errors."""
    return tuple((error.clbits, error.matrix.tobytes(), error.measurement) for error in errors)


def matrix_of(errors: ReadoutErrors, clbits: tuple[int, ...], measurement: int | None) -> NDArray[np.float64] | None:
    """Return P(read | true) of a group of bits after one of the measurements into them, None for the last one.

    Return None if nothing is misread.
    """
    mine: list[ReadoutError] = [error for error in errors if error.clbits == clbits]
    if measurement is None:
        measurement = max((error.measurement for error in mine if error.measurement is not None), default=0)
    named = next((error for error in mine if error.measurement == measurement), None)
    found = named or next((error for error in mine if error.measurement is None), None)
    return None if found is None else found.matrix


def without(errors: ReadoutErrors, clbits: AbstractSet[int]) -> ReadoutErrors:
    """Return the readout errors without some bits, which are 0 and stay 0; the others are misread as beside a 0."""
    found: list[ReadoutError] = []
    for error in errors:
        kept = [k for k, clbit in enumerate(error.clbits) if clbit not in clbits]
        if len(kept) == len(error.clbits):
            found.append(error)
        elif kept:
            values, mask = range(len(error.matrix)), sum(1 << k for k in kept)
            read = [gathered(value, kept) for value in values]
            matrix = error.matrix[[value for value in values if not value & ~mask]] @ np.eye(1 << len(kept))[read]
            found.append(replace(error, clbits=tuple([error.clbits[k] for k in kept]), matrix=matrix))
    return tuple(found)


def confusion(matrix: ArrayLike, num_bits: int) -> NDArray[np.float64]:
    """Return P(read | true) as float64 [2^k, 2^k], read only; raises `NoiseError` if they are no probabilities."""
    array = np.array(matrix, dtype=np.float64)
    size = 1 << num_bits
    if not 1 <= num_bits <= READOUT_BITS:
        raise NoiseError(
            f"expected a readout error of 1 to {READOUT_BITS} bits, got one of {num_bits} bits; divide it into several."
        )
    if array.shape != (size, size):
        raise NoiseError(
            f"expected a readout error of shape ({size}, {size}) for {num_bits} bits, got {array.shape}; pass one row "
            "for each true value."
        )
    for true, row in enumerate(array):
        if not ((row >= 0) & (row <= 1)).all() or abs(row.sum() - 1) > check.NORM_TOLERANCE:
            raise NoiseError(
                f"expected rows of probabilities P(read | true) that add up to 1, got {row.tolist()} in row {true}; "
                "pass one row for each true value."
            )
    array.setflags(write=False)
    return array


def check_groups(errors: Sequence[ReadoutError], num_clbits: int) -> None:
    """Check that each classical bit exists and is in one group at most; raises `NoiseError`."""
    if not errors:
        return
    bits = [bit for group in {error.clbits for error in errors} for bit in group]
    which = [(error.clbits, error.measurement) for error in errors]
    if len(set(bits)) != len(bits) or len(set(which)) != len(which) or any(not 0 <= b < num_clbits for b in bits):
        named = sorted(bit for error in errors for bit in error.clbits)
        raise NoiseError(
            f"expected readout errors of classical bits 0 to {num_clbits - 1}, each bit in one group, got {named}; "
            "give each group once, or once for each measurement into it."
        )


class ReadoutNotes:
    """Collects the readout error of each measurement into each classical bit while a circuit is built."""

    def __init__(self) -> None:
        self._matrices: dict[int, list[NDArray[np.float64] | None]] = {}

    def measured(self, clbit: int, matrix: NDArray[np.float64] | None) -> None:
        """Note a measurement into a bit; matrix: P(read | true), float64 [2, 2], None without a readout error."""
        self._matrices.setdefault(clbit, []).append(matrix)

    def errors(self) -> ReadoutErrors:
        """Return one `ReadoutError` for each bit, or one for each measurement into it where these differ."""
        found: list[ReadoutError] = []
        for clbit, matrices in sorted(self._matrices.items()):
            if all(_equal(matrix, matrices[0]) for matrix in matrices):
                found += [ReadoutError((clbit,), matrix) for matrix in matrices[:1] if matrix is not None]
            else:
                each = (np.eye(2) if matrix is None else matrix for matrix in matrices)
                found += [ReadoutError((clbit,), matrix, number) for number, matrix in enumerate(each)]
        return tuple(found)


def _equal(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))
