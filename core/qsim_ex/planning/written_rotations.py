"""Rotations about Pauli strings as operations, and how the entries of their matrices follow from angles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, Entry, Op, Pattern, wires_of

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]


class _Matrices(NamedTuple):
    """The matrices of a rotation. cos, sin: what the cosine and the sine of half the angle count in each entry."""

    pattern: Pattern
    cos: Floats
    sin: Complex


@lru_cache(maxsize=64)
def _entries(num_wires: int, ys: int, reads: bool) -> _Matrices:
    """Return cos − i sin P for X on some wires, or Y where a mask says so, times ±1 by a parity where one is read.

    On no wire P is the sign of the parity alone.
    """
    size = 1 << num_wires
    cos = np.zeros((1 + reads, size, size))
    cos[:, range(size), range(size)] = 1
    sin = np.zeros(cos.shape, dtype=np.complex128)
    for column in range(size):
        sin[:, size - 1 - column, column] = -1j * 1j ** ys.bit_count() * (-1) ** (column & ys).bit_count()
    sin[1:] *= -1
    if num_wires:
        mixing = Entry.REAL if ys.bit_count() % 2 else Entry.IMAG
        kinds = np.where(cos != 0, Entry.REAL, np.where(sin != 0, mixing, Entry.ZERO))
    else:
        kinds = np.full(cos.shape, Entry.COMPLEX)
    return _Matrices(kinds.astype(np.uint8).tobytes(), cos.ravel(), sin.ravel())


def _of(x: int, z: int) -> _Matrices:
    wires = wires_of(x)
    ys = sum((z >> wire & 1) << place for place, wire in enumerate(wires))
    return _entries(len(wires), ys, bool(z & ~x))


def rotation(x: int, z: int, place: int) -> Op:
    """Return a rotation about the string with X on the wires of a mask and Z on those of another one, which is not 0.

    place: where its entries begin.
    """
    return Op(wires_of(x), (z & ~x,) if z & ~x else (), ALWAYS, _of(x, z).pattern, place, "pauli_rotation")


@dataclass(frozen=True, eq=False, slots=True)
class RotationEntries:
    """The entries of the matrices of some rotations, one behind the other.

    angles: the angle of each entry. cos, sin: what the cosine and the sine of half of it count.
    """

    angles: NDArray[np.int64]
    cos: Floats
    sin: Complex

    @classmethod
    def of(cls, strings: Iterable[tuple[int, int]]) -> RotationEntries:
        """Return those of rotations about strings, given by their masks x and z."""
        found = [_of(x, z) for x, z in strings]
        sizes = [len(one.cos) for one in found]
        cos, sin = (np.concatenate([np.empty(0), *parts]) for parts in ((e.cos for e in found), (e.sin for e in found)))
        return cls(np.repeat(np.arange(len(found)), sizes), cos, sin.astype(np.complex128))

    def __call__(self, angles: Floats) -> Complex:
        """Return the entries [bindings, entries] for angles [bindings, …]."""
        half = 0.5 * angles
        found: Complex = np.cos(half)[:, self.angles] * self.cos + np.sin(half)[:, self.angles] * self.sin
        return found
