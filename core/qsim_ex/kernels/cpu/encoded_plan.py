"""Sweeps as the arrays of integers that core/native/kernels/sweep.cpp interprets.

Native code writes them (`Writer` in core/native/planner/encode). Only structure is encoded, so it is done once for a
plan; numbers are looked up when a sweep runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qsim_ex.native.library import REFUSED, address, function, refusal, unchecked
from qsim_ex.steps.compiled import Memory, PlanArrays

if TYPE_CHECKING:
    from qsim_ex.steps.sweep_arrays import SweepArrays

PROGRAM = 8
"""The integers of an encoded sweep as kernels take it: the struct Program of core/native/kernels/encoding.hpp."""

NUM_INSTRUCTIONS = 1
"""Which of them is the number of its instructions."""

_SLICE = 50
"""Milliseconds for which native code encodes before it returns to Python."""


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
