"""The processor that runs the kernels: its name, its vectors, its memory."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from qsim_ex.native import library
from qsim_ex.precision import BY_DTYPE, AmplitudeDtype


@lru_cache(maxsize=8)
def lane_bits(dtype: AmplitudeDtype, chosen: str = "") -> int:
    """Return log2 of how many real numbers of a complex `dtype` one vector holds: 4 for complex64 with AVX-512.

    chosen: the instruction set; the best of this processor by default.
    """
    bits = library.function("vector_bits", chosen)()
    return bits - (8 * BY_DTYPE[dtype].storage.real_bytes).bit_length() + 1


@lru_cache(maxsize=1)
def processor() -> str:
    """Return the processor's name for people."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def cores() -> int:
    """Return how many cores this process may use: those it is bound to, or its control group's share where less."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(bound, _group_cores())


def memory() -> tuple[int, int]:
    """Return free and total bytes for this process: the machine's, or its control group's where that is less."""
    free, total = _machine_memory()
    for limit, folder, used in _group_limits():
        try:
            in_use = int((folder / used).read_text()) - _inactive_file(folder)
        except (OSError, ValueError):
            continue
        total = min(total, limit)
        free = min(free, max(0, limit - max(0, in_use)))
    return free, total


def _machine_memory() -> tuple[int, int]:
    try:
        with open("/proc/meminfo", "rb", buffering=0) as file:  # noqa: PTH123  (a path and a decoder take 40 µs)
            text = file.read(_READ)
    except OSError:
        page = os.sysconf("SC_PAGE_SIZE")
        total = page * os.sysconf("SC_PHYS_PAGES")
        names = os.sysconf_names
        return page * os.sysconf("SC_AVPHYS_PAGES") if "SC_AVPHYS_PAGES" in names else total, total
    return _kilobytes(text, b"MemAvailable:"), _kilobytes(text, b"MemTotal:")


_READ = 1 << 14
"""The bytes of /proc/meminfo that are read at most; it has a tenth of that."""


def _kilobytes(text: bytes, name: bytes) -> int:
    """Return the bytes that a line of /proc/meminfo tells in units of 1024."""
    return int(text[text.index(name) + len(name) :].split(None, 1)[0]) * 1024


@lru_cache(maxsize=1)
def _group_limits() -> tuple[tuple[int, Path, str], ...]:
    """Return every memory limit that control groups set on this process: the limit, its folder, the file of its use.

    They are read once, since limits hardly ever change and reading a dozen small files takes long for a small state.
    """
    found = []
    for folder, version in _group_folders("memory"):
        limit, used = [("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")][version]
        text = _read(folder / limit)
        if text.isdigit() and int(text) < _machine_memory()[1]:
            found.append((int(text), folder, used))
    return tuple(found)


@lru_cache(maxsize=1)
def _group_cores() -> int:
    """Return the least number of whole cores whose time control groups allow this process; read once."""
    found = [1 << 20]
    for folder, version in _group_folders("cpu"):
        if version == _SECOND:
            words = _read(folder / "cpu.max").split()
        else:
            words = [_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")]
        if len(words) == 2 and all(word.isdigit() for word in words):  # "max" and "-1" are no limit
            found.append(max(1, -(-int(words[0]) // int(words[1]))))
    return min(found)


_SECOND = 0  # control groups of version 2; 1 stands for version 1


def _group_folders(controller: str) -> Iterator[tuple[Path, int]]:
    """Yield the folders of this process's control groups that have a controller, from the innermost on."""
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, version = Path("/sys/fs/cgroup"), _SECOND
        elif controller in controllers.split(","):
            root, version = Path("/sys/fs/cgroup") / controller, 1
        else:
            continue
        here = root / path.lstrip("/")
        yield from ((folder, version) for folder in (here, *here.parents) if folder.is_relative_to(root))


def _read(path: Path) -> str:
    """Return the text of a file, "" if there is none."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _inactive_file(folder: Path) -> int:
    """Return the bytes of file cache that a group would give up at once: they count as used but are free."""
    for line in (folder / "memory.stat").read_text().splitlines():
        if line.startswith(("inactive_file ", "total_inactive_file ")):
            return int(line.split()[1])
    return 0
