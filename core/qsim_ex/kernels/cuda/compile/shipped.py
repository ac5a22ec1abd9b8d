"""Kernels that come with the package as machine code, so that a first run need not compile them.

There is a zip archive for each architecture (`shipped_kernels/sm_90.zip`), which tools/ship_kernels.py writes when the
package is built; a checkout or an editable install has none, and compiles. A member's name holds everything that its
machine code depends on except the compiler's version, so a changed text is not found and is compiled too.
"""

from __future__ import annotations

import functools
import hashlib
import io
import zipfile
from pathlib import Path

from qsim_ex.kernels import fork

FORMAT = "qsim-ex kernels 1"
OPTIONS = ("-std=c++17", "--ptxas-options=-v")
"""The options of NVRTC besides the architecture."""

FOLDER = Path(__file__).parent / "shipped_kernels"

RUNS = {
    "75": "75",
    "80": "80",
    "86": "80",
    "89": "80",
    "90": "90",
    "100": "100",
    "103": "100",
    "120": "120",
    "121": "120",
}
"""For each compute capability, the one whose machine code its GPUs run.

Machine code for X.y runs on X.z where z ≥ y, but not on Tegra chips such as 8.7 and 10.1, which are left out (CUDA C++
Programming Guide, "Binary Compatibility")."""

ARCHITECTURES = tuple(dict.fromkeys(RUNS.values()))
"""The architectures that have an archive."""

_lock = fork.lock()
_refused: dict[str, str] = {}
"""The driver's message for each compute capability whose driver refused the kernels of the package."""


def find(code: str, arch: str) -> bytes | None:
    """Return the machine code of a text for a compute capability such as '86', if it came with the package."""
    if not is_there(code, arch):
        return None
    try:
        with _lock:
            return _archive(_path(arch)).read(name(code, RUNS[arch]))
    except Exception:  # noqa: BLE001 - a damaged archive fails in many ways, and all mean: compile
        return None


def is_there(code: str, arch: str) -> bool:
    """Return whether a text's machine code came with the package, and the driver has not refused such code."""
    return arch not in _refused and _came(code, arch)


def count(arch: str) -> int:
    """Return the number of kernels in the package for GPUs of a compute capability."""
    return len(_names(_path(arch))) if arch in RUNS else 0


def refuse(code: str, arch: str, why: str) -> bool:
    """Note that the driver refuses the package's kernels; return False if this text did not come with it.

    A driver that is older than the compiler may do so. After this `find` returns None for these GPUs.
    """
    if not _came(code, arch):
        return False
    _refused[arch] = why
    return True


def refused(arch: str) -> str | None:
    """Return the driver's message when it refused a kernel of the package, if it did in this process."""
    return _refused.get(arch)


def name(code: str, arch: str) -> str:
    """Return a text's name in the archive of an architecture."""
    return hashlib.sha256("\0".join((FORMAT, arch, repr(OPTIONS), code)).encode()).hexdigest()


def _came(code: str, arch: str) -> bool:
    return arch in RUNS and name(code, RUNS[arch]) in _names(_path(arch))


def _path(arch: str) -> Path:
    return FOLDER / f"sm_{RUNS[arch]}.zip"


@functools.cache
def _archive(path: Path) -> zipfile.ZipFile:
    """Return an archive, read into memory; an empty one if there is none or it is damaged."""
    try:
        return zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    except Exception:  # noqa: BLE001 - as above, and most often the file is not there
        return zipfile.ZipFile(io.BytesIO(), "w")


@functools.cache
def _names(path: Path) -> frozenset[str]:
    return frozenset(_archive(path).namelist())
