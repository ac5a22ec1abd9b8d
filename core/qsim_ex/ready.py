"""Work made ready for one device: planned, its numbers filled in, its kernels there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.devices.base import Device
from qsim_ex.planning.planner import bind
from qsim_ex.steps import Plan


@dataclass(frozen=True, eq=False, slots=True)
class Ready:
    """A plan, the packed numbers of its steps, and what the device has prepared for them."""

    plan: Plan
    numbers: Sequence[NDArray[np.complex128]]
    prepared: Any


def make_ready(
    plan: Plan,
    operands: NDArray[np.complex128],
    device: Device,
    dtype: np.dtype[Any],
    compile: str,
) -> Ready:
    """Bind and prepare the plan of some work whose numbers are in a circuit's operands."""
    return Ready(plan, bind(plan, operands), device.prepare(plan.steps, plan.num_wires, dtype, compile))
