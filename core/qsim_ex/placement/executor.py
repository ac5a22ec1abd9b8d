"""The loop that executes steps: of one state, of many, and of sub state vectors on several devices in lockstep.

And the guard after a run: whether amplitudes were lost or doubled while they were moved. Unitary work keeps the norm,
and rounding changes it by little. A slice that is dropped, written twice or left out changes it by its weight. Whoever
has the squared norm at hand (the sum that shots are drawn by, or one visit) gives it to `check_norm`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex.circuit.check import UNITARY_TOLERANCE
from qsim_ex.devices.base import Buffer
from qsim_ex.errors import DeviceError, PlanError
from qsim_ex.placement.base import Tick
from qsim_ex.steps.step import Step

QUEUED_BYTES = 1 << 37
"""How much work may be queued on a device before we wait for it, so that a cancelled run ends within a second."""

ROUNDINGS = 16
"""Roundings of unit size by which one gate may change a squared norm, in the worst case and all in one direction.

A gate's numbers are rounded once, and each amplitude is the rounded sum of at most a few products.
"""

_END = object()


class OneState(NamedTuple):
    """A sub state vector of 2^bits amplitudes that steps are run on.

    prepared: what the device has prepared for them. numbers: those of each step, which are gone through once.
    high: the value of the index bits above; see `Device.run`.
    """

    device: Any
    buffer: Buffer
    bits: int
    prepared: Any
    numbers: Iterable[Any]
    high: int = 0

    def launch(self, step: Step, packed: Any) -> None:
        """Tell the device to do a step; it may do it later."""
        self.device.run(self.buffer, self.bits, step, packed, self.prepared, self.high)


class ManyStates(NamedTuple):
    """States of 2^bits amplitudes each, one after the other in a buffer, that steps are run on; see `OneState`."""

    device: Any
    buffer: Buffer
    bits: int
    prepared: Any
    numbers: Iterable[Any]

    def launch(self, step: Step, packed: Any) -> None:
        """Tell the device to do a step on all of them; it may do it later."""
        self.device.run_batch(self.buffer, self.bits, step, packed, self.prepared)


Target = OneState | ManyStates


def execute(steps: Sequence[Step], targets: Sequence[Target], tick: Tick) -> None:
    """Launch each step on all targets before the next one, so that their devices work at the same time.

    `tick` is called before each step; where it raises, nothing more is launched. Raises `PlanError` for a target whose
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
                raise PlanError(f"a target has numbers for fewer steps than the {len(steps)} there are.") from None
            launch(step, packed)
        queued += each
        if queued > QUEUED_BYTES:
            for target in targets:
                target.device.synchronize()
            queued = 0
    for _, numbers in todo:
        if next(numbers, _END) is not _END:
            raise PlanError(f"a target has numbers for more steps than the {len(steps)} there are.")


def _most_on_a_device(targets: Sequence[Target]) -> int:
    """The most bytes of targets that share a device."""
    sizes: Counter[str] = Counter()
    for target in targets:
        sizes[target.device.name] += target.buffer.nbytes
    return max(sizes.values(), default=0)


# --- after a run -----------------------------------------------------------------------------------------------------


def norm_bound(num_gates: int, dtype: DTypeLike, tolerance: float = UNITARY_TOLERANCE) -> float:
    """How far from what it was a squared norm may be after so many gates, relatively.

    tolerance: how far from unitary (largest entry of U†U − 1) a caller's matrix may have been.
    """
    rounding = float(np.finfo(np.dtype(dtype)).eps) / 2
    return (num_gates + 1) * (ROUNDINGS * rounding + 4 * tolerance)


def check_norm(
    norm_squared: float,
    num_gates: int,
    dtype: DTypeLike,
    *,
    before: float = 1.0,
    tolerance: float = UNITARY_TOLERANCE,
) -> None:
    """Raise `DeviceError` if a squared norm, after so many gates, is not what rounding can have made of `before`."""
    bound = norm_bound(num_gates, dtype, tolerance)
    if not abs(norm_squared - before) <= bound * before:  # NaN is not within any bound
        raise DeviceError(
            f"the squared norm is {norm_squared:.9g} after {num_gates} gates on a state of squared norm {before:.9g}; "
            f"rounding explains a difference of {bound * before:.1e}. Amplitudes were lost or damaged while they were "
            "moved or worked on, so the result is withheld. Run again, with fewer devices if it happens twice."
        )
