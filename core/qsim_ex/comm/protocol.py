"""The protocol of a connection between ranks that share a state: threads of one process, or processes.

Every rank runs the same program and calls the same operations in the same order. A communicator is one file: `mpi`
connects processes; for tests tools/loopback.py connects threads. An object of a user's own that fulfils this protocol
is used by `connection.connected`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

AllGather = Callable[[object], list[Any]]
"""`Communicator.allgather`."""


class Communicator(Protocol):
    """One rank's end of a connection between `size` ranks, numbered from 0.

    An operation returns when this rank may use all arrays that it gave and received. It raises `CommunicationError`
    when a rank that it waits for has failed or has ended; no operation has a timeout.
    """

    @property
    def rank(self) -> int:
        """The number of this rank."""

    @property
    def size(self) -> int:
        """The number of ranks."""

    @property
    def description(self) -> str:
        """What connects the ranks, in a few words, for results."""

    def exchange(self, other: int, sent: Array, received: Array) -> None:
        """Send an array to another rank, and fill `received` with what that rank sends.

        Both are contiguous, and each has the shape of its counterpart at the other rank. An empty one stands for
        nothing to send in this direction.
        """

    def allreduce(self, values: Array) -> Array:
        """Return the sum of the arrays of all ranks, as a new array; the same bits on every rank."""

    def allgather(self, value: object) -> list[Any]:
        """Return the values of all ranks, in the order of the ranks."""

    def broadcast(self, value: object, root: int = 0) -> Any:
        """Return the value of the rank `root`; the values of all others are ignored."""

    def barrier(self) -> None:
        """Return when all ranks have called this."""

    def abort(self, error: BaseException) -> None:
        """Declare that this rank has failed: every operation of every rank raises `CommunicationError` from now on.

        The error is its cause. Operations that are waiting are woken. Of several errors the first one counts.
        """

    def renewed(self) -> Communicator:
        """Return this connection, or a new one between the same ranks if any of them has aborted it.

        All ranks call it, and it works after an abort.
        """

    def close(self) -> None:
        """Declare that this rank has ended: operations that wait for it raise `CommunicationError`; may be repeated."""


@runtime_checkable
class StartsExchanges(Protocol):
    """A communicator that can exchange and do something else meanwhile; it need not."""

    def start(self, other: int, sent: Array, received: Array) -> Callable[[], None]:
        """Start an exchange, and return a function that waits for its end; those with one rank end in this order."""


@runtime_checkable
class SwapsInPlace(Protocol):
    """A communicator that can trade arrays in place, at least between some ranks. It need not."""

    def reaches(self, other: int) -> bool:
        """Return whether `swap` with another rank is possible; the same at both."""

    def swap(self, other: int, arrays: Sequence[Array]) -> None:
        """Trade arrays with another rank, in place: in one dimension, or in two with contiguous rows."""


@runtime_checkable
class GathersAsItRenews(Protocol):
    """A communicator whose `renewed` takes values along, which saves a message before each run. It need not."""

    def renewed_with(self, value: object) -> tuple[Communicator, list[Any]]:
        """Do what `renewed` does; return the values of all ranks too, in the order of the ranks."""


@runtime_checkable
class Watches(Protocol):
    """A communicator that knows of failures without a rank waiting for another. It need not."""

    def check(self) -> None:
        """Raise `CommunicationError` if any rank has failed or has ended; return at once."""


def bytes_of(array: Array) -> Array:
    """Return a contiguous array as bytes, without a copy."""
    if not array.flags.c_contiguous:
        raise ValueError("exchange: expected contiguous arrays, got one with gaps; pass a contiguous copy.")
    return array.reshape(-1).view(np.uint8)
