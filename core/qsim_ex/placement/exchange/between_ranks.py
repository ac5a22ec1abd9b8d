"""The exchanges of one rank with others: pieces of its sub state vector, sent over a communicator from host memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.comm.protocol import Communicator
from qsim_ex.placement.exchange.links import PeerBuffer
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
    """The links of one rank to all others that hold a part of the state.

    sent: bytes sent so far from one rank to another, by all ranks: every rank knows all schedules.
    """

    def __init__(self, ranks: Communicator, device: Any, levels: Levels, dtype: np.dtype[Any]) -> None:
        self._ranks = ranks
        self._device = device
        self._itemsize = dtype.itemsize
        self.piece = PIECE_BYTES // dtype.itemsize
        self._message = staging_piece(levels, dtype.itemsize)
        self._out, self._in = (device.host_memory(self._message, dtype)[0] for _ in range(2))
        self._queue = device.copy_queue()
        self.sent: Counter[tuple[int, int]] = Counter()

    def exchange(
        self,
        mine: PeerBuffer | None,
        number: int | None,
        ranks: Sequence[int],
        schedule: Schedule,
        tick: Callable[[], None] | None = None,
    ) -> None:
        """Carry out this rank's part of a schedule; `tick` is called between two pieces.

        mine, number: this rank's sub state vector and its device number; None for a rank that holds none.
        ranks: the rank of each device number.
        """
        if mine is not None:
            self._queue.wait(self._device.mark())
            for trade in schedule.trades:
                if number in trade.devices:
                    own = trade.devices.index(number)
                    other, sends, gets = ranks[trade.devices[1 - own]], trade.sent[own], trade.sent[1 - own]
                    for part in messages(trade.parts[own], self._message):
                        self._trade(mine.buffer, part, other, sends, gets)
                    if tick is not None:
                        tick()
            self._device.wait(self._queue.mark())
        for (d, e), amplitudes in schedule.sent().items():
            self.sent[ranks[d], ranks[e]] += amplitudes * self._itemsize

    def _trade(self, buffer: Any, part: Part, other: int, sends: bool, gets: bool) -> None:
        """Trade one part with another rank: what comes takes the place of what goes."""
        place = part.of(buffer)
        out, into = self._out[: part.size if sends else 0], self._in[: part.size if gets else 0]
        if sends:
            if isinstance(buffer, np.ndarray) and place.flags.c_contiguous:
                out = place  # no copy: nothing writes there until it has left
            else:
                self._queue.copy(part.laid_out(self._out), place)
                self._queue.synchronize()
        self._ranks.exchange(other, _flat(out), into)
        if gets:
            self._queue.copy(place, part.laid_out(self._in))
            self._queue.synchronize()


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
