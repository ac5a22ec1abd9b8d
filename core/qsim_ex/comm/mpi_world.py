"""The other ranks over MPI: what they announce of themselves, and what all connections of one process share."""

from __future__ import annotations

import atexit
import os
import pickle
import sys
import time
from typing import Any, NamedTuple

from qsim_ex.comm.processes import Watched

LOOK = 0.05
"""Seconds between two looks at what others announce and at whether they live."""


class Announcement(NamedTuple):
    """What a rank tells all others about itself.

    generation: of the connection that it aborted; None: it has ended. failed: the rank whose failure it has heard of,
    so that it takes part in nothing more; None for its own. words: the error.
    """

    generation: int | None
    words: str
    failed: int | None = None


class World:
    """What all connections of one process over one communicator share.

    control: a communicator for `Mpi.renewed`. notices: one for announcements. ended: why each rank that has ended did.
    failed: for each generation of connections, the first rank that failed, and its error in words. left: generation and
    rank of those that failed or heard of a failure.
    reached: the processes of ranks whose memory this one can reach, and that reach ours. flying: requests that are
    under way; those of a connection that was aborted stay, since what still arrives is written to their memory.
    """

    def __init__(self, given: Any) -> None:
        from mpi4py import MPI

        self.mpi = MPI
        self.given = given
        self.control, self.notices = given.Dup(), given.Dup()
        for made in (self.control, self.notices):
            made.Set_errhandler(MPI.ERRORS_RETURN)
        self.rank, self.size = int(given.Get_rank()), int(given.Get_size())
        self.ended: dict[int, str] = {}
        self.failed: dict[int, tuple[int, str]] = {}
        self.left: set[tuple[int, int]] = set()
        self.watched: dict[int, Watched] = {}
        self.reached: dict[int, int] = {}
        self.flying: list[list[Any]] = []
        self._announced: list[Any] = []
        self._looked = 0.0
        self._process = os.getpid()
        self.closed = False
        atexit.register(self.close)

    def look(self) -> None:
        """Take in what others announce, and see which of the watched processes have died; rarely, since it costs."""
        if (now := time.monotonic()) < self._looked + LOOK:
            return
        self._looked = now
        self.hear()
        for rank, process in self.watched.items():
            if rank not in self.ended and process.dead:
                self.ended[rank] = f"its process {process.pid} died"

    def hear(self) -> None:
        """Take in what others announce."""
        status = self.mpi.Status()
        while self.notices.Iprobe(status=status):
            rank = int(status.Get_source())
            heard = bytearray(status.Get_count(self.mpi.BYTE))
            self.notices.Recv([heard, self.mpi.BYTE], source=rank)
            generation, words, failed = pickle.loads(bytes(heard))
            if generation is None:
                self.ended.setdefault(rank, words)
            else:
                self.left.add((generation, rank))
                self.failed.setdefault(generation, (rank if failed is None else failed, words))

    def announce(self, announcement: Announcement) -> None:
        """Tell all other ranks; it does not wait for them."""
        said = pickle.dumps(tuple(announcement))
        for rank in range(self.size):
            if rank != self.rank and rank not in self.ended:
                self._announced.append(self.notices.Isend([said, self.mpi.BYTE], dest=rank))

    def close(self) -> None:
        """Announce that this rank has ended, with the error that ended the program; may be called again."""
        if self.closed or os.getpid() != self._process or self.mpi.Is_finalized():
            return
        self.closed = True
        error = getattr(sys, "last_value", None)
        self.announce(Announcement(None, "it has ended" if error is None else f"{type(error).__name__}: {error}"))
        for process in self.watched.values():
            process.close()
