"""The threads of the CPU device for work in Python and for copies of amplitudes, core/native/base/memory.cpp.

Work is divided into chunks of bounded time, so that Ctrl-C works; kernels have threads of their own (base/pool.hpp).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache

from qsim_ex import thresholds
from qsim_ex.kernels import host
from qsim_ex.kernels.interrupts import uninterrupted
from qsim_ex.native import library
from qsim_ex.native.library import function
from qsim_ex.precision import Amplitudes


@lru_cache(maxsize=1)
def executor() -> ThreadPoolExecutor:
    """Return the one pool of this process; its threads start when they are needed."""
    return ThreadPoolExecutor(max(1, host.cores() - 1), thread_name_prefix="qsim-ex")


if hasattr(os, "register_at_fork"):  # a forked child has none of its parent's threads
    os.register_at_fork(after_in_child=executor.cache_clear)


def share(work: Callable[[int], object], chunks: int, threads: int) -> None:
    """Call ``work(0)`` … ``work(chunks − 1)``, each once, on up to `threads` threads; the caller's is one of them.

    An exception of any call is raised here once all calls have ended, and so is Ctrl-C, after which none begins.
    """
    if threads <= 1 or chunks <= 1:
        for chunk in range(chunks):
            work(chunk)
        return
    counter = itertools.count()
    stop = False

    def worker() -> None:
        nonlocal stop
        while not (stop or came):
            chunk = next(counter)
            if chunk >= chunks:
                return
            try:
                work(chunk)
            except BaseException:
                stop = True
                raise

    with uninterrupted() as came:
        helpers = [executor().submit(worker) for _ in range(min(threads, chunks) - 1)]
        try:
            worker()
        finally:
            stop = True
            begun = [helper for helper in helpers if not helper.cancel()]
            wait(begun)
    for helper in begun:
        helper.result()


def worth(amplitudes: int, threads: int) -> int:
    """Return how many of the threads a number of amplitudes is worth."""
    return threads if amplitudes > thresholds.now.amplitudes_alone else 1


def in_chunks(size: int, threads: int, work: Callable[[int, int], object], each: int = 1) -> None:
    """Call ``work(first, last)`` for ranges of 0 … size − 1 of items of `each` amplitudes."""
    step = max(1, min((1 << thresholds.now.chunk_bits) // each, -(-size // (8 * threads))))
    share(
        lambda chunk: work(chunk * step, min(size, chunk * step + step)), -(-size // step), worth(size * each, threads)
    )


def in_ranges(call: Callable[..., int], *given: object, size: int, each: int, threads: int) -> None:
    """Call a native function that threads share by ranges (`core/native/base/ranges.hpp`) until all items are done.

    call: of `library.unchecked`. given: its arguments before those of `Ranges`. size: the number of items. each: the
    amplitudes of an item. Ctrl-C is looked for every `thresholds.slice_microseconds`. Raises `OutOfMemory`.
    """
    threads, chunk = worth(size * each, threads), 0
    while chunk := call(*given, size, each, chunk, threads, thresholds.now.slice_microseconds):
        if chunk == library.REFUSED:
            raise library.refusal(call)


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
    chunk, threads = 0, worth(target.size, threads)
    while chunk := run(*where, chunk, threads, thresholds.now.slice_microseconds):
        pass


def _in_rows(*views: Amplitudes) -> bool:
    """Return whether the rows of some views are contiguous, and follow each other."""
    return all(view.strides[1] == view.itemsize and view.strides[0] >= view.itemsize * view.shape[1] for view in views)


def _copy_rows(target: Amplitudes, source: Amplitudes, threads: int) -> None:
    """Overwrite a view [rows, k] of contiguous rows with another one."""
    run = function("copy_rows")
    rows, width = target.shape
    where = target.ctypes.data, source.ctypes.data, rows, width * target.itemsize, target.strides[0], source.strides[0]
    chunk, threads = 0, worth(target.size, threads)
    while target.size and (chunk := run(*where, chunk, threads, thresholds.now.slice_microseconds)):
        pass


def clear(target: Amplitudes, threads: int) -> None:
    """Write zeros to contiguous memory."""
    run = function("clear")
    where = target.ctypes.data, target.nbytes
    chunk, threads = 0, worth(target.size, threads)
    while chunk := run(*where, chunk, threads, thresholds.now.slice_microseconds):
        pass


def swap(mine: Amplitudes, theirs: Amplitudes, threads: int) -> None:
    """Swap two views that do not overlap, of one shape and one stride: [k] contiguous, or [rows, k] of such rows."""
    rows, width = (1, mine.size) if mine.ndim == 1 else mine.shape
    run = function("swap")
    stride = mine.strides[0] if mine.ndim == 2 else mine.nbytes
    where = mine.ctypes.data, theirs.ctypes.data, rows, width * mine.itemsize, stride
    chunk, threads = 0, worth(mine.size, threads)
    while mine.size and (chunk := run(*where, chunk, threads, thresholds.now.slice_microseconds)):
        pass
