"""What is in the sweeps of a plan."""

from __future__ import annotations

from qsim_ex.steps import Item, Mix, Permute, Plan


def items(plan: Plan) -> list[Item]:
    """All items of all sweeps, in order."""
    return [item for sweep in plan.sweeps for block in sweep.register_blocks for item in block.items]


def mixes(plan: Plan) -> list[Mix]:
    """The matrices of all sweeps."""
    return [item for item in items(plan) if isinstance(item, Mix)]


def permutes(plan: Plan) -> list[Permute]:
    """The permutations without numbers of all sweeps."""
    return [item for item in items(plan) if isinstance(item, Permute)]
