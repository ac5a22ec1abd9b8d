"""A file that appears under its name when all of it is on the disk, whoever else writes to that name, or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from qsim_ex.devices.memory import human
from qsim_ex.errors import SavedStateError

try:
    import fcntl
except ImportError:  # Windows: there what a killed process leaves stays until somebody removes it
    fcntl = None  # type: ignore[assignment]

_NAMED = 40
"""Letters of the name that a temporary file shows; the longest file names have 255 bytes."""


@contextmanager
def written(path: Path, needed: int = 0) -> Iterator[BinaryIO]:
    """A new file that takes the name `path`, in one step, when the block ends; if the block raises, nothing is left.

    needed: about how many bytes will be written. Until the end the bytes lie in a file of a name of its own in the
    same folder, so two writers leave the whole file of one of them. A link that has the name is replaced, never
    followed. The file may be read by whom the user's umask allows.
    Raises `SavedStateError` if the disk has no room, before anything is written, or fails.
    """
    part: Path | None = None
    try:
        remove_leftovers(path)
        free = shutil.disk_usage(path.parent).free
        if needed > free:
            raise SavedStateError(f"{path} needs {human(needed)}; the disk has {human(free)} free.")
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
            raise SavedStateError(f"{path} cannot be written: {error.strerror or error}.") from error
        raise


def remove_leftovers(path: Path) -> None:
    """Remove what killed writers of a path have left; a file that a living process writes to is locked, and stays."""
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


def _begun(path: Path) -> tuple[Path, BinaryIO]:
    """A temporary file that nobody else has, locked for as long as it is open, and its name."""
    while True:
        part = path.with_name(f"{path.name[:_NAMED]}.{secrets.token_hex(8)}.part")
        file = part.open("xb")  # O_EXCL: a name that is there, be it a link, is an error and not followed
        if fcntl is None:
            return part, file
        with suppress(OSError):  # a file system without locks: then nobody can take the file for a leftover either
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:  # taken for a leftover before it was locked: begin again
            return part, file
        file.close()


def _escaped(name: str) -> str:
    """A name as a pattern that only it matches."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _sync_folder(folder: Path) -> None:
    """Make a new name last; only systems that open folders can and need it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
