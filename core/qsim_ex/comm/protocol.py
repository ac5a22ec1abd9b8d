"""What a state that several ranks share asks of their connection: threads of one process, or processes.

Every rank runs the same program and calls the same operations in the same order. A communicator is one file: `loopback`
connects threads; one over MPI fulfils the same protocol.
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

Array = NDArray[Any]


class Communicator(Protocol):
    """One rank's end of a connection between `size` ranks, numbered from 0.

    An operation returns when this rank may use all arrays that it gave and got. It raises `CommunicationError` when a
    rank that it waits for has failed or has ended; no operation waits for a time.
    """

    @property
    def rank(self) -> int:
        """The number of this rank."""

    @property
    def size(self) -> int:
        """How many ranks there are."""

    def exchange(self, other: int, sent: Array, received: Array) -> None:
        """Send an array to another rank, and fill `received` with what that rank sends; contiguous, of one shape."""

    def allreduce(self, values: Array) -> Array:
        """The sum of what all ranks give, as a new array; the same bits on every rank."""

    def allgather(self, value: Any) -> list[Any]:
        """What each rank gives, in the order of the ranks."""

    def broadcast(self, value: Any, root: int = 0) -> Any:
        """What the rank `root` gives; the value of all others is ignored."""

    def barrier(self) -> None:
        """Return when all ranks have come here."""

    def abort(self, error: BaseException) -> None:
        """Say that this rank has failed: every operation of every rank raises `CommunicationError` from now on.

        The error is its cause. Operations that are waiting are woken. Of several errors the first one counts.
        """

    def close(self) -> None:
        """Say that this rank has ended: whatever waits for it raises `CommunicationError`. May be called again."""
