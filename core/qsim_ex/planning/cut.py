"""Cutting a plan into parts between which a run may stop, be saved, and continue later."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from qsim_ex import thresholds
from qsim_ex.steps.plan import Exchange, Migration, Plan, Stage
from qsim_ex.steps.step import Sweep, ZeroFill


@thresholds.depends
@lru_cache(maxsize=64)
def cut(plan: Plan) -> tuple[Plan, ...]:
    """Return the parts of a plan that, run one after the other, do the work of the plan.

    With migration bits a part is a pass, with device bits a stage, and on one device it is one step, or a few steps
    where the plan has many. All parts but the last keep the layout of the plan's start, since wires are relabelled at
    the plan's end alone: between parts amplitudes are known by their index bits.
    """
    stages, begins = _divided(plan) if plan.levels.local < plan.num_wires else _single(plan)
    if len(begins) < 2:
        return (plan,)
    fresh = [plan.fresh, *(fresh_before(stages[begin], plan.num_wires) for begin in begins[1:]), plan.left]
    parts, done = [], 0
    for number, (begin, end) in enumerate(pairwise([*begins, len(stages)])):
        steps = sum(len(stage.steps) for stage in stages[begin:end])
        last = number == len(begins) - 1
        parts.append(
            replace(
                plan,
                stages=stages[begin:end],
                end=plan.end if last else plan.start,
                coefficients=replace(plan.coefficients, packed=plan.coefficients.packed[done : done + steps]),
                num_gates=plan.num_gates if last else 0,
                made_from=(plan.made_from, "part", number),
                fresh=fresh[number],
                left=fresh[number + 1],
            )
        )
        done += steps
    return tuple(parts)


def fresh_before(stage: Stage, num_wires: int) -> int:
    """Return the mask of the index bits at rest that are fresh before a stage's motion."""
    match stage.motion:
        case None:
            return stage.fresh
        case Exchange(swaps):
            to = list(range(num_wires))
            for local, device in swaps:
                to[local], to[device] = device, local
        case Migration(bits, swaps):
            rest = list(range(num_wires))
            for one, other in swaps:
                rest[one], rest[other] = other, one
            to = [rest[bit] for bit in bits]
    return sum(1 << to[bit] for bit in range(num_wires) if stage.fresh >> bit & 1)


def _divided(plan: Plan) -> tuple[tuple[Stage, ...], list[int]]:
    """Return the plan's stages, and the numbers of the stages at which a part begins."""
    migrates = plan.levels.local + plan.levels.peers < plan.num_wires
    begins = [
        number
        for number, stage in enumerate(plan.stages)
        if not number or (isinstance(stage.motion, Migration) if migrates else stage.motion is not None)
    ]
    return plan.stages, begins


def _single(plan: Plan) -> tuple[tuple[Stage, ...], list[int]]:
    """Return stages of a few steps each of a plan for one device; a part begins at each of them."""
    count, most = len(plan.steps), thresholds.now.plan_parts
    few = 1 if count <= most else -(-count // most)
    groups = [plan.steps[k : k + few] for k in range(0, count, few)]
    stages = []
    for number, steps in enumerate(groups):
        first = steps[0]
        fresh = first.fresh if isinstance(first, Sweep | ZeroFill) else 0
        stages.append(Stage(steps, fresh=fresh if number else plan.fresh))
    return tuple(stages), list(range(len(stages)))
