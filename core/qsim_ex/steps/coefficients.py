"""The numbers of a plan: the program that makes them from a circuit's operands, and the numbers of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import ZERO_AT

if TYPE_CHECKING:
    from qsim_ex.steps.plan_arrays import PlanArrays


@dataclass(frozen=True, eq=False, slots=True)
class Product:
    """Products left · right of `count` pairs of matrices; both factors are gathered from the coefficient buffer.

    left: indices into the buffer, int64 [count, blocks, d, d]. right: likewise [count, blocks, d, columns]. The results
    have the shape of `right` and are appended in C order.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]

    @property
    def size(self) -> int:
        """How many numbers the instruction appends."""
        return self.right.size

    def pairs(self) -> NDArray[np.int64]:
        """Return the factors of the terms l·r of each entry, int64 [2, terms, entries], without terms with a factor 0.

        A one-qubit gate within two qubits is half zeros, a diagonal one three quarters: only the other terms are left.
        An entry with fewer terms than others is padded with terms that have a factor 0.
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
    """Return for each row of flags the positions of unset flags, then of set ones; short rows are looked up."""
    size = zero.shape[1]
    if size > _LOOKED_UP:
        return np.argsort(zero, axis=1, kind="stable")
    return _orders(size)[zero @ (1 << np.arange(size))]


_LOOKED_UP = 4


@lru_cache(maxsize=_LOOKED_UP + 1)
def _orders(size: int) -> NDArray[np.int64]:
    """Return `_terms_first` of all values of `size` flags; flag 0 is the least significant bit of a value."""
    return np.argsort(np.arange(1 << size)[:, None] >> np.arange(size) & 1, axis=1, kind="stable")


@dataclass(frozen=True, eq=False, slots=True)
class Euler:
    """Unitary 2×2 matrices as e^{iγ} · diag(1, e^{iα}) · R · diag(1, e^{iβ}) with a rotation R.

    places: indices into the buffer, int64 [count, 4], of matrices in C order. For each matrix seven results are
    appended: the four entries of R, then e^{iα}, e^{iβ}, e^{iγ}.
    imaginary: whether R is [c, is; is, c], and not real. That is for matrices of which α is known to be 0 then; it is
    1 among the results.
    """

    places: NDArray[np.int64]
    imaginary: bool = False

    @property
    def size(self) -> int:
        """How many numbers the instruction appends."""
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
        """How many numbers the instruction appends."""
        tables, entries, _ = self.incidence.shape
        return int(tables * entries)


@dataclass(frozen=True, eq=False, slots=True)
class Coefficients:
    """A short program over a growing buffer of numbers that begins with the circuit's operands.

    num_operands: how many of the circuit's operands the buffer begins with.
    program: instructions in order, each of which appends to the buffer; folds come last, smaller tables first.
    packed: for each step, in the order of the plan, the entries of the buffer that it is given.
    """

    num_operands: int
    program: tuple[Product | Euler | Fold, ...]
    packed: tuple[NDArray[np.int64], ...]

    def placed(self) -> Iterator[tuple[Product | Euler | Fold, int]]:
        """Yield each instruction with the position in the coefficient buffer of the first number that it appends."""
        at = self.num_operands
        for instruction in self.program:
            yield instruction, at
            at += instruction.size

    def tables_at(self) -> int:
        """Return where the tables of folds begin in the coefficient buffer: behind all numbers made from matrices."""
        return self.num_operands + sum([i.size for i in self.program if not isinstance(i, Fold)])

    def size(self) -> int:
        """Return the length of the coefficient buffer."""
        return self.num_operands + sum([instruction.size for instruction in self.program])


MakeTables = Callable[[NDArray[np.complex128]], NDArray[np.complex128]]
"""Adds the tables to a coefficient buffer, or to those of all rows, in place where there is room, and returns it."""


class Bound:
    """The numbers of one run: a packed array [count] for each of a plan's steps, made when it is asked for.

    numbers: the plan's. given: the coefficient buffer, complex128 [total], before the tables of folds are made; it may
    end where they begin. fold: completes the buffer. A device that makes its tables itself uses `given` alone.
    For a batch all arrays have one more axis, in front: `given` is [rows, total], a packed array [rows, count].
    operands: for a device that runs the whole coefficient program itself; `given` is made from them when it is asked
        for.
    """

    __slots__ = ("_fold", "_given", "_make", "numbers", "operands")

    def __init__(
        self,
        numbers: Coefficients,
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
        """The coefficient buffer without the tables of folds, unless they have been made."""
        if self._given is None:
            assert self._make is not None
            self._given = self._make()
        return self._given

    @property
    def buffer(self) -> NDArray[np.complex128]:
        """The whole coefficient buffer."""
        if self._fold is not None:
            self._given = self._fold(self.given)
            self._fold = None
        return self.given

    @property
    def rows(self) -> int:
        """The number of rows of a batch; 1 where all rows have the same numbers."""
        known = self.given if self.operands is None else self.operands
        return len(known) if known.ndim > 1 else 1

    def packed(self, arrays: PlanArrays) -> NDArray[np.complex128] | None:  # noqa: ARG002  (for those who have them)
        """Return the packed numbers of all steps of a plan, one behind the other, for the caller to change.

        None if they are not of this plan, or more than are made at once.
        """
        return None

    def __len__(self) -> int:
        return len(self.numbers.packed)

    def __iter__(self) -> Iterator[NDArray[np.complex128]]:
        buffer = self.buffer
        return (buffer.take(places, axis=-1) for places in self.numbers.packed)
