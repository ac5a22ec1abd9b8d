"""The host's memory: checks whether a state fits, with the sum and before anything is allocated, and blocks for states.

The system clears pages before it gives them away, at 3 GB/s for one core of a virtual machine: of a state of 24 wires
that takes longer than many a circuit. So large blocks are made of huge pages, and a block that a state on the CPU has
freed is lent to the next state of its size. While it is kept the system may take its pages back whenever memory is
short (MADV_FREE), without asking; they count as resident until then.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex import thresholds
from qsim_ex.devices import pinned
from qsim_ex.devices.base import Copies, CopyQueue
from qsim_ex.display.amounts import human
from qsim_ex.errors import OutOfMemory
from qsim_ex.kernels import fork, host
from qsim_ex.precision import PRECISIONS, STORAGE, AmplitudeDtype, Amplitudes


def state_bytes(num_wires: int, dtype: AmplitudeDtype) -> int:
    """Return the bytes of 2^num_wires amplitudes."""
    return STORAGE[dtype].nbytes(1 << num_wires)


def memory_of_host() -> tuple[int, int]:
    """Return the host's free and total bytes for this process; memory kept for other states counts as free."""
    free, total = host.memory()
    return min(free + kept_bytes(), total), total


def kept_bytes() -> int:
    """Return the bytes of the host that are kept for states and not in use."""
    return (_kept_bytes() if kept else 0) + (pinned.kept_bytes() if pinned.kept else 0)


def require(
    num_wires: int,
    dtype: AmplitudeDtype,
    places: Sequence[tuple[str, int]],
    *,
    states: int = 1,
    limit: int | None = None,
) -> None:
    """Raise `OutOfMemory` unless the states fit in the first place.

    places: names and free bytes; only the first is checked, the others are named in the message.
    limit: bytes that the caller allows, in place of what is free.
    """
    needed = states * state_bytes(num_wires, dtype)
    free = places[0][1]
    if needed <= (free if limit is None else limit):
        return
    what = f"{num_wires} wires in {dtype.name}" + (f", {states} times," if states > 1 else "")
    room = free if limit is None else limit
    have = [f"{name} has {human(size)} free" for name, size in places]
    if limit is not None:
        have.insert(0, f"max_memory allows {human(limit)}")
    have[0] += f", enough for {_most(room // states)}"
    rows = [row for row in PRECISIONS.values() if row.storage.bytes < STORAGE[dtype].bytes]
    cheaper = "".join(
        f"precision={row.name!r} ({row.storage.dtype.name}), "  # Cirq's users choose the dtype
        for row in rows
        if states * row.storage.nbytes(1 << num_wires) <= room
    )
    if fit := room // state_bytes(num_wires, dtype):
        cheaper += f"{fit} of these states, "
    raise OutOfMemory(
        f"{what} need {human(needed)}; {'; '.join(have)}. Use {cheaper}fewer wires, or a device with more memory."
    )


def _most(room: int) -> str:
    """Return how many wires fit into memory, in words, for each precision."""
    most = {row.storage.dtype.name: max(0, (room // row.storage.bytes).bit_length() - 1) for row in PRECISIONS.values()}
    return " or ".join(f"{wires} wires in {name}" for name, wires in most.items())


def require_on_host(what: str, needed: int, free: int, instead: str = "Ask for a part of it.") -> None:
    """Raise `OutOfMemory` unless a result of `needed` bytes fits into the host's memory; instead: what to do."""
    if needed > free:
        raise OutOfMemory(f"{what} needs {human(needed)}; the host has {human(free)} free. {instead}")


def pageable(num_amplitudes: int, dtype: AmplitudeDtype) -> Amplitudes:
    """Return host memory from NumPy; raises `OutOfMemory`."""
    size = STORAGE[dtype].nbytes(num_amplitudes)
    if size > thresholds.now.unasked_bytes:
        _require_free(size)
    try:
        return np.empty(num_amplitudes, dtype)
    except MemoryError as error:
        raise OutOfMemory(f"the system refused {human(size)} of host memory; use fewer wires.") from error


def _require_free(size: int) -> None:
    """Raise `OutOfMemory` unless the host has that many bytes free.

    Linux grants memory that it does not have, and kills the process that uses it, so we check first.
    """
    free, total = host.memory()
    if size > free:
        raise OutOfMemory(
            f"a state needs {human(size)} of host memory; {human(free)} are free of {human(total)}. "
            "Use precision='single', fewer wires, or more memory."
        )


def require_amplitudes(num_amplitudes: int, dtype: AmplitudeDtype) -> None:
    """Raise `OutOfMemory` if amplitudes have no room, also without the memory that is kept for other states."""
    size = STORAGE[np.dtype(dtype)].nbytes(num_amplitudes)
    free, total = host.memory()
    if size > free and kept_bytes():
        pinned.release()
        release()
        free, total = host.memory()
    if size > free:
        raise OutOfMemory(
            f"{num_amplitudes} amplitudes in {dtype.name} need {human(size)}; this machine has "
            f"{human(free)} free of {human(total)}. Use precision='single', fewer wires, or more memory."
        )


Bytes = NDArray[np.uint8]

HUGE = 1 << 21
"""The bytes of a huge page of x86-64, and of aarch64 with the usual pages."""

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


def _kept_bytes() -> int:
    """Return the bytes of blocks that are kept and not in use."""
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
        while _kept_bytes() > _limit():
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


class HostCopyQueue:
    """A queue whose copies are done when the call returns, so marks are None and waiting is free."""

    def copy(self, to: Amplitudes, source: Amplitudes) -> None:
        """Copy between arrays of one shape."""
        np.copyto(to, source)

    def mark(self) -> None:
        """Return no mark, since everything is done already."""

    def wait(self, mark: object) -> None:
        """Return at once, since nothing is pending."""

    def synchronize(self) -> None:
        """Return at once, since nothing is pending."""


class HostCopies(Copies):
    """A device that works in host memory and finishes every call before it returns."""

    at_once = True

    def copy_queue(self) -> CopyQueue:
        """Return a queue whose copies are done at once."""
        return HostCopyQueue()

    def mark(self) -> None:
        """Return no mark, since everything is done already."""

    def wait(self, mark: object) -> None:
        """Return at once, since nothing is pending."""

    def reach(self, mark: object) -> None:
        """Return at once, since nothing is pending."""

    def host_memory(self, num_amplitudes: int, dtype: DTypeLike) -> tuple[Amplitudes, str]:
        """Return host memory of any kind."""
        return pageable(num_amplitudes, np.dtype(dtype)), "plain"
