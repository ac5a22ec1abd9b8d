"""The numbers of a plan: the program that makes them from a circuit's operands, and those of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import ZERO_AT


@dataclass(frozen=True, eq=False, slots=True)
class Product:
    """out = left · right for `count` pairs of matrices; both are gathered from the number buffer.

    left: indices into the buffer, int64 [count, blocks, d, d]. right: likewise [count, blocks, d, columns]. The results
    have the shape of `right` and are appended in C order.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]

    @property
    def size(self) -> int:
        """How many numbers it appends."""
        return self.right.size

    def pairs(self) -> NDArray[np.int64]:
        """The factors of the terms l·r of each entry, int64 [2, terms, entries], without those that have a factor 0.

        A one-qubit gate among two is half zeros, and a diagonal one three quarters: only their terms are left. Entries
        with fewer terms than others have some of which a factor is 0.
        """
        size, width = self.right.shape[-2:]
        rows = np.repeat(self.left.reshape(-1, size), width, axis=0)  # for each entry its row of the left matrix
        columns = np.swapaxes(self.right, -1, -2)[..., None, :, :]  # and its column of the right one
        columns = np.broadcast_to(columns, (*self.right.shape, size)).reshape(-1, size)
        zero = (rows == ZERO_AT) | (columns == ZERO_AT)
        terms = max(1, int((~zero).sum(axis=1).max(initial=0)))
        first = _terms_first(zero)[:, :terms]
        both = np.take_along_axis(rows, first, axis=1).T, np.take_along_axis(columns, first, axis=1).T
        return np.ascontiguousarray(np.stack(both))


def _terms_first(zero: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each row of flags the numbers of those that are not set, then of those that are; few flags are looked up."""
    size = zero.shape[1]
    if size > _LOOKED_UP:
        return np.argsort(zero, axis=1, kind="stable")
    return _orders(size)[zero @ (1 << np.arange(size))]


_LOOKED_UP = 4


@lru_cache(maxsize=_LOOKED_UP + 1)
def _orders(size: int) -> NDArray[np.int64]:
    """The same for all values of so many flags, flag 0 being the least significant bit of a value."""
    return np.argsort(np.arange(1 << size)[:, None] >> np.arange(size) & 1, axis=1, kind="stable")


@dataclass(frozen=True, eq=False, slots=True)
class Euler:
    """Unitary 2×2 matrices as e^{iγ} · diag(1, e^{iα}) · R · diag(1, e^{iβ}) with a real rotation R.

    places: indices into the buffer, int64 [count, 4], of matrices in C order. For each matrix seven results are
    appended: the four entries of R, then e^{iα}, e^{iβ}, e^{iγ}.
    """

    places: NDArray[np.int64]

    @property
    def size(self) -> int:
        """How many numbers it appends."""
        return 7 * len(self.places)


@dataclass(frozen=True, eq=False, slots=True)
class Fold:
    """Tables of products of phases: entry t of a table is the product of the factors f with incidence[t, f] = 1.

    incidence: float64 [count, entries, factors], of zeros and ones; factors: indices into the buffer, int64
    [count, factors]. The results are appended in C order.
    """

    incidence: NDArray[np.float64]
    factors: NDArray[np.int64]

    @property
    def size(self) -> int:
        """How many numbers it appends."""
        tables, entries, _ = self.incidence.shape
        return int(tables * entries)


@dataclass(frozen=True, eq=False, slots=True)
class Numbers:
    """A short program over a growing buffer of numbers that begins with the circuit's operands.

    num_operands: how many of the circuit's operands the buffer begins with.
    program: runs in order, each appending to the buffer; folds come last, smaller tables first.
    packed: for each step, in the order of the plan, which entries of the buffer it is given.
    """

    num_operands: int
    program: tuple[Product | Euler | Fold, ...]
    packed: tuple[NDArray[np.int64], ...]

    def placed(self) -> Iterator[tuple[Product | Euler | Fold, int]]:
        """Each instruction, and the place in the number buffer of the first number that it appends."""
        at = self.num_operands
        for instruction in self.program:
            yield instruction, at
            at += instruction.size

    def tables_at(self) -> int:
        """Where the tables of folds begin in the number buffer: behind all that is made from matrices."""
        return self.num_operands + sum([i.size for i in self.program if not isinstance(i, Fold)])

    def size(self) -> int:
        """How long the number buffer is."""
        return self.num_operands + sum([instruction.size for instruction in self.program])


MakeTables = Callable[[NDArray[np.complex128]], NDArray[np.complex128]]
"""Gives a number buffer with its tables, or the buffers of all rows, from one without; in place where there is room."""


class Bound:
    """The numbers of one run: a packed array [count] for each of a plan's steps, cut when it is asked for.

    numbers: the plan's. given: the number buffer, complex128 [total], in which the tables of folds are not made yet; it
    may end where they begin. fold: gives the whole buffer. A device that makes its tables itself asks for `given`
    alone.
    For a batch all arrays have one more axis, in front: `given` is [rows, total], a packed array [rows, count].
    operands: for a device that runs the whole number program itself: `given` is made from them when it is asked for.
    """

    __slots__ = ("_fold", "_given", "_make", "numbers", "operands")

    def __init__(
        self,
        numbers: Numbers,
        given: NDArray[np.complex128] | Callable[[], NDArray[np.complex128]],
        fold: MakeTables | None,
        operands: NDArray[np.complex128] | None = None,
    ) -> None:
        self.numbers = numbers
        self.operands = operands
        self._fold = fold
        self._make = given if callable(given) else None
        self._given: NDArray[np.complex128] | None = None if callable(given) else given

    @property
    def given(self) -> NDArray[np.complex128]:
        """The number buffer as far as it is made."""
        if self._given is None:
            assert self._make is not None
            self._given = self._make()
        return self._given

    @property
    def buffer(self) -> NDArray[np.complex128]:
        """The whole number buffer."""
        if self._fold is not None:
            self._given = self._fold(self.given)
            self._fold = None
        return self.given

    @property
    def rows(self) -> int:
        """How many rows a batch has; 1 where all are alike."""
        known = self.given if self.operands is None else self.operands
        return len(known) if known.ndim > 1 else 1

    def __len__(self) -> int:
        return len(self.numbers.packed)

    def __iter__(self) -> Iterator[NDArray[np.complex128]]:
        buffer = self.buffer
        return (buffer.take(places, axis=-1) for places in self.numbers.packed)
