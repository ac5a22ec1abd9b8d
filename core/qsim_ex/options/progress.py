"""The progress of a run, and who is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run.

    steps, all_steps: how many steps of the plans are done, and how many there are. A step counts once for each state,
        and once for each window of a state in host memory; where several shots share a state, once for each shot.
    stages, all_stages: how many stages of a state have begun, and how many it has; of several states the mean.
    bytes_moved: bytes that were copied between devices, and between devices and the host.
    seconds, seconds_left: the time since the run began, and the time that is left at the present rate (None before the
        first step).
    """

    steps: int
    all_steps: int
    stages: int
    all_stages: int
    bytes_moved: int
    seconds: float
    seconds_left: float | None


Watch = Callable[[Progress], None]
