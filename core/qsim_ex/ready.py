"""Work made ready for devices: planned, its numbers filled in, its kernels there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.devices.base import Device, Loads
from qsim_ex.placement.batch import BatchDevice
from qsim_ex.planning.binding import fill_batch
from qsim_ex.planning.planner import bind, make_plan
from qsim_ex.program import Segment
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.numbers import Bound
from qsim_ex.steps.plan import Plan
from qsim_ex.steps.shape import Shape


@dataclass(frozen=True, eq=False, slots=True)
class Ready:
    """A plan, and for each device what it has prepared for the plan's steps and the numbers of each of them."""

    plan: Plan
    work: tuple[tuple[Any, Iterable[Any]], ...]


@lru_cache(maxsize=256)
def plan_of(
    segment: Segment,
    num_wires: int,
    start: Layout,
    shape: Shape,
    fresh: int,
    levels: Levels | None = None,
    place: bool = False,
) -> Plan:
    """The plan of a segment, found by identity where it was made before; see `make_plan`."""
    return make_plan(segment.work, num_wires, start, shape, fresh, levels, place)


def make_ready(
    plan: Plan,
    operands: NDArray[np.complex128],
    devices: Sequence[Device],
    dtype: np.dtype[Any],
    compile: str,
) -> Ready:
    """Bind the plan of some work whose numbers are in a circuit's operands, and prepare it on each device."""
    if len(devices) == 1:
        prepared = devices[0].prepare(plan.steps, plan.levels.local, dtype, compile)
        return Ready(plan, ((prepared, _loaded(devices[0], prepared, bind(plan, operands))),))
    numbers = bind(plan, operands)
    shares: dict[int, tuple[Any, Iterable[Any]]] = {}  # peers that share a device share its work
    for device in devices:
        if id(device) not in shares:
            prepared = device.prepare(plan.steps, plan.levels.local, dtype, compile)
            shares[id(device)] = prepared, _loaded(device, prepared, numbers)
    return Ready(plan, tuple(shares[id(device)] for device in devices))


def ready_rows(
    plan: Plan, operands: NDArray[np.complex128], device: BatchDevice, dtype: np.dtype[Any], compile: str
) -> Ready:
    """Bind a plan for many rows, operands [rows, total] or, alike for all, [1, total], and prepare it on a device."""
    prepared = device.prepare_batch(plan.steps, plan.levels.local, dtype, compile)
    return Ready(plan, ((prepared, device.load_batch(prepared, fill_batch(plan.numbers, operands))),))


def _loaded(device: Device, prepared: Any, numbers: Bound) -> Iterable[Any]:
    return device.load(prepared, numbers) if isinstance(device, Loads) else numbers
