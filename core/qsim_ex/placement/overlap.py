"""<left|right> of two states in different placements or precisions: over the host, a piece at a time."""

from __future__ import annotations

import numpy as np

from qsim_ex import thresholds
from qsim_ex.placement.base import Placement
from qsim_ex.precision import Amplitudes


def overlap(left: Placement, right: Placement) -> complex:
    """Return Σ conj(left)·right in complex128; the right state's amplitudes are moved to the left's layout first."""
    right.arrange(left.layout)
    if left.levels.local == left.num_wires:  # a state in one piece can be read anywhere, so the pass is over the other
        return overlap_of(right, left).conjugate()
    return overlap_of(left, right)


def overlap_of(passed: Placement, other: Placement) -> complex:
    """Return the `overlap` of two states in one layout, by one pass over the first."""
    total = 0j
    for start, amplitudes in passed.pieces(thresholds.now.copied_at_once):
        total += dot(amplitudes, other.stored(start, start + len(amplitudes)))
    return total


def dot(left: Amplitudes, right: Amplitudes) -> complex:
    """Return Σ conj(left)·right of two arrays on the host."""
    return complex(np.vdot(left.astype(np.complex128, copy=False), right.astype(np.complex128, copy=False)))
