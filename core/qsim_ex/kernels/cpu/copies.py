"""Copies of amplitudes by several threads: core/native/base/memory.cpp, called from here."""

from __future__ import annotations

from qsim_ex import thresholds
from qsim_ex.kernels.cpu import pool
from qsim_ex.native.library import function
from qsim_ex.precision import Amplitudes


def copy(target: Amplitudes, source: Amplitudes, threads: int) -> None:
    """Overwrite `target` with `source`; what is no memory of one dtype with contiguous rows is left to NumPy."""
    if target.dtype != source.dtype or not (target.flags.c_contiguous and source.flags.c_contiguous):
        if (
            target.ndim == 2
            and target.dtype == source.dtype
            and target.shape == source.shape
            and _in_rows(target, source)
        ):
            _copy_rows(target, source, threads)
        else:
            target[:] = source
        return
    run = function("copy")
    where = target.ctypes.data, source.ctypes.data, target.nbytes
    chunk, threads = 0, pool.worth(target.size, threads)
    while chunk := run(*where, chunk, threads, thresholds.now.native.slice_microseconds):
        pass


def _in_rows(*views: Amplitudes) -> bool:
    """Return whether the rows of some views are contiguous, and follow each other."""
    return all(view.strides[1] == view.itemsize and view.strides[0] >= view.itemsize * view.shape[1] for view in views)


def _copy_rows(target: Amplitudes, source: Amplitudes, threads: int) -> None:
    """Overwrite a view [rows, k] of contiguous rows with another one."""
    run = function("copy_rows")
    rows, width = target.shape
    where = target.ctypes.data, source.ctypes.data, rows, width * target.itemsize, target.strides[0], source.strides[0]
    chunk, threads = 0, pool.worth(target.size, threads)
    while target.size and (chunk := run(*where, chunk, threads, thresholds.now.native.slice_microseconds)):
        pass


def clear(target: Amplitudes, threads: int) -> None:
    """Write zeros to contiguous memory."""
    run = function("clear")
    where = target.ctypes.data, target.nbytes
    chunk, threads = 0, pool.worth(target.size, threads)
    while chunk := run(*where, chunk, threads, thresholds.now.native.slice_microseconds):
        pass


def swap(mine: Amplitudes, theirs: Amplitudes, threads: int) -> None:
    """Swap two views that do not overlap, of one shape and one stride: [k] contiguous, or [rows, k] of such rows."""
    rows, width = (1, mine.size) if mine.ndim == 1 else mine.shape
    run = function("swap")
    stride = mine.strides[0] if mine.ndim == 2 else mine.nbytes
    where = mine.ctypes.data, theirs.ctypes.data, rows, width * mine.itemsize, stride
    chunk, threads = 0, pool.worth(mine.size, threads)
    while mine.size and (chunk := run(*where, chunk, threads, thresholds.now.native.slice_microseconds)):
        pass
