"""What is in the sweeps of a plan."""

from __future__ import annotations

from qsim_ex.steps import Item, Mix, Plan, Rename


def items(plan: Plan) -> list[Item]:
    """All items of all sweeps, in order."""
    return [item for sweep in plan.sweeps for phase in sweep.phases for item in phase.items]


def mixes(plan: Plan) -> list[Mix]:
    """The matrices of all sweeps."""
    return [item for item in items(plan) if isinstance(item, Mix)]


def renamings(plan: Plan) -> list[Rename]:
    """The permutations without numbers of all sweeps."""
    return [item for item in items(plan) if isinstance(item, Rename)]
