"""The numbers of a run for a GPU: gathered, cast and sent at once, for any number of sweeps.

Step by step, each sweep costs a gather, a cast and an upload, together more than the sweep itself at 20 qubits. A
`NumberLoader` is made once for a plan: one take over the plan's coefficient buffer lays the numbers that kernels take
by value behind one another, and one small kernel makes those in the device's memory (see `tables`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import ZERO_AT
from qsim_ex.kernels.cuda.interpret.packing import CONSTANTS, pack
from qsim_ex.kernels.cuda.launch.launches import LaunchList
from qsim_ex.kernels.cuda.launch.pivoted import NO_PIVOTS, Records, pivot
from qsim_ex.kernels.cuda.launch.tables import HostEntries, TableRecipe
from qsim_ex.kernels.cuda.runtime import Array, ByValue, Runtime
from qsim_ex.precision import Precision
from qsim_ex.steps.coefficients import Bound, Coefficients

Places = NDArray[np.int64]

NOTHING = np.zeros(0, dtype=np.int64)
ZERO = 2 * ZERO_AT
"""The position of a 0 in a coefficient buffer, as real numbers."""

_ALIGNED = 64
"""The numbers of each sweep begin at a multiple of this many reals, so that any vector of them can be loaded."""


@dataclass(frozen=True, eq=False, slots=True)
class NumberTakes:
    """The numbers of its packed array (see `packing`) that a sweep takes by value, and those on the device.

    room: the reals that its kernel's struct holds, if those are more than it takes. pivots: what is changed of those
    that it takes by value (see `pivoted`).
    """

    by_value: Places
    on_device: Places
    room: int = 0
    pivots: Records = field(default_factory=lambda: NO_PIVOTS)


@dataclass(frozen=True, eq=False, slots=True)
class SweepNumbers:
    """The numbers of one sweep in the form that its kernel takes."""

    by_value: ByValue
    on_device: Array | None


def give(
    runtime: Runtime, takes: NumberTakes, numbers: NDArray[np.complex128], real: type[np.floating]
) -> SweepNumbers:
    """Gather, cast and send the numbers of one sweep."""
    values = np.zeros(max(1, takes.room, takes.by_value.size))
    values[: takes.by_value.size] = pack(numbers, takes.by_value, np.float64)
    pivot(values, takes.pivots)
    values = values.astype(real, copy=False)
    table = runtime.upload(pack(numbers, takes.on_device, real)) if takes.on_device.size else None
    return SweepNumbers(ByValue(values), table)


class Loaded:
    """The numbers of one run on their way to the device.

    Step by step: for each sweep a `SweepNumbers`, for each other step its packed array. Or, where there is a
    `LaunchList`, all sweeps at once; then no numbers are made step by step.

    launches: None if there is no list. loader: returns what loads step by step. then: called when all sweeps of the
    list are queued, so that the GPU works meanwhile; or before what runs step by step.
    """

    def __init__(
        self,
        runtime: Runtime,
        numbers: Bound,
        launches: LaunchList | None,
        loader: Callable[[], NumberLoader],
        then: Callable[[], None] | None = None,
    ) -> None:
        self._runtime = runtime
        self._numbers = numbers
        self._launches = launches
        self._loader = loader
        self._then = then
        self._steps: list[Any] | None = None

    def __iter__(self) -> Iterator[object]:
        self._end()
        if self._steps is None:
            self._steps = self._loader()(self._runtime, self._numbers)
        return iter(self._steps)

    def queue(self, state: Array, begin: bool, at_once: int) -> Iterator[None] | None:
        """Queue all sweeps on a state, so many between two yields; None if that is impossible; see `LaunchList`."""
        if self._launches is None or self._numbers.operands is None:
            return None
        return self._queued(self._launches(state, self._numbers.operands, begin, at_once))

    def _queued(self, launched: Iterator[None]) -> Iterator[None]:
        yield from launched
        self._end()

    def _end(self) -> None:
        then, self._then = self._then, None
        if then is not None:
            then()


class NumberLoader:
    """Gathers and casts the numbers of all sweeps of a plan, and makes tables on the device.

    takes: for each step the takes of its sweep; None for another step, which gets its packed array.
    """

    def __init__(self, takes: Sequence[NumberTakes | None], numbers: Coefficients, precision: Precision) -> None:
        self.numbers = numbers
        self._precision, self._real = precision, precision.storage.real.type
        size = numbers.size()
        by_value = [
            in_buffer(step.by_value, places, size) if step else NOTHING
            for step, places in zip(takes, numbers.packed, strict=True)
        ]
        by_value = [row if row.size else np.array([ZERO]) for row in by_value]  # no kernel takes an empty struct
        on_device = [
            in_buffer(step.on_device, places, size) if step else NOTHING
            for step, places in zip(takes, numbers.packed, strict=True)
        ]
        values_at, values = laid_out(by_value)
        beyond = max((step.room for step in takes if step), default=0)  # what the last struct may be longer
        self._values = np.concatenate([values_at, np.full(beyond, ZERO)])
        self._far, tables = laid_out(on_device)
        self._recipe = TableRecipe(self._far, numbers, self._real) if self._far.size else None
        packed = [places for step, places in zip(takes, numbers.packed, strict=True) if step is None]
        on_host = np.unique(np.concatenate([self._values >> 1, *packed]))
        self._few = HostEntries(on_host[(on_host >= numbers.tables_at()) & (on_host < size)], numbers)
        self._constant = np.flatnonzero(self._values >= 2 * size)
        self._constants = CONSTANTS[self._values[self._constant] - 2 * size]
        self._pivots = [step.pivots if step else NO_PIVOTS for step in takes]
        self._taken = np.where(self._values >= 2 * size, ZERO, self._values)
        self._cuts = [
            (step is not None, value, table, places)
            for step, value, table, places in zip(takes, values, tables, numbers.packed, strict=True)
        ]

    def __call__(self, runtime: Runtime, numbers: Bound) -> list[Any]:
        """Return for each sweep a `SweepNumbers`, for each other step its packed array."""
        buffer = numbers.given
        self._few.make(buffer)
        view = buffer.view(np.float64)
        values = view.take(self._taken)
        values[self._constant] = self._constants
        for (_, value, _, _), pivots in zip(self._cuts, self._pivots, strict=True):
            pivot(values[value], pivots)
        values = values.astype(self._real, copy=False)
        begin, size = values.ctypes.data, self._precision.storage.real_bytes
        tables = self._recipe.make(runtime, view) if self._recipe else None
        return [
            SweepNumbers(
                ByValue(values[value], begin + size * value.start),
                tables[table] if tables is not None and table.stop > table.start else None,
            )
            if sweep
            else buffer.take(places)
            for sweep, value, table, places in self._cuts
        ]


def laid_out(rows: Sequence[Places]) -> tuple[Places, list[slice]]:
    """Return rows behind one another, each padded to a multiple of `_ALIGNED`, and the slice of each."""
    cuts, at = [], 0
    for row in rows:
        cuts.append(slice(at, at + len(row)))
        at += len(row) + -len(row) % _ALIGNED
    return np.concatenate([NOTHING, *map(_padded, rows)]), cuts


def in_buffer(take: Places, places: Places, size: int) -> Places:
    """Return a take over a step's packed array as one over the coefficient buffer that the array is taken from."""
    own = 2 * len(places)
    inside = take < own
    position = np.where(inside, take, 0)
    moved = 2 * places[position >> 1] + (position & 1) if len(places) else position
    return np.where(inside, moved, take - own + 2 * size)


def _padded(take: Places) -> Places:
    """Return a take padded with 0 to a multiple of `_ALIGNED`."""
    return np.concatenate([take, np.full(-len(take) % _ALIGNED, ZERO, dtype=np.int64)])
