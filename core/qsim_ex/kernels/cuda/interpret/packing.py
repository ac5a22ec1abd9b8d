"""The real numbers of a kernel, and the place of each in a step's packed array.

A step's packed array holds complex numbers; kernels take only the parts that are not known beforehand, in single
or double precision. A *take* is an array of positions in ``[re 0, im 0, re 1, im 1, …, 0, 1, −1]``.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Entry
from qsim_ex.kernels.cuda.write.arithmetic import width
from qsim_ex.steps.step import NUMBERED

CONSTANTS = np.array([0.0, 1.0, -1.0])
_AFTER = {Entry.ZERO: 0, Entry.ONE: 1, Entry.MINUS_ONE: 2}


def parts(number: int, entry: Entry) -> list[int]:
    """Return the positions of the parts of one packed number that an entry of a class needs."""
    if entry == Entry.COMPLEX:
        return [2 * number, 2 * number + 1]
    if entry == Entry.REAL:
        return [2 * number]
    return [2 * number + 1] if entry == Entry.IMAG else []


def numbered(pattern: bytes, at: int) -> dict[int, int]:
    """Return for items without reads the packed number of each entry whose class has one."""
    found: dict[int, int] = {}
    for k, entry in enumerate(pattern):
        if entry in NUMBERED:
            found[k] = at + len(found)
    return found


def records(pattern: bytes, classes: Sequence[Entry], at: int) -> list[int]:
    """Return for items with reads one record of reals after another, each padded to whole pairs."""
    taken: list[int] = []
    for block in range(len(pattern) // len(classes)):
        for k, entry in enumerate(classes):
            taken += parts(at + block * len(classes) + k, entry)
        taken += [taken[-1]] * (sum(map(width, classes)) % 2)
    return taken


def full(pattern: bytes, at: int, packed: int, reads: bool) -> list[int] | range:
    """Return both parts of every entry of an item, constants included, from number `at` of `packed` numbers on."""
    if reads:
        return range(2 * at, 2 * (at + len(pattern)))
    return placed(parts_of_all(pattern, reads), at, packed)


def placed(parts: Sequence[int], at: int, packed: int) -> list[int]:
    """Return parts of an item's numbers, which begin at `at` of `packed` numbers, in the step's packed array."""
    return [2 * at + part if part >= 0 else 2 * packed + ~part for part in parts]


@functools.lru_cache(maxsize=4096)
def parts_of_all(pattern: bytes, reads: bool) -> tuple[int, ...]:
    """Return for both parts of every entry its part of the item's numbers, or ~k for the constant k."""
    numbers = {k: k for k in range(len(pattern))} if reads else numbered(pattern, 0)
    places: list[int] = []
    for k, entry in enumerate(pattern):
        if k in numbers:
            places += [2 * numbers[k], 2 * numbers[k] + 1]
        else:
            places += [~_AFTER[Entry(entry)], ~_AFTER[Entry.ZERO]]
    return tuple(places)


def pack(numbers: NDArray[np.complex128], take: NDArray[np.int64], real: Any) -> NDArray[Any]:
    """Return the real numbers of a kernel, in its precision."""
    parts_of = np.concatenate([np.ascontiguousarray(numbers, dtype=np.complex128).view(np.float64), CONSTANTS])
    return parts_of[take].astype(real, copy=False)
