"""A run whose launches are laid out and queued portion by portion, each with the kernels that are there by then.

While the device works at one portion, the kernels of the next one are loaded from disk. Where the sweeps of a run take
longer than a kernel needs to be compiled, kernels are made beside it, and the host stays one portion ahead, so that
those that arrive are taken in the middle of the plan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cuda.launch.launches import LaunchList
from qsim_ex.kernels.cuda.runtime import Array, Runtime


class TakesKernels(Protocol):
    """Lays out portions with the kernels that are there, and says whether more may come."""

    def lay_out(self, steps: range) -> LaunchList:
        """Return the launches of some steps."""

    def waits(self) -> bool:
        """Return whether kernels of steps that are not laid out may still come."""

    def follow(self, steps: int, seconds: float) -> None:
        """Learn that so many steps are done, and how long they took."""


class PortionedLaunches:
    """The launches of one run of a plan, in portions: the numbers of the steps of each, in order.

    first: the launches of the first one.
    """

    def __init__(self, runtime: Runtime, portions: Sequence[range], first: LaunchList, kernels: TakesKernels) -> None:
        self._runtime, self._portions, self._first, self._kernels = runtime, portions, first, kernels

    def __call__(self, state: Array, operands: NDArray[np.complex128], begin: bool, at_once: int) -> Iterator[None]:
        """Queue the run on a state, as `LaunchList` does."""
        runtime, kernels = self._runtime, self._kernels
        numbers: list[NDArray[np.float64]] = []
        marks: deque[tuple[int, object]] = deque()
        began, queued, before = perf_counter(), 0, None
        for steps in self._portions:
            while len(marks) > 1 and kernels.waits():
                done, mark = marks.popleft()
                runtime.reach(mark)
                kernels.follow(done, perf_counter() - began)
            launches = kernels.lay_out(steps) if steps.start else self._first
            # From the second portion on there is no launch that writes amplitude 0.
            for _ in launches(state, operands, begin or steps.start > 0, numbers=numbers):
                pass
            marks.append((steps.stop, runtime.mark()))
            queued += len(steps)
            if queued >= at_once:
                yield
                queued, mark = 0, marks[-1][1]
                if before is not None:
                    runtime.reach(before)
                before = mark
        yield
