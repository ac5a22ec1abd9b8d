"""Machines: one device, or the devices that share one state, with the plans for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.base import Batches
from qsim_ex.devices.drawing import DrawsShots
from qsim_ex.execution.prepare import plan_of, plans_of, prepare
from qsim_ex.later import later
from qsim_ex.options import Options
from qsim_ex.placement.base import States, Tick
from qsim_ex.placement.batch import Batch, BatchDevice, rows_at_once
from qsim_ex.placement.batch_of_one import BatchOfOne
from qsim_ex.placement.kinds import KINDS
from qsim_ex.precision import AmplitudeDtype
from qsim_ex.program.program import Program, Segment
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.planning import resumed
else:
    resumed = later("qsim_ex.planning.resumed")

_BRANCHING = 8
"""Factor on the rows of a program with branch points, since a branch point has a fixed cost for any number of rows."""


class Machine:
    """Simulates states of one program, many at a time if they are small, otherwise one by one.

    states: the largest number of all states. least: how many at a time at least, if memory holds so many, however many
    numbers they have. rows: the number of states at a time; 1: one by one, in any placement.
    kernels_from_disk: the sweeps so far that ran by kernels from disk.
    plan_at: the plan of each segment of the program, by its node. plans: these, in order.
    prepare_seconds, run_seconds: the times of preparing and running so far.
    """

    def __init__(self, where: Assignment, program: Program, options: Options, states: int, *, least: int = 1) -> None:
        self.where = where
        self.prepare_seconds = self.run_seconds = 0.0
        self.kernels_from_disk = 0
        self.dtype: AmplitudeDtype = options.dtype
        self._num_wires = where.deployment.num_wires
        self._options = options
        self._program = program
        self.rows = 1
        self._levels = where.deployment.planning_levels
        if states > 1 and self._levels is None and isinstance(where.device, Batches):
            self.rows = min(states, self._rows(program, least))
        device = where.device
        shape = cast(BatchDevice, device).batch_shape(self.dtype) if self.rows > 1 else device.shape(self.dtype)
        shape = shape.staying() if program.loops else shape
        self.plan_at = plans_of(program, self._num_wires, shape, self._levels, device.grows)
        self.plans = tuple(self.plan_at.values())
        self._shape = shape

        self._devices = tuple(dict.fromkeys(where.devices))
        self._latest: States | None = None
        self._moved_before = 0  # bytes that states before the latest have moved

    @property
    def bytes_moved(self) -> int:
        """Bytes copied so far between devices, and between devices and the host."""
        return self._moved_before + (0 if self._latest is None else self._latest.bytes_moved)

    @property
    def options(self) -> Options:
        """The options of the run."""
        return self._options

    @property
    def batched(self) -> bool:
        """Whether several states are simulated at a time."""
        return self.rows > 1

    def _rows(self, program: Program, least: int) -> int:
        """Return the number of states that should be simulated at a time."""
        device = cast(BatchDevice, self.where.device)
        plans = plans_of(program, self._num_wires, device.batch_shape(self.dtype), None, device.grows)
        state = self.where.deployment.device_bytes  # all of it, since it is in one piece
        count = 16 * max(plan.coefficients.size() for plan in plans.values())
        wanted = rows_at_once(device, state, count, _BRANCHING if program.branch_points else 1)
        return max(1, min(max(least, wanted), self.where.free // (2 * state)))

    def plan_for(self, segment: Segment, layout: Layout, fresh: int) -> Plan:
        """Return the plan of a segment for states in a given layout with given fresh bits."""
        return plan_of(segment.work, len(layout), layout, self._shape, fresh, self._levels)

    def plans_on(self, levels: Levels) -> list[tuple[Plan, ...]]:
        """Return what the plans may be where states are divided by other levels, on devices like this one."""
        return [tuple(plans.values()) for plans in self._on(levels)]

    def _on(self, levels: Levels) -> list[Mapping[int, Plan]]:
        device, whole = self.where.device, levels.local >= self._num_wires
        shapes = [device.shape(self.dtype)]
        if whole and isinstance(device, Batches):
            shapes.append(device.batch_shape(self.dtype))
        shapes = [shape.staying() if self._program.loops else shape for shape in shapes]
        given = None if whole else levels
        return [plans_of(self._program, self._num_wires, shape, given, device.grows) for shape in shapes]

    def plan_on(self, levels: Levels, node: int, layout: Layout, fresh: int) -> Plan:
        """Return the plan of the segment at a node for states that were divided by other levels."""
        segment = self._program.segment_at(node)
        foreseen = self._on(levels)[0][node]
        if (foreseen.start, foreseen.fresh) == (layout, fresh):
            return foreseen
        given = None if levels.local >= self._num_wires else levels
        return plan_of(segment.work, len(layout), layout, self._shape, fresh, given)

    def resumed(self, plan: Plan, parts: int, levels: Levels | None) -> Plan:
        """Return a plan of what is left after some parts of another plan; levels: None for those of this machine."""
        return resumed.resumed(plan, parts, levels or self._levels, self._shape)

    def begin(self, rows: int) -> States:
        """Return states |0…0⟩ in the layout in which the first plan begins."""
        states: Batch | BatchOfOne
        if self.batched:
            states = Batch(cast(BatchDevice, self.where.device), self._num_wires, rows, self.dtype)
        else:
            where, how = self.where, self.where.deployment
            limits = self._options.limits(where.free, where.host_free)
            states = BatchOfOne(KINDS[how.kind].module.create(how, where.devices, self.dtype, limits))
        if states.fresh:
            states.layout = self.plans[0].start
        self._latest = states
        return states

    def end(self, states: States) -> None:
        """Release states at the end of the program."""
        if states is self._latest:
            self._moved_before, self._latest = self.bytes_moved, None
        states.release()

    def run(self, states: States, plan: Plan, operands: NDArray[np.complex128], tick: Tick) -> None:
        """Bind a plan to operands and run it on some states.

        operands: complex128 [rows, total] or, if they are equal for all rows, [1, total].
        """
        began, compile = perf_counter(), self._options.compile
        work = prepare(plan, operands, self.where.devices, self.dtype, compile, rows=self.rows > 1)
        ready = perf_counter()
        states.run(plan, work, tick)
        self.kernels_from_disk += sum(getattr(prepared, "from_disk", 0) for prepared, _ in work)
        self.prepare_seconds += ready - began
        self.run_seconds += perf_counter() - ready

    def synchronize(self, ahead: Callable[[], None] | None = None) -> None:
        """Wait until all work on the devices is done, and count the time as running time.

        ahead: queues more work, which is not waited for, so that a device is not idle meanwhile.
        """
        began = perf_counter()
        if ahead is not None and isinstance(device := self.where.device, DrawsShots) and len(self._devices) == 1:
            mark = device.mark()
            ahead()
            device.reach(mark)
        else:
            for device in self._devices:
                device.synchronize()
        self.run_seconds += perf_counter() - began
