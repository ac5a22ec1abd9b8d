"""Sub state vectors of other ranks that are mapped into this process, and trades with them in place.

Ranks whose devices share memory map each other's sub state vectors when a state is made. An exchange is then two
meetings of ranks: between them each swaps one half of every part that both send, by a kernel that reads and writes both
memories, and copies what only the other one sends. There is no staging memory and no message.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

import numpy as np

from qsim_ex import thresholds
from qsim_ex.comm import descriptors
from qsim_ex.comm.protocol import Communicator, StartsExchanges
from qsim_ex.devices.base import Buffer
from qsim_ex.devices.sharing import Handle, SharedBuffer, SharesMemory
from qsim_ex.errors import DeviceError, OutOfMemory
from qsim_ex.placement.exchange.links import PeerBuffer
from qsim_ex.placement.exchange.schedule import Part
from qsim_ex.precision import STORAGE

KEPT_SHARE = 8
"""Memory of a state is kept for the next one of its size if it is at most this part of a device's, an eighth.

To allocate 8 GiB and map as many took 24 ms on two H200s, and to let go of them 8 ms: as long as a run.
"""


class MappedTrade(NamedTuple):
    """One piece that is traded with another rank.

    end, part: our end, and the part of our sub state vector. place: the other device, whose part is `theirs`.
    sends, gets: whether ours and theirs are sent. half: the half that we swap, 0 or 1.
    """

    end: PeerBuffer
    part: Part
    place: int
    theirs: Part
    sends: bool
    gets: bool
    half: int


class _Said(NamedTuple):
    """What a rank with amplitudes tells the others of its memory: handles that are bytes, and as in `SharedBuffer`."""

    handles: tuple[bytes, ...]
    kind: str
    why: str
    token: bytes


class _Reached(NamedTuple):
    """The ranks whose memory a rank has mapped, how it got their handles, and why not those of others."""

    ranks: frozenset[int]
    by: frozenset[str]
    refused: dict[int, str]


class MappedMemory:
    """The sub state vectors of other ranks that this rank reaches, and that reach its own.

    All ranks make one together, those without amplitudes too. devices: those of this rank. offers: the memory of each
    of them, as it was allocated; empty on a rank without amplitudes. ranks: those reached. how: in words what all ranks
    found, the same on all. complete: whether each reaches all others, the same on all. token: names this memory on all
    ranks. agreed: whether all ranks know that all have kept it, see `agree`.
    """

    def __init__(
        self,
        ranks: Communicator,
        devices: Sequence[Any],
        offers: Sequence[SharedBuffer],
        num_amplitudes: int,
        dtype: Any,
    ) -> None:
        self._ranks: Communicator | None = ranks
        self._each = len(devices)
        self._storage = STORAGE[np.dtype(dtype)]
        self._theirs: dict[tuple[int, int], Buffer] = {}
        self.buffers = [offer.buffer for offer in offers]
        self._of = tuple(devices), num_amplitudes, np.dtype(dtype)
        handles = [offer.handle for offer in offers]
        blobs = tuple(handle for handle in handles if isinstance(handle, bytes))
        files = tuple(handle for handle in handles if isinstance(handle, int))
        with ExitStack() as kept:
            kept.callback(descriptors.close, files)
            said: list[_Said | None] = ranks.allgather(_Said(blobs, *offers[0][2:], os.urandom(16)) if offers else None)
            passed = descriptors.passed(ranks.allgather, ranks.rank, files)
            for found in passed.found.values():
                kept.callback(descriptors.close, found)
            refused: dict[int, str] = {}
            for rank, other in enumerate(said):
                if offers and other is not None and rank != ranks.rank:
                    theirs: Sequence[Handle] = other.handles or passed.found.get(rank, ())
                    why = passed.refused.get(rank, other.why)
                    refused[rank] = self._map(devices, rank, theirs, num_amplitudes, dtype) if theirs else why
            mine = frozenset(rank for rank, why in refused.items() if not why)
            reached = _Reached(mine, frozenset(passed.by.values()), {rank: why for rank, why in refused.items() if why})
            everyone: list[_Reached] = ranks.allgather(reached)
        self.ranks = frozenset(rank for rank in mine if ranks.rank in everyone[rank].ranks)
        self._theirs = {key: buffer for key, buffer in self._theirs.items() if key[1] // self._each in self.ranks}
        numbers = frozenset(rank for rank, one in enumerate(said) if one is not None)
        self.complete = all(everyone[rank].ranks == numbers - {rank} for rank in numbers)
        seated = [one for one in said if one is not None]
        self.how = _in_words(seated, everyone, "not mapped" if devices[0].in_host_memory else "copied through the host")
        self.token = seated[0].token if seated else b""
        self.agreed = False

    def _map(
        self, devices: Sequence[SharesMemory], rank: int, handles: Sequence[Handle], num_amplitudes: int, dtype: Any
    ) -> str:
        """Map the memory of a rank's devices for each device of ours; return why that is not possible, or nothing."""
        try:
            for j, handle in enumerate(handles):
                made: dict[int, Buffer] = {}
                for k, device in enumerate(devices):
                    if id(device) not in made:
                        made[id(device)] = device.map_shared(handle, num_amplitudes, dtype)
                    self._theirs[k, rank * self._each + j] = made[id(device)]
        except (DeviceError, OutOfMemory) as error:
            return str(error)
        return ""

    def keep(self) -> None:
        """Keep this memory, which nobody uses any more, for the next state of its size, unless it is large."""
        devices, count, dtype = self._of
        # Ranks of a host share its memory.
        shares = KEPT_SHARE * (1 + len(self.ranks) if devices[0].in_host_memory else 1)
        if all(STORAGE[np.dtype(dtype)].nbytes(shares * count) <= device.memory()[1] for device in devices):
            with suppress(TypeError):  # nothing is kept for an object that cannot be referred to weakly
                if (before := _kept.get(self._connection())) is None or not before.agreed:
                    _kept[self._connection()] = self
        self._ranks = None  # a connection that nobody else uses is forgotten, with what was kept

    @staticmethod
    def kept(ranks: Communicator, devices: Sequence[Any], num_amplitudes: int, dtype: Any) -> MappedMemory | None:
        """Return memory that all ranks have kept, for a state of this size; all call it, and let go of other memory."""
        found: MappedMemory | None = None
        with suppress(TypeError):
            found = _kept.pop(ranks, None)
        if found is not None and found._of != (tuple(devices), num_amplitudes, np.dtype(dtype)):
            found = None
        if found is not None and found.agreed:
            found._ranks, found.agreed = ranks, False
            return found
        tokens = ranks.allgather(None if found is None else found.token)
        if found is None or tokens != [found.token] * len(tokens):
            return None
        found._ranks = ranks
        return found

    @staticmethod
    def let_go(ranks: Communicator) -> None:
        """Let go of memory that is kept, for a state that takes none of it; the other ranks are not asked."""
        with suppress(TypeError):
            _kept.pop(ranks, None)

    @staticmethod
    def kept_token(ranks: Communicator, *devices: Sequence[object]) -> bytes | None:
        """Return the token of the memory that is kept here, for `agree`; None if there is none on such devices.

        devices: those that the next state may be on. Other ranks cannot know that this one uses others now.
        """
        with suppress(TypeError):
            if (found := _kept.get(ranks)) is not None and found._of[0] in map(tuple, devices):
                found.agreed = True  # so that nothing else is kept in its place before all have agreed
                return found.token
        return None

    @staticmethod
    def agree(ranks: Communicator, tokens: Sequence[bytes | None]) -> None:
        """Take what `kept_token` gave on all ranks, which they have told each other with something else.

        If it is one token, the next state of that size gets the memory without asking again.
        """
        with suppress(TypeError):
            if (found := _kept.get(ranks)) is not None:
                found.agreed = list(tokens) == [found.token] * len(tokens)

    @staticmethod
    def kept_bytes(ranks: Communicator, device: object) -> int:
        """Return the bytes of a device that are kept, which the next state gets, or which are let go before it."""
        with suppress(TypeError):
            if (found := _kept.get(ranks)) is not None:
                devices, count, dtype = found._of
                return STORAGE[np.dtype(dtype)].nbytes(devices.count(device) * count)
        return 0

    def _connection(self) -> Communicator:
        """Return the connection between the ranks, which memory that is kept has not."""
        assert self._ranks is not None
        return self._ranks

    def exchange(
        self, mine: Mapping[int, PeerBuffer], trades: Sequence[MappedTrade], tick: Callable[[], None] | None = None
    ) -> None:
        """Make trades with ranks of `ranks`; all of them make theirs with us.

        Work queued on the devices before runs before the trades. A rank that leaves with an error waits for its own
        work alone: memory that another one still writes lasts as long as that has it mapped.
        """
        ends = list(mine.values())
        others = sorted({trade.place // self._each for trade in trades})
        _synchronize(ends)
        self._meet(others)
        queued = 0
        try:
            for trade in trades:
                device = trade.end.device
                here = trade.part.of(trade.end.buffer)
                there = trade.theirs.of(self._theirs[trade.end.place, trade.place])
                if trade.sends and trade.gets:
                    device.swap_half(here, there, trade.half)
                elif trade.gets:
                    device.pull(here, there)
                queued += self._storage.nbytes(trade.part.size)
                if queued > thresholds.now.mapped_bytes and tick is not None:
                    _synchronize(ends)
                    tick()
                    queued = 0
        finally:
            _synchronize(ends)
        self._meet(others)

    def _meet(self, others: Sequence[int]) -> None:
        """Return when some ranks have come here too; a rank that will not come is an error."""
        ranks = self._connection()
        waiting = []
        for other in others:
            said, heard = np.zeros(1, dtype=np.uint8), np.empty(1, dtype=np.uint8)
            if isinstance(ranks, StartsExchanges):
                waiting.append(ranks.start(other, said, heard))
            else:
                ranks.exchange(other, said, heard)
        for arrived in waiting:
            arrived()


_kept: weakref.WeakKeyDictionary[Communicator, MappedMemory] = weakref.WeakKeyDictionary()
"""The memory of the last state over each connection."""


def _synchronize(ends: Iterable[PeerBuffer]) -> None:
    for end in ends:
        end.device.synchronize()


def _in_words(said: Sequence[_Said], everyone: Sequence[_Reached], words: str) -> str:
    """Return how ranks reach the memory of each other's devices, and why not better, by the first that does not.

    words: say it if none does.
    """
    ways = ", ".join(sorted({way for one in everyone for way in one.by}))
    refused = [(a, b, why) for a, one in enumerate(everyone) for b, why in sorted(one.refused.items())]
    why = ""
    if any(one.ranks for one in everyone):
        words = f"mapped by {said[0].kind}" + (f" from {ways}" if ways else "")
        why = said[0].why
    if refused:
        a, b, why = refused[0]
        why = f"rank {a} does not reach rank {b}: {why}"
    return words + (f"; {why}" if why else "")
