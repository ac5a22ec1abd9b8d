"""The state in progress of a run, with its position in the program: written to a checkpoint and read from one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qsim_ex.errors import NotSupported, OptionError, PlanError, SavedStateError
from qsim_ex.execution.checkpoints import Checkpoints
from qsim_ex.files.header import mask, whole
from qsim_ex.files.saving import load_into
from qsim_ex.placement.base import Placement
from qsim_ex.planning.cut import cut
from qsim_ex.program.program import Program
from qsim_ex.run.branches import Branches
from qsim_ex.run.machine import Machine
from qsim_ex.run.request import WorkUnit
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Plan

_MOST = 1 << 40
"""The most parts of plans, and nodes, that a file may tell of; how many there are is asked of the plans later."""

_LARGEST = 2.0**60
"""The largest factor on a matrix: p^(−1/2) of an outcome that random numbers of 53 bits can hit, with room."""


@dataclass(frozen=True, eq=False, slots=True)
class StoppedAt:
    """The position of a state: after `part` parts of the plan of a segment.

    node: the node of the segment. start, fresh: the layout and the fresh bits at the beginning of the segment.
    before: how the state was divided while earlier runs did parts of the segment, and how many parts of their plan each
        has done; then the plan is one of what they have left (`planning.resumed`).
    """

    node: int
    part: int
    start: Layout
    fresh: int
    before: tuple[tuple[Levels, int], ...] = ()


Fields = tuple[int, int, Layout, int, tuple[tuple[Levels, int], ...]]
"""The fields of a `StoppedAt`, in order."""


class StateInProgress:
    """Writes states in progress, one at a time, and restores the state of an earlier run.

    machine: simulates the states. bindings, trajectories: of the run.
    """

    def __init__(
        self,
        checkpoints: Checkpoints,
        machine: Machine,
        program: Program,
        bindings: int,
        trajectories: int,
    ) -> None:
        self.checkpoints = checkpoints
        self._machine = machine
        self._program = program
        self._bindings = bindings
        self._trajectories = trajectories

    # --- writing -----------------------------------------------------------------------------------------------------

    def after(self, placement: Placement, plan: Plan, where: Fields, unit: WorkUnit, branches: Branches) -> None:
        """Write a checkpoint after a part of a plan, for one branch, if the next one is due. where: of `StoppedAt`."""
        if not self.checkpoints.due():
            return
        at = StoppedAt(*where)
        about: dict[str, object] = {
            "at": {
                "node": at.node,
                "address": list(at.start.address),
                "flip": hex(at.start.flip),
                "fresh": hex(at.fresh),
                "before": [[levels.to_json(), parts] for levels, parts in at.before],
            }
        }
        if self._program.branches:
            about["branch"] = {
                "shots": (unit.first + branches.shots).tolist(),
                "outcomes": branches.outcomes[0].tolist(),
                "scales": branches.scales[0].tolist(),
                "decided": branches.decided,
            }
        binding = unit.begin + int(branches.binding[0])
        if binding:
            about["binding"] = binding
        self.checkpoints.write_state(placement, {"parts": at.part, **about})
        placement.mark_zero(plan.left)  # saving may have written zeros, which the plan does not need

    # --- going on ----------------------------------------------------------------------------------------------------

    def found(self, unit: WorkUnit, left: Branches) -> tuple[StoppedAt, Branches] | None:
        """Return the position and the branch of an earlier run's state, if the branch is among those left of a unit."""
        state = self.checkpoints.state
        if state is None:
            return None
        try:
            at = self._position(state.about["at"], whole(state.about, "parts", 0, _MOST))
            if self.checkpoints.divided != self.checkpoints.levels:
                at = replace(at, part=0, before=(*at.before, (self.checkpoints.divided, at.part)))
            binding = whole({"binding": 0, **state.about}, "binding", 0, self._bindings - 1) - unit.begin
            mine = left.chosen(np.flatnonzero(left.binding == binding))
            if not self._program.branches:
                return (at, mine.settled()) if len(mine) else None
            branch = self._branch(state.about["branch"])
            shots = branch.shots - unit.first
            if not np.isin(shots, mine.shots).all():
                return None
            one = mine.chosen(np.zeros(1, dtype=np.int64))
            return at, replace(branch, binding=one.binding, shots=shots)
        except (KeyError, ValueError, TypeError, OptionError) as error:
            raise SavedStateError(f"{state.path} is damaged: {error!r}. Remove it and run again.") from error

    def _branch(self, told: Any) -> Branches:
        """Return the branch in a file, its shots counted from the first of the run; raises `ValueError` for another."""
        program, shots = self._program, told["shots"]
        numbers = [choice.count for choice in program.choices] + [2] * program.readings
        outcomes, scales = told["outcomes"], told["scales"]
        if not _are_whole(shots, [self._trajectories] * len(shots)) or not shots or sorted({*shots}) != shots:
            raise ValueError(f"expected ascending shots below {self._trajectories}")
        if len(outcomes) != len(numbers) or not _are_whole(outcomes, numbers):
            raise ValueError(f"expected {len(numbers)} outcomes, each below the number of its matrices")
        if len(scales) != len(numbers) or not all(type(one) is float and 0 < one <= _LARGEST for one in scales):
            raise ValueError(f"expected {len(numbers)} factors above 0")
        return Branches(
            binding=np.zeros(1, dtype=np.int64),
            shots=np.array(shots, dtype=np.int64),
            begins=np.array([0, len(shots)]),
            outcomes=np.array([outcomes], dtype=np.uint8),
            scales=np.array([scales], dtype=np.float64),
            row=np.zeros(1, dtype=np.int64),
            decided=whole(told, "decided", 0, len(program.nodes)),
        )

    def _position(self, told: object, parts: int) -> StoppedAt:
        """Return the position in a file."""
        if not isinstance(told, dict):
            raise TypeError(f"expected a position, got {told!r:.60}")
        n, address = next(iter(self._machine.plan_at.values())).num_wires, told["address"]
        if not _are_whole(address, [n] * len(address)) or sorted(address) != list(range(n)):
            raise ValueError(f"expected a layout of {n} wires, got {address!r:.60}")
        earlier = told["before"]
        if type(earlier) is not list or not all(type(one) is list for one in earlier):
            raise ValueError(f"expected a list of levels and parts, got {earlier!r:.60}")
        before = tuple((Levels.from_json(levels), whole({"parts": k}, "parts", 0, _MOST)) for levels, k in earlier)
        if not all(levels.fits(n) for levels, _ in before):
            raise ValueError(f"expected levels of {n} wires, got {before!r:.200}")
        layout, node = Layout(tuple(address), mask("flip", told["flip"], n)), whole(told, "node", 0, _MOST)
        if node not in self._machine.plan_at:
            raise ValueError(f"expected a segment of this program, got node {node}")
        return StoppedAt(node, parts, layout, mask("fresh", told["fresh"], n), before)

    def plans_at(self, at: StoppedAt) -> list[Plan]:
        """Return the plans of the divisions before a position, and last the plan of which it counts the parts."""
        plans: list[Plan] = []
        for k, (levels, parts) in enumerate(at.before):
            following = at.before[k + 1][0] if k + 1 < len(at.before) else None
            try:
                plans = plans or [self._machine.plan_on(levels, at.node, at.start, at.fresh)]
                self._require(parts, len(cut(plans[-1])))
                plans.append(self._machine.resumed(plans[-1], parts, following))
            except (OptionError, NotSupported, PlanError) as error:  # there are no plans for such levels
                raise SavedStateError(
                    f"{self.checkpoints.path} is damaged: it tells of {levels}: {error} Remove it and run again."
                ) from error
        return plans

    def _require(self, parts: int, most: int) -> None:
        """Raise `SavedStateError` for a file that tells of more parts than there are."""
        if parts > most:
            raise SavedStateError(
                f"{self.checkpoints.path} is damaged: expected at most {most} parts, got {parts}. Remove it and run "
                "again."
            )

    def restore(self, placement: Placement, parts: Sequence[Plan], done: int) -> None:
        """Load the state of the earlier run into a new one; raises `SavedStateError` for a damaged file."""
        assert self.checkpoints.state is not None
        self._require(done, len(parts))
        load_into(placement, self.checkpoints.state)
        self.checkpoints.state.close()
        if placement.layout != (parts[done - 1].end if done else parts[0].start):
            raise SavedStateError(
                f"{self.checkpoints.path} is damaged: expected the layout of wires in which its plan goes on, got "
                "another one. Remove it and run again."
            )
        placement.mark_zero(parts[done - 1].left if done else parts[0].fresh)

    def require_results(self) -> None:
        """Raise `SavedStateError` if the results so far are missing, which hold what the circuit has saved."""
        if not self.checkpoints.found:
            raise SavedStateError(
                f"{self.checkpoints.path} is damaged: the file of what was saved before it is missing. Remove it and "
                "run again."
            )


def _are_whole(told: object, below: Sequence[int]) -> bool:
    """Return whether something from a file is a list of whole numbers, each at least 0 and below another one."""
    return type(told) is list and all(type(one) is int and 0 <= one < end for one, end in zip(told, below, strict=True))
