"""The time of a structure's first run on a GPU: it is read and planned, and its sweeps are interpreted.

Later runs have kernels of their own, which are compiled in the background, and nothing to plan.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from qsim_ex.native.library import function
from qsim_ex.planning.cost.rates import H200, Rates
from qsim_ex.planning.cost.stage_cost import seconds, seconds_beside_copies, stage_costs
from qsim_ex.planning.cost.step_cost import INTERPRETED
from qsim_ex.precision import Precision
from qsim_ex.steps.plan import Plan
from qsim_ex.steps.plan_arrays import PlanArrays


class FirstRun(NamedTuple):
    """The predicted seconds of a first run: of the host, before the device begins, and of all stages."""

    host: float
    work: float

    @property
    def total(self) -> float:
        """Both, since the device has little to do before the plan is made."""
        return self.host + self.work


def first_run(
    plan: Plan,
    precision: Precision,
    rates: Rates = H200,
    copied: tuple[int, int] | None = None,
    *,
    overlaps: bool = True,
) -> FirstRun:
    """Return the predicted times of a plan's first run, for amplitudes of a precision.

    copied, overlaps: as `summary` takes them.
    """
    given = plan.stages, plan.num_wires, plan.levels, precision, rates
    costs = stage_costs(*given, shape=plan.shape, interpreted=True)
    levelled = plan.levels.local < plan.num_wires
    once, gate = (rates.levels, rates.levels_gate) if levelled else (rates.plan, rates.plan_gate)
    if copied is None:
        work = seconds(plan.stages, costs)
    else:
        work = seconds_beside_copies(costs, rates, copied, overlaps=overlaps)
    entries = sum(sweep.tables for sweep in plan.sweeps)
    return FirstRun(once + gate * plan.num_gates + rates.plan_entry * entries, work)


def interpreted_longer(arrays: PlanArrays, num_bits: int, rates: Rates) -> float:
    """Return by how many seconds, roughly, the sweeps of a plan for one device take longer if they are interpreted.

    That is what the interpreter does for blocks and items beside their arithmetic, as in `first_run`, without making
    objects of a plan's arrays.
    """
    longer = ctypes.c_double()
    function("plan_interpreted")(arrays.handle, INTERPRETED, ctypes.byref(longer))
    return longer.value * 2.0**num_bits / rates.interpreted
