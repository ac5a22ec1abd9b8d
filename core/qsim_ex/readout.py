"""Bits as they are read: some of the bits that were sampled, replaced by what a readout error makes of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.readout import Misread, ReadoutErrors, check_groups
from qsim_ex.sampling import uniforms

Packed = NDArray[np.uint8]

READOUT = 1 << 63
"""Numbers of "instructions" that random numbers of readout errors are keyed by: this plus the first classical bit."""


def apply_readout(packed: Packed, errors: ReadoutErrors, seed: int) -> Packed:
    """Misread the bits of all shots; returns a new array if there are errors, else the same one.

    packed: uint8 [shots, bytes]; classical bit c is bit c % 8 of byte c // 8. Each shot and group of bits owns one
    number in [0, 1), so what is read depends on the seed and on what was measured alone. Raises `NoiseError` if a bit
    is out of range or in two groups.
    """
    check_groups(errors, packed.shape[1] * 8)
    if not errors:
        return packed
    read = packed.copy()
    for error in errors:
        _misread(read, error, uniforms(seed, READOUT + min(error.clbits), len(packed)))
    return read


def _misread(packed: Packed, error: Misread, numbers: NDArray[np.float64]) -> None:
    """Replace the bits of one group, in place."""
    true = np.zeros(len(packed), dtype=np.int64)
    for k, bit in enumerate(error.clbits):
        true |= (packed[:, bit >> 3] >> (bit & 7) & 1).astype(np.int64) << k
    read = np.empty_like(true)
    for value, row in enumerate(error.matrix):
        chosen = np.flatnonzero(true == value)
        if len(chosen):
            read[chosen] = np.searchsorted(_ends(row), numbers[chosen], side="right")
    for k, bit in enumerate(error.clbits):
        byte, at = bit >> 3, bit & 7
        packed[:, byte] = packed[:, byte] & ~np.uint8(1 << at) | ((read >> k & 1) << at).astype(np.uint8)


def _ends(row: NDArray[np.float64]) -> NDArray[np.float64]:
    """The running sum of probabilities, made so that rounding never leads beyond the last value that is possible."""
    ends = np.cumsum(row)
    ends[np.flatnonzero(row)[-1] :] = 1
    return ends
