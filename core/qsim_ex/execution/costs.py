"""What the plans of a run come to: counted from the plans, and where a state migrates, from what it keeps near."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from qsim_ex.placement.deployment import Deployment
from qsim_ex.placement.rehearsal import rehearse
from qsim_ex.planning.cost import PlanSummary
from qsim_ex.planning.explain import summary
from qsim_ex.steps.plan import Plan


def total_of(plans: Sequence[Plan], dtype: np.dtype[Any], deployment: Deployment) -> PlanSummary:
    """All plans together."""
    first, *others = (_summary(plan, dtype, deployment) for plan in plans)
    return sum(others, first)


@lru_cache(maxsize=256)
def _summary(plan: Plan, dtype: np.dtype[Any], deployment: Deployment) -> PlanSummary:
    """Counted once for a plan: it looks at every item, and a run over host memory is rehearsed."""
    if deployment.kind != "migrated":
        return summary(plan, dtype.itemsize)
    copied = rehearse(plan, dtype, deployment.in_flight, deployment.host_memory or "whole")
    return summary(plan, dtype.itemsize, copied=copied, overlaps=deployment.in_flight > 1)
