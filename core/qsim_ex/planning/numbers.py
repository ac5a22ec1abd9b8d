"""The program that turns a circuit's operands into the packed numbers of a plan; `binding` runs it.

While planning, the entries of every matrix are places in one growing *number buffer*, which begins with the
circuit's operands (its first two entries are the constants 0 and 1). Embedding, transposing, or flipping a matrix
only rearranges places; multiplying appends new ones. Nothing here reads a number.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from qsim_ex.steps import Euler, Fold, Numbers, Product

Places = NDArray[np.int64]
Incidence = NDArray[np.float64]


_MOST_COLUMNS = 52
"""Rows of more columns do not fit into one number, and are not compared."""


class NumberProgram:
    """Collects products and folds, and groups those of one size and level into one instruction each."""

    def __init__(self, num_operands: int) -> None:
        self._num_operands = num_operands
        self._size = num_operands
        self._products: defaultdict[tuple[int, tuple[int, ...]], list[tuple[Places, Places, int]]] = defaultdict(list)
        self._eulers: list[tuple[Places, int]] = []
        self._folds: defaultdict[tuple[int, ...], list[tuple[Incidence, Places, int]]] = defaultdict(list)

    def product(self, left: Places, right: Places, level: int) -> Places:
        """Places of left · right, both [blocks, d, d]; `level` is one more than the higher level of the two."""
        start = self._take(left.size)
        self._products[level, left.shape].append((left, right, start))
        return np.arange(start, start + left.size, dtype=np.int64).reshape(left.shape)

    def euler(self, matrix: Places) -> Places:
        """Places of the seven numbers that `steps.Euler` makes of a 2×2 matrix [4]; it comes after all products."""
        start = self._take(7)
        self._eulers.append((matrix, start))
        return np.arange(start, start + 7, dtype=np.int64)

    def fold(self, incidence: Incidence, factors: Places) -> Places:
        """Places of a table whose entry t is the product of the factors f with incidence[t, f] = 1.

        Folds come after all products. Entries of the same factors are made once: of a target's phases with nine
        controls, half are 1.
        """
        first, which = _distinct(incidence)
        start = self._take(len(first))
        self._folds[len(first), len(factors)].append((incidence[first], factors, start))
        return start + which

    def finish(self, packed: list[Places]) -> Numbers:
        """The program, with all places renumbered to the order in which its instructions append."""
        final = np.arange(self._size, dtype=np.int64)
        at = self._num_operands
        for key in sorted(self._products):
            for left, _, start in self._products[key]:
                final[start : start + left.size] = np.arange(at, at + left.size)
                at += left.size
        for _, start in self._eulers:
            final[start : start + 7] = np.arange(at, at + 7)
            at += 7
        for shape in sorted(self._folds):
            for incidence, _, start in self._folds[shape]:
                final[start : start + len(incidence)] = np.arange(at, at + len(incidence))
                at += len(incidence)
        program: list[Product | Euler | Fold] = []
        for key in sorted(self._products):
            lefts, rights, _ = zip(*self._products[key], strict=True)
            program.append(Product(final[np.stack(lefts)], final[np.stack(rights)]))
        if self._eulers:
            program.append(Euler(final[np.stack([matrix for matrix, _ in self._eulers])]))
        for shape in sorted(self._folds):
            incidences, factors, _ = zip(*self._folds[shape], strict=True)
            program.append(Fold(np.stack(incidences), final[np.stack(factors)]))
        return Numbers(self._num_operands, tuple(program), tuple(final[places] for places in packed))

    def _take(self, size: int) -> int:
        start = self._size
        self._size += size
        return start


def _distinct(incidence: Incidence) -> tuple[Places, Places]:
    """The first row of each kind in a matrix of zeros and ones, and for every row the number of its kind."""
    columns = incidence.shape[1]
    if columns > _MOST_COLUMNS:
        rows = np.arange(len(incidence))
        return rows, rows
    keys = incidence @ 2.0 ** np.arange(columns)  # exact, and quicker than in integers
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first, which
