"""All launches of a plan in one call of native host code, which is `kernels/cuda/launch/enqueue.py`.

Step by step, a run of 20 wires takes the host longer than the GPU: for each launch Python lays out arguments, for each
instruction of the coefficient program it calls NumPy. A `LaunchList` is all of that as flat arrays, which `layout`
makes for a plan and its kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cuda.interpret.packing import CONSTANTS
from qsim_ex.kernels.cuda.launch.enqueue import RunWords
from qsim_ex.kernels.cuda.runtime import Array, Runtime
from qsim_ex.native.library import address

EVERY = 1 << 60
"""More launches than any run has."""

KEPT = 1 << 21
"""The size of the largest room that waits for the next run, in reals: large circuits seldom come again."""


class LaunchList:
    """A plan's coefficient program and all its launches, for any operands.

    words, places: the addresses of those that core/native/kernels/run_words.hpp tells of. kept: objects whose memory
    these are in or point to, and kernels, which a runtime unloads when nobody holds them. room: the bytes of a run's
    room; constants: where in it, in reals, 0, 1 and −1 are. tables: the count of numbers of type `real` that are made
    on the device.
    """

    def __init__(
        self,
        runtime: Runtime,
        words: int,
        places: int,
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
