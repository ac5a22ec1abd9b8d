"""The program that turns a circuit's operands into the packed numbers of a plan, and its interpreter, `bind`.

While planning, the entries of every matrix are places in one growing *number buffer*, which begins with the
circuit's operands (its first two entries are the constants 0 and 1). Embedding, transposing, or flipping a matrix
only rearranges places; multiplying appends new ones. Nothing here reads a number until `bind`.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from qsim_ex.steps import Fold, Numbers, Plan, Product

Places = NDArray[np.int64]


class NumberProgram:
    """Collects products and folds, and groups those of one size and level into one instruction each."""

    def __init__(self, num_operands: int) -> None:
        self._num_operands = num_operands
        self._size = num_operands
        self._products: defaultdict[tuple[int, tuple[int, ...]], list[tuple[Places, Places, int]]] = defaultdict(list)
        self._folds: defaultdict[tuple[int, int], list[tuple[Places, int]]] = defaultdict(list)

    def product(self, left: Places, right: Places, level: int) -> Places:
        """Places of left · right, both [blocks, d, d]; `level` is one more than the higher level of the two."""
        start = self._take(left.size)
        self._products[level, left.shape].append((left, right, start))
        return np.arange(start, start + left.size, dtype=np.int64).reshape(left.shape)

    def fold(self, factors: Places) -> Places:
        """Places of the products over axis 0 of tables [factors, entries]; folds come after all products."""
        start = self._take(factors.shape[1])
        self._folds[factors.shape[0], factors.shape[1]].append((factors, start))
        return np.arange(start, start + factors.shape[1], dtype=np.int64)

    def finish(self, packed: list[Places]) -> Numbers:
        """The program, with all places renumbered to the order in which its instructions append."""
        final = np.arange(self._size, dtype=np.int64)
        at = self._num_operands
        groups: list[tuple[str, list[tuple[Places, ...]]]] = []
        for level_shape in sorted(self._products):
            entries = self._products[level_shape]
            for left, _, start in entries:
                final[start : start + left.size] = np.arange(at, at + left.size)
                at += left.size
            groups.append(("product", [(left, right) for left, right, _ in entries]))
        for shape in sorted(self._folds):
            for factors, start in self._folds[shape]:
                size = factors.shape[1]
                final[start : start + size] = np.arange(at, at + size)
                at += size
            groups.append(("fold", [(factors,) for factors, _ in self._folds[shape]]))
        program = tuple(self._instruction(kind, rows, final) for kind, rows in groups)
        return Numbers(program, tuple(final[places] for places in packed))

    def _instruction(self, kind: str, rows: list[tuple[Places, ...]], final: Places) -> Product | Fold:
        stacked = [final[np.stack(column)] for column in zip(*rows, strict=True)]
        return Product(*stacked) if kind == "product" else Fold(stacked[0])

    def _take(self, size: int) -> int:
        start = self._size
        self._size += size
        return start


def bind(plan: Plan, operands: NDArray[np.complex128]) -> list[NDArray[np.complex128]]:
    """Run a plan's number program over operands [1, total]: one packed array [count] for each of `plan.steps`."""
    parts = [operands[0]]
    for instruction in plan.numbers.program:
        buffer = parts[0] if len(parts) == 1 else np.concatenate(parts)
        match instruction:
            case Product(left, right):
                made = buffer[left] @ buffer[right]
            case Fold(indices):
                made = buffer[indices].prod(axis=1)
        parts = [buffer, made.reshape(-1)]
    buffer = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return [buffer[places] for places in plan.numbers.packed]
