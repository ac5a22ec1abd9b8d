"""The copies of a migrated run, counted beforehand: the run itself, on a device that does nothing.

The slices that stay on the device from one pass to the next depend on the slots, on the order of the windows, and on
the place of every slice. So nothing is estimated: `Migrated` runs the plan with memory that does not exist.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex import thresholds
from qsim_ex.devices.base import Copies, CopyQueue
from qsim_ex.placement.deployment import Deployment
from qsim_ex.placement.migrated import Migrated
from qsim_ex.placement.windows.window import Scenario
from qsim_ex.precision import STORAGE, AmplitudeDtype, Storage
from qsim_ex.steps.plan import Plan

_PLENTY = 1 << 62


class CopiedBytes(NamedTuple):
    """Bytes from the host to the device, and from the device to the host."""

    inwards: int
    outwards: int


def rehearse(plan: Plan, dtype: DTypeLike, slots: int, scenario: Scenario) -> CopiedBytes | None:
    """Return the bytes that a run on a new state copies; None if it is not new, or has too many slices or windows."""
    levels, dtype, most = plan.levels, np.dtype(dtype), thresholds.now
    slices, windows = 1 << plan.num_wires - levels.slice, 1 << plan.num_wires - levels.local
    if plan.fresh != (1 << plan.num_wires) - 1 or slices > most.rehearsed_slices or windows > most.rehearsed_windows:
        return None
    state = Migrated(_Idle(), plan.start, levels, dtype, slots=slots, scenario=scenario, allowed=(_PLENTY, _PLENTY))
    state.run(plan, [(None, [None] * len(plan.steps))], lambda: None)
    return CopiedBytes(state.slots.pipe.bytes_in, state.slots.pipe.bytes_out)


def rehearsed(deployment: Deployment, plan: Plan, dtype: AmplitudeDtype) -> CopiedBytes | None:
    """Return the bytes that a run of a plan on a new state copies, as it is deployed; see `rehearse`."""
    return rehearse(plan, dtype, deployment.in_flight, deployment.host_memory or "whole")


class _Nothing:
    """An array without memory, which has only a size."""

    def __init__(self, size: int, storage: Storage) -> None:
        self.size, self.nbytes = size, storage.nbytes(size)

    def __getitem__(self, _: object) -> _Nothing:
        return self

    def reshape(self, *_: int) -> _Nothing:
        return self


class _IdleCopyQueue:
    """A queue of copies that are never made."""

    def copy(self, to: object, source: object) -> None:
        """Do nothing."""

    def mark(self) -> None:
        """Do nothing."""

    def wait(self, mark: object) -> None:
        """Do nothing."""

    def synchronize(self) -> None:
        """Do nothing."""


class _Idle(Copies):
    """A device without memory that does nothing, immediately."""

    in_host_memory = False
    at_once = True
    name = "nothing"

    def copy_queue(self) -> CopyQueue:
        return _IdleCopyQueue()

    def mark(self) -> None:
        """Do nothing."""

    def wait(self, mark: object) -> None:
        """Do nothing."""

    def reach(self, mark: object) -> None:
        """Do nothing."""

    def host_memory(self, num_amplitudes: int, dtype: DTypeLike) -> tuple[Any, str]:
        return self.allocate(num_amplitudes, dtype), "plain"

    def allocate(self, num_amplitudes: int, dtype: DTypeLike) -> _Nothing:
        return _Nothing(num_amplitudes, STORAGE[np.dtype(dtype)])

    def begin(self, buffer: object) -> None:
        """Do nothing."""

    def run(self, *_: object) -> None:
        """Do nothing."""

    def synchronize(self) -> None:
        """Do nothing."""
