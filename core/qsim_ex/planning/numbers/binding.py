"""`bind`: the execution of a plan's number program on the operands of one circuit, or of many circuits at once.

This is all that a variational loop does on the host for each point, so it is prepared once for each plan (`_Binder`):
one buffer, places as flat arrays, every instruction writing its results to their final places, and all tables of
phases made together. Every function here takes a buffer [total] or [rows, total]; the operations of a row and their
order do not depend on the other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.phases import TURN, phases_of_turns
from qsim_ex.steps.numbers import Bound, Euler, Fold, MakeTables, Numbers, Product
from qsim_ex.steps.plan import Plan

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_NONE = np.zeros(0, dtype=np.int64)

_TINY = 1e-300
"""Below this, a number counts as 0, and dividing by it may overflow."""

_ROUNDING = 1e-15
"""How far |phase|² may be from 1 by rounding alone."""

_PIECE = 4096
"""How many angles are turned into phases at a time."""

_DENSE = 64
"""Tables from this size up are summed by matrix products, smaller ones factor by factor."""

_BLOCK = 1 << 14
"""How many numbers of a batch are processed at a time: intermediate results stay in a processor's cache."""


def bind(plan: Plan, operands: Complex) -> Bound:
    """Run a plan's number program on operands [1, total]; return one packed array [count] for each of `plan.steps`.

    The circuit may have more operands than the plan, which may be of a part of the circuit.
    """
    return fill(plan.numbers, operands[0])


def fill(numbers: Numbers, operands: Complex) -> Bound:
    """Run a number program on operands [total]; the buffer and its tables are made when they are asked for."""
    binder = _binder(numbers)
    return Bound(numbers, lambda: binder(operands), binder.tables, operands)


def fill_batch(numbers: Numbers, operands: Complex) -> Bound:
    """Run a number program on operands [rows, total], all rows at once; each row equals the result of `fill`.

    Operands that are alike for all rows may be one row, [1, total].
    """
    binder = _binder(numbers)
    return Bound(numbers, lambda: binder.batch(operands), binder.tables_of_rows, operands)


@lru_cache(maxsize=256)
def _binder(numbers: Numbers) -> _Binder:
    return _Binder(numbers)


class _Binder:
    """A number program as a few functions, each of which writes its results into the number buffer."""

    def __init__(self, numbers: Numbers) -> None:
        self._num_operands = numbers.num_operands
        self._work: list[Callable[[Complex], None]] = []
        self._folds: list[Fold] = []
        for instruction, at in numbers.placed():
            match instruction:
                case Product(left, right):
                    self._work.append((_Products if left.shape == right.shape else _Applied)(instruction, at))
                case Euler(places):
                    self._work.append(_Rotations(places, at))
                case Fold():
                    self._folds.append(instruction)
        self._size = numbers.size()

    def __call__(self, operands: Complex) -> Complex:
        """Return the number buffer without tables."""
        buffer = np.empty(self._size, dtype=np.complex128)
        buffer[: self._num_operands] = operands[: self._num_operands]
        for work in self._work:
            work(buffer)
        return buffer

    @property
    def tables(self) -> MakeTables | None:
        """The function that adds the tables to a buffer, None if there are none."""
        return self._whole if self._folds else None

    @property
    def tables_of_rows(self) -> MakeTables | None:
        """The function that adds the tables to the buffers of rows, None if there are none."""
        return self._whole_rows if self._folds else None

    @cached_property
    def _tables(self) -> _Tables:
        """The maker of tables; built on first use, since a GPU makes its tables itself."""
        return _Tables(self._folds, self._size)

    def _whole(self, buffer: Complex) -> Complex:
        return self._tables(buffer)

    def _whole_rows(self, given: Complex) -> Complex:
        return self._tables.batch(given)

    def batch(self, operands: Complex) -> Complex:
        """Return buffers [rows, total] without tables for operands [rows, total]; the operands if no work is needed."""
        if not self._work:
            return operands[:, : self._num_operands]
        buffer = np.empty((len(operands), self._size), dtype=np.complex128)
        step = max(1, _BLOCK // self._size)
        for first in range(0, len(buffer), step):
            part = buffer[first : first + step]
            part[:, : self._num_operands] = operands[first : first + step, : self._num_operands]
            for work in self._work:
                work(part)
        return buffer


class _Products:
    """Products of pairs of matrices, entry by entry: a sum of terms l·r, see `Product.pairs`."""

    def __init__(self, product: Product, at: int) -> None:
        self._pairs = product.pairs()
        self._to = slice(at, at + product.right.size)

    def __call__(self, buffer: Complex) -> None:
        pairs = buffer.take(self._pairs, axis=-1)
        left = pairs[..., 0, :, :]
        left *= pairs[..., 1, :, :]
        np.add.reduce(left, axis=-2, out=buffer[..., self._to])


class _Applied:
    """Products of small matrices with wide ones, which have hardly any zeros."""

    def __init__(self, product: Product, at: int) -> None:
        self._left, self._right = product.left, product.right
        self._to = slice(at, at + product.right.size)

    def __call__(self, buffer: Complex) -> None:
        left, right = buffer.take(self._left, axis=-1), buffer.take(self._right, axis=-1)
        np.matmul(left, right, out=buffer[..., self._to].reshape(right.shape))


class _Rotations:
    """Euler angles of unitary 2×2 matrices; see `steps.Euler`.

    A small entry has an inexact phase, since it may be the rest of a cancellation. So the phase of a large entry is
    never
    computed from those of small ones: β comes from the larger of b and d.
    """

    def __init__(self, places: Places, at: int) -> None:
        self._places = np.ascontiguousarray(places.T)
        self._to = slice(at, at + 7 * len(places))

    def __call__(self, buffer: Complex) -> None:
        entries = buffer.take(self._places, axis=-1)  # [4, count]: a, b, c, d of each
        sizes = np.abs(entries)
        none = sizes < _TINY
        units = (entries + none) / (sizes + none)  # the phase of 0 is 1
        cosine, sine = sizes[..., 0, :], sizes[..., 2, :]
        gamma = units[..., 0, :]
        alpha = units[..., 2, :] * gamma.conj()
        out = buffer[..., self._to].reshape(*gamma.shape, 7)
        out[..., 0] = out[..., 3] = cosine
        np.negative(sine, out=out[..., 1], casting="unsafe")
        out[..., 2] = sine
        out[..., 4] = alpha
        out[..., 5] = np.where(sine <= cosine, units[..., 3, :] * alpha.conj(), -units[..., 1, :]) * gamma.conj()
        out[..., 6] = gamma


class _Tables:
    """Tables of products of phases: angles are added, and all sums are turned into phases together.

    Forty phases into 1024 entries take 0.5 ms by multiplying gathered factors and 0.01 ms this way. A phase whose
    size differs from 1 by more than rounding (matrices may deviate in single precision) keeps its size: logarithms are
    added.
    """

    def __init__(self, folds: list[Fold], end: int) -> None:
        self._factors = np.concatenate([fold.factors.reshape(-1) for fold in folds])
        sizes = [fold.incidence.shape[0] * fold.incidence.shape[1] for fold in folds]
        self._to = slice(end - sum(sizes), end)
        self._dense: list[tuple[Floats, slice, slice]] = []  # a matrix, its factors, and the entries that it makes
        listed, counts = [_NONE], [_NONE]  # the factors of each entry of all small tables, and how many it has
        factor = entry = 0
        for fold, size in zip(folds, sizes, strict=True):
            tables, entries, factors = fold.incidence.shape
            if entries >= _DENSE:
                from_, to = slice(factor, factor + tables * factors), slice(entry, entry + size)
                self._dense.append((fold.incidence, from_, to))
            else:
                rows, columns = np.nonzero(fold.incidence.reshape(size, factors))
                listed.append(factor + factors * (rows // entries) + columns)
                counts.append(np.bincount(rows, minlength=size))
            factor += tables * factors
            entry += size
        ends = np.cumsum(np.concatenate(counts))
        begins = ends - np.concatenate(counts)
        self._few = np.insert(np.concatenate(listed), begins, factor)  # each entry has a factor 1 besides, in front
        self._begins = begins + np.arange(len(begins))
        self._count = entry

    def batch(self, given: Complex) -> Complex:
        """Return the buffers of all rows with their tables, made a few rows at a time; in place where there is room."""
        buffer, known = given, given.shape[1]
        if known < self._to.stop:
            buffer = np.empty((len(given), self._to.stop), dtype=np.complex128)
        step = max(1, _PIECE // self._count)
        for first in range(0, len(buffer), step):
            part = buffer[first : first + step]
            if buffer is not given:
                part[:, :known] = given[first : first + step]
            self._make(part)
        return buffer

    def __call__(self, buffer: Complex) -> Complex:
        """Return the buffer with its tables, made in place."""
        self._make(buffer)
        return buffer

    def _make(self, buffer: Complex) -> None:
        factors = buffer.take(self._factors, axis=-1)
        sizes = factors.real**2 + factors.imag**2
        out = buffer[..., self._to]
        phases_of_turns(self._sums(np.arctan2(factors.imag, factors.real) * (TURN / (2 * np.pi))), out)
        inexact = ~(np.abs(sizes - 1).max(axis=-1, initial=0) <= _ROUNDING)
        if inexact.any():
            out[inexact] *= np.exp(self._sums(np.log(sizes[inexact]) / 2))

    def _sums(self, terms: Floats) -> Floats:
        """Return the sum of the terms of the factors of each entry of all tables."""
        if terms.ndim > 1:
            return self._sums_of_rows(terms)
        sums = np.empty(self._count)
        if len(self._begins):
            np.add.reduceat(np.append(terms, 0).take(self._few), self._begins, out=sums[: len(self._begins)])
        for incidence, from_, to in self._dense:
            tables, entries, factors = incidence.shape
            np.matmul(incidence, terms[from_].reshape(tables, factors, 1), out=sums[to].reshape(tables, entries, 1))
        return sums

    def _sums_of_rows(self, terms: Floats) -> Floats:
        """Return the sums for terms [rows, factors]; a separate method, since more axes cost one row 3 µs."""
        rows = len(terms)
        sums = np.empty((rows, self._count))
        if len(self._begins):
            padded = np.append(terms, np.zeros((rows, 1)), axis=1)
            few = padded.take(self._few, axis=1)
            np.add.reduceat(few, self._begins, axis=1, out=sums[:, : len(self._begins)])
        for incidence, from_, to in self._dense:
            tables, entries, factors = incidence.shape
            columns = terms[:, from_].reshape(rows, tables, factors, 1)
            np.matmul(incidence, columns, out=sums[:, to].reshape(rows, tables, entries, 1))
        return sums
