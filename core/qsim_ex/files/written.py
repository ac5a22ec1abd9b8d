"""A file that appears under its name, whole, when all of it is on the disk, or not at all, even with other writers."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from qsim_ex.display.amounts import human
from qsim_ex.errors import SavedStateError
from qsim_ex.kernels.interrupts import uninterrupted

try:
    import fcntl
except ImportError:  # Windows: there the leftovers of a killed process stay until somebody removes them
    fcntl = None  # type: ignore[assignment]

_FULL = errno.ENOSPC, errno.EDQUOT, errno.EFBIG
"""Errors of a disk that has no room, or gives this user no more."""

_NAMED = 40
"""How many letters of the file's name a temporary file has; the longest file names have 255 bytes."""


@contextmanager
def written(path: Path, needed: int = 0) -> Iterator[BinaryIO]:
    """Open a new file that takes the name `path`, in one step, when the block ends; if it raises, nothing is left.

    needed: about how many bytes will be written. Until the end the bytes are in a file with another name in the same
    folder, so of two writers one leaves its whole file. A link of that name is replaced, not followed. The file is
    readable by whom the user's umask allows.
    Raises `SavedStateError`, before anything is written, if the disk has no room or the path, or what it links to, is
    no file; and if writing fails.
    """
    part: Path | None = None
    try:
        if _is_no_file(path):  # a device such as /dev/null would be gone
            raise SavedStateError(
                f"{path} cannot be written: expected a file, or none, got a folder or a device. Give another path."
            )
        remove_leftovers(path)
        free = shutil.disk_usage(path.parent).free
        if needed > free:
            raise SavedStateError(
                f"{path} needs {human(needed)}; the disk has {human(free)} free. Free space, or use another disk."
            )
        with uninterrupted():  # so that a file that is there has its name here
            part, file = _begun(path)
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            part.replace(path)
        _sync_folder(path.parent)
    except BaseException as error:
        if part is not None:
            with suppress(OSError):
                part.unlink()
        if isinstance(error, OSError) and not isinstance(error, SavedStateError):
            todo = "Free space, or use another disk." if error.errno in _FULL else "Give another path."
            raise SavedStateError(f"{path} cannot be written: {error.strerror or error}. {todo}") from error
        raise


def remove_leftovers(path: Path) -> None:
    """Remove temporary files that killed writers of a path have left; a living writer's file is locked and stays."""
    if fcntl is None:
        return
    for part in path.parent.glob(_escaped(path.name[:_NAMED]) + f".{'[0-9a-f]' * 16}.part"):
        with suppress(OSError):  # another process may just be doing the same
            handle = os.open(part, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                part.unlink()
            finally:
                os.close(handle)


def _is_no_file(path: Path) -> bool:
    """Return whether a path, or what it links to, is there and is no file; asked once, for others may remove it."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def _begun(path: Path) -> tuple[Path, BinaryIO]:
    """Return the name of a new temporary file and the file, which is locked for as long as it is open."""
    while True:
        part = path.with_name(f"{path.name[:_NAMED]}.{secrets.token_hex(8)}.part")
        file = part.open("xb")  # O_EXCL: a name that is there, be it a link, is an error and not followed
        if fcntl is None:
            return part, file
        with suppress(OSError):  # a file system without locks: then no other writer can remove the file either
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:  # else another writer removed it before it was locked: begin again
            return part, file
        file.close()


def _escaped(name: str) -> str:
    """Return a glob pattern that matches only this name."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _sync_folder(folder: Path) -> None:
    """Make a new name permanent; only on systems where folders can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
