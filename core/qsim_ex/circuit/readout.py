"""Readout errors: what a classical bit says after a measurement, given what was measured."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex.circuit import check
from qsim_ex.errors import NoiseError

READOUT_BITS = 10
"""Most classical bits that are misread together; their matrix has 4^bits entries."""


@dataclass(frozen=True, eq=False, slots=True)
class Misread:
    """How some classical bits are misread together.

    clbits: ``clbits[0]`` is the least significant bit of a value.
    matrix: float64 [2^k, 2^k]; row = true value, column = value that is read; every row adds up to 1.
    """

    clbits: tuple[int, ...]
    matrix: NDArray[np.float64]


ReadoutErrors = tuple[Misread, ...]
"""One `Misread` for each group of classical bits; no bit is in two groups. Empty: everything is read rightly."""


def key_of(errors: ReadoutErrors) -> Hashable:
    """What is equal where bits are misread alike."""
    return tuple((error.clbits, error.matrix.tobytes()) for error in errors)


def confusion(matrix: ArrayLike, num_bits: int) -> NDArray[np.float64]:
    """Return P(read | true) as float64 [2^k, 2^k], read only; raises `NoiseError` for what are no probabilities."""
    array = np.array(matrix, dtype=np.float64)
    size = 1 << num_bits
    if not 1 <= num_bits <= READOUT_BITS:
        raise NoiseError(f"a readout error of 1 to {READOUT_BITS} bits is possible, got one of {num_bits}.")
    if array.shape != (size, size):
        raise NoiseError(
            f"a readout error of {num_bits} bits has the shape ({size}, {size}), row = true value, got {array.shape}."
        )
    for true, row in enumerate(array):
        if not ((row >= 0) & (row <= 1)).all() or abs(row.sum() - 1) > check.NORM_TOLERANCE:
            raise NoiseError(
                f"a readout error's rows are probabilities P(read | true) that add up to 1; "
                f"row {true} is {row.tolist()}."
            )
    array.setflags(write=False)
    return array


def check_groups(errors: Sequence[Misread], num_clbits: int) -> None:
    """Check that the groups are those of a circuit with so many classical bits; raises `NoiseError`."""
    bits = [bit for error in errors for bit in error.clbits]
    if len(set(bits)) != len(bits) or any(not 0 <= bit < num_clbits for bit in bits):
        raise NoiseError(f"readout errors name classical bits of {num_clbits}, each once; got {bits}.")
