"""Ranks that are threads of one process: they meet in shared memory, under one lock."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from qsim_ex.comm.protocol import Array
from qsim_ex.errors import CommunicationError


def loopback(size: int) -> tuple[Loopback, ...]:
    """A connection between so many threads: the end of each rank."""
    if size < 1:
        raise ValueError(f"expected size >= 1, got {size}; a connection has at least one rank.")
    hub = _Hub()
    return tuple(Loopback(hub, rank, size) for rank in range(size))


class _Given(NamedTuple):
    """What a rank brings to a meeting, and to which operation it thinks it belongs."""

    operation: str
    value: Any


class _Meeting:
    """One operation of some ranks: what each of them has given, and how many have taken what they came for."""

    def __init__(self) -> None:
        self.given: dict[int, _Given] = {}
        self.taken = 0


class _Hub:
    """What all ends share. ended: the ranks that have closed their end. error: of the first rank that has failed."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.meetings: dict[tuple[tuple[int, ...], int], _Meeting] = {}
        self.ended: set[int] = set()
        self.error: BaseException | None = None

    def wait(self, done: Callable[[], bool], ranks: tuple[int, ...]) -> None:
        """Wait, with the lock held, until something is done; raise if one of the ranks will never do it."""
        while not done():
            self.check(ranks)
            self.changed.wait()

    def check(self, ranks: tuple[int, ...]) -> None:
        """Raise `CommunicationError` if a rank has failed, or one of these has ended."""
        if self.error is not None:
            raise CommunicationError(f"another rank has failed: {self.error}") from self.error
        if gone := [rank for rank in ranks if rank in self.ended]:
            raise CommunicationError(f"rank {gone[0]} has ended, and takes part in nothing any more.")


class Loopback:
    """The end of one rank; see `protocol.Communicator`. One thread uses it at a time."""

    def __init__(self, hub: _Hub, rank: int, size: int) -> None:
        self._hub = hub
        self.rank = rank
        self.size = size
        self._met: Counter[tuple[int, ...]] = Counter()

    # --- operations --------------------------------------------------------------------------------------------------

    def exchange(self, other: int, sent: Array, received: Array) -> None:
        """Send an array to another rank, and fill `received` with what that rank sends; contiguous, of one shape."""
        if other == self.rank or not 0 <= other < self.size:
            raise ValueError(f"exchange: expected another rank from 0 to {self.size - 1}, got {other}.")
        self._meet("exchange", tuple(sorted((self.rank, other))), sent, lambda given: _fill(received, given[other]))

    def allreduce(self, values: Array) -> Array:
        """The sum of what all ranks give, in the order of the ranks, as a new array."""
        found: Array = self._all("allreduce", values, lambda given: np.sum(np.stack(given), axis=0))
        return found

    def allgather(self, value: Any) -> list[Any]:
        """What each rank gives, in the order of the ranks: the objects themselves."""
        found: list[Any] = self._all("allgather", value, lambda given: given)
        return found

    def broadcast(self, value: Any, root: int = 0) -> Any:
        """What the rank `root` gives: the object itself."""
        if not 0 <= root < self.size:
            raise ValueError(f"broadcast: expected a root from 0 to {self.size - 1}, got {root}.")
        return self._all(f"broadcast from {root}", value, lambda given: given[root])

    def barrier(self) -> None:
        """Return when all ranks have come here."""
        self._all("barrier", None, lambda _: None)

    # --- the end -----------------------------------------------------------------------------------------------------

    def abort(self, error: BaseException) -> None:
        """Say that this rank has failed, and wake all others."""
        with self._hub.changed:
            self._hub.error = self._hub.error or error
            self._hub.changed.notify_all()

    def close(self) -> None:
        """Say that this rank has ended, and wake those who wait for it; may be called again."""
        with self._hub.changed:
            self._hub.ended.add(self.rank)
            self._hub.changed.notify_all()

    # --- meetings ----------------------------------------------------------------------------------------------------

    def _all(self, operation: str, value: Any, take: Callable[[list[Any]], Any]) -> Any:
        """A meeting of all ranks, whose values are taken in the order of the ranks."""
        ranks = tuple(range(self.size))
        return self._meet(operation, ranks, value, lambda given: take([given[rank] for rank in ranks]))

    def _meet(self, operation: str, ranks: tuple[int, ...], value: Any, take: Callable[[dict[int, Any]], Any]) -> Any:
        """Give a value; take what is wanted of all values once all ranks have come; leave when all have taken.

        So nobody changes an array that another rank still reads.
        """
        hub, key = self._hub, (ranks, self._met[ranks])
        self._met[ranks] += 1
        with hub.changed:
            hub.check(ranks)
            meeting = hub.meetings.setdefault(key, _Meeting())
            meeting.given[self.rank] = _Given(operation, value)
            self._agree(meeting)
            hub.changed.notify_all()
            hub.wait(lambda: len(meeting.given) == len(ranks), ranks)
        try:
            found = take({rank: given.value for rank, given in meeting.given.items()})
        except BaseException as error:  # the others wait for this rank to take what it came for
            self.abort(error)
            raise
        with hub.changed:
            meeting.taken += 1
            if meeting.taken == len(ranks):
                hub.meetings.pop(key, None)
            hub.changed.notify_all()
            hub.wait(lambda: meeting.taken == len(ranks), ranks)
        return found

    def _agree(self, meeting: _Meeting) -> None:
        """Fail, for all ranks, unless those that have come so far want the same operation."""
        mine = meeting.given[self.rank].operation
        for rank, given in meeting.given.items():
            if given.operation != mine:
                error = CommunicationError(
                    f"rank {rank} is at {given.operation}, rank {self.rank} at {mine}; all ranks call the same "
                    "operations in the same order."
                )
                self.abort(error)
                raise error


def _fill(received: Array, sent: Array) -> None:
    """Copy what came; raises `ValueError` for arrays of other shapes or dtypes, which would be cast in silence."""
    if (received.shape, received.dtype) != (sent.shape, sent.dtype):
        raise ValueError(
            f"exchange: expected an array of {sent.dtype}{list(sent.shape)}, as is sent, got {received.dtype}"
            f"{list(received.shape)}."
        )
    np.copyto(received, sent)
