"""Work made ready for one device: planned, its numbers filled in, its kernels there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.devices.base import Device, Loads
from qsim_ex.planning.planner import bind, make_plan
from qsim_ex.program import Segment
from qsim_ex.steps import Layout, Plan, Shape


@dataclass(frozen=True, eq=False, slots=True)
class Ready:
    """A plan, the numbers of each of its steps, and what the device has prepared for them."""

    plan: Plan
    numbers: Iterable[Any]
    prepared: Any


@lru_cache(maxsize=256)
def plan_of(segment: Segment, num_wires: int, start: Layout, shape: Shape, fresh: int) -> Plan:
    """The plan of a segment, found by identity where it was made before; see `make_plan`."""
    return make_plan(segment.work, num_wires, start, shape, fresh)


def make_ready(
    plan: Plan,
    operands: NDArray[np.complex128],
    device: Device,
    dtype: np.dtype[Any],
    compile: str,
) -> Ready:
    """Bind and prepare the plan of some work whose numbers are in a circuit's operands."""
    prepared = device.prepare(plan.steps, plan.num_wires, dtype, compile)
    numbers = bind(plan, operands)
    return Ready(plan, device.load(prepared, numbers) if isinstance(device, Loads) else numbers, prepared)
