"""The interpreter of encoded sweeps: core/native/kernels/sweep.cpp, called from here."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.native import library
from qsim_ex.precision import BY_DTYPE

Run = Callable[..., int]

LEAST_CACHED = 1 << 26
"""The bytes that a last cache has at least, as far as writing past it is concerned."""


@lru_cache(maxsize=8)
def run_of(dtype: np.dtype[Any], chosen: str = "") -> Run:
    """Return the interpreter for amplitudes of a dtype. chosen: the instruction set; see `library.function`."""
    found: Run = library.unchecked(f"run_sweep_{BY_DTYPE[dtype].name}", chosen)
    return found


@thresholds.depends
@lru_cache(maxsize=1)
def cached_bytes() -> int:
    """Return the bytes above which a growing state is written past the caches.

    To write through them, memory that holds nothing would be read first: two thirds of the time of a GHZ state of 26
    wires on 16 cores.
    """
    return thresholds.now.native.past_caches or max(LEAST_CACHED, library.function("last_cache")())


class NativeSweep:
    """An encoded sweep as the interpreter takes it.

    run_it: of `run_of`. program: the address of its program, see `encoded_plan.PROGRAM`. owner: keeps what is there.
    """

    __slots__ = ("_address", "_run", "owner")

    def __init__(self, run_it: Run, program: int, owner: object) -> None:
        self._run, self._address, self.owner = run_it, program, owner

    def run(self, state: int, rows: int, numbers: NDArray[np.float64], high: int, threads: int) -> None:
        """Run the sweep on states that follow each other in memory, from the address `state` on.

        numbers: real and imaginary parts in turn, [1, count] for all states together or [rows, count].
        high: the value of all index bits outside the states. Raises `OutOfMemory` before anything is changed.
        """
        chunk = 0
        where = self._address, state, rows, numbers.ctypes.data, *numbers.shape, high, cached_bytes()
        while chunk := self._run(*where, chunk, threads, thresholds.now.native.slice_microseconds):
            if chunk == library.REFUSED:
                raise library.refusal(self._run)
