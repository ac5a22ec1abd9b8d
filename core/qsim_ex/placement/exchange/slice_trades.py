"""The trades of one rank with others, slice by slice: each takes the place of the other, wherever that is.

Both ranks go through the same slices in the same order, so they say nothing but amplitudes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.bits import gathered, spread
from qsim_ex.circuit.ops import mask_of
from qsim_ex.comm.protocol import Communicator
from qsim_ex.placement.exchange.schedule import Swaps
from qsim_ex.placement.windows.slots import Slots
from qsim_ex.placement.windows.window import Index
from qsim_ex.precision import STORAGE, AmplitudeDtype

_SHARE = 6
"""A message is at most 1/2^6 of a rank's part, unless a slice is more."""


def at_once(slice_bytes: int, slices: int) -> int:
    """Return how many slices a message has, of so many in a rank's part."""
    return max(1, min(thresholds.now.slice_message_bytes // slice_bytes, slices >> _SHARE))


def staging(slice_bytes: int, slices: int) -> int:
    """Return the bytes of host memory in which a rank stages what it sends and receives."""
    return 2 * at_once(slice_bytes, slices) * slice_bytes


class SliceTrade(NamedTuple):
    """A trade of slices with the rank of another device number.

    sends: whether this rank has such slices, which are gone then. gets: whether it gets slices for their places.
    """

    other: int
    slices: Index
    sends: bool
    gets: bool


def trades_of(number: int, swaps: Swaps, fresh: int, home: int, slice_bits: int) -> Iterator[SliceTrade]:
    """Yield the trades of a device number with all whose numbers differ in the swapped bits alone.

    swaps: pairs of a bit of a rank's part and a bit of ranks. fresh: the fresh bits before. home: the bits of a part.
    """
    inner, outer = [a for a, _ in swaps], [b - home for _, b in swaps]
    among, inside = mask_of(tuple(inner)), (1 << home) - 1
    slices = np.arange(1 << home - slice_bits, dtype=np.int64)
    slices = slices[slices << slice_bits & fresh & inside & ~among == 0]
    mine = gathered(number, outer)
    for distance in range(1, 1 << len(swaps)):
        theirs = mine ^ distance
        given, got = spread(theirs, inner), spread(mine, inner)
        other = number & ~mask_of(tuple(outer)) | spread(theirs, outer)
        sends = not (number << home | given) & fresh
        gets = not (other << home | got) & fresh
        if sends or gets:
            yield SliceTrade(other, slices[slices << slice_bits & among == given], sends, gets)


class SliceTrades:
    """The trades of one rank, whose part has so many slices. sent: bytes sent so far, from one rank to another."""

    how = ""

    def __init__(self, ranks: Communicator, slice_bytes: int, slices: int) -> None:
        self._ranks = ranks
        self._slice_bytes = slice_bytes
        self._at_once = at_once(slice_bytes, slices)
        self._staging: tuple[NDArray[Any], NDArray[Any]] | None = None
        self.sent: Counter[tuple[int, int]] = Counter()

    def allocate(self, device: Any, dtype: AmplitudeDtype) -> None:
        """Allocate the staging memory; raises `OutOfMemory`."""
        size = STORAGE[dtype].count(self._at_once * self._slice_bytes)
        out, into = (device.host_memory(size, dtype)[0] for _ in range(2))
        self._staging = out, into

    def close(self) -> None:
        """Let go of the staging memory."""
        self._staging = None

    def trade(self, mine: Slots, other: int, trade: SliceTrade, tick: Callable[[], None] | None) -> None:
        """Trade slices with another rank, which trades as many; `tick` is called after each message."""
        assert self._staging is not None
        out, into = self._staging
        each, step = 1 << mine.room.slice, self._at_once
        _, slices, sends, gets = trade
        for first in range(0, len(slices), step):
            some = slices[first : first + step]
            size = len(some) * each
            if sends:
                mine.take(some, out[:size])
                self.sent[self._ranks.rank, other] += len(some) * self._slice_bytes
            self._ranks.exchange(other, out[: size * sends], into[: size * gets])
            if gets:
                mine.give(some, into[:size])
            if tick is not None:
                tick()
