"""Trajectories of narrow states: all steps of a circuit for some shots, by `core/native/kernels/trajectories`.

`trajectories.hpp` there has the form of the tables, and `run.trajectory_tables` lays them out.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.native.library import address, function, structure
from qsim_ex.precision import BY_DTYPE, Amplitudes

_Request = structure(
    "num_wires num_steps num_channels num_blocks num_order columns most first shots single "
    "steps channels next_work blocks order ints floats m keys defaults out out_shots out_counts out_outcomes"
)


class TrajectoryTables:
    """The tables of one binding, as native code reads them.

    numbers, arrays: the fields of `Request` in `trajectories.hpp`, but those that are known from the arrays' lengths or
    that differ between the shots of the binding.
    """

    def __init__(self, numbers: dict[str, int], arrays: dict[str, NDArray[np.generic]]) -> None:
        counts = {f"num_{name}": len(arrays[name]) for name in ("steps", "channels", "blocks", "order")}
        self._kept = arrays
        self.fields = _Request(**counts, **numbers, **{name: address(array) for name, array in arrays.items()})


class ShotRange(NamedTuple):
    """Some shots of one binding: the tables, the first shot, how many, and the row of the results where they begin."""

    tables: TrajectoryTables
    first: int
    shots: int
    row: int


def run(
    parts: Sequence[ShotRange],
    states: Amplitudes,
    shots: NDArray[np.int64],
    counts: NDArray[np.int64],
    outcomes: NDArray[np.uint8],
    threads: int,
    done: Callable[[int, int], object],
) -> list[int]:
    """Run all parts, and return for each the number of groups of shots with equal outcomes.

    states, counts, outcomes: become what groups have, from the row of their part on: final states [rows, 2^n], numbers
    of shots, and outcomes [rows, columns]. shots: becomes the shots of each group, ascending, counted from the first of
    their part. done: called between two calls of native code, with the first part that has been done since, and the
    next one.
    """
    every = (_Request * len(parts))()
    out, out_shots, out_counts, out_outcomes = address(states), address(shots), address(counts), address(outcomes)
    single = BY_DTYPE[states.dtype].storage.native_single
    for request, part in zip(every, parts, strict=True):
        ctypes.pointer(request)[0] = part.tables.fields
        request.first, request.shots, request.single = part.first, part.shots, single
        request.out = out + part.row * states.strides[0]
        request.out_shots = out_shots + 8 * part.row
        request.out_counts = out_counts + 8 * part.row
        request.out_outcomes = out_outcomes + part.row * outcomes.shape[1]
    groups = np.zeros(len(parts), dtype=np.int64)
    first, call, to = 0, function("trajectories"), address(groups)
    while first < len(parts):
        after = call(ctypes.addressof(every), len(parts), to, first, threads, thresholds.now.slice_microseconds)
        done(first, after)
        first = after
    return groups.tolist()
