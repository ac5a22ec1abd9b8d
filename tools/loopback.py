"""Ranks that are threads of one process, for tests and the fuzzer: they meet in shared memory, under one lock."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from qsim_ex.comm.protocol import Array
from qsim_ex.errors import CommunicationError


def loopback(size: int) -> tuple[Loopback, ...]:
    """Return a connection between `size` threads: the end of each rank."""
    if size < 1:
        raise ValueError(f"expected size >= 1, got {size}; pass the number of ranks.")
    hub, renewals = _Hub(), _Hub()
    return tuple(Loopback(hub, rank, size, renewals) for rank in range(size))


class _Given(NamedTuple):
    """The value that a rank gives to a meeting, and the operation that the rank calls."""

    operation: str
    value: Any


class _Meeting:
    """One operation of some ranks: the value that each has given, and how many have taken their result."""

    def __init__(self) -> None:
        self.given: dict[int, _Given] = {}
        self.taken = 0


class _Hub:
    """The state that all ends share. ended: ranks that have closed their end. error: of the first rank that failed."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.meetings: dict[tuple[tuple[int, ...], int], _Meeting] = {}
        self.ended: set[int] = set()
        self.error: BaseException | None = None

    def wait(self, done: Callable[[], bool], ranks: tuple[int, ...]) -> None:
        """Wait, with the lock held, until `done()` is true; raise if one of the ranks will never make it true."""
        while not done():
            self.check(ranks)
            self.changed.wait()

    def check(self, ranks: tuple[int, ...]) -> None:
        """Raise `CommunicationError` if any rank has failed, or one of `ranks` has ended."""
        if self.error is not None:
            raise CommunicationError(f"another rank has failed: {self.error}") from self.error
        if gone := [rank for rank in ranks if rank in self.ended]:
            raise CommunicationError(f"rank {gone[0]} has ended and takes part in no further operation.")


class Loopback:
    """The end of one rank; see `protocol.Communicator`. Only one thread at a time may use it."""

    description = "threads of one process"

    def __init__(self, hub: _Hub, rank: int, size: int, renewals: _Hub | None = None) -> None:
        self._hub = hub
        self.rank = rank
        self.size = size
        self._renewals = None if renewals is None else Loopback(renewals, rank, size)
        self._met: Counter[tuple[int, ...]] = Counter()

    # --- operations --------------------------------------------------------------------------------------------------

    def exchange(self, other: int, sent: Array, received: Array) -> None:
        """Send an array to another rank, and fill `received` with what that rank sends; contiguous, of one shape."""
        if other == self.rank or not 0 <= other < self.size:
            raise ValueError(f"exchange: expected another rank from 0 to {self.size - 1}, got {other}.")
        self._meet("exchange", tuple(sorted((self.rank, other))), sent, lambda given: _fill(received, given[other]))

    def start(self, other: int, sent: Array, received: Array) -> Callable[[], None]:
        """Return a function that makes an exchange: threads meet when they wait for it."""
        return partial(self.exchange, other, sent, received)

    def allreduce(self, values: Array) -> Array:
        """Return the sum of the arrays of all ranks, added in the order of the ranks, as a new array."""
        found: Array = self._all("allreduce", values, lambda given: np.sum(np.stack(given), axis=0))
        return found

    def allgather(self, value: object) -> list[Any]:
        """Return the values of all ranks, in the order of the ranks: the objects themselves."""
        found: list[Any] = self._all("allgather", value, lambda given: given)
        return found

    def broadcast(self, value: object, root: int = 0) -> Any:
        """Return the value of the rank `root`: the object itself."""
        if not 0 <= root < self.size:
            raise ValueError(f"broadcast: expected root from 0 to {self.size - 1}, got {root}.")
        return self._all(f"broadcast from {root}", value, lambda given: given[root])

    def barrier(self) -> None:
        """Return when all ranks have called this."""
        self._all("barrier", None, lambda _: None)

    # --- closing -----------------------------------------------------------------------------------------------------

    def abort(self, error: BaseException) -> None:
        """Declare that this rank has failed, and wake all others; no meeting will be held, so none keeps its arrays."""
        with self._hub.changed:
            self._hub.error = self._hub.error or error
            self._hub.meetings.clear()
            self._hub.changed.notify_all()

    def renewed(self) -> Loopback:
        """Return this end, or one of a new connection if any rank has aborted this one; all ranks call it."""
        return self.renewed_with(None)[0]

    def renewed_with(self, value: object) -> tuple[Loopback, list[Any]]:
        """Do what `renewed` does; return the values of all ranks too, which come with it."""
        assert self._renewals is not None
        offers = self._renewals.allgather((self._hub.error is not None, _Hub(), value))
        values = [one for *_, one in offers]
        if not any(aborted for aborted, *_ in offers):
            return self, values
        new = Loopback(offers[0][1], self.rank, self.size)
        new._renewals = self._renewals
        return new, values

    def close(self) -> None:
        """Declare that this rank has ended, and wake the ranks that wait for it; may be called again."""
        if self._renewals is not None:
            self._renewals.close()
        with self._hub.changed:
            self._hub.ended.add(self.rank)
            for key in [key for key in self._hub.meetings if self.rank in key[0]]:
                del self._hub.meetings[key]  # those that wait there are told; what was given is kept no longer
            self._hub.changed.notify_all()

    # --- meetings ----------------------------------------------------------------------------------------------------

    def _all(self, operation: str, value: object, take: Callable[[list[Any]], Any]) -> Any:
        """Hold a meeting of all ranks, whose values are passed to `take` in the order of the ranks."""
        ranks = tuple(range(self.size))
        return self._meet(operation, ranks, value, lambda given: take([given[rank] for rank in ranks]))

    def _meet(
        self, operation: str, ranks: tuple[int, ...], value: object, take: Callable[[dict[int, Any]], Any]
    ) -> Any:
        """Give a value, wait for the values of all ranks, return `take` of them once all ranks have taken theirs.

        So no rank changes an array that another rank still reads.
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
        except BaseException as error:  # the others wait for this rank to take its result
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
        """Raise on all ranks unless the ranks that have come so far call the same operation."""
        mine = meeting.given[self.rank].operation
        for rank, given in meeting.given.items():
            if given.operation != mine:
                error = CommunicationError(
                    f"rank {rank} calls {given.operation}, rank {self.rank} calls {mine}; expected all ranks to call "
                    "the same operations in the same order."
                )
                self.abort(error)
                raise error


def _fill(received: Array, sent: Array) -> None:
    """Copy the received values; raise `ValueError` for another shape or dtype, which would be cast in silence."""
    if (received.shape, received.dtype) != (sent.shape, sent.dtype):
        raise ValueError(
            f"exchange: expected an array of {sent.dtype}{list(sent.shape)}, as it is sent, got {received.dtype}"
            f"{list(received.shape)}."
        )
    np.copyto(received, sent)
