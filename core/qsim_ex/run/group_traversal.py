"""The way of groups of branches through the nodes of a program, which those of loops and of density matrices share.

A group's states, branches and place go together. Each traversal says what its groups do at a node; which node that is,
only this module asks.
"""

from __future__ import annotations

from dataclasses import Field, replace
from typing import ClassVar, Generic, Protocol, TypeVar, assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.classical import evaluate
from qsim_ex.circuit.instruction import StateNode
from qsim_ex.placement.base import States
from qsim_ex.program.program import BranchPoint, Fork, Join, Jump, RoundBegin, Segment
from qsim_ex.run.branches import Branches
from qsim_ex.run.traversal import BranchTraversal


class Group(Protocol):
    """Branches at a node, with their states; place: the present rounds of the loops around it."""

    node: int
    __dataclass_fields__: ClassVar[dict[str, Field[object]]]

    @property
    def states(self) -> States:
        """The states, one for each branch."""

    @property
    def branches(self) -> Branches:
        """The branches."""

    @property
    def place(self) -> tuple[int, ...]:
        """The present rounds of all loops."""


AnyGroup = TypeVar("AnyGroup", bound=Group)


class GroupTraversal(BranchTraversal, Generic[AnyGroup]):
    """Leads groups from node to node; what returns a truth value says whether the group goes on at once."""

    def _step(self, group: AnyGroup) -> bool:
        """Do the node at which a group is, and lead it to the next one; return whether it goes on at once."""
        at = group.node
        group.node += 1
        match self._nodes[at]:
            case Segment() as segment:
                self._work(at, segment, group)
            case StateNode() as one:
                self._on_state(at, one, group.states, group.branches, group.place)
            case BranchPoint() as point:
                return self._choose(at, point, group)
            case Fork(condition, otherwise):
                self._fork(evaluate(condition, group.branches.outcomes) != 0, otherwise, group)
            case Jump(to):
                group.node = to
            case RoundBegin(depth):
                return self._round(depth, at, group)
            case Join(depth):
                return self._join(depth, at, group)
            case other:
                assert_never(other)
        return True

    def _work(self, at: int, segment: Segment, group: AnyGroup) -> None:
        """Run a segment on all branches of a group."""
        raise NotImplementedError

    def _choose(self, at: int, point: BranchPoint, group: AnyGroup) -> bool:
        """Make the choices of a branch point, and what follows them there."""
        raise NotImplementedError

    def _fork(self, holds: NDArray[np.bool_], otherwise: int, group: AnyGroup) -> None:
        """Lead the branches for which a condition does not hold to another node."""
        if not holds.any():
            group.node = otherwise
        elif not holds.all():
            others = group.branches.chosen(np.flatnonzero(~holds))
            states = group.states.take(others.row)
            self._wait(replace(group, node=otherwise, states=states, branches=others.settled()))
            self._take(group, group.branches.chosen(np.flatnonzero(holds)))

    def _wait(self, group: AnyGroup) -> None:
        """Let a group wait at its node."""
        raise NotImplementedError

    def _take(self, group: AnyGroup, branches: Branches) -> None:
        """Give every branch a row of its own."""
        raise NotImplementedError

    def _round(self, depth: int, at: int, group: AnyGroup) -> bool:
        """Begin a round of a loop."""
        raise NotImplementedError

    def _join(self, depth: int, at: int, group: AnyGroup) -> bool:
        """Wait at a join for groups that are behind, or go on with all that are there."""
        raise NotImplementedError
