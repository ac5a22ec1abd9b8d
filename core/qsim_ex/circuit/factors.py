"""Gates as products of cheaper ones: the column `factors` of the gate table.

Phases merge with their neighbours into tables, global phases into one number, and what remains is real, which is half
the work of a complex matrix. A global phase is the last factor, so that many gates can leave it to one operation for
all of them (`many`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qsim_ex.circuit.gate import Factor
from qsim_ex.circuit.rotations import Angles


def turned(axis: str) -> Callable[..., tuple[Factor, ...]]:
    """Return the factors of a power of a Pauli matrix: a rotation by its exponent and a global phase."""
    return lambda t, s: (
        Factor(axis, (np.pi * t,)),
        Factor("global_phase", (np.pi * t * (s + 0.5),)),
    )


def up_to_phase(of: str, angle: float) -> Callable[[], tuple[Factor, ...]]:
    """Return a row without parameters and a global phase as factors."""
    return lambda: (Factor(of, ()), Factor("global_phase", (angle,)))


def phases_by_parity(of: str) -> Callable[..., tuple[Factor, ...]]:
    """Return the factors of exp(−iθ/2·Z…Z): a phase on half of the amplitudes, and a global one."""
    return lambda theta: (Factor(of, (theta,)), Factor("global_phase", (-theta / 2,)))


def euler(theta: Angles, phi: Angles, lam: Angles) -> tuple[Factor, ...]:
    """Return the factors of U(θ, φ, λ) = P(φ)·RY(θ)·P(λ), in the order in which they act."""
    return Factor("p", (lam,)), Factor("ry", (theta,)), Factor("p", (phi,))


def turned_z(of: str) -> Callable[..., tuple[Factor, ...]]:
    """Return the factors of a power of Z or Z⊗Z: a phase on half of the amplitudes, and a global one."""
    return lambda t, s: (Factor(of, (np.pi * t,)), Factor("global_phase", (np.pi * t * s,)))


def hops(t: Angles, s: Angles) -> tuple[Factor, ...]:
    """Return the factors of a power of SWAP: a turn of |01⟩ and |10⟩ into each other, and a phase on both."""
    half, whole = np.pi / 2 * t, np.pi * t * s
    return Factor("hop", (half,)), Factor("parity_phase", (half,)), Factor("global_phase", (whole,))


def phased_x(p: Angles, t: Angles, s: Angles) -> tuple[Factor, ...]:
    """Return the factors of Z^p · X^t · Z^−p, in the order in which they act."""
    turn, phase = turned("rx")(t, s)
    return Factor("p", (-np.pi * p,)), turn, Factor("p", (np.pi * p,)), phase
