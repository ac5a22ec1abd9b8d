"""NumPy's Philox generator for many keys at once: the same numbers, without an object for each key."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.native.arguments import address
from qsim_ex.native.library import function


def fill(seeds: NDArray[np.uint64], key: int, out: NDArray[np.float64]) -> Callable[[int, int], object]:
    """Return the work that writes the first numbers in [0, 1) of generators with keys (seed, key) to rows of `out`."""
    keys, to, count = address(seeds), address(out), out.shape[1]

    def work(first: int, last: int, kept: NDArray[np.uint64] = seeds) -> None:  # noqa: ARG001  (alive as long)
        _fill()(keys, key, to, count, first, last)

    return work


@lru_cache(maxsize=1)
def _fill() -> Callable[..., int]:
    return function("philox_fill", "pipiii")
