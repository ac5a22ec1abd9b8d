"""The loop that executes steps: of one state, of many, and of sub state vectors on several devices in lockstep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from qsim_ex.devices.base import Buffer
from qsim_ex.placement.base import Tick
from qsim_ex.steps.step import Step

QUEUED_BYTES = 1 << 37
"""How much work may be queued on a device before we wait for it, so that a cancelled run ends within a second."""


class Target(NamedTuple):
    """A buffer that steps are run on.

    size: its bytes. numbers: those of each step, which are gone through once. launch: tells the device to do a step
    with its numbers, and returns before it is done.
    """

    device: Any
    size: int
    numbers: Iterable[Any]
    launch: Callable[[Step, Any], None]


def state(device: Any, buffer: Buffer, bits: int, prepared: Any, numbers: Iterable[Any], high: int = 0) -> Target:
    """A sub state vector of 2^bits amplitudes. high: the value of its index bits above; see `Device.run`."""

    def launch(step: Step, packed: Any) -> None:
        device.run(buffer, bits, step, packed, prepared, high)

    return Target(device, buffer.nbytes, numbers, launch)


def rows(device: Any, buffer: Buffer, bits: int, prepared: Any, numbers: Iterable[Any]) -> Target:
    """States of 2^bits amplitudes each, one after the other; see `Batches.run_batch`."""

    def launch(step: Step, packed: Any) -> None:
        device.run_batch(buffer, bits, step, packed, prepared)

    return Target(device, buffer.nbytes, numbers, launch)


def execute(steps: Sequence[Step], targets: Sequence[Target], tick: Tick) -> None:
    """Launch each step on all targets before the next one, so that their devices work at the same time.

    `tick` is called before each step; where it raises, nothing more is launched.
    """
    most = 2 * _most_on_a_device(targets)
    queued = 0
    for step, *packed in zip(steps, *[target.numbers for target in targets], strict=True):
        tick()
        for target, numbers in zip(targets, packed, strict=True):
            target.launch(step, numbers)
        queued += most
        if queued > QUEUED_BYTES:
            for target in targets:
                target.device.synchronize()
            queued = 0


def _most_on_a_device(targets: Sequence[Target]) -> int:
    """The most bytes of targets that share a device."""
    if len(targets) == 1:
        return targets[0].size
    sizes: Counter[str] = Counter()
    for target in targets:
        sizes[target.device.name] += target.size
    return max(sizes.values(), default=0)
