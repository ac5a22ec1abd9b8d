"""A plan for one device, made in one way (`ways`), and the choice between several.

What is compared is the time that `cost` predicts, in the terms of a `Shape`: sweeps with their phases and blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qsim_ex.circuit.ops import mask_of
from qsim_ex.planning.cost.step_cost import crowded, item_work
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.ordering import order_of
from qsim_ex.planning.tiles.floating import Floating, beginning, settled, through
from qsim_ex.planning.tiles.schedule import Packed, schedule
from qsim_ex.planning.ways import PlanWay
from qsim_ex.planning.work import NOTHING, Work, moved
from qsim_ex.steps.layout import Layout, Shape
from qsim_ex.steps.step import DenseMatrix, Step, Sweep, ZeroFill


class Attempt(NamedTuple):
    """The steps of a plan, the layouts at their start and end, and the program of their numbers."""

    steps: Packed
    start: Layout
    end: Layout
    program: NumberProgram
    shape: Shape
    reordered: bool
    floats: bool


class Given(NamedTuple):
    """What plans are made from. new: whether wires of this new state may be put on other bits."""

    work: list[Work]
    start: Layout
    end: Layout
    shape: Shape
    program: NumberProgram
    fresh: int
    new: bool


def fastest(attempts: Sequence[Attempt]) -> Attempt:
    """Return the plan that takes least time, the first one of equals; `Shape.counted` is needed for more than one."""
    if len(attempts) == 1:
        return attempts[0]
    return min(attempts, key=lambda one: time_of([step for step, _ in one.steps], len(one.start), one.shape))


def time_of(steps: Sequence[Step], num_bits: int, shape: Shape) -> float:
    """Return the time of steps, in passes over one amplitude: that of `cost`, in the terms of a shape.

    A sweep takes as `ordering.foresee` says, with its phases, and with `Shape.counted` for the rate of its arithmetic.
    """
    total, all_of_it = 0.0, float(1 << num_bits)
    for step in steps:
        memory, work = all_of_it, 0.0
        match step:
            case Sweep(tile, phases, _, _, fresh):
                after = float(1 << num_bits - (fresh & ~mask_of(tile)).bit_count())
                memory = shape.slowed * ((1 << num_bits - fresh.bit_count()) + after) / 2
                work = sum([item_work(item, shape.block) for phase in phases for item in phase.items])
                work += crowded(step) * work
                work += shape.exchanged * len(phases) + (shape.transposed if step.store else 0.0)
                work *= after
            case ZeroFill(fresh):
                memory = (all_of_it - (1 << num_bits - fresh.bit_count())) / 2
            case DenseMatrix(bits, _, when):
                memory = all_of_it * 0.5 ** when.mask.bit_count()
                work = 4.0 * (1 << len(bits)) * memory
        arithmetic = work / shape.counted
        total += max(memory, arithmetic) + shape.seen * min(memory, arithmetic) + (1 << shape.start)
    return total


def attempt(way: PlanWay, given: Given) -> Attempt:
    """Return the plan that is made in some way, with a program of its own."""
    work, start, end, shape, program, fresh, new = given
    num_bits, program = len(start), program.copy()
    shape = shape if way.low.bit_count() == shape.low else shape.narrow()
    to = order_of(way.low, num_bits)
    if to:
        work = [moved(piece, to) for piece in work]
        start, end = start.moved(to), end.moved(to)
    floating = Floating(num_bits, shape) if way.floats else None
    steps, remaining = schedule(work, num_bits, shape, program, fresh, floating, way.worth)
    if remaining:
        steps.append((ZeroFill(remaining), NOTHING))
    if floating:
        begin = beginning(floating.at, shape) if new else tuple(range(num_bits))
        steps = settled(steps, floating, begin)
        start, end = start.moved(begin), end.moved(through(floating.at, begin))
    return Attempt(steps, start, end, program, shape, to is not None, way.floats)
