"""All launches of a plan in one call of native host code, which is `kernels/cuda/launch/enqueue.py`.

Step by step, a run of 20 wires takes the host longer than the GPU: for each launch Python lays out arguments, for each
instruction of the coefficient program it calls NumPy. A `LaunchList` is all of that as flat arrays, made once for a
plan whose kernels are settled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cuda.interpret.packing import CONSTANTS
from qsim_ex.kernels.cuda.launch.enqueue import RunWords
from qsim_ex.kernels.cuda.launch.number_schedule import NumberSchedule
from qsim_ex.kernels.cuda.launch.pivoted import NO_PIVOTS, Records
from qsim_ex.kernels.cuda.launch.queued import Queued
from qsim_ex.kernels.cuda.launch.run_words import (
    END,
    LAUNCH,
    LENGTH,
    MOST_ARGUMENTS,
    OPERANDS,
    PIVOTS,
    TAKE,
    TAKE_SINGLE,
)
from qsim_ex.kernels.cuda.runtime import Array, Runtime
from qsim_ex.native.library import address
from qsim_ex.precision import BY_REAL
from qsim_ex.steps.coefficients import Coefficients

Places = NDArray[np.int64]


class LaunchStage(NamedTuple):
    """A launch and its input: takes (see `packing`) of reals, and where in the room they go.

    to: the byte at which they begin. real: the type of the written numbers. pivots: what is changed of them (see
    `pivoted`).
    """

    launch: Queued
    take: Places
    to: int
    real: type
    pivots: Records = NO_PIVOTS


class LaunchBuffer:
    """The places in a run's room, in bytes: coefficient buffer, input of the tables, and values of the launches.

    numbers: of the coefficient buffer, behind which the constants lie (see `packing`). factors: reals that the tables'
    kernel takes. values: reals that launches take, of `real`'s size.
    """

    def __init__(self, numbers: int, factors: int, values: int, real: type) -> None:
        self.constants = 2 * numbers
        self.factors = 16 * numbers + 32
        self.values = self.factors + 8 * factors
        self.slots = self.values + -(-values * BY_REAL[np.dtype(real)].storage.real_bytes // 8) * 8
        self.size = self.slots + 8 * 2 * MOST_ARGUMENTS


EVERY = 1 << 60
"""More launches than any run has."""

KEPT = 1 << 21
"""The size of the largest room that waits for the next run, in reals: large circuits seldom come again."""

_TAKES = {4: TAKE_SINGLE, 8: TAKE}
"""The words that write reals, by the bytes of one."""


class LaunchList:
    """A plan's coefficient program and all its launches, for any operands.

    words, places: as `run_words` says. kept: objects whose memory the words point to, and kernels, which a runtime
    unloads when nobody holds them. room: the bytes of a run's room; constants: where in it, in reals, 0, 1 and −1 are.
    tables: the count of numbers of type `real` that are made on the device.
    """

    def __init__(
        self,
        runtime: Runtime,
        words: NDArray[np.int64],
        places: NDArray[np.int32],
        kept: Sequence[object],
        room: int,
        constants: int,
        tables: int,
        real: type,
    ) -> None:
        self._runtime = runtime
        self._kept = kept
        self._enqueue = RunWords(words, places)
        self._size, self._constants = room // 8, constants
        self._tables, self._real = tables, real
        self._made: dict[int, list[Array]] = {}

    def __call__(
        self, state: Array, operands: NDArray[np.complex128], begin: bool, at_once: int = EVERY
    ) -> Iterator[None]:
        """Queue a run on a state, yielding after so many launches, and at the end.

        The device always has something to do: before launches are queued, all but the last ones are waited for.
        begin: whether the state's amplitude 0 is to be written first.
        """
        runtime = self._runtime
        # Runs on one stream follow one another, so they may make their tables in the same place.
        made = self._made.setdefault(runtime.stream(), [])
        try:
            tables = made.pop()  # several threads may run one plan
        except IndexError:
            tables = runtime.empty(self._tables, self._real) if self._tables else None
        room = _room(self._size)
        room[self._constants : self._constants + len(CONSTANTS)] = CONSTANTS
        given = np.ascontiguousarray(operands)
        where = runtime.address(state), 0 if tables is None else runtime.address(tables), 0 if begin else 1, at_once
        position, mark = np.zeros(1, dtype=np.int64), None
        while True:
            runtime.natively(self._enqueue, *where, address(position), address(given), address(room))
            if not position[0]:
                break
            yield
            before, mark = mark, runtime.mark()
            if before is not None:
                runtime.reach(before)
        if self._size <= KEPT:
            made.append(tables)
            _rooms.append(room)
        yield


_rooms: list[NDArray[np.float64]] = []
"""Rooms for the next runs of any plans: fresh memory takes the system longer than its numbers take to be made."""


def _room(size: int) -> NDArray[np.float64]:
    """Return a room of at least so many reals, for one run."""
    try:
        room = _rooms.pop()
    except IndexError:
        return np.zeros(size)
    return room if room.size >= size else np.zeros(size)


def laid_out(
    runtime: Runtime,
    numbers: Coefficients,
    products: Sequence[tuple[int, Places]],
    stages: Sequence[LaunchStage],
    room: LaunchBuffer,
    tables: int,
    real: type,
) -> LaunchList:
    """Return the launches of stages, with numbers computed right before the first that takes them.

    products: entries of small tables that the host needs, each with the places of its factors.
    stages: in order. The first is for a new state alone, whose amplitude 0 it writes.
    """
    program = NumberSchedule(numbers, products, [stage.take >> 1 for stage in stages])
    words = [room.slots // 8, OPERANDS, numbers.num_operands]
    for number, (launch, take, to, kind, pivots) in enumerate(stages):
        words += program.before(number)
        if len(take):
            size, taken = BY_REAL[np.dtype(kind)].storage.real_bytes, program.places.add(take)
            words += [_TAKES[size], taken, len(take), to // size]
            if len(pivots):
                words += [PIVOTS, taken, program.places.add(pivots.astype(np.int64)), len(pivots), to // size, size]
        words += [LAUNCH, *launch.words(runtime.handle(launch.kernel))]
    words += [END] * max(LENGTH)  # the reader reads that many words at once
    kernels = [stage.launch.kernel for stage in stages]
    given = np.array(words, dtype=np.int64), program.places.all(), kernels
    return LaunchList(runtime, *given, room.size, room.constants, tables, real)
