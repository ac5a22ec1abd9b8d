"""The neutral gate list that every peer simulates, in a format of no framework.

A circuit is a list of `Gate`. Wires are little endian: wire 0 is the least significant index bit,
and ``wires[0]`` of a matrix is its least significant bit. For ``cx``, ``cz`` and ``cp`` the control
is ``wires[0]`` and the target ``wires[1]``; other gates with controls have them first, too.
"""

from __future__ import annotations

from cmath import exp
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from math import cos, pi, sin, sqrt

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.complex128]


@dataclass(frozen=True)
class Gate:
    """One gate: a name from `NAMES`, its wires, its angles, and a matrix if it is ``unitary``."""

    name: str
    wires: tuple[int, ...]
    params: tuple[float, ...] = ()
    matrix: Matrix | None = None

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise ValueError(f"unknown gate {self.name!r}; known: {', '.join(sorted(NAMES))}")
        if (self.name == "unitary") != (self.matrix is not None):
            raise ValueError(f"{self.name!r}: exactly the gate 'unitary' carries a matrix")


class Shape(Enum):
    """Where a target matrix has its entries; decided by the gate's name, never by its numbers."""

    DENSE = "dense"
    DIAGONAL = "diagonal"
    ANTI_DIAGONAL = "anti-diagonal"


@dataclass(frozen=True)
class Parts:
    """A gate taken apart: a matrix on the targets, applied where every control is 1."""

    controls: tuple[int, ...]
    targets: tuple[int, ...]
    matrix: Matrix
    shape: Shape

    def diagonal(self) -> Matrix:
        """Return the diagonal of a DIAGONAL matrix, one entry per basis state of the targets."""
        return np.ascontiguousarray(np.diagonal(self.matrix))

    def anti_diagonal(self) -> Matrix:
        """Return entry (row, last - row) of an ANTI_DIAGONAL matrix for every row."""
        return np.ascontiguousarray(np.diagonal(np.fliplr(self.matrix)))


def _array(rows: list[list[complex]]) -> Matrix:
    return np.array(rows, dtype=np.complex128)


def _h() -> Matrix:
    return _array([[1, 1], [1, -1]]) / sqrt(2)


def _x() -> Matrix:
    return _array([[0, 1], [1, 0]])


def _z() -> Matrix:
    return _array([[1, 0], [0, -1]])


def _p(angle: float) -> Matrix:
    return _array([[1, 0], [0, exp(1j * angle)]])


def _sx() -> Matrix:
    return _array([[1 + 1j, 1 - 1j], [1 - 1j, 1 + 1j]]) / 2


def _sxdg() -> Matrix:
    return _sx().conj()


def _rx(angle: float) -> Matrix:
    c, s = cos(angle / 2), sin(angle / 2)
    return _array([[c, -1j * s], [-1j * s, c]])


def _ry(angle: float) -> Matrix:
    c, s = cos(angle / 2), sin(angle / 2)
    return _array([[c, -s], [s, c]])


def _rz(angle: float) -> Matrix:
    return _array([[exp(-0.5j * angle), 0], [0, exp(0.5j * angle)]])


def _rxx(angle: float) -> Matrix:
    c, s = cos(angle / 2), -1j * sin(angle / 2)
    return _array([[c, 0, 0, s], [0, c, s, 0], [0, s, c, 0], [s, 0, 0, c]])


def _ryy(angle: float) -> Matrix:
    c, s = cos(angle / 2), 1j * sin(angle / 2)
    return _array([[c, 0, 0, s], [0, c, -s, 0], [0, -s, c, 0], [s, 0, 0, c]])


def _rzz(angle: float) -> Matrix:
    near, far = exp(-0.5j * angle), exp(0.5j * angle)
    return np.diag(np.array([near, far, far, near], dtype=np.complex128))


def _swap() -> Matrix:
    return _array([[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])


def _u(theta: float, phi: float, lam: float) -> Matrix:
    c, s = cos(theta / 2), sin(theta / 2)
    return _array([[c, -exp(1j * lam) * s], [exp(1j * phi) * s, exp(1j * (phi + lam)) * c]])


@dataclass(frozen=True)
class _Row:
    """A row of the table: controls come first among the wires, then the targets of the matrix."""

    controls: int
    matrix: Callable[..., Matrix]
    shape: Shape


_TABLE: dict[str, _Row] = {
    "h": _Row(0, _h, Shape.DENSE),
    "x": _Row(0, _x, Shape.ANTI_DIAGONAL),
    "cx": _Row(1, _x, Shape.ANTI_DIAGONAL),
    "ccx": _Row(2, _x, Shape.ANTI_DIAGONAL),
    "cz": _Row(1, _z, Shape.DIAGONAL),
    "cp": _Row(1, _p, Shape.DIAGONAL),
    "sx": _Row(0, _sx, Shape.DENSE),
    "sxdg": _Row(0, _sxdg, Shape.DENSE),
    "rx": _Row(0, _rx, Shape.DENSE),
    "ry": _Row(0, _ry, Shape.DENSE),
    "rz": _Row(0, _rz, Shape.DIAGONAL),
    "rxx": _Row(0, _rxx, Shape.DENSE),
    "ryy": _Row(0, _ryy, Shape.DENSE),
    "rzz": _Row(0, _rzz, Shape.DIAGONAL),
    "swap": _Row(0, _swap, Shape.DENSE),
    "u": _Row(0, _u, Shape.DENSE),
}

MANY_CONTROLS = "mcz"
"""Z on the last wire where all others are 1, however many there are."""

NAMES = frozenset(_TABLE) | {"unitary", MANY_CONTROLS}


def parts(gate: Gate) -> Parts:
    """Take a gate apart into controls, targets and the matrix on the targets."""
    if gate.matrix is not None:
        return Parts((), gate.wires, gate.matrix, Shape.DENSE)
    if gate.name == MANY_CONTROLS:
        return Parts(gate.wires[:-1], gate.wires[-1:], _z(), Shape.DIAGONAL)
    row = _TABLE[gate.name]
    matrix = row.matrix(*gate.params)
    return Parts(gate.wires[: row.controls], gate.wires[row.controls :], matrix, row.shape)


def haar(rng: np.random.Generator, qubits: int) -> Matrix:
    """Draw a unitary from the Haar measure.

    The Q of a complex Gaussian matrix is not yet uniform, because QR fixes the phases of R's
    diagonal; moving those phases into Q makes it so (Mezzadri, Notices of the AMS 54, 592 (2007)).
    """
    size = 2**qubits
    gaussian = rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size))
    q, r = np.linalg.qr(gaussian)
    diagonal = np.diagonal(r)
    return np.ascontiguousarray(q * (diagonal / np.abs(diagonal)))


def random_u(rng: np.random.Generator, wire: int) -> Gate:
    """Draw the gate ``u`` so that it turns |0> into a uniformly distributed point of the sphere."""
    theta = float(np.arccos(1 - 2 * rng.random()))
    return Gate("u", (wire,), (theta, *(float(a) for a in rng.uniform(-pi, pi, 2))))
