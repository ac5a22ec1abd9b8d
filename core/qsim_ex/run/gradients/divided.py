"""Gradients of states over several devices, in host memory and over processes: a binding and a cotangent at a time.

A state and its cotangent are one placement of a wire more (`placement.paired`), so both are exchanged and copied
together, and each placement does what it does for any state. On every piece sweeps add up derivatives; these are added
up over the devices of a process in their order, and over processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import numpy as np

from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.adjoint import Differentiates
from qsim_ex.execution.prepare import bound_rows, plan_of, prepare
from qsim_ex.placement import executor
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import Tick
from qsim_ex.placement.divided.divided import Divided
from qsim_ex.placement.executor import check_norm
from qsim_ex.placement.kinds import KINDS
from qsim_ex.placement.paired import PairedSteps, StateSteps, levels_of_one, widened
from qsim_ex.run.gradients.targets import Complex, Rows, Target
from qsim_ex.run.gradients.task import Back, Found, GradientTask, Steps, back_of, prepared, ticker_of
from qsim_ex.steps.layout import Layout, Levels, Shape
from qsim_ex.steps.plan import Plan


class Traffic:
    """The bytes that states have moved, of which one is made after another."""

    def __init__(self) -> None:
        self._before, self._latest = 0, cast(Divided | None, None)

    def __call__(self) -> int:
        """Return the bytes of all states."""
        return self._before + (0 if self._latest is None else self._latest.bytes_moved)

    @contextmanager
    def counts(self, state: Divided) -> Iterator[Divided]:
        """Count those of a state, which is released in the end."""
        self._latest = state
        try:
            yield state
        finally:
            self._before, self._latest = self(), None
            state.release()


def run(task: GradientTask, where: Assignment, targets: Sequence[Target], found: Found) -> None:
    """Write all values and derivatives."""
    limits, kind = task.options.limits(where.free, where.host_free), KINDS[where.deployment.kind].module
    states, traffic = task.count * len(targets), Traffic()
    with ticker_of(task, len(targets)) as ticker:
        steps = Steps(ticker, states, traffic)
        for target, part in zip(targets, found.of_targets(targets), strict=True):
            for row in range(task.count):
                which = np.array([row])
                made = kind.create(where.deployment, where.devices, task.options.dtype, limits)
                with traffic.counts(cast(Divided, made)) as state:
                    differentiate(replace(task, target=target), state, which, part.of_rows(which), steps)
        ticker.finish()


def differentiate(task: GradientTask, state: Divided, which: Rows, found: Found, steps: Steps) -> None:
    """Write the values and the derivatives of one binding. state: a new state of a wire more than the task's."""
    work, operands = task.target.followed(task.work, task.operands(which), which)
    task = replace(task, work=work, wanted=np.pad(task.wanted, (0, operands.shape[1] - len(task.wanted))))
    inverted, levels = task.backwards(), state.planning_levels
    plan, back = plans(task, state.devices[0].shape(task.options.dtype), levels)
    wide = [widened(plan, levels, fresh=True)] + ([] if back is None else [widened(back.plan, levels, fresh=False)])
    tick = steps.expected(executor.stage_ends(state, wide))
    state.layout = at.begun_as(state.layout, wide[0].start)
    ready = prepare(plan, operands, state.devices, task.options.dtype, task.options.compile)
    state.run(wide[0], [(StateSteps(known), numbers) for known, numbers in ready], tick)
    found.values[0], sums = task.target.write_beside(state, int(which[0]))
    of_state, of_both = state.total(np.array([sums.state, sums.state + sums.cotangent], dtype=np.float64)).tolist()
    check_norm(of_state, plan.num_gates, task.options.dtype)
    if back is None:
        return
    state.arrange(wide[1].start)
    taken = _backwards(task, state, back, wide[1], inverted.operands(operands), tick)
    check_norm(state.norm_squared() / of_both, back.plan.num_gates, task.options.dtype)
    found.derivatives[0] = task.derivatives(inverted, taken, which)[0]


def plans(task: GradientTask, shape: Shape, levels: Levels) -> tuple[Plan, Back | None]:
    """Return the plans of the state alone, which shares its pieces: forward, and back if anything has parameters."""
    one = levels_of_one(levels)
    start, fresh = Layout.identity(task.num_wires), (1 << task.num_wires) - 1
    plan = plan_of(task.work, task.num_wires, start, shape, fresh, one, True)
    return plan, back_of(task, task.backwards(), plan.end, shape, one)


def _backwards(task: GradientTask, state: Divided, back: Back, wide: Plan, operands: Complex, tick: Tick) -> Complex:
    """Take both back; return cotangents of the inverse's operands, [1, 1, operands]."""
    numbers = bound_rows(back.plan, operands)
    given, bits, dtype = list(enumerate(numbers)), back.plan.levels.local, task.options.dtype
    both = {
        device: PairedSteps(device, prepared(back, cast(Differentiates, device), bits, dtype), len(given))
        for device in state.devices
    }
    state.run(wide, [(both[device], given) for device in state.devices], tick)
    taken: list[Complex | None] = []
    for number, wanted in enumerate(back.wanted):
        total = np.zeros(len(wanted), dtype=np.complex128)
        for one in both.values():
            if (part := one.derivatives[number]) is not None:
                total += part
        taken.append(state.total(total)[None, None] if wanted.any() else None)
    return back.pulled(numbers.buffer, taken, task.target.factor)
