"""Work of the CPU device in chunks of bounded time, so that Ctrl-C works, shared out among its threads."""

from __future__ import annotations

from collections.abc import Callable

from qsim_ex.kernels.cpu import pool

CHUNK_BITS = 18
"""Amplitudes that one thread handles between two looks at Ctrl-C, where it only moves or adds them."""

_ALONE = 1 << 15
"""So few amplitudes are not worth waking a thread for."""


def worth(amplitudes: int, threads: int) -> int:
    """How many of the threads so many amplitudes are worth."""
    return threads if amplitudes > _ALONE else 1


def in_chunks(size: int, threads: int, work: Callable[[int, int], object], each: int = 1) -> None:
    """Call ``work(first, last)`` for ranges of 0 … size − 1 of things of `each` amplitudes."""
    step = max(1, min((1 << CHUNK_BITS) // each, -(-size // (8 * threads))))
    pool.share(
        lambda chunk: work(chunk * step, min(size, chunk * step + step)), -(-size // step), worth(size * each, threads)
    )
