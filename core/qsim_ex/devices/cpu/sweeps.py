"""Sweeps on the CPU device: encoded once for each plan, run over one state or over every row of a batch."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.devices.cpu import buffers
from qsim_ex.errors import InvalidInput
from qsim_ex.kernels import host
from qsim_ex.kernels.cpu import pool
from qsim_ex.kernels.cpu.encoded_plan import EncodedPlan, NativeSweep, encoded_plan, run_of
from qsim_ex.later import later
from qsim_ex.planning.compiled import check_cancelled
from qsim_ex.precision import BY_DTYPE, DTYPES, AmplitudeDtype, Amplitudes, Storage
from qsim_ex.steps.compiled import PlannedSweep
from qsim_ex.steps.plan_arrays import PlanArrays
from qsim_ex.steps.step import Step, Sweep

if TYPE_CHECKING:
    from qsim_ex.steps import sweep_arrays
else:
    sweep_arrays = later("qsim_ex.steps.sweep_arrays")


_ALIGNMENT = 64  # bytes: one cache line, one vector of AVX-512
_WORK = 4  # a sweep does 4 times as much work on an amplitude as a sum does


class EncodedSweeps:
    """Encoded sweeps of one plan, for one size and dtype.

    chosen: the instruction set; the best of this processor by default. bytes: what all of them take, with the arrays
    of their plan.
    """

    def __init__(self, num_bits: int, dtype: AmplitudeDtype, chosen: str = "") -> None:
        self.num_bits = num_bits
        self.dtype = dtype
        self.chosen = chosen
        self.bytes = 0
        self._programs: dict[int, tuple[Step, NativeSweep | None]] = {}
        self._plan: tuple[PlanArrays, EncodedPlan] | None = None

    def program(self, step: Step) -> NativeSweep | None:
        """Return the encoded sweep; None for another step, which needs none."""
        found = self._programs.get(id(step))
        if found is None or found[0] is not step:
            found = self._programs[id(step)] = (step, self._encoded(step) if isinstance(step, Sweep) else None)
        return found[1]

    def _encoded(self, step: Sweep) -> NativeSweep:
        if isinstance(step, PlannedSweep) and step.arrays is not None:
            plan = self._encoded_plan(step.arrays)
            return NativeSweep(run_of(self.dtype, self.chosen), plan.program(step.number), plan)
        alone = EncodedPlan(sweep_arrays.SweepArrays([step]), self.num_bits, *self._vectors)
        self.bytes += alone.bytes
        return NativeSweep(run_of(self.dtype, self.chosen), alone.program(0), alone)

    def _encoded_plan(self, arrays: PlanArrays) -> EncodedPlan:
        """Return the sweeps of the compiled plan that all steps are of, but for steps of another plan."""
        if self._plan is None or self._plan[0] is not arrays:
            self._plan = arrays, encoded_plan(arrays, self.num_bits, *self._vectors, check_cancelled)
            self.bytes += self._plan[1].bytes + arrays.bytes
        return self._plan[1]

    @cached_property
    def _vectors(self) -> tuple[int, int]:
        """log2 of the real numbers of a vector, and the bytes of one."""
        return host.lane_bits(self.dtype, self.chosen), checked_storage(self.dtype).real_bytes


def run_sweep(
    buffer: Amplitudes,
    num_bits: int,
    step: Sweep,
    numbers: object,
    prepared: EncodedSweeps | None,
    high: int,
    threads: int,
) -> None:
    """Run a sweep on all rows of a batch; threads share their tiles.

    numbers: complex128 [count] or [1, count], the same for all rows, or [rows, count].
    """
    if prepared is None or (prepared.num_bits, prepared.dtype) != (num_bits, buffer.dtype):
        prepared = EncodedSweeps(num_bits, buffer.dtype)
    program = prepared.program(step)
    assert program is not None  # a sweep is encoded
    floats = np.ascontiguousarray(numbers, dtype=np.complex128).view(np.float64)
    floats = floats.reshape(1, -1) if floats.ndim == 1 else floats
    program.run(buffer.ctypes.data, buffer.size >> num_bits, floats, high, pool.worth(_WORK * buffer.size, threads))


def aligned(size: int) -> NDArray[np.uint8]:
    """Return so many bytes, the first of them on a cache line; see `buffers`."""
    if size >= thresholds.now.large_bytes:
        return buffers.take(size)
    raw = np.empty(size + _ALIGNMENT, dtype=np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + size]


@lru_cache(maxsize=2)
def checked_storage(dtype: AmplitudeDtype) -> Storage:
    """Return how amplitudes of a dtype are stored; raises `InvalidInput` unless amplitudes have this dtype."""
    if (row := BY_DTYPE.get(dtype)) is None:
        raise InvalidInput(f"expected amplitudes in {DTYPES}, got {dtype}; convert them.")
    return row.storage
