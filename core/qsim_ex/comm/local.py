"""Ranks that are processes of one host, without MPI: they talk over sockets, and trade amplitudes in place.

A socket ends when its process ends, however that happens, so ranks learn at once of one that is gone. Each rank has two
sockets to each other rank: messages, which are read when they are expected, and announcements, which are always read.
Ranks that wait sleep in the kernel, and leave their cores to others.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from qsim_ex.comm.meeting import folder
from qsim_ex.comm.message_stream import Expected, Sent
from qsim_ex.comm.others import Notice, Others
from qsim_ex.comm.protocol import Array, bytes_of
from qsim_ex.comm.reach import reached
from qsim_ex.comm.swapping import swap_in_place
from qsim_ex.errors import CommunicationError
from qsim_ex.kernels.interrupts import uninterrupted

OPERATIONS = ("exchange", "swap", "allreduce", "allgather", "broadcast", "barrier", "renewed")
"""The operations, by the number that stands in a message's header."""

_GRACE = 2.0
"""Seconds in which other ranks may still do without one that has ended."""


class Local:
    """The end of one rank between processes of one host; see `protocol.Communicator`. One thread at a time may use it.

    rank, size: this process, and how many there are; all of them make one. where: the folder in which they meet.
    """

    def __init__(self, rank: int, size: int, where: Path | None = None) -> None:
        if not 0 <= rank < size:
            raise CommunicationError(
                f"expected a rank from 0 to {size - 1}, got {rank} of {size}; correct the launcher."
            )
        self._begin(Others(rank, size, folder() if where is None else where))
        self._others.reached = reached(self.allgather, rank)

    def _begin(self, others: Others) -> None:
        self._others, self._began = others, others.epoch
        self.rank, self.size = others.rank, others.size
        self._error: BaseException | None = None
        self._left = False  # whether the others were told that this rank has heard of a failure

    @property
    def description(self) -> str:
        """What connects the ranks, and whether they swap memory."""
        return "sockets on one host" + (", in place" if self._others.reached else ", by messages")

    # --- operations --------------------------------------------------------------------------------------------------

    def exchange(self, other: int, sent: Array, received: Array) -> None:
        """Send an array to another rank, and fill `received` with what that rank sends."""
        self.start(other, sent, received)()

    def start(self, other: int, sent: Array, received: Array) -> Callable[[], None]:
        """Start an exchange, and return a function that waits for its end; those with one rank end in this order."""
        if other == self.rank or not 0 <= other < self.size:
            raise ValueError(f"exchange: expected another rank from 0 to {self.size - 1}, got {other}.")
        out, into = bytes_of(sent), bytes_of(received)
        self._check()
        return partial(self._end, other, self._expect(other, "exchange", into), self._send(other, "exchange", out))

    def _end(self, other: int, expected: Expected, sent: Sent) -> None:
        self._wait((other,), expected, sent)
        if expected.size != len(expected.found):
            raise ValueError(
                f"exchange: expected {len(expected.found)} bytes from rank {other}, got {expected.size}; pass arrays "
                "of one shape and dtype."
            )

    def reaches(self, other: int) -> bool:
        """Return whether this rank and another one can reach each other's memory, so that `swap` is possible."""
        return other in self._others.reached

    def swap(self, other: int, arrays: Sequence[Array]) -> None:
        """Trade arrays with another rank that this one reaches, in place; only its death is an error."""

        def meet() -> Callable[[], None]:
            expected, sent = self._expect(other, "swap", b""), self._send(other, "swap")
            return partial(self._wait, (other,), expected, sent, through=True)

        def tell(mine: Array, theirs: Array) -> None:
            # Who has told its places stays if the connection is aborted: the other rank may be about to write there.
            self._check()
            expected = self._expect(other, "exchange", bytes_of(theirs))
            sent = self._send(other, "exchange", bytes_of(mine))
            self._wait((other,), expected, sent, through=True, while_there=True)

        swap_in_place(self, other, self._others.reached[other], arrays, meet, tell)

    def allreduce(self, values: Array) -> Array:
        """Return the sum of the arrays of all ranks, added by rank 0 in the order of the ranks, as a new array."""
        found = np.array(values, order="C")
        self._check()
        if self.rank:
            self._gathered("allreduce", bytes_of(found))
            self._wait((0,), self._expect(0, "allreduce", bytes_of(found)), everyone=True)
            return found
        theirs = np.empty_like(found)
        for other in range(1, self.size):
            expected = self._expect(other, "allreduce", bytes_of(theirs))
            self._wait((other,), expected)
            if expected.size != theirs.nbytes:
                raise ValueError(f"allreduce: expected {theirs.nbytes} bytes from rank {other}, got {expected.size}.")
            found += theirs
        self._spread("allreduce", bytes_of(found))
        return found

    def allgather(self, value: Any) -> list[Any]:
        """Return the values of all ranks, in the order of the ranks, as copies."""
        self._check()
        return self._allgather("allgather", value)

    def _allgather(self, operation: str, value: Any, *, through: bool = False) -> list[Any]:
        said: Any = pickle.dumps(value, protocol=5)
        gathered = self._gathered(operation, said, through=through)
        if self.rank == 0:
            everyone = [said, *(bytes(one) for one in gathered)]
            self._spread(operation, pickle.dumps(everyone, protocol=5), through=through)
        else:
            expected = self._expect(0, operation)
            self._wait((0,), expected, everyone=True, through=through)
            everyone = pickle.loads(expected.found)
        return [pickle.loads(one) for one in everyone]

    def broadcast(self, value: Any, root: int = 0) -> Any:
        """Return the value of the rank `root`: a copy on all others."""
        if not 0 <= root < self.size:
            raise ValueError(f"broadcast: expected root from 0 to {self.size - 1}, got {root}.")
        self._check()
        if self.rank == root:
            self._spread("broadcast", pickle.dumps(value, protocol=5))
            return value
        expected = self._expect(root, "broadcast")
        self._wait((root,), expected, everyone=True)
        return pickle.loads(expected.found)

    def barrier(self) -> None:
        """Return when all ranks have called this."""
        self._check()
        self._allgather("barrier", None)

    # --- closing -----------------------------------------------------------------------------------------------------

    def abort(self, error: BaseException) -> None:
        """Declare that this rank has failed, and tell all others."""
        if self._error is None:
            self._error = error
            self._others.announce(Notice(self._others.epoch, f"{type(error).__name__}: {error}"))
            self._forget()

    def _forget(self) -> None:
        for stream in self._others.streams.values():
            stream.forget()

    def renewed(self) -> Local:
        """Return this end, or one of a new connection if any rank has aborted this one; all ranks call it."""
        return self.renewed_with(None)[0]

    def renewed_with(self, value: Any) -> tuple[Local, list[Any]]:
        """Do what `renewed` does; return the values of all ranks too, which come with the same messages."""
        others = self._others
        failed = self._failure() is not None
        self._forget()
        others.epoch += 1
        found = self._allgather("renewed", (failed, value), through=True)
        others.epoch += 1
        values = [one for _, one in found]
        if not any(aborted for aborted, _ in found):
            return self, values
        new = object.__new__(Local)
        new._begin(others)
        return new, values

    def close(self) -> None:
        """Declare that this rank has ended; may be called again."""
        self._others.close()

    # --- messages ----------------------------------------------------------------------------------------------------

    def _send(self, other: int, operation: str, data: Any = b"") -> Sent:
        return self._others.streams[other].send(self._others.epoch, OPERATIONS.index(operation), data)

    def _expect(self, other: int, operation: str, into: Any = None) -> Expected:
        return self._others.streams[other].expect(self._others.epoch, OPERATIONS.index(operation), into)

    def _gathered(self, operation: str, said: Any, *, through: bool = False) -> list[memoryview]:
        """Send something to rank 0, which returns what all others have sent."""
        if self.rank:
            self._wait((0,), self._send(0, operation, said), everyone=True, through=through)
            return []
        expected = [self._expect(other, operation) for other in range(1, self.size)]
        for other, one in enumerate(expected, 1):
            self._wait((other,), one, through=through)
        return [one.found for one in expected]

    def _spread(self, operation: str, said: Any, *, through: bool = False) -> None:
        """Send something to all other ranks."""
        for other, sent in [(other, self._send(other, operation, said)) for other in self._others.streams]:
            self._wait((other,), sent, through=through)

    def _wait(
        self,
        ranks: Sequence[int],
        *parts: Sent | Expected,
        everyone: bool = False,
        through: bool = False,
        while_there: bool = False,
    ) -> None:
        """Wait for messages of some ranks; raise `CommunicationError` if one of them will never come.

        everyone: whether the message depends on all ranks, so that the end of any is an error after a while. through:
        whether it does not matter that the connection was aborted. while_there: unless one of the ranks has left then.
        """
        others = self._others
        gone: float | None = None
        with uninterrupted():
            for rank in ranks:
                others.streams[rank].work()
        while not all(part.done for part in parts):
            if not through:
                self._check()
            elif while_there and any(map(self._has_left, ranks)):
                others.work(0.1)  # what it has said before
                if not all(part.done for part in parts):
                    self._check()
            if dead := [rank for rank in ranks if others.streams[rank].ended]:
                others.work(0.1)  # what it has announced before
                if not through:
                    self._check()
                self._lost(dead[0])
            if everyone and others.ended:
                gone = gone or time.monotonic()
                if time.monotonic() > gone + _GRACE:
                    self._lost(min(others.ended))
            others.work(1.0 if gone is None else 0.1)
        for part in parts:
            if isinstance(part, Expected) and part.operation != part.wanted:
                wanted, found = OPERATIONS[part.wanted], OPERATIONS[part.operation]
                error = CommunicationError(
                    f"rank {ranks[0]} calls {found}, rank {self.rank} calls {wanted}; expected all ranks to call the "
                    "same operations in the same order."
                )
                self.abort(error)
                raise error

    def _lost(self, rank: int) -> None:
        raise CommunicationError(
            f"rank {rank} of {self.size} takes part in no further operation: "
            f"{self._others.ended.get(rank, 'its process died')}. All ranks have to make the same calls."
        )

    def _failure(self) -> tuple[int, str] | None:
        """Return the first rank that has failed in this connection, and its error in words."""
        if self._error is not None:
            return self.rank, f"{type(self._error).__name__}: {self._error}"
        return next(((rank, words) for _, rank, words in self._heard()), None)

    def _heard(self) -> list[tuple[int, int, str]]:
        return [told for told in self._others.failed if told[0] >= self._began]

    def _has_left(self, rank: int) -> bool:
        """Return whether a rank takes part in nothing more on this connection."""
        return any(other == rank and epoch >= self._began for epoch, other in self._others.left)

    def _check(self) -> None:
        """Raise `CommunicationError` if any rank has aborted this connection; others are told that this one leaves."""
        if self._error is None and not self._left and (heard := self._heard()):
            self._left, (epoch, rank, words) = True, heard[0]
            self._others.announce(Notice(epoch, words, rank))
        if self._error is not None:
            raise CommunicationError(f"another rank has failed: {self._error}") from self._error
        if (found := self._failure()) is not None:
            rank, words = found
            raise CommunicationError(f"rank {rank} of {self.size} has failed, and this rank with it: {words}")
