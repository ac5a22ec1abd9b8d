"""What cancels in a product: its entries at trial numbers.

H·H⊗·diag·H⊗H has eight zeros, which no product of patterns shows: they are sums of numbers that cancel, whatever the
phases of the diagonal are. So products with a known √½ in them, as H and √X have, are also computed at trial numbers:
what is known stands for itself, every other number is drawn by its place. An entry is a polynomial in the drawn
numbers. If it is 0 at two draws it is 0 for all numbers, but for a chance of 1e-18 that both draws hit a root. What
cancels is made 0 in each product at once, so long products have no more doubtful entries than short ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Entry, Known, Pattern

Trial = NDArray[np.complex128]
"""A matrix at each of the draws: [draws, size, size]."""

Factor = Trial | tuple[Pattern, NDArray[np.int64]]
"""A matrix at each of the draws, or its pattern and the places of its numbers [size, size] for drawing them."""

_DRAWS = 2

CONSTANTS = np.tile(np.array([0, 1], dtype=np.complex128), (_DRAWS, 1))
"""The numbers 0 and 1 at each of the draws."""

_NEAR = 1e-9
"""A sum that is so small beside its terms is 0."""

OTHERS = bytes(range(Known.ROOT))
"""What may stand in patterns but √½: where nothing else does, nothing cancels that patterns do not show."""

_R = float(np.sqrt(0.5))
_KNOWN = np.array([0, 1, -1, 0, 0, 0, 1j, -1j, _R, -_R, 1j * _R, -1j * _R])
"""The numbers that classes stand for; those of `Entry.REAL` and so on are drawn."""


def drawn(of: Pattern, places: NDArray[np.int64]) -> NDArray[np.complex128]:
    """Return the numbers of entries at each of the draws: [draws, entries]."""
    kinds = np.frombuffer(of, dtype=np.uint8)
    out = np.tile(_KNOWN[kinds], (_DRAWS, 1))
    for draw in range(_DRAWS):
        for entry in np.flatnonzero((kinds >= Entry.REAL) & (kinds <= Entry.COMPLEX)).tolist():
            kind, key = kinds[entry], int(places[entry]) * _DRAWS + draw
            number = _number(key)
            if kind == Entry.COMPLEX:  # of modulus 1, so that products of phases stay as large as they are
                out[draw, entry] = complex(1 - number * number, 2 * number) / (1 + number * number)
            else:
                out[draw, entry] = number if kind == Entry.REAL else complex(0, number)
    return out


def without_zeros(of: Pattern, trial: Trial) -> Pattern:
    """Return a pattern with zeros where all draws have them."""
    gone = (trial == 0).all(axis=0).reshape(-1)
    return np.where(gone, 0, np.frombuffer(of, dtype=np.uint8)).astype(np.uint8).tobytes()


def product(factors: Sequence[Factor]) -> Trial:
    """Return the product of matrices, the earliest first."""
    first, *others = [factor if isinstance(factor, np.ndarray) else _matrix(*factor) for factor in factors]
    for other in others:
        first = _product(other, first)
    return first


def same(one: Trial, other: Trial) -> bool:
    """Return whether numbers are equal at all draws."""
    return bool((_size(one - other) <= _NEAR * (_size(one) + _size(other))).all())


def _matrix(of: Pattern, places: NDArray[np.int64]) -> Trial:
    return drawn(of, places.reshape(-1)).reshape(-1, *places.shape)


def _product(left: Trial, right: Trial) -> Trial:
    """Return the product, with exact zeros where sums cancel, and scaled so that long products stay numbers."""
    made, terms = left @ right, _size(left) @ _size(right)
    made[:, (_size(made) < _NEAR * terms).all(axis=0)] = 0
    scaled: Trial = made / _size(made).max(axis=(1, 2), keepdims=True)
    return scaled


def _size(trial: Trial) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.abs(trial.real) + np.abs(trial.imag)
    return found


_MASK = (1 << 64) - 1


def _number(key: int) -> float:
    """Return a number between ½ and 1½ or its negative: SplitMix64 (Steele, Lea, Flood, 2014) of a key."""
    z = (key + 1) * 0x9E3779B97F4A7C15 & _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    z ^= z >> 31
    size = 0.5 + (z >> 11) * 2.0**-53
    return size if z & 1 else -size
