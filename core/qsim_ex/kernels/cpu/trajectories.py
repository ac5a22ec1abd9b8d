"""Trajectories of narrow states: all steps of a circuit for some shots, by `core/native/trajectories.cpp`.

`core/native/trajectories.hpp` has the form of the tables, and `run.trajectory_tables` lays them out.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cpu import pool
from qsim_ex.native.arguments import address, structure
from qsim_ex.native.library import kernel

_Request = structure(
    "num_wires num_steps num_channels num_blocks num_order columns most first shots single "
    "steps channels next_work blocks order ints floats m keys defaults out out_shots out_counts out_outcomes"
)


class TrajectoryRequest:
    """Some shots of one binding, and the arrays in which their groups are written.

    numbers, arrays: the fields of `Request` in `trajectories.hpp`; fields that count items are known from the arrays.
    """

    def __init__(self, numbers: dict[str, int], arrays: dict[str, NDArray[Any]]) -> None:
        counts = {f"num_{name}": len(arrays[name]) for name in ("steps", "channels", "blocks", "order")}
        self._kept = arrays
        self.fields = _Request(**counts, **numbers, **{name: address(array) for name, array in arrays.items()})


def run(requests: Sequence[TrajectoryRequest], threads: int, done: Callable[[int, int], object]) -> list[int]:
    """Run all requests, and return for each the number of groups of shots with equal outcomes.

    done: called between two calls of native code, with the first request that has been done since, and the next one.
    """
    every = (_Request * len(requests))(*[one.fields for one in requests])
    groups = np.zeros(len(requests), dtype=np.int64)
    first = 0
    while first < len(requests):
        call = _run()
        after = call(ctypes.addressof(every), len(requests), address(groups), first, threads, pool.SLICE)
        done(first, after)
        first = after
    return groups.tolist()


@lru_cache(maxsize=1)
def _run() -> Callable[..., int]:
    return kernel("trajectories", "pipiii")
