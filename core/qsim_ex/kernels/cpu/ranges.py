"""Native functions that work on many items alike, which threads share: `core/native/ranges.hpp`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qsim_ex.kernels.cpu import pool


def in_ranges(call: Callable[..., int], *given: Any, size: int, each: int, threads: int) -> None:
    """Call a native function until all items are done; Ctrl-C is looked for in between.

    given: its arguments before those of `Ranges`. size: the number of items. each: the amplitudes of an item.
    """
    threads, chunk = pool.worth(size * each, threads), 0
    while chunk := call(*given, size, each, chunk, threads, pool.SLICE):
        pass
