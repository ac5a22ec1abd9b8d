"""Checks of channels that come again: a machine's noise is in many circuits, with the same matrices."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex.circuit import check
from qsim_ex.errors import InvalidInput

Kraus = NDArray[np.complex128]


def checked_kraus(kraus: ArrayLike, num_wires: int, name: str, tolerance: float | None) -> Kraus:
    """Return what `check.kraus` returns; matrices in an array that nobody writes are checked once for all circuits."""
    if isinstance(kraus, np.ndarray) and kraus.dtype.char == "D" and not kraus.flags.writeable:
        try:
            return _known_kraus(kraus.tobytes(), kraus.shape, num_wires, tolerance)
        except InvalidInput:
            pass  # the check below names the channel in its error
    return check.kraus(kraus, num_wires, name, tolerance)


@lru_cache(maxsize=1024)
def _known_kraus(kraus: bytes, shape: tuple[int, ...], num_wires: int, tolerance: float | None) -> Kraus:
    return check.kraus(np.frombuffer(kraus, dtype=np.complex128).reshape(shape), num_wires, "channel", tolerance)


@lru_cache(maxsize=1024)
def kind_of(kraus: bytes, count: int) -> tuple[bool, bool]:
    """Return whether a channel is mixed-unitary and whether its matrices are products."""
    size = math.isqrt(len(kraus) // (16 * count))
    array = np.frombuffer(kraus, dtype=np.complex128).reshape(count, size, size)
    return check.are_scaled_unitaries(array), check.are_products(array)
