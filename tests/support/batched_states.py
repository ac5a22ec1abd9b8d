"""Random batches of states in any layout, and how near their amplitudes have to be."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from support.held import Hold
from support.states import TOLERANCE, random_state

from qsim_ex.options import Options
from qsim_ex.state.batch.vector import BatchedStateVector
from qsim_ex.steps import Layout

same_device = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def in_parts(hold: Hold) -> None:
    """Make batches of even a few states run and answer in several parts."""
    hold(batch_rows=2)
    hold(sums_at_once=16)


def random_rows(rows: int, num_wires: int, seed: int = 0) -> np.ndarray:
    """Normalised random states, complex128 [rows, 2^n]."""
    return np.array([random_state(num_wires, seed + row) for row in range(rows)])


def batch_in(options: Options, psi: np.ndarray, layout: Layout | None = None) -> BatchedStateVector:
    """Return a batch that holds the states `psi`, stored in the given layout."""
    made = BatchedStateVector(len(psi), psi.shape[1].bit_length() - 1, options=options, initial=psi)
    if layout is not None:
        made._states.arrange(layout)
        assert made.layout == layout
    return made


def near(options: Options, times: float = 4) -> dict[str, float]:
    """Return tolerances for `np.testing.assert_allclose` of amplitudes, as keyword arguments."""
    return {"rtol": 0, "atol": times * TOLERANCE[options.precision]}


def host(array: Any) -> np.ndarray:
    """Return a NumPy or CuPy array as a NumPy array."""
    return np.asarray(array.get() if hasattr(array, "get") else array)
