"""A plan of sweeps backwards: states and cotangents become as small again as the plan began with, see `steps.reversed`.

An item that takes ψ to Cψ has the inverse V = C†, which takes ψ to Vψ and λ to Vλ. A value changes by
−factor·Re⟨Vλ|dV|ψ⟩, and the numbers of V are the conjugates of those of C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.derivatives import add_at
from qsim_ex.devices.adjoint import Differentiates
from qsim_ex.devices.base import Buffer
from qsim_ex.execution.prepare import bound_rows
from qsim_ex.placement.base import Tick
from qsim_ex.placement.batch import Batch
from qsim_ex.planning.coefficients.pullback import depending, pull_back
from qsim_ex.precision import AmplitudeDtype
from qsim_ex.steps.plan import Plan
from qsim_ex.steps.reversed import ReversedSweep, reversed_sweep
from qsim_ex.steps.step import Sweep, ZeroFill

Complex = NDArray[np.complex128]


class BackwardsNumbers(NamedTuple):
    """The whole coefficient buffers of a plan, [rows or 1, size], and the packed numbers of each sweep backwards."""

    buffer: Complex
    own: list[Complex]


@dataclass(frozen=True, eq=False)
class ReversedPlan:
    """The sweeps of a plan backwards, from the last one to the first that has a number that is differentiated.

    steps: of which of the plan's steps each sweep is the inverse. prepared: the sweeps, as the device has prepared
    them.
    """

    plan: Plan
    steps: tuple[int, ...]
    sweeps: Sequence[ReversedSweep]
    device: Differentiates
    prepared: object

    @cached_property
    def places(self) -> list[NDArray[np.int64]]:
        """Where in the plan's coefficient buffer the numbers of each sweep backwards are."""
        packed = self.plan.coefficients.packed
        return [packed[step][one.sources] for step, one in zip(self.steps, self.sweeps, strict=True)]

    def bind(self, operands: Complex) -> BackwardsNumbers:
        """Return the numbers for operands, complex128 [rows or 1, total]."""
        bound = bound_rows(self.plan, operands)
        packed = list(bound)
        own = [packed[step][:, one.sources].conj() for step, one in zip(self.steps, self.sweeps, strict=True)]
        return BackwardsNumbers(bound.buffer, own)

    def run(self, states: Batch, cotangents: Buffer, numbers: BackwardsNumbers, factor: int, tick: Tick) -> Complex:
        """Take states and cotangents back; return cotangents of the operands, [rows, cotangents, operands].

        factor: that of the target; tick: is called before each sweep.
        """
        buffer, num_bits = states.buffer, states.num_wires
        each = len(cotangents) // len(buffer)
        found = np.zeros((states.rows, each, self.plan.coefficients.size()), dtype=np.complex128)
        derivatives = self.device.run_reversed(buffer, cotangents, num_bits, numbers.own, self.prepared, tick)
        some = [number for number, one in enumerate(derivatives) if one is not None]
        if some:  # Re(conj(g)·dv) is Re(g·dz) for v = conj(z)
            own = np.concatenate([one for one in derivatives if one is not None], axis=2)
            add_at(found, np.concatenate([self.places[number] for number in some]), -factor * own)
        return pull_back(self.plan.coefficients, numbers.buffer, found)


@lru_cache(maxsize=64)
def reversed_plan(
    plan: Plan, device: Differentiates, dtype: AmplitudeDtype, wanted: bytes, compile: str
) -> ReversedPlan | None:
    """Return a plan backwards; None if one of the steps is no sweep.

    wanted: the flags of the operands that are differentiated, bool [operands].
    """
    flags = depending(plan.coefficients, np.frombuffer(wanted, dtype=np.bool_))
    needed = [flags.take(places) for places in plan.coefficients.packed]
    numbers = _steps_backwards(plan, needed)
    sweeps = [reversed_sweep(step) for number in numbers if isinstance(step := plan.steps[number], Sweep)]
    if len(sweeps) < len(numbers):
        return None
    own = [needed[number][one.sources] for number, one in zip(numbers, sweeps, strict=True)]
    prepared = device.prepare_reversed(sweeps, plan.num_wires, dtype, own, compile)
    return ReversedPlan(plan, tuple(numbers), sweeps, device, prepared)


def reverses(plan: Plan, wanted: NDArray[np.bool_]) -> bool:
    """Return whether a plan has a `reversed_plan`."""
    flags = depending(plan.coefficients, wanted)
    needed = [flags.take(places) for places in plan.coefficients.packed]
    return all(isinstance(plan.steps[number], Sweep) for number in _steps_backwards(plan, needed))


def _steps_backwards(plan: Plan, needed: Sequence[NDArray[np.bool_]]) -> list[int]:
    """Return which steps are gone back, the last first; needed: which packed numbers of each are differentiated."""
    first = next((number for number, some in enumerate(needed) if some.any()), len(needed))
    return [number for number in reversed(range(first, len(needed))) if not isinstance(plan.steps[number], ZeroFill)]
