"""The links between devices: the copy queues and the staging memory that carry out the schedule of an exchange."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qsim_ex import thresholds
from qsim_ex.devices.base import Buffer, Copies, CopyQueue, Device
from qsim_ex.devices.peering import Link, link
from qsim_ex.errors import NotSupported
from qsim_ex.placement.exchange.schedule import SLOTS, Schedule, Trade, lanes
from qsim_ex.precision import STORAGE, AmplitudeDtype, Storage
from qsim_ex.steps.layout import Levels


@dataclass(eq=False, slots=True)
class StagingPiece:
    """A staging piece; `free` is the mark behind the copy that emptied it last."""

    buffer: Buffer
    free: Any = None


@dataclass(eq=False, slots=True)
class Lane:
    """One lane of one device: a queue of copies out, a queue of copies into place, and staging pieces."""

    out: CopyQueue
    place: CopyQueue
    near: list[StagingPiece] = field(default_factory=list)  # in the device's memory
    host: list[StagingPiece] = field(default_factory=list)  # in host memory, where a link goes through the host


@dataclass(eq=False, slots=True)
class PeerBuffer:
    """Room for one sub state vector: a device, a buffer, and the device's end of the links to all others.

    place: the number of the device in the caller's list; it stays when device numbers are permuted.
    """

    place: int
    device: Any  # a Device that is Copies too
    buffer: Buffer
    lanes: list[Lane]


def staging_piece(levels: Levels, storage: Storage, piece_bytes: int | None = None) -> int:
    """Return the number of amplitudes of one staging piece."""
    piece_bytes = thresholds.now.link_piece_bytes if piece_bytes is None else piece_bytes
    share = max(1, storage.count(piece_bytes // lanes(levels)))
    return min(1 << share.bit_length() - 1, 1 << max(levels.local - 1, 0))


def staging(
    place: int,
    levels: Levels,
    storage: Storage,
    links: Mapping[tuple[int, int], Link],
    piece_bytes: int | None = None,
) -> tuple[int, int]:
    """Return the bytes in which a peer stages incoming amplitudes: in its device's memory, and in host memory."""
    kinds = {kind for (_, to), kind in links.items() if to == place}
    size = storage.nbytes(SLOTS * lanes(levels) * staging_piece(levels, storage, piece_bytes))
    return (size if kinds - {"through the host"} else 0), (size if "through the host" in kinds else 0)


class Links:
    """Channels, staging memory and kinds of links between the devices of one state.

    devices: one for each device number, repeated where peers share it. Each is `Copies` as well.
    piece_bytes: most bytes of one copy. reach: returns the link from one device to another.
    """

    def __init__(
        self,
        devices: Sequence[Device],
        levels: Levels,
        dtype: AmplitudeDtype,
        piece_bytes: int | None = None,
        reach: Callable[[Device, Device], Link] = link,
    ) -> None:
        for device in devices:
            if not isinstance(device, Copies):
                raise NotSupported(
                    f"{device.name} has no copy queues, so it cannot hold a part of a state. Use other devices."
                )
        self.devices = tuple(devices)
        self.dtype, self._storage = dtype, STORAGE[dtype]
        self.levels = levels
        self.piece_bytes = piece_bytes
        self.lanes = lanes(levels)
        self.piece = staging_piece(levels, self._storage, piece_bytes)
        among = range(len(devices))
        self.kinds: Mapping[tuple[int, int], Link] = {
            (a, b): reach(devices[a], devices[b]) for a in among for b in among if a != b
        }
        self.sent: Counter[tuple[int, int]] = Counter()

    def staging(self, place: int) -> tuple[int, int]:
        """Return the staging bytes that one device holds in its own memory, and in host memory."""
        return staging(place, self.levels, self._storage, self.kinds, self.piece_bytes)

    def report(self) -> dict[str, object]:
        """Return the kind of each link, and the bytes sent over it so far, as JSON values."""
        pairs = sorted(self.kinds)
        names = [f"{a}>{b}" for a, b in pairs]
        return {
            "links": dict(zip(names, (self.kinds[pair] for pair in pairs), strict=True)),
            "bytes_sent": dict(zip(names, (self.sent.get(pair, 0) for pair in pairs), strict=True)),
        }

    def peer(self, place: int, num_amplitudes: int, beside: PeerBuffer | None = None) -> PeerBuffer:
        """Allocate all memory that one sub state vector needs on its device; raises `OutOfMemory`.

        beside: another peer on the device, whose end of the links is shared.
        """
        device: Any = self.devices[place]
        if beside is not None:
            return PeerBuffer(place, device, device.allocate(num_amplitudes, self.dtype), beside.lanes)
        return self.end(place, device.allocate(num_amplitudes, self.dtype))

    def end(self, place: int, buffer: Buffer) -> PeerBuffer:
        """Return a sub state vector in a buffer of its device, with staging memory; raises `OutOfMemory`."""
        device: Any = self.devices[place]
        made = [Lane(device.copy_queue(), device.copy_queue()) for _ in range(self.lanes)]
        near, host = self.staging(place)
        for lane in made:
            if near:
                lane.near = [StagingPiece(device.allocate(self.piece, self.dtype)) for _ in range(SLOTS)]
            if host:
                lane.host = [StagingPiece(device.host_memory(self.piece, self.dtype)[0]) for _ in range(SLOTS)]
        return PeerBuffer(place, device, buffer, made)

    def exchange(
        self, peer_buffers: Sequence[PeerBuffer], schedule: Schedule, tick: Callable[[], None] | None = None
    ) -> None:
        """Carry out a schedule; ``peer_buffers[d]`` is the peer of device number d.

        Work queued on the devices before runs before the exchange, and work queued later runs after it. `tick` is
        called now and then, when no copy is under way.
        """
        meetings = {(trade.devices, trade.lane) for trade in schedule.trades}
        self._begin(peer_buffers, meetings)
        queued = 0
        for trade in schedule.trades:
            self._trade(peer_buffers, trade)
            queued += self._storage.nbytes(sum(trade.sent) * trade.parts[0].size)
            if queued > thresholds.now.linked_bytes * len(peer_buffers) and tick is not None:
                synchronize(peer_buffers)
                tick()
                queued = 0
        self._end(peer_buffers, meetings)
        for (d, e), amplitudes in schedule.sent().items():
            self.sent[peer_buffers[d].place, peer_buffers[e].place] += self._storage.nbytes(amplitudes)

    def _begin(self, peer_buffers: Sequence[PeerBuffer], meetings: set[tuple[tuple[int, int], int]]) -> None:
        """Let copies out wait for the work on both of their devices."""
        taking_part = {d for devices, _ in meetings for d in devices}
        marks = {d: peer_buffers[d].device.mark() for d in taking_part}
        for devices, lane in meetings:
            for d in devices:
                for end in devices:
                    peer_buffers[d].lanes[lane].out.wait(marks[end])

    def _trade(self, peer_buffers: Sequence[PeerBuffer], trade: Trade) -> None:
        """Queue one piece: out to the other's staging both ways, then from staging into place."""
        ends, parts = [peer_buffers[number] for number in trade.devices], trade.parts
        staged: list[tuple[PeerBuffer, StagingPiece, Any]] = []
        left: list[Any] = []
        for k in (0, 1):
            if not trade.sent[k]:
                continue
            source, to, taken, laid = ends[k], ends[1 - k], parts[k], parts[1 - k]
            out = source.lanes[trade.lane].out
            through_host = self.kinds[source.place, to.place] == "through the host"
            if not through_host and not all(trade.sent):
                out.copy(laid.of(to.buffer), taken.of(source.buffer))
                continue
            lane = to.lanes[trade.lane]
            slot = (lane.host if through_host else lane.near)[trade.slot]
            if slot.free is not None:
                out.wait(slot.free)
            out.copy(taken.laid_out(slot.buffer), taken.of(source.buffer))
            left.append(out.mark())
            staged.append((to, slot, laid))
        for to, slot, laid in staged:
            place = to.lanes[trade.lane].place
            for mark in left:  # the piece has arrived, and the amplitudes in its place have left
                place.wait(mark)
            place.copy(laid.of(to.buffer), laid.laid_out(slot.buffer))
            slot.free = place.mark()

    def _end(self, peer_buffers: Sequence[PeerBuffer], meetings: set[tuple[tuple[int, int], int]]) -> None:
        """Let work on a device wait for the copies from it, to it, and into place."""
        for devices, lane in meetings:
            out = [peer_buffers[d].lanes[lane].out.mark() for d in devices]
            for d in devices:
                for mark in (*out, peer_buffers[d].lanes[lane].place.mark()):
                    peer_buffers[d].device.wait(mark)


def synchronize(peer_buffers: Sequence[PeerBuffer]) -> None:
    """Wait until devices and links have done all queued work."""
    for peer in peer_buffers:
        for lane in peer.lanes:
            lane.out.synchronize()
            lane.place.synchronize()
        peer.device.synchronize()
