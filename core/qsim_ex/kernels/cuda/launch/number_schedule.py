"""A plan's number program, ordered so that each number is computed right before the first launch that takes it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cuda.launch.run_words import ENTRY, EULERS, PRODUCTS
from qsim_ex.steps.numbers import Euler, Fold, Numbers, Product

Places = NDArray[np.int64]


class PlaceLists:
    """Places of the number buffer, one list behind the other."""

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


class NumberSchedule:
    """Instructions of `kernels.cuda.launch.run_words` that compute numbers, for one launch after the other.

    products: entries of small tables, each with the places of its factors. wanted: for each launch the places of the
    numbers that it takes.
    """

    def __init__(self, numbers: Numbers, products: Sequence[tuple[int, Places]], wanted: Sequence[Places]) -> None:
        self.places = PlaceLists()
        self._products = products
        self._works = _works(numbers)
        first = np.full(numbers.size() + 2, len(wanted), dtype=np.int64)  # the first launch that takes a number
        for launch in reversed(range(len(wanted))):
            first[wanted[launch]] = launch
        for entry, factors in products:
            np.minimum.at(first, factors, first[entry])
        self._first = [first[[entry for entry, _ in products]]]
        for _, results, factors in reversed(self._works):
            soonest = first[results].min(axis=1)
            np.minimum.at(first, factors, soonest[:, None])
            self._first.append(soonest)

    def before(self, launch: int) -> list[int]:
        """Return the instructions for the numbers that this launch is the first to take."""
        words: list[int] = []
        of_entries, *of_works = self._first
        for (kind, results, factors), soonest in zip(self._works, reversed(of_works), strict=True):
            mine = soonest == launch
            count = int(mine.sum())
            if not count:
                continue
            if kind == PRODUCTS:
                listed = np.concatenate([results[mine], factors[mine]], axis=1)
                words += [PRODUCTS, self.places.add(listed.ravel()), count, factors.shape[1] // 2]
            else:
                listed = np.concatenate([factors[mine], results[mine, :1]], axis=1)
                words += [EULERS, self.places.add(listed.ravel()), count]
        for (entry, factors), soonest in zip(self._products, of_entries, strict=True):
            if soonest == launch:
                words += [ENTRY, entry, self.places.add(factors), len(factors)]
        return words


def _works(numbers: Numbers) -> list[tuple[int, Places, Places]]:
    """Return the instructions of a number program except tables: the kind, places of results, and of their input.

    Results are [count, 1] for products and [count, 7] for Euler angles.
    """
    works = []
    for instruction, at in numbers.placed():
        match instruction:
            case Product():
                factors = instruction.pairs().transpose(2, 1, 0).reshape(instruction.size, -1)
                works.append((PRODUCTS, np.arange(at, at + instruction.size)[:, None], factors))
            case Euler(matrices):
                works.append((EULERS, np.arange(at, at + instruction.size).reshape(-1, 7), matrices))
            case Fold():
                pass
    return works
