"""The matrices of rotations, by Pauli matrices, by pairs of them and by Euler angles, for arrays of angles in radians.

Matrices follow Qiskit's circuit library, with argument 0 the least significant.
"""

from __future__ import annotations

from qsim_ex.circuit.phases import Angles, Entry, Floats, phases


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
