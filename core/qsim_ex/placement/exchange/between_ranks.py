"""The exchanges of one rank with others: pieces of its sub state vector, traded over a communicator.

Ranks that reach each other's memory swap pieces in place: it is mapped (`mapped`), or reached by the communicator, for
small states and on hosts that share no huge pages. Others send messages: GPUs by NCCL where it is there and each rank
has a GPU of its own, or from host memory, two at a time: while one is under way, the other is copied from staging
memory to its place, or to staging memory.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle, groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.comm import descriptors, nccl
from qsim_ex.comm.nccl import NcclRanks
from qsim_ex.comm.protocol import Communicator, StartsExchanges, SwapsInPlace
from qsim_ex.devices.base import Buffer, CopyQueue
from qsim_ex.devices.sharing import SharedBuffer, SharesMemory
from qsim_ex.placement.exchange.links import Links, PeerBuffer
from qsim_ex.placement.exchange.mapped import MappedMemory, MappedTrade
from qsim_ex.placement.exchange.messages import FLYING, Message, flat, land_until, messages, staging_piece
from qsim_ex.placement.exchange.schedule import Schedule, Trade
from qsim_ex.precision import STORAGE, AmplitudeDtype
from qsim_ex.steps.layout import Levels

NCCL_BYTES = 1 << 25
"""The most bytes of one message from GPU to GPU."""

_OwnTrade = tuple[Trade, int]
"""A trade, and which of its two devices is ours."""


_With = tuple[PeerBuffer, int, bool]
"""Our end of some trades, the other rank, and whether parts are swapped in place."""


class RankLinks:
    """The links of the devices of one rank to each other, and to the devices of all other ranks.

    devices: those of this rank; device k of rank r is place ``r * len(devices) + k``. sent: bytes sent so far by the
    devices of this rank, from one place to another. how: how ranks reach the memory of each other's devices, in
    words; empty for devices that share none, and for small states. queues: a queue of copies for each device.
    """

    def __init__(self, ranks: Communicator, devices: Sequence[Any], levels: Levels, dtype: AmplitudeDtype) -> None:
        self._ranks = ranks
        self._devices = tuple(devices)
        self._storage = storage = STORAGE[dtype]
        size = storage.nbytes(1 << levels.local)
        self._shares = all(isinstance(device, SharesMemory) and size >= device.shares_from for device in devices)
        large = self._shares and not all(device.in_host_memory for device in devices)
        self.piece = storage.count(thresholds.now.mapped_piece_bytes if large else thresholds.now.rank_piece_bytes)
        self._message = staging_piece(levels, storage)
        self._staging: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self.queues: list[CopyQueue] = [device.copy_queue() for device in devices]
        self._inside: Links | None = None
        if len(devices) > 1:
            self._inside = Links(devices, levels, dtype)
            self.piece = min(self.piece, self._inside.piece)
        self._offers: list[SharedBuffer] = []
        self._mapped: MappedMemory | None = None
        self._nccl: NcclRanks | None = None
        self._nccl_message = staging_piece(levels, storage, NCCL_BYTES)
        self._near: tuple[Any, Any] = (None, None)
        self.how = ""
        self.sent: Counter[tuple[int, int]] = Counter()

    def buffer(
        self, k: int, num_amplitudes: int, dtype: AmplitudeDtype, unshared: Callable[[], Buffer] | None = None
    ) -> PeerBuffer:
        """Allocate a sub state vector on device k of this rank, and its end of the links; raises `OutOfMemory`.

        unshared: allocates it where other processes cannot map it; None if the device does.
        """
        device = self._devices[k]
        private = partial(device.allocate, num_amplitudes, dtype) if unshared is None else unshared
        if self._mapped is not None:
            buffer = self._mapped.buffers[k]
        elif self._shares:
            offer: SharedBuffer = device.allocate_shared(num_amplitudes, dtype)
            if offer.handle is None and unshared is not None:
                offer = offer._replace(buffer=None)  # its memory goes before other memory comes
                offer = offer._replace(buffer=private())
            self._offers.append(offer)
            buffer = offer.buffer
        else:
            buffer = private()
        return self.end(k, buffer)

    def end(self, k: int, buffer: Any) -> PeerBuffer:
        """Return a sub state vector in a buffer of device k, with staging memory; raises `OutOfMemory`."""
        memory = self._mapped
        while len(self._staging) < FLYING and not (memory is not None and memory.complete):  # else nothing is staged
            out, into = (self._devices[0].host_memory(self._message, buffer.dtype)[0] for _ in range(2))
            self._staging.append((out, into))
        return PeerBuffer(k, self._devices[k], buffer, []) if self._inside is None else self._inside.end(k, buffer)

    def begin(self, num_amplitudes: int, dtype: AmplitudeDtype) -> bool:
        """Take memory that was kept from the last state, where devices share theirs; all ranks call it first.

        Return whether all have taken such memory, so that none can lack room for a sub state vector.
        """
        if self._shares:
            self._mapped = MappedMemory.kept(self._ranks, self._devices, num_amplitudes, dtype)
            self.how = "" if self._mapped is None else self._mapped.how
        return self._mapped is not None

    def reach_others(self, num_amplitudes: int, dtype: AmplitudeDtype) -> None:
        """Map the memory of other ranks, where devices share it; all ranks call it, when all have their buffers."""
        if self._shares and self._mapped is None:
            offers, self._offers = self._offers, []
            self._mapped = MappedMemory(self._ranks, self._devices, offers, num_amplitudes, dtype)
            self.how = self._mapped.how
        if self._mapped is not None and not self._mapped.complete:
            self._connect_gpus(bool(self._mapped.buffers), dtype)

    def _connect_gpus(self, seated: bool, dtype: AmplitudeDtype) -> None:
        """Use NCCL where ranks do not map each other's memory, if they can; all ranks call it."""
        device = self._devices[0]
        number = None if device.in_host_memory else int(device.name.partition(":")[2])
        if number is None or len(self._devices) > 1:
            return
        self._nccl, told = nccl.ranks_with_nccl(self._ranks, number if seated else None)
        self.how += f"; otherwise by {told}" if told.startswith("NCCL ") else f"; no NCCL: {told}"
        if self._nccl is not None:
            out, into = (device.allocate(self._nccl_message, dtype) for _ in range(2))
            self._near = out, into

    def close(self) -> None:
        """Let go of the memory of other ranks, and of handles that were not used; may be called again."""
        if self._mapped is not None:
            self._mapped.keep()
        self._mapped = None
        descriptors.close([offer.handle for offer in self._offers if isinstance(offer.handle, int)])
        self._offers = []

    def exchange(
        self,
        mine: Mapping[int, PeerBuffer],
        places: Sequence[int],
        schedule: Schedule,
        tick: Callable[[], None] | None = None,
    ) -> None:
        """Carry out this rank's part of a schedule; `tick` is called between two pieces.

        mine: the sub state vectors of this rank, by device number. places: the place of each device number. schedule:
        the trades of these device numbers. All trades are of different amplitudes, so those inside a rank may be made
        first; those with other ranks are made in the order of the schedule, which is the same on all ranks, so none
        waits forever.
        """
        for trade in schedule.trades:
            for k, number in enumerate(trade.devices):
                if number in mine and trade.sent[k]:
                    pair = places[number], places[trade.devices[1 - k]]
                    self.sent[pair] += self._storage.nbytes(trade.parts[k].size)
        if self._inside is not None:
            self._exchange_inside(self._inside, mine, schedule, tick)
        if (memory := self._mapped) is not None:
            in_place = list(self._mapped_trades(memory, mine, places, schedule))
            if in_place:
                memory.exchange(mine, in_place, tick)
        for end in mine.values():
            self.queues[end.place].wait(end.device.mark())
        for (end, other, direct), trades in self._groups(mine, places, schedule):
            if direct:
                assert isinstance(self._ranks, SwapsInPlace)
                self._ranks.swap(other, [trade.parts[own].of(end.buffer) for trade, own in trades])
            else:
                self._send(end, other, trades)
            if tick is not None:
                tick()
        for end in mine.values():
            end.device.wait(self.queues[end.place].mark())

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

    def _mapped_trades(
        self, memory: MappedMemory, mine: Mapping[int, PeerBuffer], places: Sequence[int], schedule: Schedule
    ) -> Iterator[MappedTrade]:
        """Yield the trades with ranks whose memory is mapped here."""
        for trade in schedule.trades:
            held = [number in mine for number in trade.devices]
            k = held.index(True)
            place = places[trade.devices[1 - k]]
            if not all(held) and place // len(self._devices) in memory.ranks:
                end = mine[trade.devices[k]]
                yield MappedTrade(end, trade.parts[k], place, trade.parts[1 - k], trade.sent[k], trade.sent[1 - k], k)

    def _groups(
        self, mine: Mapping[int, PeerBuffer], places: Sequence[int], schedule: Schedule
    ) -> Iterator[tuple[_With, list[_OwnTrade]]]:
        """Yield trades with one rank that follow each other, whose memory is not mapped here; both ranks find the same.

        Where ranks have several devices, what follows each other on one need not on the other: then each is alone.
        """
        connection = self._ranks
        reaches: Callable[[int], bool] = connection.reaches if isinstance(connection, SwapsInPlace) else lambda _: False
        each = len(self._devices)
        done = frozenset() if self._mapped is None else self._mapped.ranks
        own = [
            (trade, held.index(True))
            for trade in schedule.trades
            if not all(held := [number in mine for number in trade.devices])
            and places[trade.devices[held.index(False)]] // each not in done
        ]

        def with_whom(one: _OwnTrade) -> _With:
            trade, k = one
            end, other = mine[trade.devices[k]], places[trade.devices[1 - k]] // each
            large = self._storage.nbytes(trade.parts[0].size) >= thresholds.now.direct_bytes
            return end, other, large and isinstance(end.buffer, np.ndarray) and all(trade.sent) and reaches(other)

        if each > 1:
            yield from ((with_whom(one), [one]) for one in own)
            return
        for found, some in groupby(own, with_whom):
            group: list[_OwnTrade] = []
            for one in some:
                group.append(one)
                if self._storage.nbytes(sum(trade.parts[0].size for trade, _ in group)) >= thresholds.now.group_bytes:
                    yield found, group
                    group = []
            if group:
                yield found, group

    def _send(self, end: PeerBuffer, other: int, trades: Sequence[_OwnTrade]) -> None:
        """Make some trades with one rank by messages."""
        if self._nccl is not None:
            self._send_near(self._nccl, end, other, trades)
            return
        flying: deque[Callable[[], None]] = deque()
        slots = cycle(self._staging)
        for trade, own in trades:
            for part in messages(trade.parts[own], self._message):
                land_until(flying, FLYING - 1)
                message = Message(part, other, trade.sent[own], trade.sent[1 - own])
                flying.append(self._start(end, message, *next(slots)))
        land_until(flying, 0)

    def _send_near(self, gpus: NcclRanks, end: PeerBuffer, other: int, trades: Sequence[_OwnTrade]) -> None:
        """Make some trades with one rank by messages from GPU to GPU, all queued one after another."""
        queue, (out, into) = self.queues[end.place], self._near
        with gpus.exchanging(queue, self._ranks):
            for trade, own in trades:
                sends, gets = trade.sent[own], trade.sent[1 - own]
                for part in messages(trade.parts[own], self._nccl_message):
                    here = part.of(end.buffer)
                    if sends:
                        queue.copy(part.laid_out(out), here)
                    gpus.exchange(queue, other, out[: part.size * sends], into[: part.size * gets])
                    if gets:
                        queue.copy(here, part.laid_out(into))

    def _start(
        self, end: PeerBuffer, message: Message, staged: NDArray[np.generic], arriving: NDArray[np.generic]
    ) -> Callable[[], None]:
        """Start one message each way, and return a function that waits for it and copies what came to its place."""
        part, other, sends, gets = message
        buffer, queue = end.buffer, self.queues[end.place]
        place = part.of(buffer)
        out, into = staged[: part.size if sends else 0], arriving[: part.size if gets else 0]
        if sends:
            if isinstance(buffer, np.ndarray) and place.flags.c_contiguous:
                out = place  # no copy: nothing writes there until it has left
            else:
                queue.copy(part.laid_out(staged), place)
                queue.synchronize()
        given = other, flat(out), into
        ranks = self._ranks
        arrived = ranks.start(*given) if isinstance(ranks, StartsExchanges) else partial(ranks.exchange, *given)

        def land() -> None:
            arrived()
            if gets:
                queue.copy(place, part.laid_out(arriving))
                queue.synchronize()

        return land
