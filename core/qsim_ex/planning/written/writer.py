"""A writer of a form in native code, and how what it writes follows from the numbers of a circuit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.structure import Structure
from qsim_ex.native.library import address, function
from qsim_ex.planning.form import FormInMaking
from qsim_ex.planning.planner import worked
from qsim_ex.planning.written.numbers import Combinations, WrittenNumbers
from qsim_ex.steps.layout import CX_RATIO

Integers = NDArray[np.int64]


class WrittenParts(NamedTuple):
    """What a written circuit is made of; see its properties. numbers: makes them when they are asked for, once."""

    structure: Structure
    numbers: Callable[[], WrittenNumbers]
    last: int


_Phases = tuple[Integers, Combinations, Combinations]


class GateRows(NamedTuple):
    """What a writer has written.

    gates: a row for each, with kind, wire, mask and number of conditions (`Gate` in planner/form/write/writer.hpp).
    angles: of all, and behind them a global phase. places, by: of which phase each angle that varies has what multiple.
    conditions: of all gates, in order, the parity and the value of each. entries: those of all matrices, in order.
    varying: see `phases`. last: where the gates begin that are the Clifford operator at the end.
    """

    gates: Integers
    angles: NDArray[np.float64]
    places: Integers
    by: NDArray[np.float64]
    conditions: Integers
    entries: NDArray[np.complex128]
    varying: _Phases
    num_wires: int
    last: int


class Writer:
    """Writes a form in a manner, within limits, once somebody asks for it; it may be asked by several threads.

    made: the form, which stays as long as this does. between: what is written between gates of the same circuit, with
    which few clusters are compared, if it is written already.
    """

    handle = 0  # until there is one: Ctrl-C may come before `__init__` begins

    def __init__(
        self, made: FormInMaking, microseconds: int, manner: int, within: int, between: Writer | None = None
    ) -> None:
        self._free = function("writer_free")
        self.made: FormInMaking | None = made
        self._lock, self._state = Lock(), cast("int | None", None)
        work = -1.0 if between is None or between._state is None else between._work
        self.handle = function("writer_begin")(made.handle, microseconds, manner, within, CX_RATIO, work)

    def run(self) -> bool:
        """Write to the end, if that is not done yet; return whether the frame does not change too often."""
        with self._lock:
            if self._state is None:
                state = worked(self.handle, "writer")
                function("writer_counts")(self.handle, address(counts := np.empty(5, dtype=np.int64)))
                self._counts = counts.tolist()
                function("writer_work")(self.handle, address(work := np.empty(1)))
                self._work = float(work[0])
                self._digest = int(function("writer_digest")(self.handle))
                self._state = state
        return self._state == 0

    def count(self) -> int:
        """Return how many gates are written."""
        self.run()
        return self._counts[0]

    def rows(self) -> GateRows:
        """Return all that is written, once; the form is not freed yet."""
        self.run()
        made, (count, last, multiples, conditions, entries) = cast(FormInMaking, self.made), self._counts
        found = GateRows(
            np.empty((count, 4), dtype=np.int64),
            np.empty(count + 1),
            np.empty((multiples, 2), dtype=np.int64),
            np.empty(multiples),
            np.empty((conditions, 2), dtype=np.int64),
            np.empty(entries, dtype=np.complex128),
            phases(made),
            made.num_wires,
            last,
        )
        function("writer_write")(self.handle, *map(address, found[:6]))
        return found

    def work(self) -> float:
        """Return how much work the gates are, about, by which manners are compared before they are planned."""
        self.run()
        return self._work

    def digest(self) -> int:
        """Return a number that another writer of the form has, too, if it has written the same, and hardly else."""
        self.run()
        return self._digest

    def free(self) -> None:
        """Give the memory back, once all has been read, that of the form included, if nobody else needs it."""
        handle, self.handle, self.made = self.handle, 0, None
        if handle:
            self._free(handle)

    def __del__(self) -> None:
        self.free()


_PHASES: WeakKeyDictionary[FormInMaking, _Phases] = WeakKeyDictionary()


def phases(made: FormInMaking) -> _Phases:
    """Return the places of numbers of a circuit that vary, the phases of its form, and what they make of these."""
    return _PHASES.get(made) or _PHASES.setdefault(made, _phases(made))  # each manner asks


def _phases(made: FormInMaking) -> _Phases:
    counts = np.empty(3, dtype=np.int64)
    function("form_varying")(made.handle, address(counts))
    num_phases, num_inputs, num_shares = counts.tolist()
    if not num_inputs and not num_shares:
        return _no_phases()
    places = np.empty(2 * num_inputs + 3 * num_shares, dtype=np.int64)
    by = np.empty(num_inputs + num_shares, dtype=np.complex128)
    function("form_write_varying")(made.handle, address(places), address(by))
    return _combined(places, by, num_phases, num_inputs)


@cache
def _no_phases() -> _Phases:
    return _combined(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.complex128), 0, 0)


def _combined(places: Integers, by: NDArray[np.complex128], num_phases: int, num_inputs: int) -> _Phases:
    phase, place = places[: 2 * num_inputs].reshape(-1, 2).T
    entry, of, conjugate = places[2 * num_inputs :].reshape(-1, 3).T
    first = of < 0  # what an entry has without a phase comes first
    shares = np.where(first, -1, of + num_phases * conjugate)
    entries = Combinations.of(np.cumsum(first) - 1, shares, by[num_inputs:])
    return entry[first], Combinations.of(phase, place, by[:num_inputs]), entries
