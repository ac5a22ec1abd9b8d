"""Adjoint differentiation on a GPU: sweeps by an interpreter, and the rare steps that are no sweeps as in a batch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.circuit.observables import StoredSum
from qsim_ex.devices.adjoint import Differentiates
from qsim_ex.errors import NotSupported
from qsim_ex.kernels.cuda.runtime import Array, Runtime
from qsim_ex.later import later
from qsim_ex.precision import BY_DTYPE
from qsim_ex.steps.reversed import ReversedSweep
from qsim_ex.steps.step import Step, Sweep

if TYPE_CHECKING:
    from qsim_ex.kernels.cuda.adjoint import reversed as backwards
    from qsim_ex.kernels.cuda.adjoint import sweep as adjoint
    from qsim_ex.kernels.cuda.fixed import pauli_products
else:
    backwards = later("qsim_ex.kernels.cuda.adjoint.reversed")
    adjoint = later("qsim_ex.kernels.cuda.adjoint.sweep")
    pauli_products = later("qsim_ex.kernels.cuda.fixed.pauli_products")


class AdjointLaunches(NamedTuple):
    """Steps that are ready, and of each sweep its launch; None for others."""

    steps: tuple[Step, ...]
    sweeps: tuple[adjoint.AdjointSweep | None, ...]


class GpuAdjoints(Differentiates):
    """The part of `GpuDevice` that differentiates."""

    _runtime: Runtime

    @cached_property
    def _reversed(self) -> backwards.ReversedKernels:
        return backwards.ReversedKernels(self._runtime)

    @abstractmethod
    def run_batch(
        self, buffer: Array, num_bits: int, step: Step, numbers: NDArray[np.complex128], prepared: None = None
    ) -> None:
        """Apply one step to every row in place, as `Batches.run_batch`."""

    def begin_sums(
        self,
        states: Array,
        to: Array,
        num_bits: int,
        sums: Sequence[StoredSum],
        weights: NDArray[np.float64] | None = None,
        *,
        adds: bool = False,
    ) -> Callable[[], NDArray[np.float64]]:
        """Queue H|ψ⟩ for each row and sum."""
        where = pauli_products.DeviceProducts(states, to, num_bits, weights, adds)
        return pauli_products.pauli_products(self._runtime, where, sums)

    def prepare_adjoint(
        self,
        steps: Sequence[Step],
        num_bits: int,  # noqa: ARG002  (the protocol's; programs are for any number of bits)
        dtype: DTypeLike,
        wanted: Sequence[NDArray[np.bool_]],
    ) -> AdjointLaunches:
        """Write the programs of the sweeps, and mark the operations whose numbers are needed."""
        precision = BY_DTYPE[np.dtype(dtype)]
        found: list[adjoint.AdjointSweep | None] = []
        for step, numbers in zip(steps, wanted, strict=True):
            if isinstance(step, Sweep):
                found.append(adjoint.prepared(self._runtime, step, precision, numbers))
                continue
            if numbers.any():
                raise NotSupported(
                    f"gradient: expected parameters in gates that mix a few wires, got one in {type(step).__name__}; "
                    "write the gate as a product of smaller ones."
                )
            found.append(None)
        return AdjointLaunches(tuple(steps), tuple(found))

    def run_adjoint(
        self,
        states: Array,
        cotangents: Array,
        num_bits: int,
        number: int,
        numbers: NDArray[np.complex128],
        prepared: object,
        high: int = 0,
    ) -> NDArray[np.complex128] | None:
        """Apply one step to states and cotangents in place, and return the derivatives."""
        assert isinstance(prepared, AdjointLaunches)
        sweep = prepared.sweeps[number]
        if sweep is not None:
            return sweep(self._runtime, adjoint.CotangentRows(states, cotangents, num_bits, high), numbers)
        step, count = prepared.steps[number], int(cotangents.size) // int(states.size)
        self.run_batch(states, num_bits, step, numbers)
        self.run_batch(cotangents, num_bits, step, numbers if len(numbers) == 1 else np.repeat(numbers, count, axis=0))
        return None

    def prepare_reversed(
        self,
        sweeps: Sequence[ReversedSweep],
        num_bits: int,
        dtype: DTypeLike,
        wanted: Sequence[NDArray[np.bool_]],
        compile: str,
    ) -> backwards.ReversedSweeps:
        """Choose which sweeps get kernels of their own, and compile them where runs wait for that."""
        made = [backwards.collecting(one, own) for one, own in zip(sweeps, wanted, strict=True)]
        precision = BY_DTYPE[np.dtype(dtype)]
        return backwards.ReversedSweeps(self._runtime, self._reversed, made, num_bits, precision, compile)

    def run_reversed(
        self,
        states: Array,
        cotangents: Array,
        num_bits: int,
        numbers: Sequence[NDArray[np.complex128]],
        prepared: object,
        tick: Callable[[], object],
    ) -> list[NDArray[np.complex128] | None]:
        """Queue all sweeps, and return the derivatives of each."""
        assert isinstance(prepared, backwards.ReversedSweeps)
        return prepared.run(adjoint.CotangentRows(states, cotangents, num_bits), numbers, tick)
