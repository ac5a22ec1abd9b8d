"""Random states in any layout, and how far two states are apart."""

from __future__ import annotations

import numpy as np

from qsim_ex.options import Options
from qsim_ex.state.vector import StateVector
from qsim_ex.steps import Layout

TOLERANCE = {"single": 1e-6, "double": 1e-12}
"""Largest relative error of one rounding of a state, and of sums over it."""


def random_state(num_wires: int, seed: int = 0) -> np.ndarray:
    """A normalised random state, complex128 [2^n]."""
    rng = np.random.default_rng(seed)
    psi = rng.normal(size=1 << num_wires) + 1j * rng.normal(size=1 << num_wires)
    return psi / np.linalg.norm(psi)


def state_in(options: Options, psi: np.ndarray, layout: Layout | None = None) -> StateVector:
    """Return a state vector that holds `psi`, stored in the given layout."""
    state = StateVector(len(psi).bit_length() - 1, options=options, initial=psi)
    if layout is not None:
        state._placement.arrange(layout)
        assert state.layout == layout
    return state


def values_of(wires: list[int], num_wires: int) -> np.ndarray:
    """For each basis value, the value of some wires, ``wires[0]`` least significant, bit by bit."""
    out = np.zeros(1 << num_wires, dtype=int)
    for value in range(1 << num_wires):
        for k, wire in enumerate(wires):
            out[value] |= (value >> wire & 1) << k
    return out


def far(found: np.ndarray, wanted: np.ndarray) -> float:
    """Return the relative distance of two states in the 2-norm."""
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))
