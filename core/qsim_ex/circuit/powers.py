"""The matrices of Cirq's powers, and of its gates that turn |01⟩ and |10⟩ into each other, for arrays of parameters.

Exponents and global shifts are in half turns, all other parameters in radians; argument 0 is the least significant.
"""

from __future__ import annotations

import numpy as np

from qsim_ex.circuit.rotations import Angles, Complex, Entry, phases

_R = float(np.sqrt(0.5))


def turn(t: Angles, shift: Angles = 0.0) -> tuple[Complex, Complex, Complex]:
    """Return e^{iπts}, (1 + e^{iπt})/2 and (1 − e^{iπt})/2; with the last two, A^t = a·1 + b·A if A·A = 1."""
    u = phases(np.pi * t)
    return phases(np.pi * t * shift), (1 + u) / 2, (1 - u) / 2


def xpow(t: Angles, s: Angles) -> list[Entry]:
    """Return e^{iπts} X^t."""
    g, a, b = turn(t, s)
    return [g * a, g * b, g * b, g * a]


def ypow(t: Angles, s: Angles) -> list[Entry]:
    """Return e^{iπts} Y^t."""
    g, a, b = turn(t, s)
    return [g * a, -1j * g * b, 1j * g * b, g * a]


def zpow(t: Angles, s: Angles) -> list[Entry]:
    """Return the diagonal of e^{iπts} Z^t, and of e^{iπts} (Z⊗Z)^t by parity."""
    return [turn(t, s)[0], phases(np.pi * t * (1 + s))]


def hpow(t: Angles, s: Angles) -> list[Entry]:
    """Return e^{iπts} H^t."""
    g, a, b = turn(t, s)
    return [g * (a + _R * b), g * _R * b, g * _R * b, g * (a - _R * b)]


def xxpow(t: Angles, s: Angles) -> list[Entry]:
    """Return e^{iπts} (X⊗X)^t."""
    g, a, b = turn(t, s)
    a, b = g * a, g * b
    return [a, 0, 0, b, 0, a, b, 0, 0, b, a, 0, b, 0, 0, a]


def yypow(t: Angles, s: Angles) -> list[Entry]:
    """Return e^{iπts} (Y⊗Y)^t."""
    g, a, b = turn(t, s)
    a, b = g * a, g * b
    return [a, 0, 0, -b, 0, a, b, 0, 0, b, a, 0, -b, 0, 0, a]


def swappow(t: Angles, s: Angles) -> list[Entry]:
    """Return e^{iπts} SWAP^t."""
    g, a, b = turn(t, s)
    return [g, 0, 0, 0, 0, g * a, g * b, 0, 0, g * b, g * a, 0, 0, 0, 0, g]


def iswappow(t: Angles, s: Angles) -> list[Entry]:
    """Return e^{iπts} iSWAP^t."""
    g = turn(t, s)[0]
    u = phases(np.pi * t / 2)
    c, m = g * u.real, 1j * g * u.imag
    return [g, 0, 0, 0, 0, c, m, 0, 0, m, c, 0, 0, 0, 0, g]


def phasedxpow(p: Angles, t: Angles, s: Angles) -> list[Entry]:
    """Return e^{iπts} Z^p X^t Z^−p."""
    g, a, b = turn(t, s)
    return [g * a, g * b * phases(-np.pi * p), g * b * phases(np.pi * p), g * a]


def fsim(theta: Angles, phi: Angles) -> list[Entry]:
    """Return what turns |01⟩ and |10⟩ by θ, with the phase −φ of |11⟩."""
    u = phases(theta)
    c, m = u.real, -1j * u.imag
    return [1, 0, 0, 0, 0, c, m, 0, 0, m, c, 0, 0, 0, 0, phases(-phi)]


FSIM_TURNS = (0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 2)
"""Of each entry of `phasedfsim` how many factors e^{−iγ} it has."""


def phasedfsim(theta: Angles, zeta: Angles, chi: Angles, gamma: Angles, phi: Angles) -> list[Entry]:
    """Return the same between phases on each wire and of both, as Cirq defines them."""
    u, g = phases(theta), phases(-gamma)
    c, m = g * u.real, -1j * g * u.imag
    return [
        1, 0, 0, 0,
        0, c * phases(zeta), m * phases(-chi), 0,
        0, m * phases(chi), c * phases(-zeta), 0,
        0, 0, 0, g * g * phases(-phi),
    ]  # fmt: skip


def phasediswappow(p: Angles, t: Angles, s: Angles) -> list[Entry]:
    """Return e^{iπts} iSWAP^t between Z^p ⊗ Z^−p and its inverse."""
    g = turn(t, s)[0]
    u = phases(np.pi * t / 2)
    c, m = g * u.real, 1j * g * u.imag
    return [g, 0, 0, 0, 0, c, m * phases(-2 * np.pi * p), 0, 0, m * phases(2 * np.pi * p), c, 0, 0, 0, 0, g]
