"""Faults of the planner in layouts, motions and known zeros, planted into plans; see `edited_plans.Faults`."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from support.edited_plans import Faults, Packed, Planted, exchanged, with_packed, with_stage

from qsim_ex.steps import Exchange, Layout, Migration, Plan

FAULTS = Faults()
"""Kinds of faults in layouts, motions and known zeros."""


@FAULTS.kind(neutral=True)
def a_flip_is_forgotten(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A wire is said to be stored inverted in the end, or not, and it is the other way round."""
    return replace(plan, end=Layout(plan.end.address, plan.end.flip ^ 1 << random.randrange(plan.num_wires))), numbers


@FAULTS.kind(neutral=True)
def two_wires_change_places(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """Two wires are said to end on each other's index bit."""
    if plan.num_wires < 2:
        return None
    one, other = random.sample(range(plan.num_wires), 2)
    return replace(plan, end=Layout(exchanged(plan.end.address, one, other), plan.end.flip)), numbers


@FAULTS.kind(neutral=False)
def a_wire_is_nowhere(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """Two wires are said to begin on one index bit."""
    if plan.num_wires < 2:
        return None
    one, other = random.sample(range(plan.num_wires), 2)
    address = list(plan.start.address)
    address[one] = address[other]
    return replace(plan, start=Layout(tuple(address), plan.start.flip)), numbers


@FAULTS.kind(neutral=True)
def an_exchange_takes_another_bit(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """An exchange takes a local bit in place of another one."""
    places = [(k, stage) for k, stage in enumerate(plan.stages) if isinstance(stage.motion, Exchange)]
    if not places:
        return None
    k, stage = random.choice(places)
    assert isinstance(stage.motion, Exchange)
    (_, device), *others = stage.motion.swaps
    taken = {one for one, _ in stage.motion.swaps}
    free = [bit for bit in range(plan.levels.slice, plan.levels.local) if bit not in taken]
    if not free:
        return None
    return with_stage(plan, k, replace(stage, motion=Exchange(((random.choice(free), device), *others)))), numbers


@FAULTS.kind(neutral=False)
def an_exchange_breaks_slices(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """An exchange takes a bit below the slice, so that less than a slice is contiguous."""
    places = [(k, stage) for k, stage in enumerate(plan.stages) if isinstance(stage.motion, Exchange)]
    if not places or not plan.levels.slice:
        return None
    k, stage = random.choice(places)
    assert isinstance(stage.motion, Exchange)
    (_, device), *others = stage.motion.swaps
    swap = random.randrange(plan.levels.slice), device
    return with_stage(plan, k, replace(stage, motion=Exchange((swap, *others)))), numbers


@FAULTS.kind(neutral=True)
def a_motion_is_forgotten(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A stage begins without the motion that brings its bits near."""
    places = [(k, stage) for k, stage in enumerate(plan.stages) if stage.motion is not None]
    if not places:
        return None
    k, stage = random.choice(places)
    return with_stage(plan, k, replace(stage, motion=None)), numbers


@FAULTS.kind(neutral=True)
def a_stage_is_lost(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A stage is missing, with its motion, its steps and their numbers."""
    if not plan.stages:
        return None
    k = random.randrange(len(plan.stages))
    begin = sum(len(stage.steps) for stage in plan.stages[:k])
    gone = range(begin, begin + len(plan.stages[k].steps))
    order = [step for step in range(len(plan.steps)) if step not in gone]
    made = replace(plan, stages=(*plan.stages[:k], *plan.stages[k + 1 :]))
    return with_packed(made, order), [numbers[step] for step in order]


@FAULTS.kind(neutral=True)
def a_pass_brings_other_bits(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A pass has a far bit near, and a near one far."""
    places = [(k, stage) for k, stage in enumerate(plan.stages) if isinstance(stage.motion, Migration)]
    near, parts = plan.levels.local + plan.levels.peers, plan.num_wires - plan.levels.ranks
    if not places or plan.levels.slice >= near or near >= parts:
        return None
    k, stage = random.choice(places)
    assert isinstance(stage.motion, Migration)
    bits = exchanged(stage.motion.bits, random.randrange(plan.levels.slice, near), random.randrange(near, parts))
    bits = (*bits[:near], *sorted(bits[near:parts]), *bits[parts:])
    return with_stage(plan, k, replace(stage, motion=Migration(bits, stage.motion.swaps))), numbers


@FAULTS.kind(neutral=False)
def a_stage_knows_wrong_zeros(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """The mask of a stage's fresh bits has one bit too many or too few."""
    if not plan.stages:
        return None
    k = random.randrange(len(plan.stages))
    stage = plan.stages[k]
    return with_stage(plan, k, replace(stage, fresh=stage.fresh ^ 1 << random.randrange(plan.num_wires))), numbers


@FAULTS.kind(neutral=False)
def zeros_are_left_unsaid(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """The mask of bits that are still 0 in the end has one bit too many or too few."""
    return replace(plan, left=plan.left ^ 1 << random.randrange(plan.num_wires)), numbers
