"""The folder in which compiled kernels are kept between processes. Only its user may write to it, since they are run.

It is ``$QSIM_EX_CACHE_DIR``, or ``qsim-ex`` in the user's cache folder; for a user without a home, ``qsim-ex-`` and the
user's number in the folder of temporary files. Deleting it is always safe.
"""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from pathlib import Path

_warned: set[Path] = set()


def base() -> Path:
    """Return the folder, whether or not it exists."""
    if chosen := os.environ.get("QSIM_EX_CACHE_DIR"):
        return Path(chosen)
    if above := os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME"):
        return Path(above) / "qsim-ex"
    try:
        return Path.home() / ".cache" / "qsim-ex"
    except RuntimeError:  # no HOME, and a user unknown to the system
        return Path(tempfile.gettempdir()) / f"qsim-ex-{os.getuid()}"


def made(name: str) -> Path | None:
    """Return the folder `name` in it, created if needed; None if that fails or others may write to it."""
    found = base()
    try:
        found.parent.mkdir(parents=True, exist_ok=True)
        for path in {*found.absolute().parents, *found.resolve().parents}:
            if why := _replaceable(path):
                _warn(path, why)
                return None
        for path in (found, found / name):
            path.mkdir(mode=0o700, exist_ok=True)
            if why := _refused(path):
                _warn(path, why)
                return None
    except OSError:  # nothing can be written there, so every process compiles its own
        return None
    return found / name


def _refused(path: Path) -> str | None:
    """Return why a folder is not to be trusted; None if it is."""
    if os.name == "nt":  # folders of users are theirs alone there
        return None
    about = path.stat()
    for owner in (about.st_uid, path.lstat().st_uid):  # who owns a link may turn it elsewhere
        if owner not in (os.geteuid(), 0):
            return f"it belongs to another user (number {owner})"
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others may write to it"
    return None


def _replaceable(path: Path) -> str | None:
    """Return why what is in a folder may become something else, by its name; None if it stays what it is."""
    if os.name != "nt" and path.stat().st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
        return "others may replace what is in it"
    return None


def _warn(path: Path, why: str) -> None:
    if path not in _warned:
        _warned.add(path)
        warnings.warn(
            f"the folder of compiled kernels {path} is not used: {why}. Every process compiles its own. Run: chmod "
            f"go-w '{path}', or set QSIM_EX_CACHE_DIR to a folder of your own.",
            RuntimeWarning,
            stacklevel=3,
        )
