"""The norm of a state after a run: a guard against amplitudes that were lost or doubled while they were moved.

Unitary work keeps the norm, and rounding changes it by little. A slice that is dropped, written twice or left out
changes it by its weight. Whoever has the squared norm at hand (the sum that shots are drawn by, or one visit) gives
it to `check_norm`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex.circuit.check import UNITARY_TOLERANCE
from qsim_ex.errors import DeviceError

ROUNDINGS = 16
"""Roundings of unit size by which one gate may change a squared norm, in the worst case and all in one direction.

A gate's numbers are rounded once, and each amplitude is the rounded sum of at most a few products.
"""


def norm_bound(num_gates: int, dtype: DTypeLike, tolerance: float = UNITARY_TOLERANCE) -> float:
    """How far from what it was a squared norm may be after so many gates, relatively.

    tolerance: how far from unitary (largest entry of U†U − 1) a caller's matrix may have been.
    """
    rounding = float(np.finfo(np.dtype(dtype)).eps) / 2
    return (num_gates + 1) * (ROUNDINGS * rounding + 4 * tolerance)


def check_norm(
    norm_squared: float,
    num_gates: int,
    dtype: DTypeLike,
    *,
    before: float = 1.0,
    tolerance: float = UNITARY_TOLERANCE,
) -> None:
    """Raise `DeviceError` if a squared norm, after so many gates, is not what rounding can have made of `before`."""
    bound = norm_bound(num_gates, dtype, tolerance)
    if not abs(norm_squared - before) <= bound * before:  # NaN is not within any bound
        raise DeviceError(
            f"the squared norm is {norm_squared:.9g} after {num_gates} gates on a state of squared norm {before:.9g}; "
            f"rounding explains a difference of {bound * before:.1e}. Amplitudes were lost or damaged while they were "
            "moved or worked on, so the result is withheld. Run again, with fewer devices if it happens twice."
        )
