"""The largest error of an answer that counts as right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qsim_ex.precision import BY_DTYPE, AmplitudeDtype, Amplitudes


def distance(found: Amplitudes, exact: NDArray[np.complex128]) -> float:
    """Return the relative error ‖found − exact‖ / ‖exact‖; infinite if the sizes differ."""
    if found.shape != exact.shape:
        return float("inf")
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def bound(dtype: AmplitudeDtype, gates: int) -> float:
    """Return the largest relative error by rounding: 1e-12 in complex128, 1e-6 + 3e-8 a gate in complex64."""
    tolerances = BY_DTYPE[dtype].tolerances
    return tolerances.rounding + tolerances.rounding_per_gate * gates
