"""Memory of the CPU that other processes of this host map: a file without a name, in huge pages.

The system makes private memory of huge pages when it is asked to, but shared memory only where an administrator has
allowed it, which is rare. On demand it does nevertheless (``MADV_COLLAPSE``, Linux 6.1). Where it does not, memory
stays private: a state is swept more often than it is exchanged. A file lasts while any process has it mapped.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.devices.memory import HUGE
from qsim_ex.kernels.cpu import pool
from qsim_ex.precision import STORAGE

KIND = "file descriptors"
"""The handles, in words."""

_FILLED = 1 << 26
"""The bytes that one thread fills between two checks for Ctrl-C."""

_COLLAPSE = 25
"""MADV_COLLAPSE of Linux."""

_NO_ACCESS, _FIXED, _NORESERVE = 0, 0x10, 0x4000
"""PROT_NONE, and of Linux MAP_FIXED and MAP_NORESERVE, which Python does not name."""

_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
if _libc is not None:
    _libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64]
    _libc.mmap.restype = ctypes.c_void_p
    _libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    _libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def make(nbytes: int) -> int:
    """Return the descriptor of a file of some bytes, all of which are zero and take no memory yet.

    Raises `OSError` where the system has no such files, or makes no huge pages for them.
    """
    if _libc is None or not hasattr(os, "memfd_create"):
        raise OSError(0, "this system has no files without names")
    file = os.memfd_create("qsim-ex")
    try:
        os.ftruncate(file, _rounded(nbytes))
        _collapse(_mapped(file, HUGE))
    except BaseException:
        os.close(file)
        raise
    return file


def mapped(file: int, num_amplitudes: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return the beginning of a file as amplitudes; the array keeps the mapping. Raises `OSError`."""
    dtype = np.dtype(dtype)
    return _mapped(file, STORAGE[dtype].nbytes(num_amplitudes)).view(dtype)


def _mapped(file: int, size: int) -> NDArray[np.uint8]:
    """Return the first bytes of a file, with huge pages.

    These need an address and a place in the file that are multiples of their size, so we map to such an address.
    """
    assert _libc is not None
    nbytes = _rounded(size)
    room = nbytes + HUGE
    reserved = _map(None, room, _NO_ACCESS, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE, -1)
    start = reserved + -reserved % HUGE
    memory: Any = (ctypes.c_char * nbytes).from_address(start)
    weakref.finalize(memory, _unmap, start, reserved, room).atexit = False
    _map(start, nbytes, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _FIXED, file)
    _mappings[start] = start + nbytes
    return np.ndarray((size,), np.uint8, memory)


def fill(memory: NDArray[np.generic], threads: int) -> None:
    """Give memory that was just made its huge pages, as far as the system has some; threads share the work."""
    bytes_ = memory.view(np.uint8)

    def work(chunk: int) -> None:
        with suppress(OSError):
            _collapse(bytes_[chunk * _FILLED : (chunk + 1) * _FILLED])

    pool.share(work, -(-bytes_.size // _FILLED), threads)


def unload(view: NDArray[np.generic]) -> None:
    """Forget the pages of another process around a view until it is used again: else they count as this one's too.

    Of memory that is not mapped here this would destroy the contents, so nothing is done to it.
    """
    assert _libc is not None
    first, one = view.ctypes.data, STORAGE[view.dtype].bytes
    last = first + one + sum(step * (count - 1) for step, count in zip(view.strides, view.shape, strict=True))
    if any(start <= first and last <= end for start, end in tuple(_mappings.items())):
        first -= first % HUGE
        _libc.madvise(first, _rounded(last - first), mmap.MADV_DONTNEED)


_mappings: dict[int, int] = {}
"""The addresses of all files that are mapped now: the first one, and the one behind them."""


def _unmap(start: int, reserved: int, room: int) -> None:
    assert _libc is not None
    _mappings.pop(start, None)
    _libc.munmap(reserved, room)


def _map(address: int | None, nbytes: int, protection: int, flags: int, file: int) -> int:
    assert _libc is not None
    found = _libc.mmap(address, nbytes, protection, flags, file, 0)
    if found == _FAILED:
        error = ctypes.get_errno()
        raise OSError(error, f"mmap: {os.strerror(error)}")
    return int(found)


def _collapse(memory: NDArray[np.uint8]) -> None:
    """Make huge pages of memory from a multiple of their size on; a page that is there already is needed for that."""
    assert _libc is not None
    memory[::HUGE] = 0
    if _libc.madvise(memory.ctypes.data, _rounded(memory.size), _COLLAPSE):
        error = ctypes.get_errno()
        raise OSError(error, f"the system makes no huge pages for shared memory ({os.strerror(error)})")


def _rounded(nbytes: int) -> int:
    """Return a size rounded up to whole huge pages."""
    return -(-nbytes // HUGE) * HUGE
