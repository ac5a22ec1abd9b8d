"""All numbers of a run for a GPU: gathered, cast and sent in one go, however many sweeps there are.

Step by step, each sweep costs a gather, a cast and an upload, together more than the sweep itself at 20 qubits. A
`Loader` is made once for a plan: one take over the plan's whole number buffer lays the numbers of all sweeps behind
one another, first those that kernels are given by value, then those that lie in the device's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cuda.packing import CONSTANTS, pack
from qsim_ex.kernels.cuda.runtime import Array, ByValue, Runtime
from qsim_ex.steps import Bound

Places = NDArray[np.int64]

NOTHING = np.zeros(0, dtype=np.int64)

_ALIGNED = 64
"""The numbers of each sweep begin at a multiple of so many reals, so that any vector of them can be loaded."""


@dataclass(frozen=True, eq=False, slots=True)
class Takes:
    """Which numbers of its packed array (see `packing`) a sweep wants by value, and which on the device."""

    by_value: Places
    on_device: Places


@dataclass(frozen=True, eq=False, slots=True)
class Given:
    """The numbers of one sweep as its kernel takes them."""

    by_value: ByValue
    on_device: Array | None


def give(runtime: Runtime, takes: Takes, numbers: NDArray[np.complex128], real: Any) -> Given:
    """Gather, cast and send the numbers of one sweep."""
    values = pack(numbers, takes.by_value, real) if takes.by_value.size else np.zeros(1, real)
    table = runtime.upload(pack(numbers, takes.on_device, real)) if takes.on_device.size else None
    return Given(ByValue(_whole(values)), table)


class Loader:
    """Gathers, casts and sends the numbers of all sweeps of a plan.

    takes: for each step what its sweep wants, None where it is no sweep and is given its packed array.
    packed, size: the plan's `Numbers.packed`, and how long its number buffer is.
    """

    def __init__(self, takes: Sequence[Takes | None], packed: tuple[Places, ...], size: int, real: Any) -> None:
        self.packed = packed
        self._size = size
        self._real = real
        rows: list[Places] = []
        cuts = []
        for kind in ("by_value", "on_device"):
            at = 0
            for step, places in zip(takes, packed, strict=True):
                row = _in_buffer(getattr(step, kind), places, size) if step else NOTHING
                if kind == "by_value" and not row.size:
                    row = np.array([2 * size])  # no kernel is given an empty struct
                cuts.append(slice(at, at + len(row)))
                rows.append(_padded(row, 2 * size))
                at += len(rows[-1])
            if kind == "by_value":
                self._on_device = at
        self._take = np.concatenate([NOTHING, *rows])
        self._cuts = [
            (step is not None, value, table)
            for step, value, table in zip(takes, cuts[: len(packed)], cuts[len(packed) :], strict=True)
        ]

    def __call__(self, runtime: Runtime, numbers: Bound) -> list[Any]:
        """For each sweep a `Given`, for each other step its packed array."""
        reals = np.empty(2 * self._size + len(CONSTANTS), self._real)
        reals[: 2 * self._size] = numbers.buffer.view(np.float64)
        reals[2 * self._size :] = CONSTANTS
        host = reals.take(self._take)
        tables = runtime.upload(host[self._on_device :]) if len(host) > self._on_device else None
        return [
            Given(
                ByValue(_whole(host[value])), tables[table] if tables is not None and table.stop > table.start else None
            )
            if sweep
            else numbers.buffer.take(places)
            for (sweep, value, table), places in zip(self._cuts, self.packed, strict=True)
        ]


def _in_buffer(take: Places, places: Places, size: int) -> Places:
    """A take over a step's packed array, as one over the number buffer that the packed array is cut from."""
    own = 2 * len(places)
    inside = take < own
    position = np.where(inside, take, 0)
    moved = 2 * places[position >> 1] + (position & 1) if len(places) else position
    return np.where(inside, moved, take - own + 2 * size)


def _padded(take: Places, zero: int) -> Places:
    """A take that ends at a multiple of `_ALIGNED`; what is added is 0."""
    return np.concatenate([take, np.full(-len(take) % _ALIGNED, zero, dtype=np.int64)])


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    """An array as one struct, as kernels are given it."""
    return values.view(_struct(values.nbytes))


@lru_cache(maxsize=1024)
def _struct(nbytes: int) -> np.dtype[Any]:
    return np.dtype((np.void, nbytes))
