"""The plans of a circuit: one for each of its segments, and what all of them come to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.dynamics import course_of
from qsim_ex.placement import kinds
from qsim_ex.placement.deployment import Deployment
from qsim_ex.planning.cost import PlanSummary
from qsim_ex.planning.explain import summary
from qsim_ex.program import Segment, divide
from qsim_ex.ready import plan_of
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.devices.absent import Planned


def segments_of(circuit: Circuit) -> tuple[Segment, ...]:
    """The work of a circuit between saves, and between stops where it leaves something to chance."""
    course = course_of(circuit.structure)
    return course.segments if course.dynamic else divide(circuit).segments


def plans_of(segments: Sequence[Segment], device: Planned, deployment: Deployment, dtype: np.dtype[Any]) -> list[Plan]:
    """A plan for each segment, each beginning where the one before it ended; saving puts the wires in order."""
    plans: list[Plan] = []
    num_wires = deployment.num_wires
    start, fresh = Layout.identity(num_wires), (1 << num_wires) - 1 if device.grows else 0
    shape = device.shape(dtype)
    levels = deployment.planning_levels
    for segment in segments:
        plan = plan_of(
            segment, num_wires, start, shape, fresh, levels, place=not plans and fresh == (1 << num_wires) - 1
        )
        plans.append(plan)
        start, fresh = (plan.end, plan.left) if segment.label is None else (Layout.identity(num_wires), 0)
    return plans


def total_of(plans: Sequence[Plan], dtype: np.dtype[Any], deployment: Deployment) -> PlanSummary:
    """All plans together."""
    copying = None if kinds.of(deployment).copies is None else deployment
    first, *others = (_summary(plan, dtype, copying) for plan in plans)
    return sum(others, first)


@lru_cache(maxsize=256)
def _summary(plan: Plan, dtype: np.dtype[Any], copying: Deployment | None) -> PlanSummary:
    """Counted once for a plan: it looks at every item, and a run over host memory is rehearsed."""
    copies = None if copying is None else kinds.of(copying).copies
    if copying is None or copies is None:
        return summary(plan, dtype.itemsize)
    return summary(plan, dtype.itemsize, copied=copies(copying, plan, dtype), overlaps=copying.in_flight > 1)
