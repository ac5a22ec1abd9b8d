"""The exchanges of one rank with others: pieces of its sub state vector, traded over a communicator.

Ranks that reach each other's memory swap pieces in place. Others send messages from host memory, two at a time: while
one is under way, the other is copied from staging memory to its place, or to staging memory.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle, groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.comm.protocol import Communicator, StartsExchanges, SwapsInPlace
from qsim_ex.placement.exchange.links import PeerBuffer
from qsim_ex.placement.exchange.schedule import Part, Schedule, Trade
from qsim_ex.steps.layout import Levels

PIECE_BYTES = 1 << 25
"""The most bytes of one piece of a schedule."""

MESSAGE_BYTES = 1 << 23
"""The most bytes of one message, which comes to a staging piece and goes to its place from there.

On two busy cores 1 MiB took 1.3 times as long as 32 MiB, since both processes have to run where a message ends.
"""

DIRECT_BYTES = 1 << 16
"""The fewest bytes that are swapped in place: two small messages around it take as long as one of this size."""

GROUP_BYTES = 1 << 28
"""The bytes of pieces after which a run can be cancelled, and two ranks wait for each other."""

_FLYING = 2
"""The most messages that are under way at a time."""

_SHARE = 6
"""A staging piece is at most 1/2^6 of a sub state vector; there are two for each message under way, out and in."""


def staging_piece(levels: Levels, itemsize: int) -> int:
    """Return the number of amplitudes of one staging piece: those of one message."""
    return max(1, min(MESSAGE_BYTES // itemsize, 1 << max(levels.local - _SHARE, 0)))


def staging(levels: Levels, itemsize: int) -> int:
    """Return the bytes of host memory in which a rank stages what it sends and receives."""
    return 2 * _FLYING * itemsize * staging_piece(levels, itemsize)


_OwnTrade = tuple[Trade, int]
"""A trade, and which of its two devices is ours."""


class _Message(NamedTuple):
    """One message each way: a part of the buffer, the other rank, and whether the part is sent, and gets another."""

    part: Part
    other: int
    sends: bool
    gets: bool


class RankLinks:
    """The links of one rank to all others that hold a part of the state.

    sent: bytes sent so far from this rank to others.
    """

    def __init__(self, ranks: Communicator, device: Any, levels: Levels, dtype: np.dtype[Any]) -> None:
        self._ranks = ranks
        self._device = device
        self._itemsize = dtype.itemsize
        self.piece = PIECE_BYTES // dtype.itemsize
        self._message = staging_piece(levels, dtype.itemsize)
        self._staging = [
            (device.host_memory(self._message, dtype)[0], device.host_memory(self._message, dtype)[0])
            for _ in range(_FLYING)
        ]
        self._queue = device.copy_queue()
        self.sent: Counter[tuple[int, int]] = Counter()

    def exchange(
        self,
        mine: PeerBuffer,
        number: int,
        ranks: Sequence[int],
        schedule: Schedule,
        tick: Callable[[], None] | None = None,
    ) -> None:
        """Carry out this rank's part of a schedule; `tick` is called between two pieces.

        mine, number: this rank's sub state vector and its device number. ranks: the rank of each device number.
        schedule: the trades of this device number.
        """
        self._queue.wait(self._device.mark())
        for other, direct, trades in self._groups(mine.buffer, number, ranks, schedule):
            if direct:
                assert isinstance(self._ranks, SwapsInPlace)
                self._ranks.swap(other, [trade.parts[own].of(mine.buffer) for trade, own in trades])
            else:
                self._send(mine.buffer, other, trades)
            sent = sum(trade.parts[own].size for trade, own in trades if trade.sent[own])
            if sent:
                self.sent[ranks[number], other] += sent * self._itemsize
            if tick is not None:
                tick()
        self._device.wait(self._queue.mark())

    def _groups(
        self, buffer: Any, number: int, ranks: Sequence[int], schedule: Schedule
    ) -> Iterator[tuple[int, bool, list[_OwnTrade]]]:
        """Yield runs of trades with one rank, and whether they are swaps in place, as both ranks find."""
        connection = self._ranks
        reaches: Callable[[int], bool] = connection.reaches if isinstance(connection, SwapsInPlace) else lambda _: False
        on_host = isinstance(buffer, np.ndarray)
        own = [(trade, trade.devices.index(number)) for trade in schedule.trades]

        def kind(one: _OwnTrade) -> tuple[int, bool]:
            trade, mine = one
            other, large = ranks[trade.devices[1 - mine]], trade.parts[0].size * self._itemsize >= DIRECT_BYTES
            return other, large and on_host and all(trade.sent) and reaches(other)

        for (other, direct), some in groupby(own, kind):
            group: list[_OwnTrade] = []
            for one in some:
                group.append(one)
                if sum(trade.parts[0].size for trade, _ in group) * self._itemsize >= GROUP_BYTES:
                    yield other, direct, group
                    group = []
            if group:
                yield other, direct, group

    def _send(self, buffer: Any, other: int, trades: Sequence[_OwnTrade]) -> None:
        """Make some trades with one rank by messages."""
        flying: deque[Callable[[], None]] = deque()
        slots = cycle(self._staging)
        for trade, own in trades:
            for part in messages(trade.parts[own], self._message):
                _land(flying, _FLYING - 1)
                message = _Message(part, other, trade.sent[own], trade.sent[1 - own])
                flying.append(self._start(buffer, message, *next(slots)))
        _land(flying, 0)

    def _start(
        self, buffer: Any, message: _Message, staged: NDArray[Any], arriving: NDArray[Any]
    ) -> Callable[[], None]:
        """Start one message each way, and return a function that waits for it and copies what came to its place."""
        part, other, sends, gets = message
        place = part.of(buffer)
        out, into = staged[: part.size if sends else 0], arriving[: part.size if gets else 0]
        if sends:
            if isinstance(buffer, np.ndarray) and place.flags.c_contiguous:
                out = place  # no copy: nothing writes there until it has left
            else:
                self._queue.copy(part.laid_out(staged), place)
                self._queue.synchronize()
        given = other, _flat(out), into
        ranks = self._ranks
        arrived = ranks.start(*given) if isinstance(ranks, StartsExchanges) else partial(ranks.exchange, *given)

        def end() -> None:
            arrived()
            if gets:
                self._queue.copy(place, part.laid_out(arriving))
                self._queue.synchronize()

        return end


def _land(flying: deque[Callable[[], None]], most: int) -> None:
    """Wait for the earliest messages until at most so many are under way."""
    while len(flying) > most:
        flying.popleft()()


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
