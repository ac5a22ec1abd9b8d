"""Trajectories of narrow states: all steps of a circuit for some shots, in one call of `core/native/trajectories.cpp`.

`core/native/trajectories.hpp` has the form of the tables, and `run.trajectory_tables` lays them out.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray

from qsim_ex.native.arguments import address, structure
from qsim_ex.native.library import kernel

_Request = structure(
    "num_wires num_steps num_channels num_blocks num_order columns most first shots single "
    "steps channels next_work blocks order ints floats m keys defaults out out_shots out_counts out_outcomes"
)


def run(numbers: dict[str, int], arrays: dict[str, NDArray[Any]]) -> int:
    """Run some shots through all steps, and return the number of groups of shots with equal outcomes.

    numbers, arrays: the fields of `Request` in `trajectories.hpp`, except counts of the arrays' items.
    """
    counts = {f"num_{name}": len(arrays[name]) for name in ("steps", "channels", "blocks", "order")}
    addresses = {name: address(array) for name, array in arrays.items()}
    request = _Request(**counts, **numbers, **addresses)
    return _run()(ctypes.addressof(request))


@lru_cache(maxsize=1)
def _run() -> Callable[..., int]:
    return kernel("trajectories", "p")
