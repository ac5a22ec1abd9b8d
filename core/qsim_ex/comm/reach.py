"""The memory of other processes of the same host, read and written in place, where the system allows it.

Linux copies between the memories of two processes of one user (``process_vm_readv``). So two ranks trade arrays in
place without messages: each of them swaps one half, through a little memory that stays in a processor's cache.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from qsim_ex import thresholds
from qsim_ex.comm.processes import host_key
from qsim_ex.comm.protocol import AllGather, Array

_PR_SET_PTRACER = 0x59616D61

_libc = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
_CALLS = {name: getattr(_libc, name, None) for name in ("process_vm_readv", "process_vm_writev")}
for _call in filter(None, _CALLS.values()):
    _call.argtypes = [ctypes.c_int, *[ctypes.c_void_p, ctypes.c_ulong] * 2, ctypes.c_ulong]
    _call.restype = ctypes.c_ssize_t


class MemoryRuns(NamedTuple):
    """Runs of `width` bytes, `stride` bytes apart, from an address of a process on."""

    address: int
    rows: int
    width: int
    stride: int

    @classmethod
    def of(cls, array: Array) -> MemoryRuns:
        """Return the memory of an array in one dimension or two, whose rows are contiguous."""
        rows = array.reshape(1, -1) if array.ndim == 1 else array
        if rows.ndim != 2 or rows.strides[1] != rows.itemsize:
            raise ValueError(f"expected contiguous rows, got strides {array.strides}; pass a contiguous copy.")
        return cls(rows.ctypes.data, rows.shape[0], rows.shape[1] * rows.itemsize, rows.strides[0])

    def runs(self, row: int, count: int, first: int, width: int) -> Any:
        """Return some bytes of some rows as addresses and lengths, int64 [count, 2], which is ``struct iovec``."""
        found = np.full((count, 2), width, dtype=np.int64)
        found[:, 0] = self.address + first + self.stride * np.arange(row, row + count)
        return found

    def chunks(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield all bytes in chunks: the first row, the rows, the first byte of each, and the bytes of each."""
        count = max(1, min(thresholds.now.reached_at_once // self.width, thresholds.now.reached_runs))
        for row in range(0, self.rows, count):
            for first in range(0, self.width, thresholds.now.reached_at_once):
                yield row, min(count, self.rows - row), first, min(thresholds.now.reached_at_once, self.width - first)


def reached(allgather: AllGather, rank: int) -> dict[int, int]:
    """Return the process of each other rank that this one reaches and that reaches this one; all ranks call it."""
    if _libc is not None and hasattr(_libc, "prctl"):
        # Where Yama restricts who may do this, we allow it to what our launcher has started; elsewhere it is an error.
        _libc.prctl(_PR_SET_PTRACER, os.getppid(), 0, 0, 0)
    cookie = np.frombuffer(os.urandom(16), dtype=np.uint8)
    others = allgather((host_key(), os.getpid(), MemoryRuns.of(cookie), cookie.tobytes()))
    mine = set()
    for other, (host, pid, memory, expected) in enumerate(others):
        if other != rank and host == host_key():
            found = np.zeros_like(cookie)
            try:
                _copy("process_vm_readv", pid, MemoryRuns.of(found).runs(0, 1, 0, 16), memory.runs(0, 1, 0, 16))
            except OSError:
                continue
            if found.tobytes() == expected:
                mine.add(other)
    everyone: list[set[int]] = allgather(mine)
    return {other: others[other][1] for other in sorted(mine) if rank in everyone[other]}


def allowed() -> bool:
    """Return whether this system copies between the memories of processes; here a process reads its own."""
    given, found = np.arange(16, dtype=np.uint8), np.zeros(16, dtype=np.uint8)
    try:
        _copy(
            "process_vm_readv",
            os.getpid(),
            MemoryRuns.of(found).runs(0, 1, 0, 16),
            MemoryRuns.of(given).runs(0, 1, 0, 16),
        )
    except OSError:
        return False
    return bool(np.array_equal(given, found))


def swap_half(pid: int, array: Array, other: MemoryRuns, half: int) -> None:
    """Swap one half of an array with memory of another process, which swaps the other half; half: 0 or 1.

    Raises `OSError` if the process has died, or has no such memory.
    """
    own = MemoryRuns.of(array)
    if (own.rows, own.width) != (other.rows, other.width):
        raise ValueError(f"swap: expected arrays of one shape, got {own} and {other}.")
    chunks = list(own.chunks())
    middle = (len(chunks) + 1) // 2
    rows = array.reshape(1, -1) if array.ndim == 1 else array
    between = np.empty(max((count * width for _, count, _, width in chunks), default=0), dtype=np.uint8)
    staged = MemoryRuns.of(between)
    for row, count, first, width in chunks[middle:] if half else chunks[:middle]:
        mine, theirs = own.runs(row, count, first, width), other.runs(row, count, first, width)
        _copy("process_vm_readv", pid, staged.runs(0, 1, 0, count * width), theirs)
        _copy("process_vm_writev", pid, mine, theirs)
        begin, end = first // array.itemsize, (first + width) // array.itemsize
        rows[row : row + count, begin:end] = between[: count * width].view(array.dtype).reshape(count, -1)


def _copy(call: str, pid: int, local: Any, remote: Any) -> None:
    """Copy between runs of this process and runs of another one; raise `OSError` unless all of it was copied."""
    function = _CALLS[call]
    if function is None:
        raise OSError(f"this system has no {call}")
    copied = function(pid, local.ctypes.data, len(local), remote.ctypes.data, len(remote), 0)
    if copied != int(local[:, 1].sum()):
        error = ctypes.get_errno()
        raise OSError(error, f"{call} copied {copied} bytes with process {pid}: {os.strerror(error)}")
