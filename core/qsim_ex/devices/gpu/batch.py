"""Batches on a GPU: one launch for all rows where a kernel is worth it, and rare steps row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.circuit.ops import When
from qsim_ex.devices.base import Batches
from qsim_ex.kernels.cuda.cupy_runtime import CupyRuntime
from qsim_ex.kernels.cuda.fixed import batch_sums, fixed
from qsim_ex.kernels.cuda.interpret import interpreter
from qsim_ex.kernels.cuda.runtime import Array, Runtime
from qsim_ex.later import later
from qsim_ex.precision import BY_DTYPE, Precision
from qsim_ex.steps.coefficients import Bound
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.step import BasisPermutation, DenseMatrix, InitialAmplitudes, Step, Sweep, ZeroFill

if TYPE_CHECKING:
    from qsim_ex.kernels.cuda import batch_sweeps
    from qsim_ex.kernels.cuda.batch_sweeps import BatchSweeps
else:
    batch_sweeps = later("qsim_ex.kernels.cuda.batch_sweeps")


class StepsOfRows(NamedTuple):
    """Steps for rows, whose kernels are chosen when it is known how many rows there are.

    num_bits: of each state. compile: as in `Device.prepare`.
    """

    steps: tuple[Step, ...]
    num_bits: int
    precision: Precision
    compile: str


class GpuBatches(Batches):
    """The part of `GpuDevice` that runs batches."""

    _runtime: Runtime
    _begun = False

    @cached_property
    def _batches(self) -> BatchSweeps:
        return batch_sweeps.BatchSweeps(self._runtime)

    def batch_shape(self, dtype: DTypeLike) -> Shape:
        """Return the limits as for one state, without tensor cores, which kernels for rows do not use."""
        return replace(self.shape(dtype), block=None)

    def prepare_batch(
        self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike, compile: str = "auto"
    ) -> StepsOfRows:
        """Prepare the steps; `load_batch` chooses the kernels, since it knows how many rows there are.

        Kernels that any first batch on a machine needs are compiled from here on, while numbers are computed.
        """
        precision = BY_DTYPE[np.dtype(dtype)]
        if not self._begun and isinstance(self._runtime, CupyRuntime):
            self._runtime.begin([interpreter.text(precision, None), *fixed.first(precision, fixed.FIRST_OF_ROWS)])
        self._begun = True
        return StepsOfRows(tuple(steps), num_bits, precision, compile)

    def load_batch(self, prepared: StepsOfRows, numbers: Bound) -> list[Any]:
        """Return the numbers of all rows, made on the device; compile the kernels for rows where that pays."""
        size = numbers.rows << prepared.num_bits
        batch = self._batches.prepare(prepared.steps, _log(size), prepared.precision, prepared.compile)
        return batch.load(self._runtime, numbers)

    def run_batch(
        self, buffer: Array, num_bits: int, step: Step, numbers: Any, prepared: StepsOfRows | None = None
    ) -> None:
        """Apply one step to every row in place."""
        rows = int(buffer.size) >> num_bits
        if not rows:
            return
        match step:
            case Sweep():
                given = numbers
                if not isinstance(given, batch_sweeps.RowNumbers):
                    compile = prepared.compile if prepared else "auto"
                    size, precision = _log(int(buffer.size)), BY_DTYPE[buffer.dtype]
                    given = self._batches.prepare((step,), size, precision, compile).give(self._runtime, step, numbers)
                given.launch(self._runtime, buffer, num_bits, given.numbers, given.stride)
            case ZeroFill(fresh):
                fixed.scale(self._runtime, buffer, When(fresh, 0), 1.0, 0.0)
            case DenseMatrix() | BasisPermutation() | InitialAmplitudes():
                for row in range(rows):
                    mine = numbers[row if len(numbers) > 1 else 0]
                    self.run(buffer[row << num_bits : row + 1 << num_bits], num_bits, step, mine)
            case _:
                assert_never(step)

    def begin_batch(self, buffer: Array, num_bits: int) -> None:
        """Set amplitude 0 of every row to 1; the others are unchanged."""
        batch_sums.begin(self._runtime, buffer, num_bits)

    def take_rows(self, to: Array, source: Array, num_bits: int, rows: NDArray[np.int64]) -> None:
        """Copy row ``rows[k]`` of `source` to row k of `to`."""
        batch_sums.take(self._runtime, to, source, num_bits, rows)

    def marginals(self, buffer: Array, num_bits: int, bits: Sequence[int], when: When) -> NDArray[np.float64]:
        """Return for each row the sums of |amplitude|² where `when` holds, for each value of `bits`."""
        return batch_sums.marginals(self._runtime, buffer, num_bits, bits, when)

    def paulis(
        self, buffer: Array, num_bits: int, parts: Sequence[tuple[int, Sequence[int]]]
    ) -> NDArray[np.complex128]:
        """Return for each row Σ_i conj(a[i XOR x])·(−1)^parity(i & z)·a[i] for each (x, zs) and each z."""
        return batch_sums.paulis(self._runtime, buffer, num_bits, parts)


def _log(size: int) -> int:
    """Return the least number of bits that count `size` amplitudes."""
    return max(0, size - 1).bit_length()
