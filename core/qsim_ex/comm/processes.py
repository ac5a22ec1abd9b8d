"""Processes of the same host that share a state, watched so that the death of one ends the others."""

from __future__ import annotations

import os
import select
import socket
from functools import cache
from pathlib import Path

from qsim_ex.comm.protocol import AllGather


class Watched:
    """A process that is watched through a file descriptor, which becomes readable when the process dies."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._descriptor: int | None = os.pidfd_open(pid)

    @property
    def dead(self) -> bool:
        """Whether the process has died; a zombie has."""
        if self._descriptor is None:
            return False
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        """Stop watching; may be called again."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


@cache
def host_key() -> tuple[str, str]:
    """Return what processes that can see each other's process numbers have in common: the host and its namespace."""
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        namespace = str(Path("/proc/self").exists())
    return socket.gethostname(), namespace


def processes_of(allgather: AllGather, rank: int) -> dict[int, Watched]:
    """Return the watched processes of all other ranks on this host; all ranks call it."""
    found: dict[int, Watched] = {}
    own = host_key()
    for other, (key, pid) in enumerate(allgather((own, os.getpid()))):
        if other == rank or key != own or not hasattr(os, "pidfd_open"):
            continue
        try:
            found[other] = Watched(pid)
        except OSError:  # a kernel or a container without it: then the launcher ends the job
            return found
    return found
