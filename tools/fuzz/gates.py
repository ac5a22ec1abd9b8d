"""Every gate of the engine's table from its textbook definition: exponentials, involutions, and products of gates.

Nothing here is read from the engine. Index bit k of a matrix is argument k of the gate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from tools.fuzz.numbers import Matrix, pauli

Definition = Callable[..., Matrix]


def turn(hamiltonian: Matrix, angle: float) -> Matrix:
    """exp(−i·angle/2·H) of a Hermitian matrix whose eigenvalues are −1, 0 and 1, also for huge angles."""
    values, vectors = np.linalg.eigh(hamiltonian)
    return (vectors * np.exp(-0.5j * angle * np.rint(values))) @ vectors.conj().T


def power(involution: Matrix, exponent: float, shift: float = 0.0) -> Matrix:
    """A matrix with eigenvalues 1 and −1, those being e^{iπts} and e^{iπt(s+1)} afterwards, as Cirq defines it."""
    one = np.eye(len(involution))
    plus, minus = (one + involution) / 2, (one - involution) / 2
    return np.exp(1j * np.pi * exponent * shift) * (plus + np.exp(1j * np.pi * exponent) * minus)


def controlled(matrix: Matrix, controls: int = 1) -> Matrix:
    """The matrix with controls as its first arguments."""
    size = len(matrix)
    out = np.eye(size << controls, dtype=np.complex128)
    rows = (np.arange(size) << controls) | (1 << controls) - 1
    out[np.ix_(rows, rows)] = matrix
    return out


def diagonal(*entries: complex) -> Matrix:
    """A diagonal matrix."""
    return np.diag(np.array(entries, dtype=np.complex128))


X, Y, Z = pauli("X"), pauli("Y"), pauli("Z")
H = (X + Z) / np.sqrt(2)
SWAP = (pauli("II") + pauli("XX") + pauli("YY") + pauli("ZZ")) / 2
HOP = (pauli("XX") + pauli("YY")) / 2
PAIR = (pauli("XX") - pauli("YY")) / 2
CX01 = controlled(X)
CX10 = SWAP @ CX01 @ SWAP
DCX = CX10 @ CX01
ECR = (pauli("XI") - pauli("YX")) / np.sqrt(2)


def _e(angle: float) -> complex:
    return complex(np.exp(1j * angle))


def phase(angle: float) -> Matrix:
    """diag(1, e^{i·angle})."""
    return diagonal(1, _e(angle))


def rotation(letters: str) -> Definition:
    """exp(−i·angle/2·P)."""
    return lambda angle: turn(pauli(letters), angle)


def u(theta: float, phi: float, lam: float) -> Matrix:
    """e^{i(φ+λ)/2}·RZ(φ)·RY(θ)·RZ(λ)."""
    return _e((phi + lam) / 2) * turn(Z, phi) @ turn(Y, theta) @ turn(Z, lam)


def _about(theta: float, phi: float) -> Matrix:
    return turn(np.cos(phi) * X + np.sin(phi) * Y, theta)


def _under(before: Matrix, inner: Matrix) -> Matrix:
    """The inner matrix between another and its inverse."""
    return before @ inner @ before.conj().T


def _plus(theta: float, beta: float) -> Matrix:
    return _under(np.kron(np.eye(2), turn(Z, -beta)), turn(HOP, theta))


def _minus(theta: float, beta: float) -> Matrix:
    return _under(np.kron(turn(Z, beta), np.eye(2)), turn(PAIR, theta))


def _rccx() -> Matrix:
    """Margolus' gate as H, T and CX."""

    def on(matrix: Matrix) -> Matrix:
        return np.kron(matrix, np.eye(4))

    cx02 = np.kron(np.eye(2), np.eye(4)).astype(np.complex128)
    cx12 = cx02.copy()
    for rows, wanted in ((cx02, 0b001), (cx12, 0b010)):
        for value in range(8):
            if value & wanted:
                rows[value] = np.eye(8)[value ^ 4]
    t = phase(np.pi / 4)
    steps = [on(H), on(t), cx12, on(t.conj()), cx02, on(t), cx12, on(t.conj()), on(H)]
    out = np.eye(8, dtype=np.complex128)
    for step in steps:
        out = step @ out
    return out


def _iswappow(t: float, s: float) -> Matrix:
    return _e(np.pi * t * s) * turn(HOP, -np.pi * t)


def _phasedfsim(theta: float, zeta: float, chi: float, gamma: float, phi: float) -> Matrix:
    before, after = (zeta + chi) / 2, (zeta - chi) / 2
    phases = diagonal(1, _e(-gamma), _e(-gamma), _e(-2 * gamma - phi))
    return phases @ _opposite(after) @ turn(HOP, 2 * theta) @ _opposite(before)


def _opposite(angle: float) -> Matrix:
    return diagonal(1, _e(angle), _e(-angle), 1)


def _phased(p: float, t: float, s: float) -> Matrix:
    return _under(power(Z, p), power(X, t, s))


DEFINITIONS: dict[str, Definition] = {
    "global_phase": lambda a: np.array([[_e(a)]]),
    "x": lambda: X,
    "y": lambda: Y,
    "z": lambda: Z,
    "h": lambda: H,
    "s": lambda: phase(np.pi / 2),
    "sdg": lambda: phase(-np.pi / 2),
    "t": lambda: phase(np.pi / 4),
    "tdg": lambda: phase(-np.pi / 4),
    "sx": lambda: power(X, 0.5),
    "sxdg": lambda: power(X, -0.5),
    "p": phase,
    "u1": phase,
    "rx": rotation("X"),
    "ry": rotation("Y"),
    "rz": rotation("Z"),
    "root_x": lambda: turn(X, np.pi / 2),
    "root_xdg": lambda: turn(X, -np.pi / 2),
    "p_3_eighths": lambda: phase(np.pi * 3 / 4),
    "p_5_eighths": lambda: phase(np.pi * 5 / 4),
    **{f"rz_{k}_eighths": partial(turn, Z, np.pi / 4 * k) for k in range(1, 16, 2)},
    **{f"rz_{k}_quarters": partial(turn, Z, np.pi / 2 * k) for k in (1, 2, 3, 5, 6, 7)},
    "r": _about,
    "u": u,
    "u3": u,
    "u2": lambda phi, lam: u(np.pi / 2, phi, lam),
    "swap": lambda: SWAP,
    "iswap": lambda: turn(HOP, -np.pi),
    "iswapdg": lambda: turn(HOP, np.pi),
    "dcx": lambda: DCX,
    "dcxdg": lambda: DCX.conj().T,
    "ecr": lambda: ECR,
    "parity_phase": lambda a: diagonal(1, _e(a), _e(a), 1),
    "rxx": rotation("XX"),
    "ryy": rotation("YY"),
    "rzz": rotation("ZZ"),
    "rzx": rotation("ZX"),
    "xx_minus_yy": _minus,
    "xx_plus_yy": _plus,
    "rccx": _rccx,
    "xpow": lambda t, s: power(X, t, s),
    "ypow": lambda t, s: power(Y, t, s),
    "zpow": lambda t, s: power(Z, t, s),
    "hpow": lambda t, s: power(H, t, s),
    "xxpow": lambda t, s: power(pauli("XX"), t, s),
    "yypow": lambda t, s: power(pauli("YY"), t, s),
    "zzpow": lambda t, s: power(pauli("ZZ"), t, s),
    "swappow": lambda t, s: power(SWAP, t, s),
    "iswappow": _iswappow,
    "hop": lambda theta: turn(HOP, 2 * theta),
    "phasedxpow": _phased,
    "phasediswappow": lambda p, t, s: _e(np.pi * t * s) * _plus(-np.pi * t, 2 * np.pi * p),
    "phasedfsim": _phasedfsim,
    "fsim": lambda theta, phi: diagonal(1, 1, 1, _e(-phi)) @ turn(HOP, 2 * theta),
    "cu": lambda theta, phi, lam, gamma: controlled(_e(gamma) * u(theta, phi, lam)),
}
"""By name, with parameters."""


@lru_cache(maxsize=4096)
def matrix_of(name: str, parameters: tuple[float, ...]) -> Matrix:
    """The matrix of a gate; a name that has no definition of its own is another one's with controls in front."""
    if name in DEFINITIONS:
        return DEFINITIONS[name](*parameters)
    controls = len(name) - len(name.lstrip("c"))
    return controlled(DEFINITIONS[name.lstrip("c")](*parameters), controls)
