"""The loop that executes steps: of one state, of many, and of sub state vectors on several devices in lockstep.

How often it calls its tick follows from the passes of a plan.

It also has the check after a run: whether amplitudes were lost or doubled while they were moved. Unitary work keeps the
norm, and rounding changes it by little. A slice that is dropped, written twice or left out changes it by its weight.
Code that computes the squared norm anyway (the sum from which shots are drawn, or one visit) passes it to `check_norm`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex import thresholds
from qsim_ex.circuit.check import UNITARY_TOLERANCE
from qsim_ex.devices.base import Buffer, Device
from qsim_ex.errors import DeviceError, PlanError
from qsim_ex.placement.base import RunsPlans, Tick
from qsim_ex.steps.plan import Plan
from qsim_ex.steps.step import Step, ZeroFill

ROUNDINGS = 16
"""Roundings of unit size by which one gate may change a squared norm, in the worst case and all in one direction.

A gate's numbers are rounded once, and each amplitude is the rounded sum of at most a few products.
"""

NO_NUMBERS = np.zeros(0, dtype=np.complex128)

_END = object()


class Launches(ABC):
    """Prepared steps that launch themselves, since they do something else with a buffer than `Device.run`."""

    @abstractmethod
    def launch(self, target: OneState, step: Step, packed: object) -> None:
        """Start a step on a target; packed: what its numbers have for the step."""


class OneState(NamedTuple):
    """A sub state vector of 2^bits amplitudes that steps are run on.

    prepared: the result of the device's preparation of the steps, or `Launches`. numbers: of each step, which are
    iterated once. high: the value of the index bits above; see `Device.run`.
    """

    device: Any
    buffer: Buffer
    bits: int
    prepared: Any
    numbers: Iterable[object]
    high: int = 0

    def launch(self, step: Step, packed: object) -> None:
        """Start a step on the device, which may run it later."""
        if isinstance(self.prepared, Launches):
            self.prepared.launch(self, step, packed)
            return
        self.device.run(self.buffer, self.bits, step, packed, self.prepared, self.high)


class ManyStates(NamedTuple):
    """States of 2^bits amplitudes each, one after the other in a buffer, that steps are run on; see `OneState`."""

    device: Any
    buffer: Buffer
    bits: int
    prepared: Any
    numbers: Iterable[object]

    def launch(self, step: Step, packed: object) -> None:
        """Start a step on the device for all states; it may run later."""
        self.device.run_batch(self.buffer, self.bits, step, packed, self.prepared)


Target = OneState | ManyStates


def clear(device: Device, buffer: Buffer, bits: int, fresh: int) -> None:
    """Write the zeros of fresh positions of 2^bits amplitudes."""
    device.run(buffer, bits, ZeroFill(fresh), NO_NUMBERS)


def execute(steps: Sequence[Step], targets: Sequence[Target], tick: Tick) -> None:
    """Launch each step on all targets before the next one, so that their devices work at the same time.

    `tick` is called before each step; if it raises, no further step is launched. Raises `PlanError` for a target whose
    numbers are not those of these steps.
    """
    each = 2 * (targets[0].buffer.nbytes if len(targets) == 1 else _most_on_a_device(targets))
    todo = [(target.launch, iter(target.numbers)) for target in targets]
    queued = 0
    for step in steps:
        tick()
        for launch, numbers in todo:
            try:
                packed = next(numbers)
            except StopIteration:
                raise PlanError(
                    f"expected numbers for {len(steps)} steps, got fewer; bind the plan that is run."
                ) from None
            launch(step, packed)
        queued += each
        if queued > thresholds.now.queued_work:
            for target in targets:
                target.device.synchronize()
            queued = 0
    for _, numbers in todo:
        if next(numbers, _END) is not _END:
            raise PlanError(f"expected numbers for {len(steps)} steps, got more; bind the plan that is run.")


def _most_on_a_device(targets: Sequence[Target]) -> int:
    """Return the most bytes of targets that share a device."""
    sizes: Counter[str] = Counter()
    for target in targets:
        sizes[target.device.name] += target.buffer.nbytes
    return max(sizes.values(), default=0)


def ticks(states: RunsPlans, plan: Plan) -> int:
    """Return how often a run of a plan calls its tick."""
    return sum(ticks for _, ticks in states.passes(plan))


def stage_ends(states: RunsPlans, plans: Sequence[Plan]) -> list[int]:
    """Return how often the tick has been called at the end of each stage of some plans that run one after another.

    The stages of one pass end together.
    """
    ends, done = [], 0
    for plan in plans:
        for stages, ticks in states.passes(plan):
            done += ticks
            ends += [done] * stages
    return ends


# --- after a run -----------------------------------------------------------------------------------------------------


def norm_bound(num_gates: int, dtype: DTypeLike) -> float:
    """Return how far a squared norm may be from 1 after so many gates, whose matrices are unitary as `check` says."""
    rounding = float(np.finfo(np.dtype(dtype)).eps) / 2
    return (num_gates + 1) * (ROUNDINGS * rounding + 4 * UNITARY_TOLERANCE)


def check_norm(norm_squared: float, num_gates: int, dtype: DTypeLike, *, told: Callable[[], str] = str) -> None:
    """Raise `DeviceError` if the squared norm after some gates differs from 1 by more than rounding explains.

    told: returns what tells the run from others, for the error.
    """
    bound = norm_bound(num_gates, dtype)
    if not abs(norm_squared - 1) <= bound:  # NaN is not within any bound
        raise DeviceError(
            f"expected a squared norm of 1 within {bound:.1e} after {num_gates} gates, got {norm_squared:.9g}: the "
            "result cannot be right, since amplitudes were lost or damaged while they were moved or worked on, and "
            f"there is none. {told()}This is a fault of qsim-ex or of the machine, and a run of fewer devices may have "
            "it too; please report it with the circuit and its options."
        )
