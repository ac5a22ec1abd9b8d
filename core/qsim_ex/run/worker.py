"""A worker: a machine that takes units of work until none is left."""

from __future__ import annotations

from collections.abc import Sequence

from qsim_ex.circuit.bindings import Operands
from qsim_ex.execution.checkpoints import Checkpoints
from qsim_ex.execution.progress import Ticker
from qsim_ex.program.program import Program, Segment
from qsim_ex.run.branches import Branches, first_branches
from qsim_ex.run.collector import Collector
from qsim_ex.run.inputs import BatchInputs
from qsim_ex.run.machine import Machine
from qsim_ex.run.on_the_way import OnTheWay
from qsim_ex.run.request import Request
from qsim_ex.run.traversal import BranchTraversal, Way
from qsim_ex.run.work import WorkQueue, WorkUnit
from qsim_ex.steps.plan import Plan


class Worker:
    """Leads units of work through a program on a machine, and gives what comes of them to the collector.

    count: how many bindings there are in all.
    most_rows: how many states there were at a time. states: how many were begun.
    """

    def __init__(
        self,
        machine: Machine,
        program: Program,
        request: Request,
        collector: Collector,
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
        segments = (node for node, one in enumerate(program.nodes) if isinstance(one, Segment))
        plans: dict[int, Plan] = dict(zip(segments, machine.plans, strict=True))
        kept = None if checkpoints is None or machine.batched else OnTheWay(checkpoints, program, plans)
        states = count * request.trajectories
        self._way = Way(machine, program, plans, ticker, states, collector.finish, collector.save, kept)

    def __call__(self, queue: WorkQueue, seeds: Sequence[int]) -> None:
        """Do units of work until none is left; after an error or Ctrl-C nobody begins another one."""
        try:
            while (found := queue.next()) is not None:
                self._do(*found, seeds)
        except BaseException:
            queue.end()
            raise

    def _do(self, unit: WorkUnit, operands: Operands, seeds: Sequence[int]) -> None:
        program, mine = self._program, seeds[unit.begin : unit.end]
        inputs = BatchInputs.of(program, operands, mine, unit.first, unit.shots, self._request.readout)
        branches = first_branches(program, inputs.kraus, mine, unit.first, unit.shots)
        traversal = BranchTraversal(self._way, unit, inputs)
        if self._collector.resumes:
            branches = self._left(traversal, unit, branches)
        if len(branches):
            traversal(branches)
        self.most_rows, self.states = max(self.most_rows, traversal.most_rows), self.states + traversal.states

    def _left(self, traversal: BranchTraversal, unit: WorkUnit, branches: Branches) -> Branches:
        """What an earlier run has left to do of a unit; the state that it had on its way is brought to its end."""
        left = self._collector.left(unit, branches)
        self._way.ticker.skip_states(len(branches.shots) - len(left.shots))
        kept = self._way.on_the_way
        if kept is not None and (found := kept.found(unit, left)) is not None:
            traversal.resume(*found)
            left = self._collector.left(unit, branches)
        return left.settled()
