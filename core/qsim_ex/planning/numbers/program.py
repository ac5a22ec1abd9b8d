"""The program that turns a circuit's operands into the packed numbers of a plan; `binding` runs it.

While planning, the entries of every matrix are places in one growing *number buffer*, which begins with the
circuit's operands (its first two entries are the constants 0 and 1). Embedding, transposing, or flipping a matrix
only rearranges places; multiplying appends new ones. This module reads no number.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.steps.numbers import Euler, Fold, Numbers, Product

Places = NDArray[np.int64]
Incidence = NDArray[np.float64]


_MOST_COLUMNS = 52
"""Rows of more columns do not fit into one float64 exactly, and are not compared."""


class _Kind(NamedTuple):
    """The properties that products need to have in common to be made at once."""

    late: bool
    level: int
    left: tuple[int, ...]
    right: tuple[int, ...]


class NumberProgram:
    """Collects products and folds, and groups those of one size and level into one instruction each."""

    def __init__(self, num_operands: int) -> None:
        self._num_operands = num_operands
        self._size = num_operands
        self._products: defaultdict[_Kind, list[tuple[Places, Places, int]]] = defaultdict(list)
        self._eulers: dict[bool, list[tuple[Places, int]]] = {False: [], True: []}
        self._folds: defaultdict[tuple[int, ...], list[tuple[Incidence, Places, int]]] = defaultdict(list)

    def copy(self) -> NumberProgram:
        """Return a copy of the program, which can be continued in another way."""
        other = NumberProgram(self._num_operands)
        other._size = self._size
        for key, products in self._products.items():
            other._products[key] = list(products)
        for shape, folds in self._folds.items():
            other._folds[shape] = list(folds)
        for imaginary, eulers in self._eulers.items():
            other._eulers[imaginary] = list(eulers)
        return other

    def product(self, left: Places, right: Places, level: int, *, late: bool = False) -> Places:
        """Return the places of left [blocks, d, d] · right [blocks, d, columns].

        level: one more than the higher level of the two. late: whether it is made after the numbers of `euler`, which
        it may contain.
        """
        start = self._take(right.size)
        self._products[_Kind(late, level, left.shape, right.shape)].append((left, right, start))
        return np.arange(start, start + right.size, dtype=np.int64).reshape(right.shape)

    def euler(self, matrix: Places, *, imaginary: bool = False) -> Places:
        """Return the places of the seven numbers that `steps.Euler` makes of a matrix [4], for late products."""
        start = self._take(7)
        self._eulers[imaginary].append((matrix, start))
        return np.arange(start, start + 7, dtype=np.int64)

    def fold(self, incidence: Incidence, factors: Places) -> Places:
        """Return the places of a table whose entry t is the product of the factors f with incidence[t, f] = 1.

        Folds come after all products. Entries of the same factors are made once: of a target's phases with nine
        controls, half are 1.
        """
        first, which = _distinct(incidence)
        start = self._take(len(first))
        self._folds[len(first), len(factors)].append((incidence[first], factors, start))
        return start + which

    def finish(self, packed: list[Places]) -> Numbers:
        """Return the program, with all places renumbered to the order in which its instructions append."""
        final = np.arange(self._size, dtype=np.int64)
        at = self._num_operands
        kinds = sorted(self._products)
        early, late = [kind for kind in kinds if not kind.late], [kind for kind in kinds if kind.late]
        appended = [(right.size, start) for kind in early for _, right, start in self._products[kind]]
        appended += [(7, start) for eulers in self._eulers.values() for _, start in eulers]
        appended += [(right.size, start) for kind in late for _, right, start in self._products[kind]]
        for size, start in appended:
            final[start : start + size] = np.arange(at, at + size)
            at += size
        for shape in sorted(self._folds):
            for incidence, _, start in self._folds[shape]:
                final[start : start + len(incidence)] = np.arange(at, at + len(incidence))
                at += len(incidence)
        program: list[Product | Euler | Fold] = [self._made(kind, final) for kind in early]
        for imaginary, eulers in self._eulers.items():
            if eulers:
                program.append(Euler(final[np.stack([matrix for matrix, _ in eulers])], imaginary))
        program += [self._made(kind, final) for kind in late]
        for shape in sorted(self._folds):
            incidences, factors, _ = zip(*self._folds[shape], strict=True)
            program.append(Fold(np.stack(incidences), final[np.stack(factors)]))
        return Numbers(self._num_operands, tuple(program), tuple(final[places] for places in packed))

    def _made(self, kind: _Kind, final: Places) -> Product:
        lefts, rights, _ = zip(*self._products[kind], strict=True)
        return Product(final[np.stack(lefts)], final[np.stack(rights)])

    def _take(self, size: int) -> int:
        start = self._size
        self._size += size
        return start


def _distinct(incidence: Incidence) -> tuple[Places, Places]:
    """Return the first row of each kind in a matrix of zeros and ones, and for every row the number of its kind."""
    columns = incidence.shape[1]
    if columns > _MOST_COLUMNS:
        rows = np.arange(len(incidence))
        return rows, rows
    keys = incidence @ 2.0 ** np.arange(columns)  # exact, and quicker than in integers
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first, which
