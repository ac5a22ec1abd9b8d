"""The sweeps of a compiled plan, encoded by core/native/planner/encode/writer.cpp: it reads like `encode`, `writer`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

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
from qsim_ex.steps.compiled import KIND, SWEEP, PlanArrays, arrays_at

_ARRAYS = (
    ("instructions", "i8", INSTRUCTION.itemsize // 8),
    ("fills", "i8", FILL.itemsize // 8),
    ("codes", "i4", 1),
    ("integers", "i8", 1),
    ("geometry", "i8", GEOMETRY),
    ("ends", "i8", 4),
    ("programs", "i8", PROGRAM),
)
"""The arrays of `qx_plan_encoded`: name, type, and integers of a row."""

_SLICE = 50
"""Milliseconds for which native code encodes before it returns to Python."""


@lru_cache(maxsize=2)
def encoded_plan(
    arrays: PlanArrays, num_bits: int, lane_bits: int, real_bytes: int, check: Callable[[], None] | None = None
) -> EncodedPlan:
    """Encode all sweeps of a plan; see `encode.encode`. check: is called from time to time, and may raise.

    Cached, since sweeps are asked for one after the other; who prepares a plan keeps them.
    """
    return EncodedPlan(_encoder(), arrays, num_bits, lane_bits, real_bytes, check)


class EncodedPlan:
    """The encoded sweeps of a plan, in memory of native code, which lives as long as this object.

    bytes: what they take.
    """

    def __init__(
        self,
        encoder: _Encoder,
        arrays: PlanArrays,
        num_bits: int,
        lane_bits: int,
        real_bytes: int,
        check: Callable[[], None] | None,
    ) -> None:
        self._encoder = encoder
        self._handle = encoder.begin(arrays.owner.handle, num_bits, lane_bits, real_bytes)
        while encoder.encode(self._handle, _SLICE):
            if check is not None:  # and here Python looks for Ctrl-C
                check()
        out = np.empty(2 * len(_ARRAYS) + 1, dtype=np.int64)
        encoder.arrays(self._handle, out.ctypes.data)
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
        before = ends[place - 1, :3].tolist() if place else [0, 0, 0]
        *bounds, coefficients = ends[place].tolist()
        a, b, c = map(slice, before, bounds)
        row = geometry[place]
        instructions, fills = instructions.view(INSTRUCTION)[:, 0], fills.view(FILL)[:, 0]
        outside = int(row[NUM_BITS]) - int(row[TILE_MASK]).bit_count()
        own = _own_codes(fills[b], codes)
        return EncodedSweep(instructions[a], *own, integers[c], row, coefficients, outside, int(row[ROW_BITS]))

    @cached_property
    def _arrays(self) -> list[NDArray[Any]]:
        return arrays_at(self, _ARRAYS, self._found)

    def __del__(self) -> None:
        self._encoder.free(self._handle)


def _own_codes(fills: NDArray[np.void], codes: NDArray[np.int32]) -> tuple[NDArray[np.void], NDArray[np.int32]]:
    """Return the fills of one sweep and the codes that they look up, which the sweeps of a plan have in common."""
    fills, own, at = fills.copy(), [codes[:0]], 0
    begins: dict[int, int] = {}
    for fill in fills:
        begin, identity, end = int(fill["from"]), int(fill["identity"]), int(fill["identity"] + fill["entries"])
        if begin not in begins:
            begins[begin] = at
            own.append(codes[begin:end])
            at += end - begin
        fill["from"], fill["identity"] = begins[begin], begins[begin] + identity - begin
    return fills, np.concatenate(own)


class _Encoder(NamedTuple):
    begin: Callable[..., int]
    encode: Callable[..., int]
    arrays: Callable[..., int]
    free: Callable[..., int]


@lru_cache(maxsize=1)
def _encoder() -> _Encoder:
    return _Encoder(
        function("plan_encode_begin", "iiii"),
        function("plan_encode", "ii"),
        function("plan_encoded", "ip"),
        function("plan_free_encoded", "i"),
    )
