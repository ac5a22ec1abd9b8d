"""A placement with one sub state vector on each of several devices of this process.

Device numbers are the bits from `Levels.local` up. The assignment of numbers to devices is free: permuting and
flipping device bits renumbers devices and moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex.devices.base import CopyQueue, Device
from qsim_ex.devices.memory import state_bytes
from qsim_ex.devices.peering import Link, link
from qsim_ex.display.amounts import human
from qsim_ex.errors import InvalidInput, OutOfMemory
from qsim_ex.placement.deployment import Deployment, Limits, MemoryNeeds, StateRequest
from qsim_ex.placement.divided import exchanged
from qsim_ex.placement.divided.divided import Divided
from qsim_ex.placement.exchange.links import Links, PeerBuffer, staging, synchronize
from qsim_ex.placement.exchange.lockstep import check_memory
from qsim_ex.placement.exchange.schedule import Schedule, Swaps, schedule, sources
from qsim_ex.placement.wires import narrowed
from qsim_ex.precision import STORAGE, AmplitudeDtype, Storage
from qsim_ex.steps.layout import Layout, Levels


def needs(
    levels: Levels, storage: Storage, links: Mapping[tuple[int, int], Link], piece_bytes: int | None = None
) -> MemoryNeeds:
    """Return the memory of a state: on each device a sub state vector and staging of incoming amplitudes."""
    staged = [staging(place, levels, storage, links, piece_bytes) for place in range(1 << levels.peers)]
    state = storage.nbytes(1 << levels.local)
    return MemoryNeeds(tuple(state + near for near, _ in staged), sum(host for _, host in staged))


def lay_out(request: StateRequest) -> Iterator[Deployment]:
    """Yield a sub state vector on each of several devices."""
    levels = request.levels(request.local())
    sizes, host = needs(levels, STORAGE[request.options.dtype], request.links)
    yield Deployment("peers", request.num_wires, levels, request.places, 1, None, max(sizes), host, "")


def create(deployment: Deployment, devices: Sequence[Device], dtype: AmplitudeDtype, limits: Limits) -> Peers:
    """Return |0…0> on several devices."""
    limit = None if limits is None else limits[0]
    return Peers(devices, deployment.num_wires, dtype, deployment.levels, limit=limit)


class Peers(exchanged.Exchanges, Divided):
    """A state vector of `num_wires` wires over 2^peers devices, which begins as |0…0⟩.

    devices: one for each sub state vector, each also `Copies`; the same device may occur several times.
    dtype: complex64 or complex128. levels: ``local + peers == num_wires``.
    piece_bytes: most bytes of one copy from device to device; twice that is held for staging on each device.
    limit: bytes of device memory that may be used, in place of the free bytes that the devices report.

    Raises `InvalidInput`, and `OutOfMemory` before anything is allocated, with the sum.
    """

    kind = "peers"

    def __init__(
        self,
        devices: Sequence[Device],
        num_wires: int,
        dtype: DTypeLike,
        levels: Levels,
        *,
        piece_bytes: int | None = None,
        limit: int | None = None,
        reach: Callable[[Device, Device], Link] = link,
    ) -> None:
        if len(devices) != 1 << levels.peers or num_wires != levels.local + levels.peers:
            raise InvalidInput(
                f"expected local + device bits = {num_wires} wires, and a device for each value of the device bits, "
                f"got {levels.local} local bits, {levels.peers} device bits and {len(devices)} devices."
            )
        self.levels = levels
        self.dtype = np.dtype(dtype)
        self.devices = tuple(devices)
        self._options: dict[str, Any] = {"piece_bytes": piece_bytes, "limit": limit, "reach": reach}
        self._links = Links(devices, levels, self.dtype, piece_bytes, reach)
        self.needs = needs(levels, STORAGE[self.dtype], self._links.kinds, piece_bytes)
        check_memory(self._sum(), self.devices, self.memory, self.host_memory, limit, None)
        self._peer_buffers = self._allocate()
        self.begin()

    def _sum(self) -> str:
        """Return the memory that the state needs, for messages."""
        size, staging = state_bytes(self.levels.local, self.dtype), self._links.staging(0)[0]
        return (
            f"{self.levels.local + self.levels.peers} wires in {self.dtype.name} on {1 << self.levels.peers} devices "
            f"need {human(size)} on each and {human(staging)} of staging"
        )

    def _allocate(self) -> list[PeerBuffer]:
        """Allocate a peer for each device number; all or none."""
        peer_buffers: list[PeerBuffer] = []
        try:
            for place in range(1 << self.levels.peers):
                peer = self._links.peer(place, 1 << self.levels.local)
                peer_buffers.append(peer)
        except OutOfMemory as error:
            got = len(peer_buffers)
            peer_buffers.clear()
            raise OutOfMemory(f"{self._sum()}; there was room for {got}. {error}") from error
        return peer_buffers

    def begin(self) -> None:
        """Set the state to |0…0⟩: one amplitude is written, and all wires are fresh."""
        self.layout = Layout.identity(self.levels.local + self.levels.peers)
        self.fresh = (1 << self.num_wires) - 1
        self._peer_buffers[0].device.begin(self._peer_buffers[0].buffer)

    def release(self) -> None:
        """Release all memory, at once, even while work or copies are under way."""
        peer_buffers, self._peer_buffers = self._peer_buffers, []
        try:
            synchronize(peer_buffers)  # memory goes back to a pool, and the next owner does not wait for our copies
        finally:
            peer_buffers.clear()

    def another(self, num_wires: int) -> Peers:
        """Return |0…0⟩ of `num_wires` wires on the same devices; raise `NotSupported` if no wire would be local."""
        levels = self.levels
        divided = narrowed(levels, num_wires, num_wires - levels.peers, len(self.devices), "devices")
        return Peers(self.devices, num_wires, self.dtype, divided, **self._options)

    # --- description -------------------------------------------------------------------------------------------------

    @property
    def places(self) -> tuple[int, ...]:
        """For each device number the place of its device in the caller's list; `arrange` may change it."""
        return tuple(peer.place for peer in self._peer_buffers)

    @places.setter
    def places(self, places: Sequence[int]) -> None:
        """Give devices other numbers, whatever their memory holds."""
        at_place = {peer.place: peer for peer in self._peer_buffers}
        self._peer_buffers = [at_place[place] for place in places]

    @property
    def links(self) -> Mapping[tuple[int, int], Link]:
        """The link from one device to another, by places in the caller's list of devices."""
        return self._links.kinds

    @property
    def sent(self) -> Mapping[tuple[int, int], int]:
        """Bytes sent so far between devices, by places in the caller's list of devices."""
        return self._links.sent

    @property
    def memory(self) -> tuple[int, ...]:
        """Bytes that this state holds on each device of the list, staging included; they never grow."""
        return self.needs.devices

    @property
    def host_memory(self) -> int:
        """Bytes of host memory in which links through the host are staged."""
        return self.needs.host

    @property
    def bytes_moved(self) -> int:
        """Bytes sent so far between devices."""
        return sum(self.sent.values())

    def report(self) -> dict[str, object]:
        """Return the links, the bytes sent over them, and the memory."""
        held = {"bytes_held": list(self.memory), "bytes_held_on_host": self.host_memory}
        return self._links.report() | held

    # --- work --------------------------------------------------------------------------------------------------------

    def here(self, number: int) -> PeerBuffer:
        """Return the peer of a device number."""
        return self._peer_buffers[number]

    def numbers_here(self) -> list[int]:
        """Return all device numbers."""
        return list(range(len(self._peer_buffers)))

    def queue_of(self, number: int) -> CopyQueue:
        """Return the queue of copies to places of a device."""
        return self._peer_buffers[number].lanes[0].place

    def exchange(self, swaps: Swaps, tick: Callable[[], None] | None = None) -> None:
        """Swap local positions with device bits; the layout and the fresh bits follow."""
        self._links.exchange(self._peer_buffers, self.schedule(swaps), tick)
        exchanged.moved(self, sources(self.num_wires, swaps))

    def schedule(self, swaps: Swaps) -> Schedule:
        """Return the transfers of an exchange now, in their order."""
        return schedule(self.levels, swaps, self.fresh, self._links.piece)

    def rename(self, origins: Sequence[int], flip: int) -> None:
        """Give devices other numbers: new bit ``local + k`` is old bit ``origins[k]``, XOR bit k of `flip`."""
        local = self.levels.local
        peer_buffers = list(self._peer_buffers)
        for number, peer in enumerate(self._peer_buffers):
            new = sum((number << local >> origin & 1) << k for k, origin in enumerate(origins)) ^ flip
            peer_buffers[new] = peer
        self._peer_buffers = peer_buffers
        exchanged.moved(self, [*range(local), *origins], flip << local)
