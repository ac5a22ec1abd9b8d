"""The program that turns a circuit's operands into the packed numbers of a plan, and its interpreter, `bind`.

While planning, the entries of every matrix are places in one growing *number buffer*, which begins with the
circuit's operands (its first two entries are the constants 0 and 1). Embedding, transposing, or flipping a matrix
only rearranges places; multiplying appends new ones. Nothing here reads a number until `bind`.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from qsim_ex.steps import Euler, Fold, Numbers, Plan, Product

Places = NDArray[np.int64]
Incidence = NDArray[np.float64]


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

        Folds come after all products.
        """
        entries = len(incidence)
        start = self._take(entries)
        self._folds[incidence.shape].append((incidence, factors, start))
        return np.arange(start, start + entries, dtype=np.int64)

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


def bind(plan: Plan, operands: NDArray[np.complex128]) -> list[NDArray[np.complex128]]:
    """Run a plan's number program over operands [1, total]: one packed array [count] for each of `plan.steps`.

    The circuit may have more operands than the plan, which may be of a part of it.
    """
    parts = [operands[0, : plan.numbers.num_operands]]
    for instruction in plan.numbers.program:
        buffer = parts[0] if len(parts) == 1 else np.concatenate(parts)
        match instruction:
            case Product(left, right):
                made = buffer[left] @ buffer[right]
            case Euler(places):
                made = _rotations(buffer[places])
            case Fold(incidence, factors):
                made = _products(incidence, buffer[factors])
        parts = [buffer, made.reshape(-1)]
    buffer = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return [buffer[places] for places in plan.numbers.packed]


def _products(incidence: NDArray[np.float64], factors: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Products of chosen factors, as the exponential of a sum of logarithms: one matrix product for a whole table.

    Forty phases into 1024 entries take 0.02 ms this way and 0.5 ms by multiplying gathered factors. Factors are
    phases, so no logarithm is infinite; the error is that of the largest sum of angles, some 1e-14.
    """
    logs = np.log(factors)
    angles = incidence @ np.stack((logs.real, logs.imag), axis=-1)
    return np.asarray(np.exp(angles[..., 0] + 1j * angles[..., 1]))


def _rotations(matrices: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Euler angles of unitary 2×2 matrices [count, 4]; see `steps.Euler` for what is returned, [count, 7].

    A small entry has an inexact phase, since it may be what cancellation left. So the phase of a large entry is never
    made from those of small ones: β comes from whichever of b and d is the larger.
    """
    a, b, c, d = matrices.T
    cosine, sine = np.abs(a), np.abs(c)
    gamma = _unit(a)
    alpha = _unit(c) * gamma.conj()
    beta = np.where(sine <= cosine, _unit(d) * alpha.conj(), _unit(-b)) * gamma.conj()
    return np.stack((cosine, -sine, sine, cosine, alpha, beta, gamma), axis=1)


_TINY = 1e-300
"""Below, a number is as good as 0, and dividing by it may overflow."""


def _unit(values: NDArray[np.complex128]) -> NDArray[np.complex128]:
    size = np.abs(values)
    large = size > _TINY
    return np.asarray(np.where(large, values / np.where(large, size, 1), 1))
