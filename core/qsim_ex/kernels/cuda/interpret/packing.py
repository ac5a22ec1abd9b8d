"""The real numbers of a kernel, and the place of each in a step's packed array.

A step's packed array holds complex numbers; kernels take only the parts that are not known beforehand, in single
or double precision. A *take* is an array of positions in ``[re 0, im 0, re 1, im 1, …, 0, 1, −1]``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Entry
from qsim_ex.kernels.cuda.runtime import HostArray
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


def full(pattern: bytes, at: int, packed: int) -> list[int]:
    """Return both parts of every entry of an item without reads, constants included.

    at: the number of its first one, of `packed` numbers.
    """
    numbers = numbered(pattern, at)
    places: list[int] = []
    for k, entry in enumerate(pattern):
        real, imaginary = (
            (2 * numbers[k], 2 * numbers[k] + 1) if k in numbers else (2 * packed + _AFTER[Entry(entry)], 2 * packed)
        )
        places += [real, imaginary]
    return places


def pack(numbers: NDArray[np.complex128], take: NDArray[np.int64], real: type[np.floating]) -> HostArray:
    """Return the real numbers of a kernel, in its precision."""
    parts_of = np.concatenate([np.ascontiguousarray(numbers, dtype=np.complex128).view(np.float64), CONSTANTS])
    return parts_of[take].astype(real, copy=False)
