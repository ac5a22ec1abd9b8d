"""NumPy's Philox generator for many keys at once: the same numbers, without an object for each key."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cpu.pool import in_ranges
from qsim_ex.native.library import address, function


def uniforms(seeds: NDArray[np.uint64], key: int, count: int, threads: int) -> NDArray[np.float64]:
    """Return the first numbers in [0, 1) of generators with keys (seed, key), float64 [seeds, count]."""
    out = np.empty((len(seeds), count), dtype=np.float64)
    if out.size:
        in_ranges(_fill(), address(seeds), key, address(out), count, size=len(seeds), each=2 * count, threads=threads)
    return out


@lru_cache(maxsize=1)
def _fill() -> Callable[..., int]:
    return function("philox_fill", "pipiiiiii")
