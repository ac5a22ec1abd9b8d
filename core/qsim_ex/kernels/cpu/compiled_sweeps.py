"""The sweeps of a compiled plan, encoded by native code: core/native/plan_writer.cpp, which reads like `writer`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cpu.encoding import (
    FILL,
    GEOMETRY,
    INSTRUCTION,
    NUM_BITS,
    PROGRAM,
    ROW_BITS,
    TILE_MASK,
    EncodedSweep,
)
from qsim_ex.native.library import function
from qsim_ex.steps.compiled import KIND, SWEEP, Memory, PlanArrays

_ARRAYS = (INSTRUCTION, FILL, 1, 1, GEOMETRY, 5, PROGRAM)
"""The integers of a row of each array of `qx_plan_encode`, from instructions to programs."""


@lru_cache(maxsize=2)
def encoded_plan(arrays: PlanArrays, num_bits: int, lane_bits: int, real_bytes: int) -> EncodedPlan:
    """Encode all sweeps of a plan; see `writer.encode`.

    Cached, since sweeps are asked for one after the other; who prepares a plan keeps them.
    """
    return EncodedPlan(_encoder(), arrays, num_bits, lane_bits, real_bytes)


class EncodedPlan:
    """The encoded sweeps of a plan, in memory of native code, which lives as long as this object.

    bytes: what they take.
    """

    def __init__(self, encoder: _Encoder, arrays: PlanArrays, num_bits: int, lane_bits: int, real_bytes: int) -> None:
        self._encoder = encoder
        out = np.empty(2 * len(_ARRAYS) + 1, dtype=np.int64)
        self._handle = encoder.encode(arrays.owner.handle, num_bits, lane_bits, real_bytes, out.ctypes.data)
        *self._found, self.bytes = out.tolist()
        numbers = np.flatnonzero(arrays.steps[:, KIND] == SWEEP).tolist()
        self._place = {number: place for place, number in enumerate(numbers)}

    def program(self, number: int) -> int:
        """Return the address of the program of a sweep, by the number of the step: the integers of `PROGRAM`."""
        programs: int = self._found[-2]
        return programs + 8 * PROGRAM * self._place[number]

    def sweep(self, number: int) -> EncodedSweep:
        """Return a sweep by the number of its step, as arrays; for tests and for people."""
        instructions, fills, codes, integers, geometry, ends, _ = self._arrays
        place = self._place[number]
        before = ends[place - 1, :4].tolist() if place else [0, 0, 0, 0]
        *bounds, coefficients = ends[place].tolist()
        a, b, c, d = map(slice, before, bounds)
        row = geometry[place]
        outside = int(row[NUM_BITS]) - int(row[TILE_MASK]).bit_count()
        parts = instructions[a], fills[b], codes[c], integers[d]
        return EncodedSweep(*parts, row, coefficients, outside, int(row[ROW_BITS]))

    @cached_property
    def _arrays(self) -> list[NDArray[np.int64]]:
        made = []
        for row, address, length in zip(_ARRAYS, self._found[::2], self._found[1::2], strict=True):
            array = Memory(self, address, length * row, "i8").array()
            made.append(array.reshape(-1, row) if row > 1 else array)
        return made

    def __del__(self) -> None:
        self._encoder.free(self._handle)


class _Encoder(NamedTuple):
    encode: Callable[..., int]
    free: Callable[..., int]


@lru_cache(maxsize=1)
def _encoder() -> _Encoder:
    return _Encoder(function("plan_encode", "iiiip"), function("plan_free_encoded", "i"))
