"""The loop that executes steps: of one state, of many, and of sub state vectors on several devices in lockstep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from qsim_ex.devices.base import Buffer
from qsim_ex.placement.base import Tick
from qsim_ex.steps.step import Step

QUEUED_BYTES = 1 << 37
"""How much work may be queued on a device before we wait for it, so that a cancelled run ends within a second."""


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

    `tick` is called before each step; where it raises, nothing more is launched.
    """
    each = 2 * _most_on_a_device(targets)
    queued = 0
    for step, *packed in zip(steps, *[target.numbers for target in targets], strict=True):
        tick()
        for target, numbers in zip(targets, packed, strict=True):
            target.launch(step, numbers)
        queued += each
        if queued > QUEUED_BYTES:
            for target in targets:
                target.device.synchronize()
            queued = 0


def _most_on_a_device(targets: Sequence[Target]) -> int:
    """The most bytes of targets that share a device."""
    if len(targets) == 1:
        alone: int = targets[0].buffer.nbytes
        return alone
    sizes: Counter[str] = Counter()
    for target in targets:
        sizes[target.device.name] += target.buffer.nbytes
    return max(sizes.values(), default=0)
