"""Trajectories of narrow states on the CPU: all shots of a program in compiled code, without segments and plans.

A plan pays for itself where a state is large, or where many states pass a step together. For a state of a few
wires, and choices after every gate, it costs more than the run. So here the program becomes a table of steps
(`trajectory_tables`), and `kernels.cpu.trajectories` runs all shots through it. Random numbers have the keys that
they have in `run.traversal`, and choices are made in the same order: a seed gives the same shots.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.kept import Kept
from qsim_ex.circuit.ops import Op
from qsim_ex.circuit.parameters.bindings import Operands
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.cpu.batch import CpuBatches
from qsim_ex.execution.checkpoints import Checkpoints
from qsim_ex.execution.progress import Ticker
from qsim_ex.kernels.cpu.trajectories import ShotRange
from qsim_ex.kernels.cpu.trajectories import run as run_parts
from qsim_ex.observe.sampling import STEP
from qsim_ex.options import Options
from qsim_ex.placement.batch import Batch, BatchDevice
from qsim_ex.placement.deployment import Deployment
from qsim_ex.precision import AmplitudeDtype
from qsim_ex.program.choices import Choice, Conditioned
from qsim_ex.program.program import Program, Work
from qsim_ex.run.branches import Branches
from qsim_ex.run.collects import Collects
from qsim_ex.run.methods.method import ProgramWay
from qsim_ex.run.request import BatchInputs, Request, WorkUnit
from qsim_ex.run.trajectory_numbers import BindingTables
from qsim_ex.run.worker import WorkQueue
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Plan

_WIDEST = 8
"""The wires of the widest operation, as the kernel has it."""

_SHARES = 4
"""The parts for each thread, so that all threads end at nearly the same time."""

_enabled = True
"""Tests of the general way set this to False."""


def suits(program: Program, device: object, deployment: Deployment, options: Options) -> bool:
    """Return whether the trajectories of a program are run here, and not by `run.traversal`.

    Saves, states that are set, and checkpoints of states in progress are about states between two steps, which only the
    traversal has, as it has bits that are given.
    """
    return (
        _enabled
        and bool(program.choices)
        and program.only_work_and_choices
        and not program.given
        and options.checkpoint is None
        and deployment.in_one_piece
        and isinstance(device, CpuBatches)
        and _pays(program, deployment.num_wires)
    )


@Kept
def _pays(program: Program, num_wires: int) -> bool:
    """Return whether a program on so many wires is faster here than with plans, and can be run here."""
    work = [piece for level in program.levels for piece in level.work]
    most = thresholds.now
    if num_wires > most.measured_trajectory_wires and all(choice.kind != "channel" for choice in program.choices):
        return False
    if num_wires > most.trajectory_wires:
        asked = sum(choice.kind == "channel" and not choice.mixed for choice in program.choices)
        if num_wires > most.damped_trajectory_wires or most.pieces_for_a_question * asked < len(work):
            return False
    return max(map(_num_wires, work), default=0) <= _WIDEST


def _num_wires(piece: Work | Choice | Conditioned) -> int:
    """Return on how many wires a matrix of an operation is."""
    match piece:
        case Op():
            return len(piece.mixes)
        case Conditioned(operation):
            return len(operation.mixes)
        case _:
            return len(piece.wires)


class TrajectoryMachine:
    """Simulates the trajectories of one program; it has no plans, and in all else it answers as `machine.Machine`.

    rows: the number of shots at a time. run_seconds: the time in compiled code so far.
    """

    plans: tuple[Plan, ...] = ()
    batched = True
    bytes_moved = 0
    prepare_seconds = 0.0

    def __init__(self, where: Assignment, program: Program, options: Options, states: int) -> None:
        self.where = where
        self.run_seconds = 0.0
        self.dtype: AmplitudeDtype = options.dtype
        self.num_wires = where.deployment.num_wires
        each = (16 << self.num_wires) + len(program.choices) + program.readings
        self.rows = max(STEP, min(states, thresholds.now.shots_at_once, thresholds.now.unit_bytes // each))

    def plans_on(self, levels: Levels) -> list[tuple[Plan, ...]]:  # noqa: ARG002
        """Return that there are no plans."""
        return []


class TrajectoryWorker:
    """Runs units of work in compiled code, and passes their final states to the collector.

    most_rows: the largest number of states at a time. states: the number of all final states.
    """

    def __init__(
        self,
        machine: TrajectoryMachine,
        program: Program,
        request: Request,
        collector: Collects,
        ticker: Ticker,
        checkpoints: Checkpoints | None,  # noqa: ARG002 (`suits` leaves runs with checkpoints to the traversal)
        count: int,
    ) -> None:
        self.machine = machine
        self.most_rows = 0
        self.states = 0
        self._program = program
        self._request = request
        self._collector = collector
        self._ticker = ticker
        self._threads = cast(Any, machine.where.device).threads
        if ticker.reports:  # a trajectory is one step
            ticker.expect(count * request.trajectories, (1,), lambda: 0)

    def __call__(self, queue: WorkQueue, seeds: Sequence[int]) -> None:
        """Run units of work until none is left; after an error or Ctrl-C no worker begins another one."""
        try:
            while (found := queue.next()) is not None:
                unit, operands = found
                mine = seeds[unit.begin : unit.end]
                inputs = BatchInputs.of(self._program, operands, mine, unit, self._request)
                self._finish(unit, inputs, self._run(unit, inputs, operands))
        except BaseException:
            queue.end()
            raise

    def _finish(self, unit: WorkUnit, inputs: BatchInputs, found: _Groups) -> None:
        """Pass the final states of all groups to the collector, as states with one branch in each row."""
        device, n = cast(BatchDevice, self.machine.where.device), self.machine.num_wires
        rows = len(found.counts)
        begins = np.concatenate(([0], np.cumsum(found.counts)))
        scales = np.broadcast_to(1.0, found.outcomes.shape)  # they are in the states already
        branches = Branches(found.binding, found.shots, begins, found.outcomes, scales, np.arange(rows))
        batch = Batch.over(device, found.states.reshape(-1), Layout.identity(n))
        self.most_rows, self.states = max(self.most_rows, rows), self.states + rows
        try:
            self._collector.finish(unit, inputs, batch, branches)
        finally:
            batch.release()

    def _run(self, unit: WorkUnit, inputs: BatchInputs, operands: Operands) -> _Groups:
        """Run all shots of a unit, each call some shots of one binding; return their groups, binding by binding."""
        began = perf_counter()
        device, n = cast(BatchDevice, self.machine.where.device), self.machine.num_wires
        bindings = BindingTables(self._program, n, inputs, operands)
        total = unit.shots * len(operands)
        threads = self._threads if bindings.work * total > thresholds.now.work_alone else 1
        least = thresholds.now.shared_shots >> max(0, n - thresholds.now.shared_wires)
        each = total if threads == 1 else max(least, -(-total // (threads * _SHARES)))  # shots of a part
        most = thresholds.now
        each = min(each, unit.shots, most.call_work // bindings.work, most.call_events // max(1, bindings.windows))
        each = max(STEP, -(-each // STEP) * STEP)
        first_shot = inputs.first
        parts = [
            ShotRange(tables_of, first_shot + first, min(each, unit.shots - first), binding * unit.shots + first)
            for binding in range(len(operands))
            for tables_of in [bindings.tables(binding, min(each, unit.shots))]
            for first in range(0, unit.shots, each)
        ]
        states = device.allocate(total << n, self.machine.dtype).reshape(total, 1 << n)
        found = _Groups.empty(states, bindings.columns)
        found.binding[...] = np.repeat(np.arange(len(operands)), unit.shots)

        def done(first: int, after: int) -> None:
            if self._ticker.reports:
                self._ticker.advance(sum(part.shots for part in parts[first:after]))
            else:
                self._ticker.tick()

        counts = run_parts(parts, found.states, found.shots, found.counts, found.outcomes, threads, done)
        for part in parts:
            found.shots[part.row : part.row + part.shots] += part.first - first_shot
        self.machine.run_seconds += perf_counter() - began
        return found.compact([part.row for part in parts], counts)


class _Groups(NamedTuple):
    """Groups of shots with equal outcomes: their final states, their shots, and the outcomes; binding by binding.

    states: [groups, 2^n]. shots: those of all groups, ascending in each, counted from the first of the unit. counts:
    the shots of each group. outcomes: uint8 [groups, columns]. binding: of each group.
    """

    states: NDArray[Any]
    shots: NDArray[np.int64]
    counts: NDArray[np.int64]
    outcomes: NDArray[np.uint8]
    binding: NDArray[np.int64]

    @classmethod
    def empty(cls, states: NDArray[np.generic], columns: int) -> _Groups:
        """Return room for as many groups as there are states; memory that is not used costs nothing."""
        shots, counts, binding = (np.empty(len(states), dtype=np.int64) for _ in range(3))
        return cls(states, shots, counts, np.empty((len(states), columns), dtype=np.uint8), binding)

    def compact(self, first: Sequence[int], counts: Sequence[int]) -> _Groups:
        """Return the groups of all parts, given where each part begins and how many groups it has."""
        end = 0
        for at, count in zip(first, counts, strict=True):
            if at != end:
                for field in (self.states, self.counts, self.outcomes, self.binding):
                    field[end : end + count] = field[at : at + count]
            end += count
        return _Groups(self.states[:end], self.shots, self.counts[:end], self.outcomes[:end], self.binding[:end])


WAY = ProgramWay(
    "compiled trajectories",
    TrajectoryMachine,
    TrajectoryWorker,
    suits,
    "so few wires run as compiled trajectories: gate by gate, from one random outcome to the next; the plans below are "
    "not followed, they are those of a run with saves or a checkpoint, or on a GPU",
)
