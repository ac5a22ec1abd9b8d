"""File descriptors that ranks of one host give each other, by which they map each other's memory.

A rank fetches descriptors from the other process (``pidfd_getfd``) where the system permits it, as it does where a rank
may read the other's memory. Else their owner sends them through a Unix socket (``SCM_RIGHTS``), which also works
between containers that share a folder. No call waits for one rank: all ranks meet in `allgather`, which knows of dead
ones, and what a rank has sent lies in a socket by then.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import socket
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from qsim_ex.comm.neighbours import place
from qsim_ex.comm.processes import host_key
from qsim_ex.comm.protocol import AllGather

Descriptors = tuple[int, ...]

PIDFD, SOCKET = "pidfd", "a Unix socket"
"""The ways to get a descriptor, for results."""

_PIDFD_GETFD = 438
"""The number of the system call, which is the same for all processors."""

_MOST = 253
"""The most descriptors of one message (SCM_MAX_FD)."""

_libc = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None


class Passed(NamedTuple):
    """Descriptors of other ranks, which this process has to close.

    by: how those of a rank were got. refused: why those of a rank were not.
    """

    found: dict[int, Descriptors]
    by: dict[int, str]
    refused: dict[int, str]


class _Owner(NamedTuple):
    """A rank that has descriptors: its machine, who sees its process number, and that number."""

    machine: str
    seen: tuple[str, str]
    pid: int
    descriptors: Descriptors


class _Asked(NamedTuple):
    """Where a rank receives descriptors, and of which ranks. why: it cannot, in words."""

    path: str
    ranks: tuple[int, ...]
    why: str


def passed(allgather: AllGather, rank: int, own: Sequence[int]) -> Passed:
    """Return the descriptors of all other ranks of this host; all ranks call it, each with its own.

    They may be closed by their owner as soon as this returns on any rank and all have met once more.
    """
    owners: list[_Owner] = allgather(_Owner(place()[0], host_key(), os.getpid(), tuple(own)))
    mine = owners[rank]
    result = Passed({}, {}, {})
    missing = []
    for other, owner in enumerate(owners):
        if other == rank or not owner.descriptors:
            continue
        if owner.machine != mine.machine:
            result.refused[other] = "it runs on another host"
            continue
        try:
            if owner.seen != mine.seen:
                raise OSError(0, "its process number is not seen here")
            result.found[other], result.by[other] = fetched(owner.pid, owner.descriptors), PIDFD
        except OSError as error:
            result.refused[other] = f"pidfd_getfd: {error.strerror}"
            missing.append(other)
    _through_sockets(allgather, rank, own, tuple(missing), result)
    return result


def close(descriptors: Sequence[int]) -> None:
    """Close descriptors; those that are closed already do not matter."""
    for one in descriptors:
        with contextlib.suppress(OSError):
            os.close(one)


def fetched(pid: int, descriptors: Sequence[int]) -> Descriptors:
    """Return descriptors of another process as some of this one; raise `OSError` where that is not permitted."""
    if _libc is None or not hasattr(os, "pidfd_open"):
        raise OSError(0, "this system has no pidfd")
    process = os.pidfd_open(pid)
    found: list[int] = []
    try:
        for one in descriptors:
            got = int(_libc.syscall(_PIDFD_GETFD, process, one, 0))
            if got < 0:
                raise OSError(error := ctypes.get_errno(), os.strerror(error))
            found.append(got)
    except OSError:
        close(found)
        raise
    finally:
        os.close(process)
    return tuple(found)


def _through_sockets(
    allgather: AllGather, rank: int, own: Sequence[int], missing: tuple[int, ...], result: Passed
) -> None:
    """Add the descriptors of ranks that have to send them; all ranks call it."""
    with _Inbox(missing) as inbox:
        asked: list[_Asked] = allgather(inbox.asked)
        if not any(one.ranks for one in asked):
            return
        unsent = {}
        for other, one in enumerate(asked):
            if rank in one.ranks and one.path:
                try:
                    _send(one.path, rank, own)
                except OSError as error:
                    unsent[other] = error.strerror or str(error)
        told: list[dict[int, str]] = allgather(unsent)  # what is sent now waits to be received
        got = inbox.received()
    for other in missing:
        if other in got:
            result.found[other], result.by[other] = got[other], SOCKET
            del result.refused[other]
        else:
            why = inbox.asked.why or told[other].get(rank, "nothing came")
            result.refused[other] += f", Unix socket: {why}"


def _send(path: str, rank: int, descriptors: Sequence[int]) -> None:
    """Send descriptors to the inbox of another rank; it need not receive them yet."""
    with socket.socket(socket.AF_UNIX) as to:
        to.setblocking(False)  # an inbox that is full is an error
        to.connect(path)
        socket.send_fds(to, [struct.pack("q", rank)], list(descriptors))


class _Inbox:
    """A socket for the descriptors of some ranks, in a folder that only this user may enter; none for no ranks."""

    def __init__(self, ranks: tuple[int, ...]) -> None:
        self._ranks = ranks
        self._folder: str | None = None
        self._socket: socket.socket | None = None
        self.asked = _Asked("", ranks, "")

    def __enter__(self) -> Self:
        if not self._ranks:
            return self
        try:
            self._folder = tempfile.mkdtemp(prefix="qsim-ex-")
            path = str(Path(self._folder) / "inbox")
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.bind(path)
            self._socket.listen(len(self._ranks))
            self._socket.setblocking(False)
            self.asked = _Asked(path, self._ranks, "")
        except OSError as error:
            self.asked = _Asked("", self._ranks, error.strerror or str(error))
        return self

    def __exit__(self, *_: object) -> None:
        if self._socket is not None:
            self._socket.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def received(self) -> dict[int, Descriptors]:
        """Return the descriptors that have come, by rank; those of other users and of nobody asked are closed."""
        found: dict[int, Descriptors] = {}
        while self._socket is not None:
            try:
                one, _ = self._socket.accept()
            except OSError:
                break
            with one:
                one.setblocking(False)
                _, user, _ = struct.unpack("3i", one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                try:
                    said, descriptors, _, _ = socket.recv_fds(one, 8, _MOST, socket.MSG_CMSG_CLOEXEC)
                except OSError:
                    continue
            sender = struct.unpack("q", said)[0] if len(said) == 8 else -1
            if user == os.getuid() and sender in self._ranks and sender not in found:
                found[sender] = tuple(descriptors)
            else:
                close(descriptors)
        return found
