"""The traversal of a program by branches of shots, with as many states at a time as fit in memory.

Branches are visited depth first. If branches divide and there is room, their states are kept until all branches that
come from them are done. Without room, some branches wait and begin again from |0…0⟩ later, with the outcomes that they
have. A program without branch points has one branch for each binding, and no branch waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, assert_never, cast

import numpy as np

from qsim_ex.circuit.instruction import StateNode
from qsim_ex.circuit.ops import Save, SetState
from qsim_ex.circuit.saves import SaveValues
from qsim_ex.execution.progress import Share
from qsim_ex.later import later
from qsim_ex.placement.base import States
from qsim_ex.placement.executor import stage_ends, ticks
from qsim_ex.program.program import BranchPoint, Fork, Join, Jump, RoundBegin, Segment
from qsim_ex.run.branches import Branches, Complex, amplitudes_of, operands_of
from qsim_ex.run.context import ExecutionContext
from qsim_ex.run.request import BatchInputs, WorkUnit
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.planning import cut, resumed
    from qsim_ex.program import gathered
    from qsim_ex.program.choices import Choice
    from qsim_ex.run import branch_points, unitary
    from qsim_ex.run.state_in_progress import StoppedAt
else:
    resumed = later("qsim_ex.planning.resumed")
    unitary = later("qsim_ex.run.unitary")
    branch_points = later("qsim_ex.run.branch_points")
    gathered = later("qsim_ex.program.gathered")
    cut = later("qsim_ex.planning.cut")


@dataclass(slots=True)
class _Waiting:
    """Branches that wait at a node; with their `states`, or to begin again if that is None."""

    node: int
    states: States | None
    branches: Branches


class BranchTraversal:
    """Runs the branches of one unit of work through the program.

    most_rows: the largest number of states at a time. states: the number of states that were begun.
    """

    def __init__(self, way: ExecutionContext, unit: WorkUnit, inputs: BatchInputs) -> None:
        self._way = way
        self._nodes = way.program.nodes
        self._unit = unit
        self._inputs = inputs
        self._waiting: list[_Waiting] = []
        self._values_ahead: tuple[States | None, dict[int, SaveValues]] = None, {}
        self.most_rows = 0
        self.states = 0

    def __call__(self, branches: Branches) -> None:
        """Run some branches through the whole program; their states begin as |0…0⟩."""
        if not self._way.program.branches:
            self._go_on(0, self._begin(len(branches.binding)), branches)
            return
        self._waiting = [_Waiting(0, None, branches)]
        self._rest()

    def resume(self, at: StoppedAt, branches: Branches) -> None:
        """Continue the one branch in progress of an earlier run, and all branches that come from it."""
        way = self._way
        assert way.in_progress is not None
        segment = way.program.segment_at(at.node)
        plan = way.in_progress.plans_at(at)[-1] if at.before else self._plan(at.node, segment, at.start, at.fresh)
        states = self._begin(1)
        assert states.single is not None
        try:
            way.in_progress.restore(states.single, cut.cut(plan), at.part)
            for node in range(at.node):
                if isinstance(one := self._nodes[node], Save):
                    way.in_progress.require_results()
                elif isinstance(one, Segment):
                    way.ticker.skip(len(branches.shots) * ticks(states, way.machine.plan_at[node]))
        except BaseException:
            states.release()
            raise
        self._go_on(at.node, states, branches, at)
        self._rest()

    def _rest(self) -> None:
        """Continue until no branch waits."""
        try:
            while self._waiting:
                self._next()
        finally:
            for waiting in self._waiting:
                if waiting.states is not None:
                    waiting.states.release()

    def _begin(self, rows: int) -> States:
        self.states += rows
        self.most_rows = max(self.most_rows, self._held() + rows)
        way = self._way
        states = way.machine.begin(rows)
        if way.ticker.reports:
            way.ticker.expect(way.states, stage_ends(states, way.machine.plans), lambda: way.machine.bytes_moved)
        return states

    # --- branches that wait ------------------------------------------------------------------------------------------

    def _held(self) -> int:
        return sum(waiting.states.rows for waiting in self._waiting if waiting.states is not None)

    def _next(self) -> None:
        """Continue as many of the last waiting branches as fit, until they end or wait again."""
        waiting = self._waiting[-1]
        group, rest = self._group(waiting)
        if len(rest):
            waiting.branches = rest
        else:
            self._waiting.pop()
        if waiting.states is None:
            states = self._begin(len(group))
        else:
            states = waiting.states.take(group.row)
            if not len(rest):
                waiting.states.release()
        self.most_rows = max(self.most_rows, self._held() + states.rows)
        self._go_on(waiting.node, states, group.settled())

    def _group(self, waiting: _Waiting) -> tuple[Branches, Branches]:
        """Return the branches to continue, and those to wait; branches that may divide leave room for their parts."""
        branches = waiting.branches
        own = waiting.states.rows if waiting.states is not None else 0
        room = self._way.machine.rows - self._held()
        count = len(branches)
        if len(branches.shots) > room + own:  # else there are never more branches than rows
            if branches.may_divide:
                room //= 1 + sum(isinstance(node, BranchPoint) for node in self._nodes[waiting.node :])
            count = min(count, max(1, room))
        every = np.arange(len(branches))
        return branches.chosen(every[:count]), branches.chosen(every[count:])

    def _postponed(self, node: int, branches: Branches) -> Branches:
        """Return one branch for each row; the others wait, to begin again later."""
        _, first = np.unique(branches.row, return_index=True)
        others = np.setdiff1d(np.arange(len(branches)), first)
        self._waiting.insert(0, _Waiting(0, None, replace(branches.chosen(others), decided=node)))
        return branches.chosen(first)

    # --- the nodes of the program ------------------------------------------------------------------------------------

    def _go_on(self, begin: int, states: States, branches: Branches, at: StoppedAt | None = None) -> None:
        """Run all nodes from `begin` on, as long as every branch stays in its row; the states are consumed.

        at: the position of the states in the first segment, None for its beginning.
        """
        try:
            for node in range(begin, len(self._nodes)):
                match self._nodes[node]:
                    case Segment() as segment:
                        self._run(node, segment, states, branches, at)
                        at = None
                    case StateNode() as one:
                        self._on_state(node, one, states, branches)
                    case BranchPoint() as point:
                        branches = self._decided(node, point, states, branches)
                        if not branches.in_place or len(branches) != states.rows:
                            if (made := self._room_for(node, states, branches)) is None:
                                return
                            branches = made
                    case Fork() | Jump() | RoundBegin() | Join():
                        raise AssertionError("programs with loops are traversed by `run.loop_traversal`")
                    case other:
                        assert_never(other)
            self._way.machine.synchronize(partial(self._way.ahead, states))
            self._way.finish(self._unit, self._inputs, states, branches)
        except BaseException:
            states.release()
            raise
        self._way.machine.end(states)

    def _room_for(self, node: int, states: States, branches: Branches) -> Branches | None:
        """Return the branches that continue in place after a branch point; None if all wait, with the states."""
        room = self._way.machine.rows - self._held()
        fits = len(branches.shots) <= room
        if fits and 2 * len(branches) > len(branches.shots):
            branches = branches.singles()  # they will divide soon, and then no state is copied again
        if fits or states.rows < room:
            self._waiting.append(_Waiting(node + 1, states, branches))
            return None
        return self._postponed(node + 1, branches)

    def _run(self, node: int, segment: Segment, states: States, branches: Branches, at: StoppedAt | None) -> None:
        """Run the work of a segment; with checkpoints in parts, between which the state may be written."""
        way, kept = self._way, self._way.in_progress
        begun = (states.layout, states.fresh) if at is None else (at.start, at.fresh)
        operands = operands_of(segment, branches, self._inputs)
        before = () if at is None else at.before
        if at is not None and before:
            plan, operands = self._rest_of(at, operands)
        else:
            plan = self._plan(node, segment, *begun)
        tick = self._share(node, states, branches)
        if kept is None or states.single is None:
            way.machine.run(states, plan, operands, tick)
        else:
            for number, part in enumerate(cut.cut(plan), 1):
                if number > (0 if at is None else at.part):
                    way.machine.run(states, part, operands, tick)
                    kept.after(states.single, part, (node, number, *begun, before), self._unit, branches)
                elif isinstance(tick, Share):
                    tick.skip(ticks(states.single, part))
        if isinstance(tick, Share):
            tick.end()

    def _rest_of(self, at: StoppedAt, operands: Complex) -> tuple[Plan, Complex]:
        """Return the plan of what earlier runs have left of a segment, in other divisions, and its operands."""
        assert self._way.in_progress is not None
        *earlier, plan = self._way.in_progress.plans_at(at)
        for one in earlier:
            operands = resumed.operands_of(one, operands)
        return plan, operands

    def _share(self, node: int, states: States, branches: Branches) -> Share | Callable[[], None]:
        """Return the ticks of a segment; work that branches repeat, since they began again, counts for nothing."""
        if not self._way.ticker.reports:
            return self._way.ticker.tick
        shots = 0 if node < branches.decided else len(branches.shots)
        return self._way.ticker.of_states(shots, ticks(states, self._way.machine.plan_at[node]))

    def _plan(self, node: int, segment: Segment, start: Layout, fresh: int) -> Plan:
        """Return the plan of a segment for states that begin in the given layout with the given fresh bits."""
        plan = self._way.machine.plan_at[node]
        if (plan.start, plan.fresh) != (start, fresh):
            plan = self._way.machine.plan_for(segment, start, fresh)
        return plan

    def _on_state(
        self, node: int, one: StateNode, states: States, branches: Branches, rounds: tuple[int, ...] = ()
    ) -> None:
        """Do what a node does to states, or keep of them; rounds: the present rounds of the loops around it."""
        match one:
            case Save():
                self._way.save(self._unit, one, self._values(node, one, states, branches), branches, rounds)
            case SetState():
                self._set(one, states, branches)
            case _:
                raise AssertionError(f"expected a node that a traversal knows, got {one!r}")

    def _values(self, node: int, save: Save, states: States, branches: Branches) -> SaveValues:
        """Return the value of a save for each branch, [branches, …]."""
        if save.what == "unitary":
            program, machine = self._way.program, self._way.machine
            _, first, which = np.unique(branches.binding, return_index=True, return_inverse=True)
            one_each = branches.chosen(first)
            every = partial(operands_of, branches=one_each, inputs=self._inputs)
            args = program, node, states.num_wires, machine.options, every, range(len(first))
            return unitary.unitaries(*args, self._way.ticker.check)[which]
        of, ahead = self._values_ahead
        if of is states and node in ahead:
            return ahead.pop(node)
        self._way.machine.synchronize()
        observed = save.what == "expectation_value"
        together = self._way.program.read_together.get(node, (node,)) if observed else (node,)
        value, *others = self._way.read(states, cast(list[Save], [*map(self._nodes.__getitem__, together)]))
        self._values_ahead = states, dict(zip(together[1:], others, strict=True))
        return value

    def _set(self, given: SetState, states: States, branches: Branches) -> None:
        """Put every state into the given amplitudes of its binding."""
        self._way.machine.synchronize()
        states.overwrite(amplitudes_of(given, branches, self._inputs))

    # --- choices -----------------------------------------------------------------------------------------------------

    def _decided(self, node: int, point: BranchPoint, states: States, branches: Branches) -> Branches:
        """Return the branches after a branch point, in the order of the rows that they come from."""
        if branches.decided > node:
            return branches
        self._way.machine.synchronize()
        room = self._way.machine.rows  # beside them: memory holds twice as many states as there are rows
        return branch_points.Decider(self._inputs, states, self._catch_up, room)(point, branches)

    def _catch_up(self, states: States, choices: Sequence[Choice], branches: Branches) -> None:
        """Apply choices that the next segment would apply."""
        segment = gathered.segment_of(tuple(choices))
        machine = self._way.machine
        plan = machine.plan_for(segment, states.layout, states.fresh)
        machine.run(states, plan, operands_of(segment, branches, self._inputs), self._way.ticker.check)
