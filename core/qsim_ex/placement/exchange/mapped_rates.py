"""How fast the devices of different ranks trade amplitudes in mapped memory, measured once for each connection."""

from __future__ import annotations

import time
from typing import Any

from qsim_ex.comm import neighbours
from qsim_ex.comm.neighbours import Rate, Seats
from qsim_ex.comm.protocol import Communicator
from qsim_ex.errors import OutOfMemory
from qsim_ex.placement.exchange.links import PeerBuffer
from qsim_ex.placement.exchange.mapped import MappedMemory, MappedTrade
from qsim_ex.placement.exchange.schedule import Part
from qsim_ex.precision import SINGLE

LINK = "mapped"
"""The link between ranks that reach the memory of each other's devices, where a layer is found out."""

_AMPLITUDES = {"gpu": 1 << 25, "cpu": 1 << 21}
"""Two thirds of a millisecond between two H200s, and 3 to 10 ms between two cores."""

_ROUNDS = 4

_DTYPE = SINGLE.storage.dtype


class MappedRates:
    """A measurement on one device of each rank; all ranks make one together. how: as in `MappedMemory`.

    Trades with ranks whose memory is not mapped are measured as they are made then.
    """

    def __init__(self, communicator: Communicator, device: Any, used: int) -> None:
        size = self._size = _AMPLITUDES[device.kind]
        self._otherwise: Rate = neighbours.on_hosts if device.in_host_memory else neighbours.by_messages
        seated = communicator.rank in neighbours.seats_of(communicator, used).ranks
        offers = []
        if seated:
            try:
                offers = [device.allocate_shared(size, _DTYPE)]
            except OutOfMemory:
                seated = False  # the state itself will say so, if it has no room either
        self._memory = MappedMemory(communicator, [device], offers, size, _DTYPE)
        self._mine = {0: PeerBuffer(0, device, offers[0].buffer, [])} if seated else {}
        self.how = self._memory.how

    def __call__(self, communicator: Communicator, seats: Seats, distance: int) -> tuple[float, str]:
        """Return the bytes per second that this rank sends to the one at a distance, and the link."""
        if communicator.rank not in seats.ranks:
            return float("inf"), LINK
        number = seats.ranks.index(communicator.rank)
        other = seats.ranks[number ^ distance]
        if other not in self._memory.ranks:
            return self._otherwise(communicator, seats, distance)
        whole = Part(0, 1, self._size, self._size)
        trade = MappedTrade(self._mine[0], whole, other, whole, True, True, int(number > number ^ distance))
        fastest = float("inf")
        for _ in range(_ROUNDS):
            begun = time.perf_counter()
            self._memory.exchange(self._mine, [trade])
            fastest = min(fastest, time.perf_counter() - begun)
        return SINGLE.storage.nbytes(self._size) / fastest, LINK
