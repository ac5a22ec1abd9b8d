"""Plans with one place changed, and tables of faults that tests plant so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from qsim_ex.steps import Plan, Stage, Sweep
from qsim_ex.steps.coefficients import Coefficients
from qsim_ex.steps.step import Item, RegisterBlock, Step

Packed = list[np.ndarray]
"""The packed numbers of all steps."""

Planted = tuple[Plan, Packed]

Plant = Callable[[Plan, Packed, Random], Planted | None]
"""Takes a plan, the numbers of its steps, and a source of chance by which one place is drawn. It returns both with a
fault in that place, or None where the plan has no place for it."""


@dataclass(frozen=True)
class Fault:
    """A kind of fault. neutral: whether it may leave a plan right, as two items that commute may change places."""

    plant: Plant
    neutral: bool


class Faults(dict[str, Fault]):
    """A table of faults by name."""

    def kind(self, *, neutral: bool) -> Callable[[Plant], None]:
        """Put a function into the table under its name."""

        def put(plant: Plant) -> None:
            self[plant.__name__] = Fault(plant, neutral)

        return put


def with_steps(plan: Plan, steps: list[Step | None]) -> Plan:
    """The plan with other steps in place of its own, in the same stages; None for a step that is dropped."""
    left, stages = iter(steps), []
    for stage in plan.stages:
        own = [next(left) for _ in stage.steps]
        stages.append(replace(stage, steps=tuple(step for step in own if step is not None)))
    return replace(plan, stages=tuple(stages))


def with_step(plan: Plan, at: int, step: Step) -> Plan:
    """The plan with one step in place of another."""
    return with_steps(plan, [step if k == at else old for k, old in enumerate(plan.steps)])


def drawn_step(plan: Plan, random: Random, kind: type) -> tuple[int, Any] | None:
    """The number of a step of a kind, and the step."""
    found = [(k, step) for k, step in enumerate(plan.steps) if isinstance(step, kind)]
    return random.choice(found) if found else None


def with_item(
    plan: Plan, random: Random, change: Callable[[Item], Item | None], fits: Callable[[Item], Any] = lambda _: True
) -> Plan | None:
    """The plan with one item changed that fits; None of `change` drops it."""
    places = [
        (k, step, p, i)
        for k, step in enumerate(plan.steps)
        if isinstance(step, Sweep)
        for p, block in enumerate(step.register_blocks)
        for i, item in enumerate(block.items)
        if fits(item)
    ]
    if not places:
        return None
    k, sweep, p, i = random.choice(places)
    block = sweep.register_blocks[p]
    made = change(block.items[i])
    items = (*block.items[:i], *(() if made is None else (made,)), *block.items[i + 1 :])
    return with_step(plan, k, with_block(sweep, p, RegisterBlock(block.registers, items)))


def with_block(sweep: Sweep, at: int, block: RegisterBlock) -> Sweep:
    """The sweep with one register block in place of another."""
    return replace(sweep, register_blocks=(*sweep.register_blocks[:at], block, *sweep.register_blocks[at + 1 :]))


def with_stage(plan: Plan, at: int, stage: Stage) -> Plan:
    """The plan with one stage in place of another."""
    return replace(plan, stages=(*plan.stages[:at], stage, *plan.stages[at + 1 :]))


def exchanged(values: tuple[Any, ...], one: int, other: int) -> tuple[Any, ...]:
    """A tuple with two entries in each other's place."""
    out = list(values)
    out[one], out[other] = out[other], out[one]
    return tuple(out)


def with_packed(plan: Plan, order: list[int]) -> Plan:
    """The plan with the packed places of some of its steps, in some order."""
    numbers, packed = plan.coefficients, plan.coefficients.packed
    chosen = tuple(packed[at] for at in order)
    return replace(plan, coefficients=Coefficients(numbers.num_operands, numbers.program, chosen))


def with_numbers(numbers: Packed, random: Random, change: Callable[[np.ndarray], None]) -> Packed | None:
    """The numbers with one step's changed."""
    found = [k for k, own in enumerate(numbers) if len(own)]
    if not found:
        return None
    at = random.choice(found)
    own = numbers[at].copy()
    change(own)
    return [*numbers[:at], own, *numbers[at + 1 :]]
