"""Copies of amplitudes by several threads: core/native/memory.cpp, called from here."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cpu import pool
from qsim_ex.native import library

Amplitudes = NDArray[np.complexfloating[Any, Any]]

_function = lru_cache(maxsize=2)(library.function)


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
