"""e^{iφ} for many angles: a root of unity from a table, and a series for the small angle that is left.

NumPy's cosine and sine in double precision take 20 ns an angle together, this takes 4. The angle that is left is below
8e-4, so the first terms that the series leave out are below 3e-18.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

TURN = 4096
"""Angles are counted in parts of a turn; for each part there is a root of unity in a table."""

_PIECE = 4096
"""How many angles are worked on at a time, so that all stays in a processor's cache."""

_FEW = 256
"""Below, or for angles that are too large, NumPy's functions are as good."""

_LARGEST = 1e5
"""Up to here the parts of an angle, times the high half of a part of a turn, are exact in double precision."""

_PART = 2 * np.pi / TURN
_HIGH = float(np.float32(_PART))
_LOW = (2 * np.pi - TURN * _HIGH + 2.4492935982947064e-16) / TURN
"""2π in twice the precision is the double nearest to it and 2.4492935982947064e-16."""


def phases(angles: Any) -> Complex:
    """e^{iφ} for angles in radians, complex128 of the same shape, to 3e-16."""
    array = np.asarray(angles, dtype=np.float64)
    out = np.empty(array.shape, dtype=np.complex128)
    if array.size < _FEW or not np.abs(array).max() <= _LARGEST:
        np.cos(array, out=out.real)
        np.sin(array, out=out.imag)
        return out
    flat, to = array.reshape(-1), out.reshape(-1)
    for first in range(0, flat.size, _PIECE):
        part = flat[first : first + _PIECE]
        whole = np.rint(part * (1 / _PART))
        rest = part - whole * _HIGH
        rest -= whole * _LOW
        _around(whole, rest, to[first : first + _PIECE])
    return out


def phases_of_turns(turns: Floats, out: Complex) -> None:
    """e^{iφ} for angles in parts of a turn, float64 [..., count]."""
    for first in range(0, turns.shape[-1], _PIECE):
        part = turns[..., first : first + _PIECE]
        whole = np.rint(part)
        _around(whole, (part - whole) * _PART, out[..., first : first + _PIECE])


def _around(whole: Floats, rest: Floats, out: Complex) -> None:
    """Roots of unity turned by small angles, in radians."""
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
    np.multiply(_roots().take(at), factor, out=out)


@cache
def _roots() -> Complex:
    angles = np.arange(-TURN // 8, TURN // 8) * _PART  # a quarter of a turn around 0: small angles are the exact ones
    quarter = np.cos(angles) + 1j * np.sin(angles)
    return np.roll(np.outer(np.array([1, 1j, -1, -1j]), quarter).reshape(-1), -TURN // 8)
