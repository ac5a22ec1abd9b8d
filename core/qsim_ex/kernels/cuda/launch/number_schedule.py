"""A plan's coefficient program, ordered so that each number is computed right before the first launch that takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import ONE_AT, ZERO_AT
from qsim_ex.kernels.cuda.launch.run_words import ENTRY, EULERS, PRODUCTS, ROWS
from qsim_ex.steps.coefficients import Coefficients, Euler, Fold, Product

Places = NDArray[np.int64]


class PlaceLists:
    """Places of the coefficient buffer, one list behind the other."""

    def __init__(self) -> None:
        self._parts: list[Places] = []
        self._count = 0

    def add(self, places: Places) -> int:
        """Append a list of places; return its start."""
        at = self._count
        self._parts.append(places)
        self._count += len(places)
        return at

    def all(self) -> NDArray[np.int32]:
        """Return all places; at least one, since an empty array has no address."""
        return np.concatenate([*self._parts, np.zeros(1, dtype=np.int64)]).astype(np.int32)


class _Work(NamedTuple):
    """Some work of one kind: a row for each piece that can be done alone.

    results: the places of what a piece makes. factors: places of what it needs, one of each earlier piece at least.
    listed: its places in the form of `run_words`. tail: the words of the instruction behind how many pieces it has.
    """

    kind: int
    results: Places
    factors: Places
    listed: Places
    tail: tuple[int, ...]


class NumberSchedule:
    """Instructions of `kernels.cuda.launch.run_words` that compute numbers, for one launch after the other.

    products: entries of small tables, each with the places of its factors. wanted: for each launch the places of the
    numbers that it takes.
    """

    def __init__(self, numbers: Coefficients, products: Sequence[tuple[int, Places]], wanted: Sequence[Places]) -> None:
        self.places = PlaceLists()
        self._products = products
        works = _works(numbers)
        first = np.full(numbers.size() + 2, len(wanted), dtype=np.int64)  # the first launch that takes a number
        for launch in reversed(range(len(wanted))):
            first[wanted[launch]] = launch
        for entry, factors in products:
            np.minimum.at(first, factors, first[entry])
        self._first = first[[entry for entry, _ in products]]
        self._works: list[
            tuple[_Work, Places, Places]
        ] = []  # with its pieces in the order of launches, and their begins
        for work in reversed(works):
            soonest = first[work.results].min(axis=1)
            np.minimum.at(first, work.factors, soonest[:, None])
            order = np.argsort(soonest, kind="stable")
            self._works.insert(0, (work, order, soonest[order].searchsorted(range(len(wanted) + 1))))

    def before(self, launch: int) -> list[int]:
        """Return the instructions for the numbers that this launch is the first to take."""
        words: list[int] = []
        for work, order, begins in self._works:
            mine = order[begins[launch] : begins[launch + 1]]
            if len(mine):
                words += [work.kind, self.places.add(work.listed[mine].ravel()), len(mine), *work.tail]
        for (entry, factors), soonest in zip(self._products, self._first, strict=True):
            if soonest == launch:
                words += [ENTRY, entry, self.places.add(factors), len(factors)]
        return words


def _works(numbers: Coefficients) -> list[_Work]:
    """Return the instructions of a coefficient program except tables."""
    works = []
    for instruction, at in numbers.placed():
        results = np.arange(at, at + instruction.size)
        match instruction:
            case Product():
                rows = _rows(instruction)
                works.append(
                    _products(instruction, results) if rows is None else _row_products(instruction, rows, results)
                )
            case Euler(matrices, imaginary):
                made = results.reshape(-1, 7)
                listed = np.concatenate([matrices, made[:, :1]], axis=1)
                works.append(_Work(EULERS, made, matrices, listed, (int(imaginary),)))
            case Fold():
                pass
    return works


def _products(product: Product, results: Places) -> _Work:
    """Return products entry by entry, without terms that are 0."""
    factors = product.pairs().transpose(2, 1, 0).reshape(product.size, -1)
    listed = np.concatenate([results[:, None], factors], axis=1)
    return _Work(PRODUCTS, results[:, None], factors, listed, (factors.shape[1] // 2,))


def _row_products(product: Product, rows: Places, results: Places) -> _Work:
    """Return products matrix by matrix."""
    *_, size, width = product.right.shape
    left = product.left.reshape(-1, size * size)
    made = results.reshape(len(left), -1)
    listed = np.concatenate([made[:, :1], left, rows], axis=1)
    factors = np.concatenate([left, np.maximum(rows, ZERO_AT)], axis=1)
    return _Work(ROWS, made, factors, listed, (size, width // _ROW))


def _rows(product: Product) -> Places | None:
    """Return where the rows of 16 numbers begin that a product's right factors consist of, [products, rows].

    A row of the unit matrix is its number j as -1 - j. Returns None if right factors are anything else.
    """
    *_, size, width = product.right.shape
    if width % _ROW or size > _ROW:
        return None
    rows = product.right.reshape(-1, _ROW)
    one = (rows == ONE_AT).argmax(axis=1)
    whole = (rows == rows[:, :1] + np.arange(_ROW)).all(axis=1)
    unit = (rows == np.where(np.eye(_ROW, dtype=np.bool_), ONE_AT, ZERO_AT)[one]).all(axis=1)
    if not (whole | unit).all():
        return None
    return np.where(unit, -1 - one, rows[:, 0]).reshape(-1, size * width // _ROW)


_ROW = 16
"""The numbers of a row: those of a dense block's matrix."""
