"""One device at work on a batch, or the devices that share one state: plans, room, and states to begin with."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from qsim_ex.adopt import begun
from qsim_ex.branches import first_branches
from qsim_ex.circuit.bindings import Operands
from qsim_ex.course import Course
from qsim_ex.deployment.assign import Where
from qsim_ex.devices.base import Batches, Loads
from qsim_ex.errors import Cancelled
from qsim_ex.options import Options
from qsim_ex.outcome import Outcome
from qsim_ex.placement.alone import Alone
from qsim_ex.placement.batch import Batch, BatchDevice, States, rows_at_once
from qsim_ex.placement.single import Single
from qsim_ex.planning.binding import fill
from qsim_ex.program import Segment
from qsim_ex.ready import plan_of, ready_rows
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan
from qsim_ex.tasks import Asked, Tasks
from qsim_ex.trajectories import Route, Walk, given

_STOPPING = 8
"""So many times more rows at a time where the state is asked on the way, which takes a while for any number of them."""


class Worker:
    """One device, or the devices that share one state, and the plans for it."""

    def __init__(self, where: Where, course: Course, options: Options, cancel: threading.Event | None) -> None:
        self.where = where
        self._num_wires = where.deployment.num_wires
        self._course = course
        self._options = options
        self._cancel = cancel
        self.batched = where.deployment.in_one_piece and isinstance(where.device, Batches)
        self._levels = where.deployment.planning_levels
        self.plans = self._plans()
        self.rows = self._rows()
        self.most_rows = 0
        self.states = 0

    def _plans(self) -> tuple[Plan, ...]:
        n, device = self._num_wires, self.where.device
        start, fresh = Layout.identity(n), (1 << n) - 1 if device.grows else 0
        plans: list[Plan] = []
        for part in self._course.parts:
            plans.append(self._plan(part.segment, start, fresh, first=not plans))
            start, fresh = plans[-1].end, plans[-1].left if part.label is None else 0
        return tuple(plans)

    def _plan(self, segment: Segment, start: Layout, fresh: int, *, first: bool = False) -> Plan:
        device, dtype = self.where.device, self._options.dtype
        shape = cast(BatchDevice, device).batch_shape(dtype) if self.batched else device.shape(dtype)
        place = first and fresh == (1 << self._num_wires) - 1
        return plan_of(segment, self._num_wires, start, shape, fresh, self._levels, place)

    def _rows(self) -> int:
        """How many states are worked on at a time."""
        if not self.batched:
            return 1
        state = self._options.dtype.itemsize << self._num_wires
        count = 16 * max(1, *(plan.numbers.size() for plan in self.plans))
        wanted = rows_at_once(self.where.device, state, count, _STOPPING if self._course.stops else 1)
        return max(1, min(wanted, self.where.free // (2 * state)))

    def work(self, tasks: Tasks, asked: Asked, seeds: Sequence[int], outcome: Outcome) -> None:
        """Do tasks until none is left."""
        route = Route(self._course, self.plans, self._plan, self._prepare, self._begin, self.rows, self._tick)
        while (found := tasks.next()) is not None:
            task, operands = found
            mine = seeds[task.begin : task.end]
            known = given(self._course, operands, mine, task.first, task.shots)
            early = [[kraus[choice.number] for choice in self._course.early] for kraus in known.kraus]
            walk = Walk(route, known, partial(outcome.finish, task, asked, mine), partial(outcome.save, task))
            walk(first_branches(self._course, early, mine, task.first, task.shots))
            self.most_rows, self.states = max(self.most_rows, walk.most_rows), self.states + walk.states
            outcome.tell(task, self._options)

    def _begin(self, rows: int) -> States:
        """States |0…0> in the layout that the first plan begins in."""
        states: Batch | Alone
        if self.batched:
            states = Batch(cast(BatchDevice, self.where.device), self._num_wires, rows, self._options.dtype)
        elif self._levels is None:
            device, n = self.where.device, self._num_wires
            buffer = device.allocate(1 << n, self._options.dtype)
            if device.grows:
                device.begin(buffer)
            else:
                device.set_basis(buffer, 0)
            states = Alone(Single(device, buffer, Layout.identity(n), (1 << n) - 1 if device.grows else 0))
        else:
            states = Alone(begun(self.where, self._options, 0))
        if states.fresh:
            states.layout = self.plans[0].start
        return states

    def _prepare(self, plan: Plan, operands: Operands) -> Sequence[tuple[Any, Any]]:
        """Bind a plan for all rows, and prepare it on each device."""
        dtype, compile = self._options.dtype, self._options.compile
        local = plan.levels.local
        if self.batched:
            return ready_rows(plan, operands, cast(BatchDevice, self.where.device), dtype, compile).work
        bound, work = fill(plan.numbers, operands[0]), []
        for device in self.where.devices:
            prepared = device.prepare(plan.steps, local, dtype, compile)
            work.append((prepared, device.load(prepared, bound) if isinstance(device, Loads) else bound))
        return work

    def _tick(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled("the batch was cancelled.")
