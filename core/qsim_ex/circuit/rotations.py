"""e^{iφ} for many angles, and the matrices of rotations that are made of it; angles are in radians.

Matrices follow Qiskit's circuit library, with argument 0 the least significant. e^{iφ} is a root of unity from a table,
times a series for the small angle that is left: NumPy's cosine and sine in double precision take 20 ns for an angle
together, this takes 4 ns. The angle that is left is below 8e-4, so the terms that the series omit are below 3e-18.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

Angles = float | Floats
"""A parameter of a gate, or one for each set of parameters."""

Entry = complex | Floats | NDArray[np.complexfloating]
"""An entry of a matrix, or one for each set of parameters."""

TURN = 4096
"""Parts of a turn; the table holds one root of unity for each part."""

_LARGEST = 1e5
"""For larger angles, and for few, NumPy's functions are as good. Up to this one the product of an angle's whole parts
and `_HIGH` is exact in double precision."""

_QUARTER = 2.6e-16
"""Cosines and sines below this are 0, and angles in radians after whole parts of a turn: quarter turns up to 2π are
doubles that are off by up to 2.45e-16. Numbers beside them that become quarter turns too are within the rounding."""

_PART = 2 * np.pi / TURN
_HIGH = float(np.float32(_PART))
_LOW = (2 * np.pi - TURN * _HIGH + 2.4492935982947064e-16) / TURN
"""One part of a turn is _HIGH + _LOW; 2π in twice the precision is its nearest double plus 2.4492935982947064e-16."""


def phases(angles: Angles) -> Complex:
    """Return e^{iφ} for angles in radians, complex128 of the same shape, to 3e-16.

    Up to 2π a quarter turn gives 1, i, −1 or −i exactly, so that X to the power of 1 moves all of an amplitude.
    """
    array = np.asarray(angles, dtype=np.float64)
    out = np.empty(array.shape, dtype=np.complex128)
    if array.size < thresholds.now.tabled_angles or not np.abs(array).max() <= _LARGEST:
        np.cos(array, out=out.real)
        np.sin(array, out=out.imag)
        if array.size and np.abs(out.reshape(-1).view(np.float64)).min() < _QUARTER:
            out.real[np.abs(out.real) < _QUARTER] = 0
            out.imag[(np.abs(out.imag) < _QUARTER) & (np.abs(array) > 1)] = 0  # a small angle is not 0
        return out
    flat, to = array.reshape(-1), out.reshape(-1)
    for first, end in thresholds.pieces(flat.size, thresholds.now.angles_at_once):
        part = flat[first:end]
        whole = np.rint(part * (1 / _PART))
        rest = part - whole * _HIGH
        rest -= whole * _LOW
        rest *= (np.abs(rest) > _QUARTER) | (whole == 0)
        _around(whole, rest, to[first:end])
    return out


def _around(whole: Floats, rest: Floats, out: Complex) -> None:
    """Write the roots of unity of `whole` parts, times e^{i·rest} for small angles in radians, to `out`."""
    square = rest * rest
    factor = np.empty(rest.shape, dtype=np.complex128)
    even = square * (1 / 24)
    even -= 0.5
    even *= square
    np.add(even, 1, out=factor.real)
    square *= -1 / 6
    square += 1
    np.multiply(square, rest, out=factor.imag)
    at = whole.astype(np.int64)
    at &= TURN - 1
    np.multiply(roots().take(at), factor, out=out)


@cache
def roots() -> Complex:
    """Return the roots of unity of all parts of a turn, complex128 [TURN]."""
    angles = np.arange(-TURN // 8, TURN // 8) * _PART  # a quarter of a turn around 0: small angles are the exact ones
    quarter = np.cos(angles) + 1j * np.sin(angles)
    return np.roll(np.outer(np.array([1, 1j, -1, -1j]), quarter).reshape(-1), -TURN // 8)


def _half(angle: Angles) -> tuple[Floats, Floats]:
    """Return the cosine and the sine of half an angle."""
    z = phases(angle / 2)
    return z.real, z.imag


def rx(theta: Angles) -> list[Entry]:
    """Return exp(−iθ/2·X)."""
    c, s = _half(theta)
    return [c, -1j * s, -1j * s, c]


def ry(theta: Angles) -> list[Entry]:
    """Return exp(−iθ/2·Y)."""
    c, s = _half(theta)
    return [c, -s, s, c]


def r(theta: Angles, phi: Angles) -> list[Entry]:
    """Return exp(−iθ/2·(cos φ·X + sin φ·Y))."""
    c, s = _half(theta)
    return [c, -1j * s * phases(-phi), -1j * s * phases(phi), c]


def u(theta: Angles, phi: Angles, lam: Angles) -> list[Entry]:
    """Return U(θ, φ, λ) = P(φ)·RY(θ)·P(λ)."""
    c, s = _half(theta)
    return [c, -s * phases(lam), s * phases(phi), c * phases(phi + lam)]


def rz(theta: Angles) -> list[Entry]:
    """Return the diagonal of exp(−iθ/2·Z), and of exp(−iθ/2·Z⊗Z) by parity."""
    return [phases(-theta / 2), phases(theta / 2)]


def rxx(theta: Angles) -> list[Entry]:
    """Return exp(−iθ/2·X⊗X)."""
    c, s = _half(theta)
    m = -1j * s
    return [c, 0, 0, m, 0, c, m, 0, 0, m, c, 0, m, 0, 0, c]


def ryy(theta: Angles) -> list[Entry]:
    """Return exp(−iθ/2·Y⊗Y)."""
    c, s = _half(theta)
    m = -1j * s
    return [c, 0, 0, -m, 0, c, m, 0, 0, m, c, 0, -m, 0, 0, c]


def xx_minus_yy(theta: Angles, beta: Angles) -> list[Entry]:
    """Return a turn of |00⟩ and |11⟩ into each other by θ, with a phase β."""
    c, s = _half(theta)
    return [c, 0, 0, -1j * s * phases(-beta), 0, 1, 0, 0, 0, 0, 1, 0, -1j * s * phases(beta), 0, 0, c]


def xx_plus_yy(theta: Angles, beta: Angles) -> list[Entry]:
    """Return a turn of |01⟩ and |10⟩ into each other by θ, with a phase β."""
    c, s = _half(theta)
    return [1, 0, 0, 0, 0, c, -1j * s * phases(-beta), 0, 0, -1j * s * phases(beta), c, 0, 0, 0, 0, 1]


def cu(theta: Angles, phi: Angles, lam: Angles, gamma: Angles) -> list[Entry]:
    """Return e^{iγ}·U(θ, φ, λ)."""
    return [entry * phases(gamma) for entry in u(theta, phi, lam)]
