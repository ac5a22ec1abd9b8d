"""Random numbers of shots, in order, and where they fall on running sums: core/native/kernels/shots.cpp.

The random numbers are those of NumPy's Philox generator (core/native/base/philox.cpp), without an object for each key.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cpu.pool import in_ranges
from qsim_ex.native.library import REFUSED, address, function, refusal, unchecked

Floats = NDArray[np.float64]
Values = NDArray[np.int64]


STEP = 4
"""Random numbers in one step of the generator's counter; shots are divided at multiples of it."""


def uniforms(
    seeds: NDArray[np.uint64], keys: int | NDArray[np.uint64], count: int, threads: int = 1, first: int = 0
) -> NDArray[np.float64]:
    """Return numbers in [0, 1) of generators with keys (seed, key), float64 [seeds, count].

    keys: one for all seeds, or one for each. first: the number of the first one, a multiple of `STEP`.
    """
    out = np.empty((len(seeds), count), dtype=np.float64)
    if out.size:
        named = np.ascontiguousarray(np.broadcast_to(np.asarray(keys, dtype=np.uint64), seeds.shape))
        given = address(seeds), address(named), first // STEP, address(out), count
        in_ranges(function("philox_fill"), *given, size=len(seeds), each=2 * count, threads=threads)
    return out


def ascending(numbers: Floats) -> Values:
    """Return the order in which numbers in [0, 1) ascend by their first 32 bits; equal ones stay in order."""
    order = np.empty(len(numbers), dtype=np.int64)
    function("shots_ascending")(address(numbers), len(numbers), address(order))
    return order


def running_sums(weights: Floats) -> Floats:
    """Return where each running sum of weights ends, added up one after the other."""
    ends = np.empty(len(weights), dtype=np.float64)
    function("shots_running_sums")(address(weights), len(weights), address(ends))
    return ends


def choose(ends: Floats, targets: Floats, found: Values, rest: Floats) -> None:
    """Write where targets fall on running sums, and how far they reach into that weight; fastest if they ascend.

    A target beyond the last sum, where rounding has led it, falls on the last weight.
    """
    given = address(ends), len(ends), address(targets), len(targets), address(found), address(rest)
    function("shots_choose")(*given)


def tallied(values: Values) -> dict[int, int]:
    """Return how often each value comes; the first to come is first."""
    values = np.ascontiguousarray(values, dtype=np.int64)
    distinct, counts = np.empty((2, len(values)), dtype=np.int64)
    tally = unchecked("shots_count")
    count = tally(address(values), len(values), address(distinct), address(counts))
    if count == REFUSED:
        raise refusal(tally)
    return dict(zip(distinct[:count].tolist(), counts[:count].tolist(), strict=True))
