"""The levels of some qids, and where their values stand among those of the engine's wires.

A qid of d levels takes the fewest wires that have d values, its most significant bit first. The first qid is the most
significant, as in Cirq, so the lowest wires are those of the last qid. A qid of one level takes a wire as well, which
stays 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, TypeVar

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import MatrixError

Number = TypeVar("Number", bound=np.generic)
Digits = NDArray[np.signedinteger[Any] | np.unsignedinteger[Any]]


@dataclass(frozen=True)
class Levels:
    """The levels of qids, of which one at least has not two. shape: of each qid how many it has."""

    shape: tuple[int, ...]

    def __str__(self) -> str:
        """Return the levels in words."""
        return ", ".join(map(str, self.shape))

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many wires each qid takes."""
        return tuple(width_of(levels) for levels in self.shape)

    @cached_property
    def num_wires(self) -> int:
        """How many wires all qids take."""
        return sum(self.widths)

    @property
    def size(self) -> int:
        """How many values all qids have together."""
        return math.prod(self.shape)

    @cached_property
    def wires(self) -> tuple[tuple[int, ...], ...]:
        """The wires of each qid, the most significant bit first."""
        begins = [self.num_wires, *(self.num_wires - end for end in accumulate(self.widths))]
        return tuple(
            tuple(range(begin - 1, begin - 1 - width, -1)) for begin, width in zip(begins, self.widths, strict=False)
        )

    @cached_property
    def bits(self) -> tuple[slice, ...]:
        """Where the bits of each qid stand among those of all, the first qid's first."""
        ends = [*accumulate(self.widths)]
        return tuple(slice(end - width, end) for end, width in zip(ends, self.widths, strict=True))

    # --- values ---------------------------------------------------------------------------------------------------

    def value(self, of_qids: int) -> int:
        """Return the wires' value for one of all qids, the first of which is the most significant digit."""
        return self.packed(cirq.big_endian_int_to_digits(of_qids, base=self.shape))

    def packed(self, digits: Sequence[int]) -> int:
        """Return the wires' value for a digit of each qid."""
        value = 0
        for digit, width in zip(digits, self.widths, strict=True):
            value = value << width | digit
        return value

    def digits(self, value: int) -> list[int]:
        """Return a digit of each qid for a value of all wires."""
        return [sum((value >> wire & 1) << k for k, wire in enumerate(reversed(wires))) for wires in self.wires]

    def reordered(self, value: int, qids: Sequence[int]) -> int:
        """Return the wires' value of the same digits where the qids come in another order."""
        digits = self.digits(value)
        return self.of(qids).packed([digits[k] for k in qids])

    def digits_of_bits(self, bits: NDArray[np.uint8]) -> Digits:
        """Return the digits [shots, qids] of bits [shots, wires], the first the most significant of the first qid."""
        dtype = np.min_scalar_type(-max(self.shape))
        found = np.zeros((len(bits), len(self.shape)), dtype=dtype)
        for column, place in enumerate(self.bits):
            mine = bits[:, place].astype(dtype)
            found[:, column] = mine @ (1 << np.arange(mine.shape[1])[::-1]).astype(dtype)
        return found

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The wires' value for each value of the qids, int64 [size]; of gates, which have few values."""
        found = np.zeros(1, dtype=np.int64)
        for levels, width in zip(self.shape, self.widths, strict=True):
            found = (found[:, None] << width | np.arange(levels)).reshape(-1)
        return found

    # --- states ---------------------------------------------------------------------------------------------------

    def cut(self, array: NDArray[Number], axes: int = 1) -> NDArray[Number]:
        """Return amplitudes [2^wires] as [size], or a density matrix with ``axes=2``, without the unused values."""
        wide, used = self._blocks
        kept = array.reshape(wide * axes)[used * axes]
        return np.ascontiguousarray(kept).reshape((self.size,) * axes)

    def widened(self, array: NDArray[Number], axes: int = 1) -> NDArray[Number]:
        """Return amplitudes [size] as [2^wires], or a density matrix with ``axes=2``; unused values are 0."""
        wide, used = self._blocks
        found = np.zeros(wide * axes, dtype=array.dtype)
        kept = found[used * axes]
        kept[...] = array.reshape(kept.shape)
        return found.reshape((1 << self.num_wires,) * axes)

    @cached_property
    def _blocks(self) -> tuple[tuple[int, ...], tuple[slice, ...]]:
        """Return an array's axes, and what is used of each; qids beside each other that use all values share one."""
        wide, used = [1], [1]
        for levels, width in zip(self.shape, self.widths, strict=True):
            if used[-1] == wide[-1] and levels == 1 << width:
                wide[-1] <<= width
                used[-1] <<= width
            else:
                wide.append(1 << width)
                used.append(levels)
        return tuple(wide), tuple(slice(count) for count in used)

    # --- gates ----------------------------------------------------------------------------------------------------

    def matrix(self, given: NDArray[np.generic], unused: float = 1.0) -> NDArray[np.complex128]:
        """Return a matrix [size, size] as one of the wires, [2^wires, 2^wires]: `unused` times 1 on unused values.

        Raises `MatrixError` for another shape.
        """
        if np.shape(given) != (self.size, self.size):
            raise MatrixError(
                f"expected a matrix with {self.size} rows and columns for qids of {self} levels, got shape "
                f"{np.shape(given)}; the product of the levels is its size."
            )
        found = unused * np.eye(1 << self.num_wires, dtype=np.complex128)
        found[np.ix_(self.places, self.places)] = given
        return found

    def of(self, qids: Sequence[int]) -> Levels:
        """Return the levels of some of the qids, by their places."""
        return Levels(tuple(self.shape[k] for k in qids))


def width_of(levels: int) -> int:
    """Return how many wires a qid of some levels takes: the fewest that have so many values, and one at least."""
    return max(1, (levels - 1).bit_length())


@lru_cache(maxsize=256)
def known(shape: tuple[int, ...]) -> Levels:
    """Return the levels of qids, which are made once for the gates of a circuit."""
    return Levels(shape)
