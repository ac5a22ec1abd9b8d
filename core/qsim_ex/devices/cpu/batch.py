"""Batches on the CPU: threads share the rows, and compiled code loops over them where there are many.

One thread runs all sweeps of a state that fits into a tile's cache, so many small states are as fast as their
arithmetic. Steps that are rare in a batch (matrices wider than a register block, permutations, initial states) go row
by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import When
from qsim_ex.devices.base import Batches
from qsim_ex.devices.cpu import sums
from qsim_ex.kernels.cpu.encoded_plan import run_sweep
from qsim_ex.kernels.cpu.pool import in_chunks
from qsim_ex.precision import Amplitudes
from qsim_ex.steps.coefficients import Bound
from qsim_ex.steps.step import Step, Sweep, ZeroFill


class CpuBatches(Batches):
    """The part of `CpuDevice` that runs batches."""

    threads: int

    def load_batch(self, prepared: object, numbers: Bound) -> Iterable[object]:  # noqa: ARG002  (the protocol's)
        """Return the numbers of each step as they are in host memory."""
        return numbers

    def run_batch(self, buffer: Amplitudes, num_bits: int, step: Step, numbers: Any, prepared: Any = None) -> None:
        """Apply one step to every row in place."""
        size = 1 << num_bits
        match step:
            case Sweep():
                run_sweep(buffer, num_bits, step, numbers, prepared, 0, self.threads)
            case ZeroFill():  # it names bits of a row alone, and so does the same to every row
                self.run(buffer, num_bits, step, numbers)
            case _:
                for row in range(buffer.size >> num_bits):
                    own = numbers[row if len(numbers) > 1 else 0]
                    self.run(buffer[row * size : row * size + size], num_bits, step, own, prepared)

    def begin_batch(self, buffer: Amplitudes, num_bits: int) -> None:
        """Set amplitude 0 of every row to 1; the others are unchanged."""
        buffer[:: 1 << num_bits] = 1

    def take_rows(self, to: Amplitudes, source: Amplitudes, num_bits: int, rows: NDArray[np.int64]) -> None:
        """Copy rows, long rows in pieces."""
        size = 1 << num_bits
        piece = min(size, 1 << thresholds.now.chunk_bits)
        pieces = (rows[:, None] * (size // piece) + np.arange(size // piece)).ravel()
        target, origin = to.reshape(-1, piece), source.reshape(-1, piece)

        def work(first: int, last: int) -> None:
            # With "raise", NumPy would copy through a buffer.
            np.take(origin, pieces[first:last], axis=0, out=target[first:last], mode="clip")

        in_chunks(len(pieces), self.threads, work, piece)

    def marginals(self, buffer: Amplitudes, num_bits: int, bits: Sequence[int], when: When) -> NDArray[np.float64]:
        """Return for each row the sums of |amplitude|² where `when` holds, for each value of `bits`: [rows, 2^bits]."""
        return sums.marginals(buffer, num_bits, bits, when, self.threads)

    def paulis(
        self, buffer: Amplitudes, num_bits: int, parts: Sequence[tuple[int, Sequence[int]]]
    ) -> NDArray[np.complex128]:
        """Return for each row the sum of every Pauli string: complex128 [rows, all z of all parts in their order]."""
        return sums.paulis(buffer, num_bits, parts, self.threads)
