"""The costs of a run: counted from its plans and, for a migrated state, from a rehearsal of its windows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from qsim_ex.placement.deployment import Deployment
from qsim_ex.placement.kinds import KINDS
from qsim_ex.planning.cost.first_run import FirstRun, first_run
from qsim_ex.planning.cost.rates import H200, Rates
from qsim_ex.planning.cost.summary import NO_WORK, PlanSummary
from qsim_ex.planning.explain import summary
from qsim_ex.precision import BY_DTYPE, AmplitudeDtype
from qsim_ex.steps.plan import Plan


def total_of(plans: Sequence[Plan], dtype: AmplitudeDtype, deployment: Deployment, rates: Rates = H200) -> PlanSummary:
    """Return the sum of the costs of all plans; all zero without any, as for a run of compiled trajectories."""
    copying = None if KINDS[deployment.kind].copies is None else deployment
    return sum((_summary(plan, dtype, copying, rates) for plan in plans), NO_WORK)


def first_of(plans: Sequence[Plan], dtype: AmplitudeDtype, deployment: Deployment, rates: Rates = H200) -> FirstRun:
    """Return the predicted times of the first run of all plans."""
    copies = KINDS[deployment.kind].copies
    host = work = 0.0
    for plan in plans:
        copied = None if copies is None else copies(deployment, plan, dtype)
        found = first_run(plan, BY_DTYPE[dtype], rates, copied, overlaps=deployment.in_flight > 1)
        host, work = host + found.host, work + found.work
    return FirstRun(host, work)


@lru_cache(maxsize=256)
def _summary(plan: Plan, dtype: AmplitudeDtype, copying: Deployment | None, rates: Rates) -> PlanSummary:
    """Return the costs of one plan; cached, since it reads every item, and a migrated run is rehearsed."""
    copies = None if copying is None else KINDS[copying.kind].copies
    if copying is None or copies is None:
        return summary(plan, BY_DTYPE[dtype], rates)
    return summary(plan, BY_DTYPE[dtype], rates, copies(copying, plan, dtype), overlaps=copying.in_flight > 1)
