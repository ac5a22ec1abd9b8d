"""The folders where compiled kernels are kept between runs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from qsim_ex.kernels import cache_folder


@dataclass(frozen=True, slots=True)
class Folder:
    """A cache and its size in bytes; it may be deleted at any time, and is filled again."""

    what: str
    path: Path
    files: int
    size: int


def folders() -> tuple[Folder, ...]:
    """Return the engine's own folder, and CuPy's."""
    cupy = os.environ.get("CUPY_CACHE_DIR") or os.path.expanduser("~/.cupy/kernel_cache")  # noqa: PTH111 - may stay "~"
    return (_measure("kernels", cache_folder.base()), _measure("CuPy", Path(cupy)))


def _measure(what: str, path: Path) -> Folder:
    sizes = []
    for file in path.rglob("*") if path.is_dir() else ():
        try:  # another process may be deleting it at this moment
            sizes.append(file.stat().st_size if file.is_file() else None)
        except FileNotFoundError:
            continue
    present = [size for size in sizes if size is not None]
    return Folder(what, path, len(present), sum(present))
