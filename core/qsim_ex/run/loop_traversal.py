"""The traversal of programs with loops: groups of branches at different nodes, which come together at joins.

A *group* has states, and all of its branches are at one node. At a fork it parts, and what is known of a branch (its
outcomes and its classical memory) decides which way it goes. The group at the earliest node goes on first, and a group
waits at a join for those behind it. So the branches of a loop are one group in every round, and all branches of a
circuit are one group after it.

Without room for all states, some shots begin again from |0…0⟩ later: their random numbers are the same, and so are the
choices that they make.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import LoopError
from qsim_ex.placement import executor
from qsim_ex.placement.base import States
from qsim_ex.placement.batch import Batch
from qsim_ex.program.program import BranchPoint, Segment
from qsim_ex.run.branch_points import Decider
from qsim_ex.run.branches import Branches
from qsim_ex.run.context import ExecutionContext
from qsim_ex.run.group_traversal import GroupTraversal
from qsim_ex.run.history import History
from qsim_ex.run.request import BatchInputs, WorkUnit
from qsim_ex.steps.layout import Layout

Numbers = NDArray[np.int64]


class _Round(NamedTuple):
    """The present round of a loop, and the layout of states in which its first one began."""

    number: int
    layout: Layout


@dataclass(slots=True)
class _BranchGroup:
    """Branches with branch b in row b of their states, at a node; rounds: of the loops around it."""

    node: int
    states: States
    branches: Branches
    rounds: tuple[_Round, ...] = ()

    @property
    def place(self) -> tuple[int, ...]:
        """The present rounds of all loops."""
        return tuple([one.number for one in self.rounds])


class LoopTraversal(GroupTraversal[_BranchGroup]):
    """Runs the branches of one unit of work through a program with loops."""

    def __init__(self, way: ExecutionContext, unit: WorkUnit, inputs: BatchInputs) -> None:
        super().__init__(way, unit, inputs)
        self._groups: list[_BranchGroup] = []  # that wait
        self._later: list[Numbers] = []  # shots that begin later
        self._most = way.machine.options.max_loop_rounds
        self._history = History(way.program.history)

    def __call__(self, branches: Branches) -> None:
        """Run some branches through the whole program; their states begin as |0…0⟩."""
        self._later = [self._ids(branches)]
        try:
            while self._groups or self._later:
                self._advance(self._earliest(branches))
        finally:
            for group in self._groups:
                group.states.release()

    def _ids(self, branches: Branches) -> Numbers:
        """Return a number for each shot of some branches."""
        return branches.binding[branches.branch_of] * self._inputs.shots + branches.shots

    # --- groups ------------------------------------------------------------------------------------------------------

    def _held(self) -> int:
        return sum(group.states.rows for group in self._groups)

    def _earliest(self, first: Branches) -> _BranchGroup:
        """Return the group at the earliest node, or as many shots from the beginning as surely fit."""
        if self._groups:
            earliest = min(self._groups, key=lambda group: group.node)
            self._groups.remove(earliest)
            return earliest
        self._history.clear()
        waiting, rows = self._later.pop(), self._way.machine.rows
        begun = first.without(~np.isin(self._ids(first), waiting))
        if len(begun) > rows:
            every = self._ids(begun.chosen(np.arange(rows)))
            self._later.append(np.setdiff1d(waiting, every))
            begun = begun.chosen(np.arange(rows))
        return _BranchGroup(0, self._begin(len(begun)), begun.settled())

    def _wait(self, group: _BranchGroup) -> None:
        self._groups.append(group)
        self.most_rows = max(self.most_rows, self._held())

    def _advance(self, group: _BranchGroup) -> None:
        """Lead a group on until it ends or waits; other groups may join it."""
        machine = self._way.machine
        try:
            while group.node < len(self._nodes):
                if not self._step(group):
                    return
            machine.synchronize()
            branches = group.branches
            if widths := self._way.program.records:
                branches = replace(branches, recorded=self._history.of(branches, widths))
            self._way.finish(self._unit, self._inputs, group.states, branches)
        except BaseException:
            group.states.release()
            raise
        if self._way.ticker.reports:
            steps = sum(executor.ticks(group.states, plan) for plan in self._way.machine.plans)
            self._way.ticker.skip(len(group.branches.shots) * steps)
        machine.end(group.states)

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _work(self, at: int, segment: Segment, group: _BranchGroup) -> None:
        """Run a segment on all branches."""
        self._run(at, segment, group.states, group.branches, None)

    def _choose(self, at: int, point: BranchPoint, group: _BranchGroup) -> bool:  # noqa: ARG002
        """Make the choices of a branch point; every branch after it has a row of its own."""
        machine = self._way.machine
        if not (point.choices or point.readings):
            inputs, room = self._inputs, 1
        else:
            machine.synchronize()
            inputs = replace(self._inputs, rounds=group.place) if group.place else self._inputs
            room = machine.rows  # beside them: memory holds twice as many states as there are rows
        branches = Decider(inputs, group.states, self._catch_up, room)(point, group.branches)
        if point.records:
            branches = self._history.write(point.records, branches)
        if branches.in_place and len(branches) == group.states.rows:
            group.branches = branches
            return True
        most = max(machine.rows - self._held(), group.states.rows)
        if len(branches) > most:
            kept = self._kept(branches, most, group.states.rows)
            self._later.append(np.setdiff1d(self._ids(branches), self._ids(kept)))
            branches = kept
        self._take(group, branches)
        return True

    def _kept(self, branches: Branches, most: int, rows: int) -> Branches:
        """Return as many branches as there is room for, one of each row if there is none for a copy."""
        if most > rows:
            return branches.chosen(np.arange(most))
        _, first = np.unique(branches.row, return_index=True)
        return branches.chosen(first)

    def _take(self, group: _BranchGroup, branches: Branches) -> None:
        """Give every branch a row of its own."""
        if not branches.in_place or len(branches) != group.states.rows:
            before = group.states
            group.states = before.take(branches.row)
            self.most_rows = max(self.most_rows, self._held() + group.states.rows)
            self._way.machine.end(before)
        group.branches = branches.settled()

    def _round(self, depth: int, at: int, group: _BranchGroup) -> bool:  # noqa: ARG002
        """Count a round; each begins in the layout in which the first one did, for which there are plans."""
        states, rounds = group.states, group.rounds
        if len(rounds) == depth:
            group.rounds = (*rounds, _Round(0, states.layout))
            return True
        number, layout = rounds[depth]
        if number + 1 >= self._most:
            raise LoopError(
                f"expected a loop to end within max_loop_rounds={self._most} rounds, got {len(group.branches.shots)} "
                f"shots for which it went round {self._most} times; check its condition, or raise max_loop_rounds."
            )
        if states.layout != layout and isinstance(states, Batch):
            states.arrange(layout)
        group.rounds = (*rounds[:depth], _Round(number + 1, layout))
        return True

    def _join(self, depth: int, at: int, group: _BranchGroup) -> bool:
        """Wait at a join for groups that are behind, or go on with all that are there."""
        group.rounds = group.rounds[:depth]
        if not self._groups:
            return True
        if any(other.node < at for other in self._groups):
            group.node = at
            self._wait(group)
            return False
        depth = len(group.rounds)  # those that have left a loop still have its round
        here = [other for other in self._groups if other.node == at and other.place[:depth] == group.place]
        if not here or not isinstance(group.states, Batch):
            return True
        parts = [group, *here]
        branches = Branches.joined([one.branches for one in parts])
        states = Batch.joined([cast(Batch, one.states) for one in parts])
        for other in here:
            self._groups.remove(other)
            other.states.release()
        self._way.machine.end(group.states)
        group.states = states
        self._take(group, branches)
        return True

    # --- what the rounds change --------------------------------------------------------------------------------------

    def _share(self, node: int, states: States, branches: Branches) -> Callable[[], None]:  # noqa: ARG002
        """Return the tick of a segment; how often it runs is not known, so a shot counts when it has ended."""
        ticker: Any = self._way.ticker
        return cast(Callable[[], None], ticker.check)
