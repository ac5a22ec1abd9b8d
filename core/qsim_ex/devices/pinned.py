"""Page-locked host memory, kept for the next state.

Locking memory takes 0.2 s for each GiB, longer than a whole run over it. So memory that a state has freed is lent
to the next state that needs as much; `release` returns it to the system, and is called when memory is short.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels import fork, host

Bytes = NDArray[np.uint8]

kept: defaultdict[int, list[Any]] = defaultdict(list)
"""Locked blocks that are not in use, by their bytes; empty where no GPU was given memory."""

_lock = fork.reentrant_lock()  # a collection may give memory back while this thread has it
_lost: list[Any] = []
_locked: set[int] = set()
"""The addresses of memory that `lock` has locked."""


def _forget() -> None:
    """Drop all blocks in a forked child: they are its parent's, and must be neither lent nor unlocked here.

    What the parent has locked is not locked here.
    """
    _lost.extend(kept.values())
    kept.clear()
    _locked.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def take(size: int) -> Bytes:
    """Return `size` bytes that all GPUs copy from and to; they are kept again once no array uses them.

    Raises CuPy's error if memory cannot be locked.
    """
    with _lock:
        memory = kept[size].pop() if kept[size] else None
    if memory is None:
        memory = _allocate(size)
    shown = np.frombuffer(memory.memory, np.uint8, size)
    weakref.finalize(shown, _give_back, size, memory).atexit = False
    return shown


def lock(memory: NDArray[np.generic]) -> None:
    """Lock memory that somebody else has made, until it is gone; may be called again.

    Raises CuPy's error if it cannot be locked.
    """
    from cupy.cuda import runtime

    address = memory.ctypes.data
    with _lock:
        if address in _locked:
            return
        runtime.hostRegister(address, memory.nbytes, runtime.hostAllocPortable)
        _locked.add(address)
    owner = memory if memory.base is None else memory.base
    weakref.finalize(owner, _unlock, address, os.getpid()).atexit = False  # by then the driver may be gone


def _unlock(address: int, process: int) -> None:
    if os.getpid() == process:  # a forked child has the memory, and no lock on it
        from cupy.cuda import runtime

        with _lock:
            _locked.discard(address)
        runtime.hostUnregister(address)


def kept_bytes() -> int:
    """Return the bytes that are locked and not in use."""
    with _lock:
        return sum(size * len(blocks) for size, blocks in list(kept.items()))


def release() -> None:
    """Return all memory that is not in use to the system."""
    with _lock:
        kept.clear()


class _Pinned:
    """Memory that is locked as long as this object lives.

    The pages are touched by all cores first, which takes 0.2 s for each GiB where the system's own way, one core that
    locks and clears page after page, takes 0.45 s (measured on a host of an H200).
    """

    def __init__(self, size: int) -> None:
        from cupy.cuda import runtime

        self.memory = mmap.mmap(-1, size)
        pages = np.frombuffer(self.memory, np.uint8)[:: mmap.PAGESIZE]
        cores = host.cores()
        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(lambda part: part.fill(0), np.array_split(pages, cores)))
        address = pages.ctypes.data
        runtime.hostRegister(address, size, runtime.hostAllocPortable)
        weakref.finalize(self, runtime.hostUnregister, address).atexit = False  # by then the driver may be gone


def _allocate(size: int) -> _Pinned:
    if kept_bytes() and host.memory()[0] < size + size // 8:
        release()  # blocks of other sizes take the memory
    return _Pinned(size)


def _give_back(size: int, memory: object) -> None:
    with _lock:
        kept[size].append(memory)
