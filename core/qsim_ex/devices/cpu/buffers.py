"""Memory of states on the CPU, kept for the next state.

The system clears pages before it gives them away, at 3 GB/s for one core of a virtual machine: of a state of 24 wires
that takes longer than many a circuit. So large blocks are made of huge pages, and a block that a state has freed is
lent to the next state of its size. While it is kept the system may take its pages back whenever memory is short
(MADV_FREE), without asking; they count as resident until then.
"""

from __future__ import annotations

import mmap
import os
import weakref
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.kernels import fork, host

Bytes = NDArray[np.uint8]

HUGE = 1 << 21
"""The bytes of a huge page of x86-64, and of aarch64 with the usual pages."""

_ALIGNMENT = 64  # bytes: one cache line, one vector of AVX-512

_SHARE = 4
"""At most a quarter of the machine's memory is kept."""

kept: list[tuple[int, mmap.mmap]] = []
"""Blocks that are not in use: bytes and memory, the oldest first."""

_lock = fork.reentrant_lock()  # freeing may happen wherever Python collects garbage

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=kept.clear)


def take(size: int) -> Bytes:
    """Return `size` bytes, whose contents are undefined; they are kept again once no array uses them.

    Raises `MemoryError` if the system refuses.
    """
    if not hasattr(mmap, "MADV_FREE") or size < thresholds.now.large_bytes:
        return np.empty(size, np.uint8)
    with _lock:
        at = next((k for k in range(len(kept) - 1, -1, -1) if kept[k][0] == size), None)
        memory = None if at is None else kept.pop(at)[1]
    if memory is None:
        memory = _made(size)
    whole = np.frombuffer(memory, np.uint8)
    weakref.finalize(whole, _give_back, size, memory).atexit = False
    start = -whole.ctypes.data % HUGE
    return whole[start : start + size]


def kept_bytes() -> int:
    """Return the bytes that are kept and not in use."""
    with _lock:
        return sum(size for size, _ in kept)


def release() -> None:
    """Return all memory that is not in use to the system."""
    with _lock:
        kept.clear()


def _made(size: int) -> mmap.mmap:
    try:
        memory = mmap.mmap(-1, size + HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(str(error)) from error
    if hasattr(mmap, "MADV_HUGEPAGE"):  # which macOS lacks
        _advise(memory, mmap.MADV_HUGEPAGE)
    return memory


def _give_back(size: int, memory: mmap.mmap) -> None:
    """Keep a block if the system can take its pages back, and drop the oldest ones above the limit."""
    if not _advise(memory, mmap.MADV_FREE):
        return
    with _lock:
        kept.append((size, memory))
        while kept_bytes() > _limit():
            kept.pop(0)


def _advise(memory: Any, advice: int) -> bool:
    """Tell the system how memory is used; return whether it follows, which depends on how it was built."""
    try:
        memory.madvise(advice)
    except OSError:
        return False
    return True


@lru_cache(maxsize=1)
def _limit() -> int:
    return host.memory()[1] // _SHARE


def aligned(size: int) -> NDArray[np.uint8]:
    """Return so many bytes, the first of them on a cache line; large blocks are kept."""
    if size >= thresholds.now.large_bytes:
        return take(size)
    raw = np.empty(size + _ALIGNMENT, dtype=np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + size]
