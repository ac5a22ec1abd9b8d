"""Readout errors, applied to bits that were measured."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.noise.readout import ReadoutErrors, check_groups, matrix_of
from qsim_ex.observe.sampling import uniforms

Packed = NDArray[np.uint8]
Values = NDArray[np.int64]

READOUT = 1 << 63
"""The "instruction" number that keys the random numbers of readout errors: this plus the first classical bit."""

_EARLIER = 40
"""Bits that are measured again later are keyed by numbers from `READOUT` + 2^40 up."""


def apply_readout(
    packed: Packed, errors: ReadoutErrors, seed: int, read: Collection[tuple[int, ...]] = frozenset()
) -> Packed:
    """Misread the bits of all shots; return a new array if there are errors, else the same one.

    packed: uint8 [shots, bytes]; classical bit c is bit c % 8 of byte c // 8. Each shot and group of bits owns one
    number in [0, 1), so the result depends on the seed and the measured bits alone. read: groups of bits that
    were read at a branch point already. Raises `NoiseError` if a bit is out of range or in two groups.
    """
    check_groups(errors, packed.shape[1] * 8)
    groups = {error.clbits: matrix_of(errors, error.clbits, None) for error in errors if error.clbits not in read}
    if not groups:
        return packed
    found = packed.copy()
    for clbits, matrix in groups.items():
        if matrix is not None:
            _misread(found, clbits, matrix, uniforms(seed, key_of(clbits, None), len(packed)))
    return found


def key_of(clbits: tuple[int, ...], measurement: int | None) -> int:
    """Return the key of the random numbers of a group of bits; measurement: None for the last one."""
    return READOUT + min(clbits) + (0 if measurement is None else measurement + 1 << _EARLIER)


def read_value(true: Values, matrix: NDArray[np.float64], numbers: NDArray[np.float64]) -> Values:
    """Return the value that is read for each true value, chosen by a number in [0, 1) for each."""
    if len(matrix) == 2:  # by far the most errors are those of one bit
        is_read_as_1 = numbers >= np.where(matrix[:, 1] == 0, 1, matrix[:, 0])[true]
        return is_read_as_1.astype(np.int64)
    read = np.empty_like(true)
    for value, row in enumerate(matrix):
        chosen = np.flatnonzero(true == value)
        if len(chosen):
            read[chosen] = np.searchsorted(read_ends(row), numbers[chosen], side="right")
    return read


def _misread(
    packed: Packed, clbits: tuple[int, ...], matrix: NDArray[np.float64], numbers: NDArray[np.float64]
) -> None:
    """Replace the bits of one group, in place."""
    true = np.zeros(len(packed), dtype=np.int64)
    for k, bit in enumerate(clbits):
        true |= (packed[:, bit >> 3] >> (bit & 7) & 1).astype(np.int64) << k
    read = read_value(true, matrix, numbers)
    for k, bit in enumerate(clbits):
        byte, at = bit >> 3, bit & 7
        packed[:, byte] = packed[:, byte] & ~np.uint8(1 << at) | ((read >> k & 1) << at).astype(np.uint8)


def read_ends(row: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the running sum of probabilities, clipped so that rounding never leads beyond the last possible value."""
    ends = np.cumsum(row)
    ends[np.flatnonzero(row)[-1] :] = 1
    return ends
