"""Copies of amplitudes by several threads: core/native/memory.cpp, called from here."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cpu import pool
from qsim_ex.native import library

Amplitudes = NDArray[np.complexfloating[Any, Any]]

_function = lru_cache(maxsize=3)(library.function)


def copy(target: Amplitudes, source: Amplitudes, threads: int) -> None:
    """Overwrite `target` with `source`; arrays that are no plain memory of one dtype are left to NumPy."""
    if target.dtype != source.dtype or not (target.flags.c_contiguous and source.flags.c_contiguous):
        target[:] = source
        return
    run = _function("copy", "ppiiii")
    where = target.ctypes.data, source.ctypes.data, target.nbytes
    chunk, threads = 0, pool.worth(target.size, threads)
    while chunk := run(*where, chunk, threads, pool.SLICE):
        pass


def clear(target: Amplitudes, threads: int) -> None:
    """Write zeros to contiguous memory."""
    run = _function("clear", "piiii")
    where = target.ctypes.data, target.nbytes
    chunk, threads = 0, pool.worth(target.size, threads)
    while chunk := run(*where, chunk, threads, pool.SLICE):
        pass


def swap(mine: Amplitudes, theirs: Amplitudes, threads: int) -> None:
    """Swap two views that do not overlap, of one shape and one stride: [k] contiguous, or [rows, k] of such rows."""
    rows, width = (1, mine.size) if mine.ndim == 1 else mine.shape
    run = _function("swap", "ppiiiiii")
    stride = mine.strides[0] if mine.ndim == 2 else mine.nbytes
    where = mine.ctypes.data, theirs.ctypes.data, rows, width * mine.itemsize, stride
    chunk, threads = 0, pool.worth(mine.size, threads)
    while mine.size and (chunk := run(*where, chunk, threads, pool.SLICE)):
        pass
