"""The numbers at which the engine takes another way, all in one table: sizes, counts, times, bytes.

Both ways on the sides of such a number give the same results, or shots of the same distribution; the number says which
takes less time or memory. Tests
and the fuzzer set them, so that small circuits go every way. Code asks `now`, and never keeps a number; what is kept
and depends on them is registered with `depends`, and forgotten when they change. Native code is told by `tell`.
What a device says of itself (`Shape`, capacities) and what is an error beyond (limits) are no thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar
from weakref import WeakSet

import numpy as np

from qsim_ex.native.library import address, function
from qsim_ex.native.thresholds import Native
from qsim_ex.thresholds.rows import Thresholds

now = Thresholds()
"""Those that hold at the moment; always asked for by this module, since `instead` puts others here."""


class Cache(Protocol):
    """Something that can be forgotten."""

    def cache_clear(self) -> None:
        """Forget all of it."""


Kept = TypeVar("Kept", bound=Cache)

_dependent: WeakSet[Cache] = WeakSet()


def depends(cache: Kept) -> Kept:
    """Register a cache of what depends on thresholds; as a decorator it stands above `lru_cache`."""
    _dependent.add(cache)
    return cache


def pieces(size: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield where pieces of a range begin and end, of `most` numbers each, a row's; the last one may have fewer."""
    if 0 < size <= most:
        yield 0, size
        return
    for first in range(0, size, most):
        yield first, min(first + int(most), size)


def tell() -> None:
    """Tell native code its own; the library has those of `Native` when it is loaded."""
    numbers = np.array([getattr(now, name) for name in Native.names()], dtype=np.int64)
    function("thresholds_set")(address(numbers))


@contextmanager
def instead(**numbers: int) -> Iterator[Thresholds]:
    """Let other numbers hold meanwhile, in the whole process; for tests and the fuzzer.

    numbers: by the names of rows.
    """
    before = now
    _become(before.but(**numbers))
    try:
        yield now
    finally:
        _become(before)


def _become(new: Thresholds) -> None:
    global now  # noqa: PLW0603  (the one place of the product that sets it)
    differs = new.numbers() != now.numbers()
    now = new
    if differs:
        tell()
        for cache in list(_dependent):
            cache.cache_clear()
