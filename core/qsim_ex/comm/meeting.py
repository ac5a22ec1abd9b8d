"""How processes of one host find each other without MPI: by a folder, in which each rank listens on a socket.

Rank and size come from the environment (`launcher.OWN`), and the folder too; only its user may write to it, since
processes believe what they are told there. Nothing is left in it when all have met.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

from qsim_ex.errors import CommunicationError

FOLDER = "QSIM_EX_FOLDER"
"""The variable that names the folder; without it, processes of one parent process meet."""

_HELLO = struct.Struct("<qqq")
"""The first words of a connection: rank, size, and which of the two sockets it is."""

_PATIENCE = 10.0
"""Seconds after which a rank says whom it waits for."""


class Sockets(NamedTuple):
    """Two sockets to another rank: for messages, and for announcements, which overtake them."""

    messages: socket.socket
    announcements: socket.socket


def folder() -> Path:
    """Return the folder where the ranks of this launch meet; raise `CommunicationError` if others may write to it."""
    if given := os.environ.get(FOLDER):
        found = Path(given)
    else:
        found = Path(tempfile.gettempdir()) / f"qsim-ex-{os.getuid()}-{os.getppid()}"
        found.mkdir(mode=0o700, exist_ok=True)
    try:
        about = found.lstat()
    except OSError as error:
        raise CommunicationError(f"{FOLDER}={found}: expected a folder, got none ({error}); make one.") from error
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o022:
        raise CommunicationError(
            f"{found}: expected a folder of this user that nobody else may write to; pass another one in {FOLDER}."
        )
    return found


def met(rank: int, size: int, where: Path) -> dict[int, Sockets]:
    """Return sockets to all other ranks, which call this too; it waits for them, and says so if that takes long."""
    own = where / str(rank)
    own.unlink(missing_ok=True)  # of a rank that died before it had met the others
    found: dict[tuple[int, int], socket.socket] = {}
    try:
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(str(own))
            door.listen(2 * size)
            door.settimeout(_PATIENCE)
            for other in range(rank):
                for which in (0, 1):
                    found[other, which] = _call(rank, size, where, other, which)
            while len(found) < 2 * (size - 1):
                _answer(door, rank, size, found)
    except BaseException:
        for one in found.values():
            one.close()
        raise
    finally:
        own.unlink(missing_ok=True)
    if FOLDER not in os.environ:  # the last one that has met all others finds it empty
        with contextlib.suppress(OSError):
            where.rmdir()
    others = (other for other in range(size) if other != rank)
    return {other: Sockets(found[other, 0], found[other, 1]) for other in others}


def _call(rank: int, size: int, where: Path, other: int, which: int) -> socket.socket:
    """Return a socket to another rank, as soon as it listens."""
    began, told, pause = time.monotonic(), False, 1e-3
    while True:
        made = socket.socket(socket.AF_UNIX)
        try:
            made.connect(str(where / str(other)))
        except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
            made.close()
        except BaseException:
            made.close()
            raise
        else:
            made.sendall(_HELLO.pack(rank, size, which))
            return made
        if time.monotonic() - began > _PATIENCE and not told:
            told = True
            _tell(rank, size, [other])
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _answer(door: socket.socket, rank: int, size: int, found: dict[tuple[int, int], socket.socket]) -> None:
    """Accept one connection from a higher rank."""
    try:
        made, _ = door.accept()
    except TimeoutError:
        _tell(rank, size, [other for other in range(size) if other != rank and (other, 0) not in found])
        return
    made.settimeout(_PATIENCE)
    hello = made.recv(_HELLO.size, socket.MSG_WAITALL)
    other, their_size, which = _HELLO.unpack(hello) if len(hello) == _HELLO.size else (-1, -1, -1)
    if their_size != size or not rank < other < size or which not in (0, 1) or (other, which) in found:
        made.close()
        raise CommunicationError(
            f"rank {rank} of {size} was called by rank {other} of {their_size}; give each process a rank of its own, "
            f"and each launch a folder of its own in {FOLDER}."
        )
    found[other, which] = made


def _tell(rank: int, size: int, missing: list[int]) -> None:
    shared = "" if FOLDER in os.environ else f", and {FOLDER} where they have different parent processes"
    warnings.warn(
        f"rank {rank} of {size} still waits for rank {', '.join(map(str, missing))} to take part. All processes need "
        f"the same calls{shared}.",
        RuntimeWarning,
        stacklevel=2,
    )
