"""The traversal that follows every outcome: branches of density matrices, each with the trace that is its probability.

A measurement divides a branch into one for each value that occurs, and nothing is drawn. Branches at one place that
agree in all classical bits and variables that are still read have the same future, and density matrices add up: so they
become one. A loop therefore has as many branches as its memory has values, whatever the number of its rounds. The
group that is behind, in rounds and then in nodes, goes on first; a group waits at each join and at each new round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.classical import as_bits, evaluate
from qsim_ex.circuit.noise.readout import matrix_of
from qsim_ex.circuit.ops import ALWAYS
from qsim_ex.density.questions import DensityRows
from qsim_ex.devices.memory import state_bytes
from qsim_ex.display.amounts import human
from qsim_ex.errors import LoopError, NotSupported, OutOfMemory
from qsim_ex.placement.batch import Batch
from qsim_ex.program.choices import Reading, value_of
from qsim_ex.program.live import live_columns
from qsim_ex.program.program import BranchPoint, Segment
from qsim_ex.run.branches import Branches, operands_of
from qsim_ex.run.context import ExecutionContext
from qsim_ex.run.exact.summed_branches import pairs_of, summed_branches
from qsim_ex.run.group_traversal import GroupTraversal
from qsim_ex.run.history import History
from qsim_ex.run.machine import Machine
from qsim_ex.run.request import BatchInputs, WorkUnit
from qsim_ex.steps.layout import Layout

Numbers = NDArray[np.int64]

LEAST = 2.0**-53
"""The smallest probability of a branch that is followed: random numbers, which have 53 bits, cannot tell it from 0."""

_ROUNDING = 16
"""A share of a branch that is this many times a rounding error is taken for an outcome that never occurs."""

_RECORDED = 1 << 14
"""The most branches that are kept apart by what they have recorded."""

_BYTES = 64
"""The bytes of a branch beside its density matrix and its columns."""


class _RoundAt(NamedTuple):
    """The present round of a loop that begins at a node."""

    head: int
    number: int


@dataclass(slots=True)
class _Followed:
    """Branches at a node, branch b in row b of their states; rounds: of the loops around it."""

    node: int
    states: Batch
    branches: Branches
    rounds: tuple[_RoundAt, ...] = ()

    @property
    def place(self) -> tuple[int, ...]:
        """The present rounds of all loops."""
        return tuple([one.number for one in self.rounds])

    @property
    def key(self) -> tuple[int, ...]:
        """The place of the group in the order of all work: of equal keys, groups are at one place."""
        return (*[number for one in self.rounds for number in one], self.node)


class ExactTraversal(GroupTraversal[_Followed]):
    """Runs all branches of some bindings through a program on density matrices.

    num_wires: of each density matrix. sampled: whether the classical bits at the end are asked for.
    dropped: the sum of the probabilities of all branches that were too improbable to be followed.
    """

    def __init__(
        self, way: ExecutionContext, unit: WorkUnit, inputs: BatchInputs, num_wires: int, *, sampled: bool
    ) -> None:
        super().__init__(way, unit, inputs)
        machine = way.machine
        self._n = num_wires
        self._live = live_columns(way.program, sampled)
        self._history = History(way.program.history) if sampled and way.program.records else None
        self._groups: dict[tuple[int, ...], _Followed] = {}
        self._layouts: dict[int, Layout] = {}  # of states at each node at which groups meet
        self._most = machine.options.max_loop_rounds
        columns = len(way.program.choices) + way.program.readings
        self._room = max(machine.rows, _room(machine, state_bytes(2 * num_wires, machine.dtype), columns))
        self._rounding = _ROUNDING * float(np.finfo(machine.dtype).eps)
        self.dropped = 0.0

    def __call__(self, branches: Branches) -> None:
        """Run some branches, one for each binding, through the whole program; their states begin as |0…0⟩."""
        self._require(len(branches), 0)
        self._wait(_Followed(0, cast(Batch, self._begin(len(branches))), branches.settled()))
        try:
            while self._groups:
                group = self._groups.pop(min(self._groups))
                try:
                    self._advance(group)
                except BaseException:
                    group.states.release()
                    raise
        finally:
            for group in self._groups.values():
                group.states.release()

    # --- groups ------------------------------------------------------------------------------------------------------

    def _held(self) -> int:
        return sum(group.states.rows for group in self._groups.values())

    def _require(self, rows: int, held: int) -> None:
        """Check that there is room for some branches beside those of other groups."""
        if self._history is not None and rows + held > _RECORDED:
            raise NotSupported(
                f"expected at most {_RECORDED} branches with lists of records of their own, got {rows + held} from "
                "method='density_matrix', which keeps each list apart; record less, or use method='statevector', which "
                "draws trajectories."
            )
        if rows + held > self._room:
            each = state_bytes(2 * self._n, self._way.machine.dtype)
            raise OutOfMemory(
                f"expected at most {self._room} branches of classical bits at a time, got {rows + held}: the density "
                f"matrix of {self._n} wires needs {human(each)} for each of them. Measure fewer bits that are read "
                "later, or use method='statevector', which draws trajectories."
            )
        self.most_rows = max(self.most_rows, rows + held)

    def _wait(self, group: _Followed) -> None:
        """Let a group wait at its node; groups at one place become one."""
        other = self._groups.pop(group.key, None)
        if other is not None:
            parts = [other, group]
            self._require(sum(one.states.rows for one in parts), self._held())
            branches = Branches.joined([one.branches for one in parts])
            states = Batch.joined([one.states for one in parts])
            for one in parts:
                one.states.release()
            group = _Followed(group.node, states, group.branches, group.rounds)
            self._take(group, branches)
            self._combine(group)
        self._groups[group.key] = group

    def _advance(self, group: _Followed) -> None:
        """Lead a group on until it waits or ends."""
        machine = self._way.machine
        while group.node < len(self._nodes):
            if not self._step(group):
                return
        if self._groups:
            self._wait(group)
            return
        machine.synchronize()
        branches = group.branches
        if self._history is not None:
            branches = replace(branches, recorded=self._history.of(branches, self._way.program.records))
        self._way.finish(self._unit, self._inputs, group.states, branches)
        machine.end(group.states)

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _work(self, at: int, segment: Segment, group: _Followed) -> None:
        """Run a segment on all branches, as many at a time as a batch should have."""
        machine, states = self._way.machine, group.states
        plan = self._plan(at, segment, states.layout, states.fresh)
        operands = operands_of(segment, group.branches, self._inputs)
        for first, part in states.parts(machine.rows):
            own = operands if len(operands) == 1 else operands[first : first + part.rows]
            machine.run(part, plan, own, self._way.ticker.check)
        states.layout, states.fresh = plan.end, plan.left

    def _choose(self, at: int, point: BranchPoint, group: _Followed) -> bool:
        """Divide branches by what is measured and read, and write columns; return whether any is left."""
        if point.choices:
            self._measure(at, point, group)
        for reading in point.readings:
            if len(group.branches):  # else all were too improbable to be followed
                self._read(reading, group)
        branches = group.branches
        for assignment in point.assignments:
            values = evaluate(assignment.expression, branches.outcomes)
            branches = branches.assigned(assignment.columns, as_bits(values, assignment.expression.width))
        if self._history is not None and point.records:
            branches = self._history.write(point.records, branches)
        group.branches = branches
        if not len(branches):
            group.states.release()
        return len(branches) > 0

    def _measure(self, at: int, point: BranchPoint, group: _Followed) -> None:
        """Divide branches by the values of wires; the segment that follows applies the projections."""
        group.node = at
        self._combine(group)
        group.node = at + 1
        self._way.machine.synchronize()
        weights = DensityRows(group.states, self._n, 0).populations([choice.wires[0] for choice in point.choices])
        row, value, _ = self._occurring(weights)
        branches = self._copied(group.branches, row)
        for k, choice in enumerate(point.choices):
            branches.outcomes[:, choice.number] = value >> k & 1
            branches.scales[:, choice.number] = 1
        self._take(group, branches)

    def _read(self, reading: Reading, group: _Followed) -> None:
        """Divide branches by what is read of bits with a readout error."""
        true, columns = value_of(reading.sources, group.branches.outcomes), list(reading.columns)
        matrix = matrix_of(self._inputs.readout, reading.clbits, reading.measurement)
        if matrix is None:
            bits = true[:, None] >> np.arange(len(columns)) & 1
            group.branches = group.branches.assigned(columns, bits.astype(np.uint8))
            return
        self._way.machine.synchronize()
        traces = DensityRows(group.states, self._n, 0).populations(())
        row, value, weights = self._occurring(traces * matrix[true])
        branches = self._copied(group.branches, row)
        branches.outcomes[:, columns] = value[:, None] >> np.arange(len(columns)) & 1
        self._take(group, branches)
        for place, factor in enumerate((weights / traces[row, 0]).tolist()):
            group.states.row(place).scale(ALWAYS, factor, factor)

    def _occurring(self, weights: NDArray[np.float64]) -> tuple[Numbers, Numbers, NDArray[np.float64]]:
        """Return the branch, the value and the weight of each outcome that occurs; weights: [branches, values]."""
        least = np.maximum(LEAST, self._rounding * weights.sum(axis=1, keepdims=True))
        occurs = weights > least
        self.dropped += float(np.maximum(weights[~occurs], 0).sum())
        row, value = np.nonzero(occurs)
        return row, value, weights[row, value]

    def _copied(self, branches: Branches, row: Numbers) -> Branches:
        """Return a branch for each of some rows, whose columns may be written."""
        return replace(branches.chosen(row), own=True)

    def _take(self, group: _Followed, branches: Branches) -> None:
        """Give every branch a row of its own."""
        if len(branches) and not (branches.in_place and len(branches) == group.states.rows):
            self._require(len(branches), self._held())
            before = group.states
            group.states = before.take(branches.row)
            self._way.machine.end(before)
        group.branches = branches.settled()

    def _round(self, depth: int, at: int, group: _Followed) -> bool:
        """Count a round, and wait for other groups that begin it."""
        number = group.rounds[depth].number + 1 if len(group.rounds) > depth else 0
        if number >= self._most:
            left = float(DensityRows(group.states, self._n, 0).populations(()).sum()) / len(self._inputs.seeds)
            raise LoopError(
                f"expected a loop to end within max_loop_rounds={self._most} rounds, got a probability of {left:.3g} "
                f"that it goes on after {self._most}; check its condition, or raise max_loop_rounds."
            )
        group.rounds = (*group.rounds[:depth], _RoundAt(at, number))
        return self._meet(at, group)

    def _join(self, depth: int, at: int, group: _Followed) -> bool:
        """Wait at a join for groups that are behind."""
        group.rounds = group.rounds[:depth]
        return self._meet(at, group)

    # --- branches that become one ------------------------------------------------------------------------------------

    def _meet(self, at: int, group: _Followed) -> bool:
        """Let a group wait behind a node at which groups meet, in one layout of states, for which there are plans."""
        _ = group.states.buffer  # writes zeros that growing states had not written
        layout = self._layouts.setdefault(at, group.states.layout)
        if group.states.layout != layout:
            group.states.arrange(layout)
        self._wait(group)
        return False

    def _combine(self, group: _Followed) -> None:
        """Add up the density matrices of branches that agree in all columns that are read at their node or later."""
        while len(group.branches) > 1 and len(pairs := pairs_of(group.branches, self._live[group.node])):
            group.states, group.branches = summed_branches(self._way, group.states, group.branches, pairs)


def _room(machine: Machine, state: int, columns: int) -> int:
    """Return how many branches have room beside copies of them, with the outcomes and scales in their columns."""
    where, classical = machine.where, _BYTES + 9 * columns
    return min(where.free // (3 * state), where.host_free // (3 * (state + classical)))
