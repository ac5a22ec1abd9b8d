"""The queue of a run's units of work, the workers that take units until none is left, and the way that they go."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from qsim_ex import thresholds
from qsim_ex.circuit.parameters.bindings import Bindings, Operands
from qsim_ex.execution.progress import Ticker
from qsim_ex.kernels.interrupts import uninterrupted
from qsim_ex.later import later
from qsim_ex.observe.sampling import STEP
from qsim_ex.program.program import Program
from qsim_ex.run.branches import Branches, first_branches
from qsim_ex.run.context import ExecutionContext
from qsim_ex.run.machine import Machine
from qsim_ex.run.methods.method import ProgramWay, RunsUnits, SimulatesStates, loaded
from qsim_ex.run.request import BatchInputs, Request, WorkUnit
from qsim_ex.run.traversal import BranchTraversal

if TYPE_CHECKING:
    from qsim_ex.deployment.assignment import Assignment
    from qsim_ex.execution.checkpoints import Checkpoints
    from qsim_ex.options import Options
    from qsim_ex.placement.deployment import Deployment
    from qsim_ex.program import choices
    from qsim_ex.run import loop_traversal, state_in_progress
    from qsim_ex.run.collects import Collects
    from qsim_ex.run.planned import PlannedRun
else:
    loop_traversal = later("qsim_ex.run.loop_traversal")
    state_in_progress = later("qsim_ex.run.state_in_progress")
    choices = later("qsim_ex.program.choices")


class WorkQueue:
    """All bindings and trajectories of a run, in units of work; threads may share it.

    branches: whether the program has branches. rows: the number of states at a time. workers: the number of workers,
    each of which should get some units. tree: whether many shots are expected to make equal choices; then a unit has
    many shots, otherwise only as many as there are rows. share: the first trajectory and the one behind the last, if
    not all of them are run here.
    """

    def __init__(
        self,
        bound: Bindings,
        request: Request,
        rows: int,
        workers: int,
        *,
        branches: bool,
        tree: bool,
        share: tuple[int, int] | None = None,
    ) -> None:
        self.bound = bound
        self._lock = threading.Lock()
        self._first, last = (0, request.trajectories) if share is None else share
        shots = last - self._first
        if shots == 0:  # other processes run them all
            self._pieces: Iterator[WorkUnit] = iter(())
            return
        most = thresholds.now.shots_at_once
        most = most if tree else max(STEP, min(most, rows // STEP * STEP))
        if bound.count < workers:
            most = min(most, -(-shots // workers // STEP) * STEP)
        step = max(1, rows // min(shots, most)) if branches else rows
        self._pieces = self._all(min(step, -(-bound.count // workers)), shots, most)

    def _all(self, step: int, shots: int, most: int) -> Iterator[WorkUnit]:
        for begin in range(0, self.bound.count, step):
            for first in range(0, shots, most):
                end = min(begin + step, self.bound.count)
                yield WorkUnit(begin, end, self._first + first, min(most, shots - first))

    def end(self) -> None:
        """Return no more units, after an error or an interrupt of a worker."""
        with self._lock:
            self._pieces = iter(())

    def next(self) -> tuple[WorkUnit, Operands] | None:
        """Return the next unit with the operands of its bindings; None if there is none."""
        with self._lock:
            unit = next(self._pieces, None)
            return None if unit is None else (unit, self.bound.operands(unit.begin, unit.end))


class Worker:
    """Runs units of work through a program on a machine, and passes their final states to the collector.

    count: the number of all bindings.
    most_rows: the largest number of states at a time. states: the number of states that were begun.
    """

    def __init__(
        self,
        machine: Machine,
        program: Program,
        request: Request,
        collector: Collects,
        ticker: Ticker,
        checkpoints: Checkpoints | None,
        count: int,
    ) -> None:
        self.machine = machine
        self.most_rows = 0
        self.states = 0
        self._program = program
        self._request = request
        self._collector = collector
        alone = checkpoints is not None and not machine.batched and not program.loops
        each = count, request.trajectories
        kept = (
            state_in_progress.StateInProgress(checkpoints, machine, program, *each) if checkpoints and alone else None
        )
        states = count * request.trajectories
        takes = collector.ahead, collector.finish, collector.save, collector.read
        self._way = ExecutionContext(machine, program, ticker, states, *takes, kept)

    def __call__(self, queue: WorkQueue, seeds: Sequence[int]) -> None:
        """Run units of work until none is left; after an error or Ctrl-C no worker begins another one."""
        try:
            while (found := queue.next()) is not None:
                self._do(*found, seeds)
        except BaseException:
            queue.end()
            raise

    def _do(self, unit: WorkUnit, operands: Operands, seeds: Sequence[int]) -> None:
        program, mine = self._program, seeds[unit.begin : unit.end]
        inputs = BatchInputs.of(program, operands, mine, unit, self._request)
        branches = first_branches(program, inputs)
        traversal = (_looped() if program.loops else BranchTraversal)(self._way, unit, inputs)
        if self._collector.done is not None:
            branches = self._left(traversal, unit, branches)
        if len(branches.binding):
            traversal(branches)
        self.most_rows, self.states = max(self.most_rows, traversal.most_rows), self.states + traversal.states

    def _left(self, traversal: BranchTraversal, unit: WorkUnit, branches: Branches) -> Branches:
        """Return the branches of a unit that an earlier run has not done; its state in progress is run to its end."""
        left = self._collector.left(unit, branches)
        self._way.ticker.skip_states(len(branches.shots) - len(left.shots))
        kept = self._way.in_progress
        if kept is not None and (found := kept.found(unit, left)) is not None:
            traversal.resume(*found)
            left = self._collector.left(unit, branches)
        return left.settled()


def _looped() -> type[BranchTraversal]:
    """Return the traversal of programs with loops, which is loaded when there is one."""
    return loop_traversal.LoopTraversal


PLANS = ProgramWay("plans", Machine, Worker)
"""The way by plans, which any program can go."""


WAYS = ("trajectories",)
"""The files of `run/methods/` whose ways are asked whether they suit a program with random choices."""


def way_of(where: Sequence[tuple[object, Deployment]], program: Program, options: Options) -> ProgramWay:
    """Return how a program's states are simulated on devices in deployments: by plans, if no other way suits."""
    for name in WAYS if program.branches else ():
        way: ProgramWay = loaded(name).WAY
        if way.suits is None or all(way.suits(program, device, deployment, options) for device, deployment in where):
            return way
    return PLANS


def machines_of(
    wheres: Sequence[Assignment], program: Program, options: Options, states: int
) -> tuple[ProgramWay, list[SimulatesStates]]:
    """Return how a program's states are simulated, and the machines."""
    way = way_of([(one.device, one.deployment) for one in wheres], program, options)
    return way, [way.machine(one, program, options, states) for one in wheres]


def traverse(
    run: PlannedRun,
    collector: Collects,
    kept: Checkpoints | None,
    seeds: Sequence[int],
    ticker: Ticker,
    share: tuple[int, int] | None = None,
) -> Sequence[RunsUnits]:
    """Run all units of work through the program, on all machines at once.

    share: the first trajectory of each binding that is run, and the one behind the last; all of them if None.
    """
    given = run.program, run.request, collector, ticker, kept, run.bound.count
    tree = False
    if run.program.branches and run.machines[0].plans:
        tree = run.request.trajectories > 2 ** min(choices.entropy(run.program, run.bound.operands(0, 1)[0]), 62)
    rows = max(machine.rows for machine in run.machines)
    workers = [run.way.worker(machine, *given) for machine in run.machines]
    queue = WorkQueue(run.bound, run.request, rows, len(workers), branches=run.program.branches, tree=tree, share=share)
    if len(workers) == 1:
        workers[0](queue, seeds)
    else:
        with ThreadPoolExecutor(len(workers) - 1, thread_name_prefix="qsim-ex-batch") as pool:
            with uninterrupted():
                others = [pool.submit(worker, queue, seeds) for worker in workers[1:]]
            workers[0](queue, seeds)
            for other in others:
                other.result()
    ticker.finish()
    return workers
