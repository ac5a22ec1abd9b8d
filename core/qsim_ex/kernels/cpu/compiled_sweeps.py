"""The sweeps of a compiled plan, encoded by native code: core/native/plan_writer.cpp, which reads like `writer`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cpu.encoding import FILL, INSTRUCTION, NUM_BITS, ROW_BITS, TILE_MASK, EncodedSweep
from qsim_ex.native.library import function
from qsim_ex.steps.compiled import KIND, SWEEP, Memory, PlanArrays

_ARRAYS = (INSTRUCTION, FILL, 1, 1, 10, 5)
"""The integers of a row of each array of `qx_plan_encode`: instructions, fills, codes, integers, geometry, ends."""


@lru_cache(maxsize=2)
def encode_all(arrays: PlanArrays, num_bits: int, lane_bits: int, real_bytes: int) -> dict[int, EncodedSweep]:
    """Encode all sweeps of a plan, by the number of the step; see `writer.encode`.

    Cached, since sweeps are asked for one after the other; who prepares a plan keeps them.
    """
    made = _Encoded(_encoder(), arrays, num_bits, lane_bits, real_bytes)
    instructions, fills, codes, integers, geometry, ends = made.arrays
    numbers = np.flatnonzero(arrays.steps[:, KIND] == SWEEP).tolist()
    out, before = {}, [0, 0, 0, 0]
    for number, row, place, (*bounds, coefficients) in zip(
        numbers, geometry, geometry.tolist(), ends.tolist(), strict=True
    ):
        a, b, c, d = map(slice, before, bounds)
        outside = place[NUM_BITS] - place[TILE_MASK].bit_count()
        parts = instructions[a], fills[b], codes[c], integers[d]
        out[number] = EncodedSweep(*parts, row, coefficients, outside, place[ROW_BITS])
        before = bounds
    return out


class _Encoded:
    """Arrays in memory of native code, which lives as long as this object."""

    def __init__(self, encoder: _Encoder, arrays: PlanArrays, num_bits: int, lane_bits: int, real_bytes: int) -> None:
        self._encoder = encoder
        out = np.empty(2 * len(_ARRAYS), dtype=np.int64)
        self._handle = encoder.encode(arrays.owner.handle, num_bits, lane_bits, real_bytes, out.ctypes.data)
        found = out.tolist()
        self.arrays: list[NDArray[np.int64]] = []
        for row, address, length in zip(_ARRAYS, found[::2], found[1::2], strict=True):
            made = Memory(self, address, length * row, "i8").array()
            self.arrays.append(made.reshape(-1, row) if row > 1 else made)

    def __del__(self) -> None:
        self._encoder.free(self._handle)


class _Encoder(NamedTuple):
    encode: Callable[..., int]
    free: Callable[..., int]


@lru_cache(maxsize=1)
def _encoder() -> _Encoder:
    return _Encoder(function("plan_encode", "iiiip"), function("plan_free_encoded", "i"))
