"""Where a circuit is to run, and how long its plans take there, as nearly as ways to run it are compared by that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qsim_ex.devices.hypothetical import HypotheticalDevice
from qsim_ex.devices.memory import state_bytes
from qsim_ex.execution.costs import total_of
from qsim_ex.options import Options
from qsim_ex.placement.deployment import Deployment
from qsim_ex.planning.cost.first_run import interpreted_longer
from qsim_ex.planning.cost.rates import Rates
from qsim_ex.steps.compiled import arrays_of
from qsim_ex.steps.plan import Plan
from qsim_ex.steps.plan_arrays import PlanArrays

_MOST_LONGER = 8
"""How many times as long as later runs a first one may take; it was up to 5 on an H100."""


class Times(NamedTuple):
    """The predicted seconds of later runs of a binding, and of a first one."""

    later: float
    first: float


class Where(NamedTuple):
    """Where a circuit is to run."""

    device: HypotheticalDevice
    deployment: Deployment
    options: Options

    @property
    def rates(self) -> Rates:
        """How fast it is there, as nearly as two ways to run one circuit are compared by it."""
        return self.device.rates(self.options.dtype, self.options.threads).shared(self.options.virtual_peers)

    @property
    def interprets(self) -> bool:
        """Whether sweeps are interpreted there until kernels have been compiled in the background."""
        return self.device.interprets and self.options.compile == "auto"

    @property
    def compiles(self) -> bool:
        """Whether the first run waits there for kernels, which takes much longer than all manners are planned in."""
        return self.device.interprets and self.options.compile == "always"

    @property
    def one_pass(self) -> float:
        """In how many seconds a state is read and written once."""
        return 2 * state_bytes(self.deployment.num_wires, self.options.dtype) / self.rates.memory

    def seconds(self, plans: Sequence[Plan]) -> float:
        """Return how long some plans take there."""
        if None in (native := _native(plans)):
            return total_of(plans, self.options.dtype, self.deployment, self.rates).seconds
        return self.one_pass * sum([arrays.passes for arrays in native if arrays])

    def times(self, plans: Sequence[Plan], least: float = 0.0) -> Times:
        """Return how long some plans take there in later runs, and in a first one.

        least: the seconds below which nobody asks how much longer a first run takes.
        """
        later, longer = self.seconds(plans), 0.0
        if _MOST_LONGER * later >= least and self.device.interprets and not self.compiles:
            native = [one for one in _native(plans) if one]
            longer = sum([interpreted_longer(one, self.deployment.num_wires, self.rates) for one in native])
        return Times(later + longer * (self.options.compile == "never"), later + longer)


def _native(plans: Sequence[Plan]) -> list[PlanArrays | None]:
    """Return the arrays of each plan that has steps; None for one on several levels."""
    return [arrays_of(plan.steps) for plan in plans if plan.steps]
