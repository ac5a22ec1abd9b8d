"""What is written out of a circuit's form and differentiated in its place, where that is predicted to be faster.

As for runs (`run.written_out`), one circuit is written for all bindings. What a run takes for a number since all its
bindings share it may be a parameter, whose derivative is asked for. So some bindings with drawn parameters are
compared, too: what is the same in all of them has no derivative.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache, partial
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from qsim_ex import thresholds
from qsim_ex.circuit.ops import Op, Permutation
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.devices.base import Batches
from qsim_ex.planning.coefficients.pullback import LEFT_OUT
from qsim_ex.planning.longer import Longer, shorter_than
from qsim_ex.planning.planner import MOST_WIRES
from qsim_ex.planning.written.bindings import WrittenBindings
from qsim_ex.planning.written.out import Manner, WritingLimits, WrittenCircuit
from qsim_ex.run.candidates import SOON, most_rotations, written_bindings
from qsim_ex.run.gradients.reversed_plan import reverses
from qsim_ex.run.gradients.states import forward_plan
from qsim_ex.run.gradients.task import GradientTask
from qsim_ex.run.manners import in_manners
from qsim_ex.run.where import Where
from qsim_ex.steps.plan import Plan

DRAWN = 3
"""Bindings with drawn parameters: two tell what varies, and the third that it does so in the same eigenvectors."""

RUNS = 4
"""A gradient takes about as long as so many runs."""


class _TriedGradient:
    """What is known of a sweep's circuit in a place.

    slower: whether nothing faster is to be written there. comes_again: whether it came before. known: what is written
    of it, for drawn bindings among others. manner: the fastest one, once all have been compared.
    """

    slower = comes_again = False
    known: WrittenBindings | None = None
    manner: Manner | None = None


@lru_cache(maxsize=256)
def _tried(*_key: Hashable) -> _TriedGradient:
    return _TriedGradient()


thresholds.depends(_tried)


class _Sweep(NamedTuple):
    """What of a sweep tells which numbers vary, and how."""

    work: Structure
    swept: tuple[tuple[Hashable, ...], ...]

    @classmethod
    def of(cls, task: GradientTask) -> _Sweep:
        """Return that of a task."""
        swept = [
            (one.row, one.offsets, one.of_factors, one.scale, *map(bytes, (one.numbers, one.at, one.columns)))
            for one in task.sweep.swept
        ]
        return cls(task.work, tuple(swept))


def written_task(task: GradientTask, where: Where, *, again: bool = False) -> GradientTask:
    """Return a task with what is written in place of its circuit; the task itself if that is not faster.

    where: where states lie in one piece. again: whether planning need not pay within this call.
    """
    work, now = task.work, thresholds.now
    if not now.written_percent or task.num_wires > MOST_WIRES or not work.kinds <= {Op, Permutation}:
        return task
    if task.chosen is not None or not task.wanted.any():
        return task
    options, count = task.options, task.sweep.count
    key = _Sweep.of(task), where.device.name, where.deployment, options.dtype, options.threads, count > 1
    tried = _tried(*key)
    if tried.slower:
        return task
    seconds, gates = where.seconds([_plan(task, where)]), len(work.instructions)
    microseconds = int(1e6 * RUNS * seconds * count)
    if microseconds < now.written_microseconds or int(1e9 * seconds) < now.written_nanoseconds * gates:
        tried.slower = count == 1
        return task
    if not (again or tried.comes_again) and microseconds < now.planned_microseconds * gates:
        tried.comes_again = True
        return task
    local, limits = _for_all(task, tried), WritingLimits(most_rotations(work), int(1e6 * seconds))
    if local is not None and tried.manner is None:
        tried.manner = _fastest(task, local, where, limits, now.written_percent / 100 * where.rates.surely * seconds)
    chosen = limits._replace(alone=True)
    written = None if tried.manner is None or local is None else _in_manner(local, tried.manner, chosen)
    tried.slower = written is None
    return task if written is None else _replaced(task, written)


def _for_all(task: GradientTask, tried: _TriedGradient) -> WrittenCircuit | None:
    """Return what is written for all bindings of a sweep, and for all others that it may have."""
    sweep = task.sweep
    if tried.known is None:
        gates = structure_of(task.num_wires, 0, task.work.instructions)
        columns = np.random.default_rng(0).normal(size=(DRAWN, 0 if sweep.columns is None else sweep.columns.shape[1]))
        drawn = replace(sweep, count=DRAWN, columns=columns)
        bound = Bindings.of(drawn.operands(np.arange(DRAWN)))
        every = (written_bindings(gates, len(gates.instructions), kind) for kind in SOON)
        tried.known = next((known for known in every if known.of(bound) is not None), None)
    return None if tried.known is None else tried.known.of(sweep.bindings())


def _in_manner(local: WrittenCircuit, manner: Manner, limits: WritingLimits) -> WrittenCircuit | None:
    return local if manner is local.manner else local.again(manner, limits)


def _fastest(
    task: GradientTask, local: WrittenCircuit, where: Where, limits: WritingLimits, most: float
) -> Manner | None:
    """Return the manner whose plan takes the least time of those that take less than so many seconds, if any does."""

    def found(manner: Manner, least: float) -> tuple[float, Manner] | None:
        if (written := _in_manner(local, manner, limits)) is None:
            return None
        other = _replaced(task, written)
        try:
            with shorter_than(least / where.one_pass):
                plan = _plan(other, where)
        except Longer:
            return None
        return (where.seconds([plan]), manner) if reverses(plan, other.wanted) else None

    least, best = min(in_manners(partial(partial, found), itemgetter(0), most), default=(most, None))
    return best if least < most else None


def _replaced(task: GradientTask, written: WrittenCircuit) -> GradientTask:
    wanted = written.numbers.depending(task.wanted)
    return replace(task, work=written.structure, wanted=wanted, numbers=written.numbers)


def _plan(task: GradientTask, where: Where) -> Plan:
    """Return the plan of a task's states."""
    device = where.device
    dtype = task.options.dtype
    shape = device.batch_shape(dtype) if isinstance(device, Batches) else device.shape(dtype)
    return forward_plan(task.work, task.num_wires, replace(shape, left_out=LEFT_OUT), device.grows)
