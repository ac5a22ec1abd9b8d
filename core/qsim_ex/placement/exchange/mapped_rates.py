"""How fast the devices of different ranks trade amplitudes in mapped memory, measured once for each connection."""

from __future__ import annotations

import time
from typing import Any

from qsim_ex.comm import neighbours
from qsim_ex.comm.neighbours import Seats
from qsim_ex.comm.protocol import Communicator
from qsim_ex.errors import OutOfMemory
from qsim_ex.placement.exchange.links import PeerBuffer
from qsim_ex.placement.exchange.mapped import MappedMemory, MappedTrade
from qsim_ex.placement.exchange.schedule import Part
from qsim_ex.precision import SINGLE

LINK = "mapped"
"""The link between ranks that reach the memory of each other's devices, where a layer is found out."""

_AMPLITUDES = 1 << 25
"""Two thirds of a millisecond between two H200s."""

_ROUNDS = 4

_DTYPE = SINGLE.dtype


class MappedRates:
    """A measurement on one device of each rank; all ranks make one together. how: as in `MappedMemory`."""

    def __init__(self, communicator: Communicator, device: Any, used: int) -> None:
        seated = communicator.rank in neighbours.seats_of(communicator, used).ranks
        offers = []
        if seated:
            try:
                offers = [device.allocate_shared(_AMPLITUDES, _DTYPE)]
            except OutOfMemory:
                seated = False  # the state itself will say so, if it has no room either
        self._memory = MappedMemory(communicator, [device], offers, _AMPLITUDES, _DTYPE)
        self._mine = {0: PeerBuffer(0, device, offers[0].buffer, [])} if seated else {}
        self.how = self._memory.how

    def __call__(self, communicator: Communicator, seats: Seats, distance: int) -> tuple[float, str]:
        """Return the bytes per second that this rank sends to the one at a distance, and the link."""
        if communicator.rank not in seats.ranks:
            return float("inf"), LINK
        number = seats.ranks.index(communicator.rank)
        other = seats.ranks[number ^ distance]
        if other not in self._memory.ranks:
            return neighbours.by_messages(communicator, seats, distance)
        whole = Part(0, 1, _AMPLITUDES, _AMPLITUDES)
        trade = MappedTrade(self._mine[0], whole, other, whole, True, True, int(number > number ^ distance))
        fastest = float("inf")
        for _ in range(_ROUNDS):
            begun = time.perf_counter()
            self._memory.exchange(self._mine, [trade])
            fastest = min(fastest, time.perf_counter() - begun)
        return _AMPLITUDES * _DTYPE.itemsize / fastest, LINK
