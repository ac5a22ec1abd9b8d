"""Which basis state each index of memory holds: an invertible affine map over GF(2), x = A s ⊕ b.

A `Layout` is the case that each wire is on an index bit of its own, as in every state between two plans. A CX that
moved nothing would leave a wire that is the sum of several index bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from qsim_ex.steps.algebra import Map, image, inverse
from qsim_ex.steps.layout import Layout

if TYPE_CHECKING:
    from qsim_ex.steps.layout import Layout

_BYTE = 256
"""Columns are looked up for as many values of eight bits at once."""


@dataclass(frozen=True)
class IndexMap:
    """For each wire the index bits whose sum it is, and which wires are inverted.

    Wire w of the basis state at index s is the parity of ``parities[w] & s``, XOR bit w of `flip`. Two index maps are
    equal if they put every basis state at the same index.

    parities: for each wire a mask of index bits; together they are invertible. flip: mask of wires.
    """

    parities: tuple[int, ...]
    flip: int = 0

    @staticmethod
    def of(layout: Layout) -> IndexMap:
        """Return the map of a layout."""
        flip = sum((layout.flip >> bit & 1) << wire for wire, bit in enumerate(layout.address))
        return IndexMap(tuple([1 << bit for bit in layout.address]), flip)

    def __len__(self) -> int:
        return len(self.parities)

    @property
    def is_plain(self) -> bool:
        """Whether each wire is on an index bit of its own, so that there is a wire ordering."""
        return not any(mask & mask - 1 for mask in self.parities)

    @property
    def layout(self) -> Layout:
        """The layout of a plain map; raises `ValueError` for another one, which has none."""
        if not self.is_plain:
            raise ValueError(f"expected each wire on an index bit of its own, got {self}.")
        address = tuple([mask.bit_length() - 1 for mask in self.parities])
        return Layout(address, sum((self.flip >> wire & 1) << bit for wire, bit in enumerate(address)))

    @cached_property
    def wires(self) -> Map:
        """For each index bit the mask of the wires that flip with it: the columns of A."""
        size = range(len(self.parities))
        return tuple([sum((mask >> bit & 1) << wire for wire, mask in enumerate(self.parities)) for bit in size])

    @cached_property
    def directions(self) -> Map:
        """For each wire the mask of the index bits that flip with it: the columns of the inverse of A.

        Raises `ValueError` if parities are not independent.
        """
        return inverse(self.wires)

    @property
    def matrix(self) -> NDArray[np.uint8]:
        """A as 0s and 1s, uint8 [wires, index bits]: x = (A @ s + b) % 2 with bits as vectors, the lowest first."""
        size = len(self.parities)
        return np.array([[mask >> bit & 1 for bit in range(size)] for mask in self.parities], np.uint8).reshape(
            size, size
        )

    @overload
    def basis_state_of(self, index: int) -> int: ...
    @overload
    def basis_state_of(self, index: NDArray[np.integer]) -> NDArray[np.int64]: ...
    def basis_state_of(self, index: int | NDArray[np.integer]) -> int | NDArray[np.int64]:
        """Return the basis state x (bit w = wire w) that is stored at an index, or those at each of an array."""
        if isinstance(index, np.ndarray):
            return images(self.wires, index) ^ np.int64(self.flip)
        return image(self.wires, index) ^ self.flip

    @overload
    def index_of(self, basis_state: int) -> int: ...
    @overload
    def index_of(self, basis_state: NDArray[np.integer]) -> NDArray[np.int64]: ...
    def index_of(self, basis_state: int | NDArray[np.integer]) -> int | NDArray[np.int64]:
        """Return the index at which a basis state (bit w = wire w) is stored, or those of each of an array."""
        if isinstance(basis_state, np.ndarray):
            return images(self.directions, basis_state.astype(np.int64) ^ np.int64(self.flip))
        return image(self.directions, basis_state ^ self.flip)


def images(columns: Sequence[int], vectors: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return what a map makes of each vector of an array, int64 of its shape."""
    vectors = np.asarray(vectors, dtype=np.int64)
    out = np.zeros_like(vectors)
    for first in range(0, len(columns), 8):
        table = np.zeros(_BYTE, dtype=np.int64)
        for bit, column in enumerate(columns[first : first + 8]):
            table[1 << bit : 2 << bit] = table[: 1 << bit] ^ np.int64(column)
        out ^= table[vectors >> first & _BYTE - 1]
    return out
