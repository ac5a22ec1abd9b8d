"""The other ranks between processes of one host: sockets to each of them, and what they announce of themselves."""

from __future__ import annotations

import atexit
import os
import pickle
import select
import sys
import weakref
from pathlib import Path
from typing import NamedTuple

from qsim_ex.comm.meeting import met
from qsim_ex.comm.message_stream import MessageStream
from qsim_ex.kernels.interrupts import uninterrupted

_ANNOUNCED = -1
"""The number in the header of an announcement."""


class Notice(NamedTuple):
    """What a rank tells all others about itself.

    epoch: in which it failed; None: it has ended. failed: the rank whose failure it has heard of, so that it takes part
    in nothing more; None for its own. words: the error.
    """

    epoch: int | None
    words: str
    failed: int | None = None


class Others:
    """The other ranks: what all connections of one process share.

    ended: why each rank that has ended did. failed: epoch, rank and error of each failure. left: epoch and rank of
    those that failed or heard of one. epoch: counts the calls of `Local.renewed`, twice each, so that what an aborted
    connection has left is told from what follows it.
    """

    def __init__(self, rank: int, size: int, where: Path) -> None:
        self.rank, self.size = rank, size
        sockets = met(rank, size, where)
        self.streams = {other: MessageStream(two.messages) for other, two in sockets.items()}
        self.notices = {other: MessageStream(two.announcements) for other, two in sockets.items()}
        self.ended: dict[int, str] = {}
        self.failed: list[tuple[int, int, str]] = []
        self.left: list[tuple[int, int]] = []
        self.reached: dict[int, int] = {}
        self.epoch = 0
        self.closed = False
        self._next = {other: notices.expect(0, _ANNOUNCED) for other, notices in self.notices.items()}
        self._poll = select.poll()
        self._asked: dict[int, int] = {}  # what the poll looks for, by descriptor
        self._process = os.getpid()
        atexit.register(self.close)
        mine = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _leave(mine()))

    def work(self, seconds: float) -> None:
        """Send and take in what is possible, after waiting for it at most so long."""
        everyone = [*self.streams.values(), *self.notices.values()]
        for stream in everyone:
            asked = select.POLLIN * stream.reads | select.POLLOUT * stream.writes
            if stream.ended:
                asked = 0
            number = stream.fileno()
            if asked == self._asked.get(number, 0):
                continue
            if asked:
                self._poll.register(number, asked)
            else:
                self._poll.unregister(number)
            self._asked[number] = asked
        ready = {number for number, _ in self._poll.poll(1e3 * seconds)}
        with uninterrupted():  # half a message must not be forgotten
            for stream in everyone:
                if stream.fileno() in ready:
                    stream.work()
            self._hear()

    def _hear(self) -> None:
        """Take in announcements."""
        for other, notices in self.notices.items():
            while self._next[other].done:
                epoch, words, failed = pickle.loads(self._next[other].found)
                if epoch is None:
                    self.ended.setdefault(other, words)
                else:
                    self.left.append((epoch, other))
                    self.failed.append((epoch, other if failed is None else failed, words))
                self._next[other] = notices.expect(0, _ANNOUNCED)
                notices.work()
            if notices.ended:
                self.ended.setdefault(other, "its process died")

    def announce(self, announcement: Notice) -> None:
        """Tell all other ranks; it does not wait for them."""
        said = pickle.dumps(tuple(announcement))
        with uninterrupted():
            for notices in self.notices.values():
                notices.send(0, _ANNOUNCED, said)
                notices.work()

    def close(self) -> None:
        """Announce that this rank has ended, with the error that ended the program; may be called again."""
        if self.closed or os.getpid() != self._process:
            return
        self.closed = True
        error = getattr(sys, "last_value", None)
        self.announce(Notice(None, "it has ended" if error is None else f"{type(error).__name__}: {error}"))
        self.leave()
        atexit.unregister(self.close)

    def leave(self) -> None:
        """Close all sockets."""
        for stream in (*self.streams.values(), *self.notices.values()):
            stream.close()
        self.closed = True


def _leave(others: Others | None) -> None:
    """Close the sockets of a forked child, which would otherwise hide the death of its parent."""
    if others is not None:
        others.leave()
