"""Channels as matrices on both sides of a density matrix: ρ → Σ K ρ K† is one matrix on row and column wires.

A density matrix of n wires is a state of 2n wires: wire w numbers rows, and wire n + w columns. The entry ⟨r|ρ|c⟩ is
the amplitude of the basis value r + 2^n·c. (Wood, Biamonte and Cory, arXiv:1111.6950, section 2.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import Entry, Pattern
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.structure import Structure

Complex = NDArray[np.complex128]

ROUNDING = 1e-15
"""The largest entry of Σ conj(K) ⊗ K that is taken for zero: what is left where contributions cancel."""

_ZERO, _ONE, _MINUS_ONE, _REAL, _COMPLEX = map(int, (Entry.ZERO, Entry.ONE, Entry.MINUS_ONE, Entry.REAL, Entry.COMPLEX))
"""Classes for NumPy, which asks an enumeration for attributes, in Python, and drops Ctrl-C if it comes there."""


class KrausPlace(NamedTuple):
    """The place of a channel's Kraus matrices in a circuit's operands; channels that share it are equal.

    operand: the place of the first entry. matrices: their number. wires: how many wires the channel acts on.
    """

    operand: int
    matrices: int
    wires: int

    @property
    def size(self) -> int:
        """The number of entries of the superoperator."""
        return 1 << 4 * self.wires


def places_of(structure: Structure) -> tuple[KrausPlace, ...]:
    """Return the places of all channels of a circuit, each once, in the order in which they first appear."""
    return tuple(dict.fromkeys(KrausPlace(one.operand, one.count, len(one.wires)) for one in structure.channels))


def superoperators(operands: Complex, place: KrausPlace) -> Complex:
    """Return Σ conj(K) ⊗ K of a channel for each row of operands, complex128 [rows, 16^k], each in C order.

    The wires of a matrix are the row wires of the channel's wires, least significant first, and then the column wires.
    """
    size = 1 << place.wires
    kraus = operands[:, place.operand : place.operand + place.matrices * size * size]
    kraus = kraus.reshape(len(operands), place.matrices, size * size)
    # One product for all pairs of entries: [rows, size², size²] with the indices (c c'), (r r').
    pairs = np.matmul(kraus.conj().transpose(0, 2, 1), kraus).reshape(-1, size, size, size, size)
    found: Complex = pairs.transpose(0, 1, 3, 2, 4).reshape(len(operands), -1)
    found.real[np.abs(found.real) < ROUNDING] = 0
    found.imag[np.abs(found.imag) < ROUNDING] = 0
    return found


def patterns_of(places: Sequence[KrausPlace], bound: Bindings) -> tuple[Pattern, ...]:
    """Return the pattern of each channel's superoperator: the classes of its entries in all bindings.

    Most entries of the usual channels are zero in every basis value but one or a few, and kernels skip those.
    """
    if not places:
        return ()
    step, found = 1, [np.full(place.size, -1, dtype=np.int64) for place in places]
    for begin in range(0, bound.count, step):
        operands = bound.operands(begin, min(begin + step, bound.count))
        step = max(1, thresholds.now.operands_at_once // operands.shape[1])
        for known, place in zip(found, places, strict=True):
            for row in superoperators(operands, place):
                known[...] = np.where(known < 0, _classes(row), _either(known, _classes(row)))
    return tuple(_settled(known) for known in found)


def _settled(classes: NDArray[np.int64]) -> Pattern:
    """Return the classes of a superoperator as a pattern.

    Ones stand for values that do not change. Others are numbers, and so are all where nothing else is: zeros and ones
    alone would be the pattern of a permutation.
    """
    size = 1 << (classes.size.bit_length() - 1) // 2
    grid = classes.reshape(size, size)
    alone = ((grid != _ZERO).sum(axis=0) == 1) & ((grid != _ZERO).sum(axis=1) == 1)
    kept = np.eye(size, dtype=bool) & alone[:, None]
    if not (grid > _MINUS_ONE).any() and not alone.all():
        kept[...] = False
    return np.where((grid == _ONE) & ~kept, _REAL, grid).astype(np.uint8).tobytes()


def _classes(entries: Complex) -> NDArray[np.int64]:
    """Return the class of each number."""
    kinds = np.where(entries.imag != 0, _COMPLEX, _REAL)
    return np.select([entries == 0, entries == 1], [_ZERO, _ONE], kinds).astype(np.int64)


def _either(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the class of entries that have one class in some bindings and the other in others."""
    wider = np.where(np.maximum(one, other) == _COMPLEX, _COMPLEX, _REAL)
    return np.where(one == other, one, wider).astype(np.int64)
