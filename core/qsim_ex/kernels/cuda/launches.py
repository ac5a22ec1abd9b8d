"""All launches of a plan in one call of compiled host code: see `kernels/cpu/enqueue.py`, which does the work.

Step by step, a run of 20 wires takes the host longer than the GPU: for each launch Python lays out arguments, for each
instruction of the number program it calls NumPy. A `LaunchList` is all of that as flat arrays, made once for a plan
whose kernels are settled. The compiled code is fetched in the background, since the first time on a machine takes
seconds; until it is there, runs go step by step.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cpu.run_words import EULERS, HEAD, MOST_ARGUMENTS, PRODUCTS
from qsim_ex.kernels.cuda.queued import Queued
from qsim_ex.kernels.cuda.runtime import Array, Runtime
from qsim_ex.steps import Euler, Fold, Numbers, Product

Enqueue = Callable[..., int]
Places = NDArray[np.int64]


class Native:
    """The compiled code, fetched by a thread of its own when it is first asked for."""

    def __init__(self) -> None:
        self._found: Enqueue | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def fetch(self, *, wait: bool = False) -> Enqueue | None:
        """The compiled code if it is there; `wait`: once it is."""
        if self._found is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, name="qsim-ex-enqueue")
                    self._thread.start()
            if wait:
                self._thread.join()
        return self._found

    def _work(self) -> None:
        from qsim_ex.kernels.cpu import enqueue

        self._found = enqueue.compiled()


native = Native()
"""Of this process."""


class Room:
    """Where in a run's room things lie: behind the number buffer what tables are given, then what launches are given.

    numbers: of the number buffer. factors: reals that the tables' kernel is given. values: reals that launches are
    given, of `real`'s size.
    """

    def __init__(self, numbers: int, factors: int, values: int, real: type) -> None:
        self.factors = 2 * numbers
        self.values = self.factors + factors
        self.slots = self.values + -(-values * np.dtype(real).itemsize // 8)
        self.size = self.slots + 2 * MOST_ARGUMENTS


class LaunchList:
    """A plan's number program and all its launches, for any operands.

    products: entries of small tables that are wanted on the host, each with the places of its factors.
    factors, values: the takes (see `packing`) of what the tables' kernel, and all others, are given by value.
    launches: number 0 is for a new state alone, whose amplitude 0 it writes.
    tables: how many reals are made on the device.
    """

    def __init__(
        self,
        numbers: Numbers,
        products: Iterable[tuple[int, Places]],
        factors: Places,
        values: Places,
        launches: Sequence[Queued],
        room: Room,
        real: type,
        tables: int,
    ) -> None:
        places = _Places()
        program = _program(numbers, places)
        entries = [word for to, of in products for word in (to, places.add(of), len(of))]
        queued = [word for launch in launches for word in launch.words()]
        behind = HEAD + len(program), HEAD + len(program) + len(entries)
        head = [numbers.num_operands, HEAD, len(program) // 5, behind[0], len(entries) // 3, behind[1], len(launches)]
        head += [places.add(factors), room.factors, len(factors), places.add(values), room.values, len(values)]
        head += [int(np.dtype(real) == np.float32), room.slots]
        self._words = np.array([*head, *program, *entries, *queued], dtype=np.int64)
        self._places = places.all()
        self._size = room.size
        self._rooms: list[NDArray[np.float64]] = []
        self._real = real
        self._tables = tables

    def __call__(
        self, enqueue: Enqueue, runtime: Runtime, state: Array, operands: NDArray[np.complex128], begin: bool
    ) -> None:
        """Queue a run on a state; begin: whether its amplitude 0 is to be written first."""
        tables = runtime.empty(self._tables, self._real) if self._tables else None
        try:
            room = self._rooms.pop()  # several threads may run one plan
        except IndexError:
            room = np.zeros(self._size)
        where = runtime.address(state), 0 if tables is None else runtime.address(tables), 0 if begin else 1
        runtime.natively(enqueue, *where, operands, self._words, self._places, room)
        self._rooms.append(room)


class _Places:
    """Places of the number buffer, one list behind the other."""

    def __init__(self) -> None:
        self._parts: list[Places] = []
        self._count = 0

    def add(self, places: Places) -> int:
        """Where these begin."""
        at = self._count
        self._parts.append(places)
        self._count += len(places)
        return at

    def all(self) -> NDArray[np.int32]:
        """All of them; at least one, since compiled code has no empty arrays to point to."""
        return np.concatenate([*self._parts, np.zeros(1, dtype=np.int64)]).astype(np.int32)


def _program(numbers: Numbers, places: _Places) -> list[int]:
    """The instructions of a number program but for its tables."""
    words: list[int] = []
    at = numbers.num_operands
    for instruction in numbers.program:
        match instruction:
            case Product(right=right):
                pairs = instruction.pairs()
                first = places.add(pairs.transpose(2, 1, 0).ravel())
                words += [PRODUCTS, first, right.size, at, pairs.shape[1]]
                at += right.size
            case Euler(matrices):
                words += [EULERS, places.add(matrices.ravel()), len(matrices), at, 0]
                at += 7 * len(matrices)
            case Fold():
                pass
    return words
