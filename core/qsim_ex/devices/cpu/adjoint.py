"""Adjoint differentiation on the CPU: sweeps by native code, and the rare steps that are no sweeps as in a batch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.devices.adjoint import Differentiates
from qsim_ex.errors import NotSupported
from qsim_ex.kernels.cpu.encoded_plan import EncodedSweeps, NativeSweep
from qsim_ex.later import later
from qsim_ex.native.library import check_cancelled
from qsim_ex.precision import BY_DTYPE, Amplitudes

if TYPE_CHECKING:
    from qsim_ex.circuit.observables import StoredSum
    from qsim_ex.kernels.cpu import adjoint
    from qsim_ex.steps.step import Step
else:
    adjoint = later("qsim_ex.kernels.cpu.adjoint")


class AdjointSteps(NamedTuple):
    """Steps that are ready: of each sweep its encoding and which instructions' numbers are needed; None for others."""

    steps: tuple[Step, ...]
    sweeps: tuple[tuple[NativeSweep, NDArray[np.uint8]] | None, ...]
    encoded: EncodedSweeps


class CpuAdjoints(Differentiates):
    """The part of `CpuDevice` that differentiates."""

    threads: int

    @abstractmethod
    def run_batch(
        self, buffer: Amplitudes, num_bits: int, step: Step, numbers: NDArray[np.complex128], prepared: object = None
    ) -> None:
        """Apply one step to every row in place, as `Batches.run_batch`."""

    def begin_sums(
        self,
        states: Amplitudes,
        to: Amplitudes,
        num_bits: int,
        sums: Sequence[StoredSum],
        weights: NDArray[np.float64] | None = None,
        *,
        adds: bool = False,
    ) -> Callable[[], NDArray[np.float64]]:
        """Write H|ψ⟩ for each row and sum; the result returns the expectation values."""
        where = adjoint.HostProducts(states, to, num_bits, weights, adds)
        values = adjoint.pauli_products(where, sums, self.threads)
        return lambda: values

    def prepare_adjoint(
        self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike, wanted: Sequence[NDArray[np.bool_]]
    ) -> AdjointSteps:
        """Encode the sweeps, and look up which of their instructions have numbers that are needed."""
        encoded = EncodedSweeps(num_bits, np.dtype(dtype), check=check_cancelled)
        single = BY_DTYPE[np.dtype(dtype)].storage.native_single
        found: list[tuple[NativeSweep, NDArray[np.uint8]] | None] = []
        for step, numbers in zip(steps, wanted, strict=True):
            sweep = encoded.program(step)
            if sweep is None and numbers.any():
                raise NotSupported(
                    f"gradient: expected parameters in gates that mix a few wires, got one in {type(step).__name__}; "
                    "write the gate as a product of smaller ones."
                )
            found.append(None if sweep is None else (sweep, adjoint.wanted_instructions(sweep, single, numbers)))
        return AdjointSteps(tuple(steps), tuple(found), encoded)

    def run_adjoint(
        self,
        states: Amplitudes,
        cotangents: Amplitudes,
        num_bits: int,
        number: int,
        numbers: NDArray[np.complex128],
        prepared: object,
        high: int = 0,
    ) -> NDArray[np.complex128] | None:
        """Apply one step to states and cotangents in place, and return the derivatives."""
        assert isinstance(prepared, AdjointSteps)
        known = prepared.sweeps[number]
        if known is None:
            step = prepared.steps[number]
            self.run_batch(states, num_bits, step, numbers, prepared.encoded)
            rows = numbers if len(numbers) == 1 else np.repeat(numbers, cotangents.size // states.size, axis=0)
            self.run_batch(cotangents, num_bits, step, rows, prepared.encoded)
            return None
        sweep, wanted = known
        floats = np.ascontiguousarray(numbers).view(np.float64).reshape(len(numbers), -1)
        where = adjoint.HostRows(states, cotangents, num_bits, high)
        found = adjoint.run_adjoint(where, sweep, floats, wanted, self.threads)
        return found.view(np.complex128) if wanted.any() else None
