"""Work made ready for one device: planned, its numbers filled in, its kernels there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Initialize, Op
from qsim_ex.devices.base import Device
from qsim_ex.planning.planner import bind
from qsim_ex.program import Work
from qsim_ex.steps import Plan


@dataclass(frozen=True, eq=False, slots=True)
class Ready:
    """A plan, the packed numbers of its steps, and what the device has prepared for them."""

    plan: Plan
    numbers: Sequence[NDArray[np.complex128]]
    prepared: Any


def make_ready(
    plan: Plan,
    work: tuple[Work, ...],
    operands: NDArray[np.complex128],
    device: Device,
    dtype: np.dtype[Any],
    compile: str,
) -> Ready:
    """Bind and prepare the plan of some work whose numbers are in a circuit's operands."""
    numbers = bind(plan, operands[:, : _num_operands(work)])
    return Ready(plan, numbers, device.prepare(plan.steps, plan.num_wires, dtype, compile))


def _num_operands(work: tuple[Work, ...]) -> int:
    """With how many operands a plan's number buffer begins: as many as its own work names.

    A circuit that is cut into several plans has more, which `bind` must not see.
    """
    size = 2
    for instruction in work:
        match instruction:
            case Op(operand=operand, pattern=pattern):
                size = max(size, operand + len(pattern))
            case Initialize(wires, operand):
                size = max(size, operand + (1 << len(wires)))
    return size
