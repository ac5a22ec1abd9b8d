"""What a device can do that differentiates: carry states and cotangents through a step, and apply observables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.devices.base import Buffer
from qsim_ex.steps.step import Step

if TYPE_CHECKING:
    from qsim_ex.circuit.observables import StoredSum
    from qsim_ex.steps.reversed import ReversedSweep


class Differentiates(ABC):
    """A device that runs the sweeps of adjoint differentiation on batches (see `base.Batches`).

    Beside a batch of rows it has `count` cotangents for each row: a buffer [rows, count, 2^num_bits].
    """

    @abstractmethod
    def begin_sums(
        self,
        states: Buffer,
        to: Buffer,
        num_bits: int,
        sums: Sequence[StoredSum],
        weights: NDArray[np.float64] | None = None,
        *,
        adds: bool = False,
    ) -> Callable[[], NDArray[np.float64]]:
        """Begin to write H|ψ⟩ for each row and sum H to `to`, [rows, sums, 2^n].

        The result waits for Re ⟨ψ|H|ψ⟩ and returns it, float64 [rows, sums].
        weights: float64 [rows, sums], with which the sums of a row are added up; `to` is [rows, 2^n] then.
        adds: add to what is there in place of writing.
        """

    @abstractmethod
    def prepare_adjoint(
        self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike, wanted: Sequence[NDArray[np.bool_]]
    ) -> object:
        """Get ready to run steps backwards; wanted: which of the packed numbers of each step derivatives are for."""

    @abstractmethod
    def run_adjoint(
        self,
        states: Buffer,
        cotangents: Buffer,
        num_bits: int,
        number: int,
        numbers: NDArray[np.complex128],
        prepared: object,
        high: int = 0,
    ) -> NDArray[np.complex128] | None:
        """Apply step `number` to all states and cotangents in place; return derivatives, None if none are needed.

        numbers: complex128 [rows or 1, count of numbers]. The result g, complex128 [rows, count, numbers], says how
        Re ⟨cotangent|state⟩ behind the step changes with a number z of the step, as Re(conj(g)·dz), while the
        cotangent behind it and the state before it stay. high: as of `Device.run`; steps that are no sweeps have none.
        """

    def prepare_reversed(
        self,
        sweeps: Sequence[ReversedSweep],
        num_bits: int,
        dtype: DTypeLike,
        wanted: Sequence[NDArray[np.bool_]],
        compile: str,  # noqa: ARG002  (for devices that write kernels)
    ) -> object:
        """Get ready to run a plan's sweeps backwards; wanted: as in `prepare_adjoint`, compile: as in `prepare`."""
        return self.prepare_adjoint([one.sweep for one in sweeps], num_bits, dtype, wanted)

    def run_reversed(
        self,
        states: Buffer,
        cotangents: Buffer,
        num_bits: int,
        numbers: Sequence[NDArray[np.complex128]],
        prepared: object,
        tick: Callable[[], object],
    ) -> list[NDArray[np.complex128] | None]:
        """Run all sweeps that are prepared, one behind the other; return the derivatives of each.

        tick: is called before each sweep.
        """
        found = []
        for number, own in enumerate(numbers):
            tick()
            found.append(self.run_adjoint(states, cotangents, num_bits, number, own, prepared))
        return found
