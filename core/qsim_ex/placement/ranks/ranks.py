"""A placement over several processes: each rank holds one sub state vector on each of its devices.

All ranks make the same calls in the same order. Each answers a question for its own amplitudes, the answers are added
up, and every rank gets the sum. `Ranks.places` says which device of which rank has a device number; ranks beyond a
power of two hold no amplitudes and only learn the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.comm import connection, neighbours
from qsim_ex.comm.protocol import Communicator
from qsim_ex.devices.base import Buffer, CopyQueue, Device
from qsim_ex.devices.memory import state_bytes
from qsim_ex.devices.peering import Link, link
from qsim_ex.display.amounts import human
from qsim_ex.errors import InvalidInput, NotSupported, OutOfMemory
from qsim_ex.placement.deployment import Deployment, Limits, MemoryNeeds, StateRequest
from qsim_ex.placement.divided import amplitudes, exchanged
from qsim_ex.placement.divided.divided import Divided
from qsim_ex.placement.divided.near import NearSubState
from qsim_ex.placement.divided.summed import summed
from qsim_ex.placement.exchange.between_ranks import RankLinks
from qsim_ex.placement.exchange.links import PeerBuffer, synchronize
from qsim_ex.placement.exchange.links import staging as links_staging
from qsim_ex.placement.exchange.messages import staging
from qsim_ex.placement.exchange.schedule import Swaps, amplitudes_sent, schedule, sources
from qsim_ex.placement.wires import narrowed
from qsim_ex.precision import STORAGE, AmplitudeDtype, Amplitudes, Storage
from qsim_ex.steps.layout import Layout, Levels

_Number = TypeVar("_Number", bound=np.generic)

NO_LINKS: Mapping[tuple[int, int], Link] = MappingProxyType({})
"""The links between the devices of a rank that has one."""


def needs(levels: Levels, storage: Storage, links: Mapping[tuple[int, int], Link] = NO_LINKS) -> MemoryNeeds:
    """Return the memory of a rank: a sub state vector on each device, and staging there and on its host.

    links: the links between the devices of the rank, if it has several.
    """
    devices = 1 + max((place for pair in links for place in pair), default=0)
    flat = Levels(levels.local, levels.peers, levels.slice)
    staged = [links_staging(place, flat, storage, links) if links else (0, 0) for place in range(devices)]
    host = staging(levels, storage) + sum(host for _, host in staged)
    return MemoryNeeds(tuple(storage.nbytes(1 << levels.local) + near for near, _ in staged), host)


def lay_out(request: StateRequest) -> Iterator[Deployment]:
    """Yield a sub state vector on each device of each rank, if the state is divided over ranks."""
    if request.ranks == 1 or request.windowed:
        return
    levels = request.levels(request.local())
    sizes, host = needs(levels, STORAGE[request.options.dtype], request.links)
    yield Deployment("ranks", request.num_wires, levels, request.places, 1, None, max(sizes), host, "")


def create(deployment: Deployment, devices: Sequence[Device], dtype: AmplitudeDtype, limits: Limits) -> Ranks:  # noqa: ARG001
    """Return |0…0> over the ranks that this process is connected to."""
    return Ranks(connection.current(), devices, deployment.num_wires, dtype, deployment.levels)


class Ranks(exchanged.Exchanges, Divided):
    """A state vector over 2^peers devices of ranks, which begins as |0…0⟩; every rank makes one, with the same calls.

    communicator: connects the ranks, of which as many hold amplitudes as are needed (`neighbours.seats_of`).
    devices: those of this rank, each also `Copies`; all ranks have as many, a power of two, and a device may occur
    several times. levels: ``local + peers == num_wires``; the devices of a rank differ in the lowest device bits.
    places: the place of each device number: device k of rank r is place ``r * len(devices) + k``.
    """

    kind = "ranks"

    def __init__(
        self, communicator: Communicator, devices: Sequence[Device], num_wires: int, dtype: DTypeLike, levels: Levels
    ) -> None:
        each = len(devices)
        if each * communicator.size < 1 << levels.peers or num_wires != levels.local + levels.peers:
            raise InvalidInput(
                f"expected local + device bits = {num_wires} wires, and a device for each value of the device bits, "
                f"got {levels.local} local bits, {levels.peers} device bits and {each * communicator.size} devices."
            )
        self.levels = levels
        self.dtype = np.dtype(dtype)
        self.devices = tuple(devices)
        self.communicator = self.shared_by = communicator
        seats = neighbours.seats_of(communicator, max(1, (1 << levels.peers) // each)).ranks
        self._seats = tuple(rank * each + k for rank in seats for k in range(each))
        self.places: Sequence[int] = self._seats
        self._flat = Levels(levels.local, levels.peers, levels.slice)  # trades are in the order of a switch
        among = range(each)
        links = {(a, b): link(devices[a], devices[b]) for a in among for b in among if a != b}
        self.needs = needs(levels, STORAGE[self.dtype], links)
        self._each = each
        self._mine: list[PeerBuffer] = []
        self._bytes_moved = 0
        refused = ""
        self._links = RankLinks(communicator, devices, self._flat, self.dtype)
        kept = self._links.begin(1 << levels.local, self.dtype)
        try:
            if communicator.rank in seats:
                for k in range(each):
                    self._mine.append(self._allocated(k))
        except OutOfMemory as error:
            if kept:  # a rank that has no room for its staging pieces ends the others by its message
                self.release()
                communicator.abort(error)
                raise
            refused = str(error)
        if not kept:
            self._all_have_room(refused)
        self._links.reach_others(1 << levels.local, self.dtype)
        self.begin()

    def _allocated(self, k: int) -> PeerBuffer:
        """Return memory for a sub state vector on device k of this rank, and its end of the links."""
        return self._links.buffer(k, 1 << self.levels.local, self.dtype)

    def _all_have_room(self, refused: str) -> None:
        """Raise `OutOfMemory` on all ranks if one of them has no room; refused: why this one has none, or empty."""
        for rank, why in enumerate(self.communicator.allgather(refused)):
            if why:
                self.release()
                needed = human(state_bytes(self.home_bits, self.dtype))
                raise OutOfMemory(f"rank {rank} has no room for a sub state vector of {needed}. {why}")

    def begin(self) -> None:
        """Set the state to |0…0⟩: one amplitude is written, and all wires are fresh."""
        self.layout = Layout.identity(self.levels.local + self.levels.peers)
        self.fresh = (1 << self.num_wires) - 1
        if (first := self._held.get(0)) is not None:
            first.device.begin(first.buffer)

    def release(self) -> None:
        """Release the memory of this rank; the others are not asked."""
        mine, self._mine = self._mine, []
        try:
            synchronize(mine)
        finally:
            mine.clear()
            self._links.close()

    def another(self, num_wires: int) -> Ranks:
        """Return |0…0⟩ of `num_wires` wires on the same ranks; raise `NotSupported` if no wire would be local."""
        levels = narrowed(self.levels, num_wires, num_wires - self.levels.peers, self._used, "processes")
        return Ranks(self.communicator, self.devices, num_wires, self.dtype, levels)

    # --- description -------------------------------------------------------------------------------------------------

    @property
    def bytes_moved(self) -> int:
        """Bytes sent so far between all devices."""
        return self._bytes_moved

    def traffic(self) -> dict[tuple[int, int], int]:
        """Return the bytes sent so far from one place to another, by all ranks, which all ask; see `places`."""
        everyone = self.communicator.allgather(dict(self._links.sent))
        return dict(sorted((pair, size) for sent in everyone for pair, size in sent.items()))

    def report(self) -> dict[str, object]:
        """Return which ranks hold the state, over what they talk, and the bytes sent between them; all ranks ask."""
        traffic = self.traffic()
        found: dict[str, Any] = {
            "processes": self.communicator.size,
            "processes_used": self._used,
            "rank": self.communicator.rank,
            "communicator": self.communicator.description,
            "bytes_sent": {f"{self._name(a)}>{self._name(b)}": size for (a, b), size in traffic.items()},
            "bytes_held": sum(self.needs.devices) + self.needs.host,
        }
        if self._links.how:
            found["device_memory"] = self._links.how
        if self.levels.layers:
            found["layers"] = [layer.to_json() for layer in self.levels.layers]
            found["bytes_layers"] = self._by_layer(traffic)
        return found

    @property
    def _used(self) -> int:
        """The number of ranks that hold amplitudes."""
        return len(self.places) // self._each

    def _name(self, place: int) -> str:
        """Return the rank of a place, and the number of its device if a rank has several."""
        rank, k = divmod(place, self._each)
        return str(rank) if self._each == 1 else f"{rank}.{k}"

    def _by_layer(self, traffic: Mapping[tuple[int, int], int]) -> list[int]:
        """Return the bytes that were sent over each layer: devices are as far apart as their first numbers."""
        number = {place: k for k, place in enumerate(self._seats)}
        found = [0] * len(self.levels.layers)
        for (a, b), size in traffic.items():
            highest = (number[a] ^ number[b]).bit_length() - 1
            found[self.levels.layer_of(self.levels.local + highest)] += size
        return found

    # --- moving amplitudes -------------------------------------------------------------------------------------------

    @property
    def _held(self) -> dict[int, PeerBuffer]:
        """The sub state vectors of this rank by device number."""
        own = self.communicator.rank * self._each
        return {self.places.index(own + k): peer for k, peer in enumerate(self._mine)}

    def here(self, number: int) -> PeerBuffer:
        """Return the memory of a device number of this rank."""
        return self._held[number]

    def numbers_here(self) -> list[int]:
        """Return the device numbers of this rank."""
        return sorted(self._held)

    def queue_of(self, number: int) -> CopyQueue:
        """Return the queue of copies of a device of this rank."""
        return self._links.queues[self.here(number).place]

    def exchange(self, swaps: Swaps, tick: Callable[[], None] | None = None) -> None:
        """Swap local positions with device bits; the layout and the fresh bits follow."""
        held = self._held
        if held:
            planned = schedule(self._flat, swaps, self.fresh, self._links.piece, tuple(sorted(held)))
            self._links.exchange(held, self.places, planned, tick)
        self._bytes_moved += STORAGE[self.dtype].nbytes(amplitudes_sent(self._flat, swaps, self.fresh))
        exchanged.moved(self, sources(self.num_wires, swaps))

    def rename(self, origins: Sequence[int], flip: int) -> None:
        """Give devices other numbers: new bit ``local + k`` is old bit ``origins[k]``, XOR bit k of `flip`."""
        local = self.home_bits
        places = list(self.places)
        for number, place in enumerate(self.places):
            places[sum((number << local >> origin & 1) << k for k, origin in enumerate(origins)) ^ flip] = place
        self.places = tuple(places)
        exchanged.moved(self, [*range(local), *origins], flip << local)

    # --- direct access to memory -------------------------------------------------------------------------------------

    def visit_one(self, number: int) -> Iterator[NearSubState]:
        """Yield a sub state vector of this rank; raise `NotSupported` for that of another."""
        rank = self.places[number >> self.home_bits - self.levels.local] // self._each
        if rank != self.communicator.rank:
            raise NotSupported(
                f"sub state vector {number} lies on rank {rank}, and this is rank {self.communicator.rank}; ask that "
                "rank for it, or read amplitudes by their basis values."
            )
        return super().visit_one(number)

    def slice_at(self, number: int) -> Buffer:
        """Raise `NotSupported`: slices of other ranks are not in the memory of this process."""
        raise NotSupported(f"slice {number}: slices of a state over several processes cannot be read in place yet.")

    # --- amplitudes --------------------------------------------------------------------------------------------------

    def total(self, mine: NDArray[_Number]) -> NDArray[_Number]:
        """Return the sum of the answers of all ranks."""
        return summed(self.communicator, mine)

    def pieces(self, size: int) -> Iterator[tuple[int, Amplitudes]]:
        """Yield all amplitudes that are not known to be zero, each piece from its rank to all."""
        own, local = self.own_pieces(size), self.levels.local
        count = -(-(1 << local) // size) << self.home_bits - local
        for number in self._live():
            root = self.places[number] // self._each
            for _ in range(count):
                mine = next(own)[1:] if root == self.communicator.rank else None
                yield self.communicator.broadcast(mine, root=root)

    def own_pieces(self, size: int) -> Iterator[tuple[int, int, Amplitudes]]:
        """Return this rank's amplitudes in pieces of `size`, each with its place among those of all and its index.

        All ranks call it, and nothing is sent. Parts that are known to be zero have no pieces.
        """
        home = self.home_bits
        self.write_zeros((1 << home) - 1)
        live = self._live()

        def own() -> Iterator[tuple[int, int, Amplitudes]]:
            for start, values in amplitudes.pieces(self, size):
                before = live.index(start >> home) << home
                yield (before | start & (1 << home) - 1) // size, start, values

        return own()

    def own_slices(self) -> Iterator[tuple[int, Amplitudes]]:
        """Yield the sub state vectors of this rank, each with its first index; nothing is sent."""
        self.write_zeros()
        found = amplitudes.pieces(self, 1 << self.levels.local)
        return iter(sorted(found, key=lambda one: one[0]))

    def _live(self) -> list[int]:
        """Return the device numbers, of all ranks, whose parts are not known to be zero."""
        return [number for number in range(len(self.places)) if not number << self.home_bits & self.fresh]
