"""Sweeps as the arrays of integers that core/native/kernels/sweep.cpp interprets, and the interpreter.

Native code writes them (`Writer` in core/native/planner/encode). Only structure is encoded, so it is done once for a
plan; numbers are looked up when a sweep runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.native.library import REFUSED, address, function, refusal, unchecked
from qsim_ex.precision import BY_DTYPE, AmplitudeDtype
from qsim_ex.steps.plan_arrays import Memory, PlanArrays

if TYPE_CHECKING:
    from qsim_ex.steps.sweep_arrays import SweepArrays

PROGRAM = 8
"""The integers of an encoded sweep as kernels take it: the struct Program of core/native/kernels/encoding.hpp."""

NUM_INSTRUCTIONS = 1
"""Which of them is the number of its instructions."""

_SLICE = 50
"""Milliseconds for which native code encodes before it returns to Python."""

Run = Callable[..., int]

LEAST_CACHED = 1 << 26
"""The bytes that a last cache has at least, as far as writing past it is concerned."""


@lru_cache(maxsize=2)
def encoded_plan(
    arrays: PlanArrays, num_bits: int, lane_bits: int, real_bytes: int, check: Callable[[], None] | None = None
) -> EncodedPlan:
    """Return all sweeps of a plan, encoded.

    Cached, since sweeps are asked for one after the other; who prepares a plan keeps them.
    """
    return EncodedPlan(arrays, num_bits, lane_bits, real_bytes, check)


class EncodedPlan:
    """Encoded sweeps of one plan, in memory of native code, which lives as long as this object.

    They run over 2^num_bits amplitudes, by vectors of 2^lane_bits real numbers of `real_bytes` bytes. check: is called
    from time to time while they are encoded, and may raise. bytes: what they take.
    """

    _handle = 0  # until there is one: Ctrl-C may come before `__init__` begins

    def __init__(
        self,
        arrays: PlanArrays | SweepArrays,
        num_bits: int,
        lane_bits: int,
        real_bytes: int,
        check: Callable[[], None] | None = None,
    ) -> None:
        self._free = function("plan_free_encoded")
        encode = unchecked("plan_encode")
        self._handle = function("plan_encode_begin")(arrays.handle, num_bits, lane_bits, real_bytes)
        while state := encode(self._handle, _SLICE):
            if state == REFUSED:
                raise refusal(encode)
            if check is not None:  # and here Python looks for Ctrl-C
                check()
        out = np.empty(2, dtype=np.int64)
        function("plan_encoded")(self._handle, address(out))
        self._programs, self.bytes = out.tolist()
        self._places = arrays.sweep_places

    def program(self, number: int) -> int:
        """Return the address of the program of a sweep, by the number of the step: the integers of `PROGRAM`."""
        return self._programs + 8 * PROGRAM * self._places[number]

    def words(self, number: int) -> NDArray[np.int64]:
        """Return the integers of a sweep's program, for tests and for benchmarks."""
        return Memory(self, self.program(number), PROGRAM, "i8").array()

    def __del__(self) -> None:
        if self._handle:
            self._free(self._handle)


@lru_cache(maxsize=8)
def run_of(dtype: AmplitudeDtype, chosen: str = "") -> Run:
    """Return the interpreter for amplitudes of a dtype. chosen: the instruction set; see `native.library.function`."""
    found: Run = unchecked(f"run_sweep_{BY_DTYPE[dtype].name}", chosen)
    return found


@thresholds.depends
@lru_cache(maxsize=1)
def cached_bytes() -> int:
    """Return the bytes above which a growing state is written past the caches.

    To write through them, memory that holds nothing would be read first: two thirds of the time of a GHZ state of 26
    wires on 16 cores.
    """
    return thresholds.now.native.past_caches or max(LEAST_CACHED, function("last_cache")())


class NativeSweep:
    """An encoded sweep as the interpreter takes it.

    run_it: of `run_of`. program: the address of its program, see `PROGRAM`. owner: keeps what is there.
    """

    __slots__ = ("_run", "owner", "program")

    def __init__(self, run_it: Run, program: int, owner: object) -> None:
        self._run, self.program, self.owner = run_it, program, owner

    def run(self, state: int, rows: int, numbers: NDArray[np.float64], high: int, threads: int) -> None:
        """Run the sweep on states that follow each other in memory, from the address `state` on.

        numbers: real and imaginary parts in turn, [1, count] for all states together or [rows, count].
        high: the value of all index bits outside the states. Raises `OutOfMemory` before anything is changed.
        """
        chunk = 0
        where = self.program, state, rows, numbers.ctypes.data, *numbers.shape, high, cached_bytes()
        while chunk := self._run(*where, chunk, threads, thresholds.now.native.slice_microseconds):
            if chunk == REFUSED:
                raise refusal(self._run)
