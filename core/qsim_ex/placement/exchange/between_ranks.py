"""The exchanges of one rank with others: pieces of its sub state vector, sent over a communicator from host memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.comm.protocol import Communicator
from qsim_ex.placement.exchange.links import Links, PeerBuffer
from qsim_ex.placement.exchange.schedule import Part, Schedule
from qsim_ex.steps.layout import Levels

PIECE_BYTES = 1 << 25
"""The most bytes of one piece of a schedule."""

MESSAGE_BYTES = 1 << 23
"""The most bytes of one message, which comes to a staging piece and goes to its place from there.

On two busy cores 1 MiB took 1.3 times as long as 32 MiB, since both processes have to run where a message ends.
"""

_SHARE = 5
"""A staging piece is at most 1/2^5 of a sub state vector; there are two, one out and one in."""


def staging_piece(levels: Levels, itemsize: int) -> int:
    """Return the number of amplitudes of one staging piece: those of one message."""
    return max(1, min(MESSAGE_BYTES // itemsize, 1 << max(levels.local - _SHARE, 0)))


def staging(levels: Levels, itemsize: int) -> int:
    """Return the bytes of host memory in which a rank stages what it sends and receives."""
    return 2 * itemsize * staging_piece(levels, itemsize)


class RankLinks:
    """The links of the devices of one rank to each other, and to the devices of all other ranks.

    devices: those of this rank. sent: bytes sent so far from one place to another, by all ranks, since every rank knows
    all schedules; device k of rank r is place ``r * len(devices) + k``.
    """

    def __init__(self, ranks: Communicator, devices: Sequence[Any], levels: Levels, dtype: np.dtype[Any]) -> None:
        self._ranks = ranks
        self._devices = tuple(devices)
        self._itemsize = dtype.itemsize
        self.piece = PIECE_BYTES // dtype.itemsize
        self._message = staging_piece(levels, dtype.itemsize)
        self._out, self._in = (devices[0].host_memory(self._message, dtype)[0] for _ in range(2))
        self._queues = [device.copy_queue() for device in devices]
        self._inside: Links | None = None
        if len(devices) > 1:
            self._inside = Links(devices, levels, dtype)
            self.piece = min(self.piece, self._inside.piece)
        self.sent: Counter[tuple[int, int]] = Counter()

    def buffer(self, k: int, num_amplitudes: int, dtype: np.dtype[Any]) -> PeerBuffer:
        """Allocate a sub state vector on device k of this rank, and its end of the links; raises `OutOfMemory`."""
        if self._inside is not None:
            return self._inside.peer(k, num_amplitudes)
        device = self._devices[k]
        return PeerBuffer(k, device, device.allocate(num_amplitudes, dtype), [])

    def exchange(
        self,
        mine: Mapping[int, PeerBuffer],
        places: Sequence[int],
        schedule: Schedule,
        tick: Callable[[], None] | None = None,
    ) -> None:
        """Carry out this rank's part of a schedule; `tick` is called between two pieces.

        mine: the sub state vectors of this rank, by device number; none for a rank that holds none. places: the place
        of each device number. All trades are of different amplitudes, so those inside a rank may be made first; those
        with other ranks are made in the order of the schedule, which is the same on all ranks, so none waits forever.
        """
        if self._inside is not None and mine:
            self._exchange_inside(self._inside, mine, schedule, tick)
        for end in mine.values():
            self._queues[end.place].wait(end.device.mark())
        for trade in schedule.trades:
            held = [number in mine for number in trade.devices]
            if not any(held) or all(held):
                continue
            own = held.index(True)
            end, other = mine[trade.devices[own]], places[trade.devices[1 - own]] // len(self._devices)
            for part in messages(trade.parts[own], self._message):
                self._trade(end, part, other, trade.sent[own], trade.sent[1 - own])
            if tick is not None:
                tick()
        for end in mine.values():
            end.device.wait(self._queues[end.place].mark())
        for (d, e), amplitudes in schedule.sent().items():
            self.sent[places[d], places[e]] += amplitudes * self._itemsize

    def _exchange_inside(
        self, links: Links, mine: Mapping[int, PeerBuffer], schedule: Schedule, tick: Callable[[], None] | None
    ) -> None:
        """Carry out the trades between devices of this rank."""
        numbers = sorted(mine)
        index = {number: k for k, number in enumerate(numbers)}
        trades = tuple(
            replace(trade, devices=(index[trade.devices[0]], index[trade.devices[1]]))
            for trade in schedule.trades
            if trade.devices[0] in mine and trade.devices[1] in mine
        )
        if trades:
            links.exchange([mine[number] for number in numbers], replace(schedule, trades=trades), tick)

    def _trade(self, end: PeerBuffer, part: Part, other: int, sends: bool, gets: bool) -> None:
        """Trade one part with another rank: what comes takes the place of what goes."""
        buffer, queue = end.buffer, self._queues[end.place]
        place = part.of(buffer)
        out, into = self._out[: part.size if sends else 0], self._in[: part.size if gets else 0]
        if sends:
            if isinstance(buffer, np.ndarray) and place.flags.c_contiguous:
                out = place  # no copy: nothing writes there until it has left
            else:
                queue.copy(part.laid_out(self._out), place)
                queue.synchronize()
        self._ranks.exchange(other, _flat(out), into)
        if gets:
            queue.copy(place, part.laid_out(self._in))
            queue.synchronize()


def messages(part: Part, most: int) -> Iterator[Part]:
    """Yield the amplitudes of a part in parts of at most `most`, as many rows at a time as that allows."""
    rows = max(1, most // part.width)
    for row in range(0, part.rows, rows):
        for first in range(0, part.width, most):
            width = min(most, part.width - first)
            yield Part(part.start + row * part.stride + first, min(rows, part.rows - row), width, part.stride)


def _flat(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous array in one dimension."""
    return array.reshape(-1)
