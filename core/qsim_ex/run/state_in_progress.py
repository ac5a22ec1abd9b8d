"""The state in progress of a run, with its position in the program: written to a checkpoint and read from one."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qsim_ex.circuit.ops import Save
from qsim_ex.errors import SavedStateError
from qsim_ex.execution.checkpoints import Checkpoints
from qsim_ex.files.saved_state import load_into
from qsim_ex.placement.base import Amplitudes, Placement
from qsim_ex.planning.cut import cut
from qsim_ex.program.program import Program
from qsim_ex.run.branches import Branches
from qsim_ex.run.machine import Machine
from qsim_ex.run.work import WorkUnit
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Plan


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


class StateInProgress:
    """Writes states in progress, one at a time, and restores the state of an earlier run.

    machine: simulates the states. plans: the plan of each segment, by its node.
    """

    def __init__(self, checkpoints: Checkpoints, machine: Machine, program: Program, plans: Mapping[int, Plan]) -> None:
        self.checkpoints = checkpoints
        self._machine = machine
        self._program = program
        self._plans = plans
        self._labels = {node: k for k, node in enumerate(k for k, n in enumerate(program.nodes) if isinstance(n, Save))}

    # --- writing -----------------------------------------------------------------------------------------------------

    def after(self, placement: Placement, plan: Plan, at: StoppedAt, unit: WorkUnit, branches: Branches) -> None:
        """Write a checkpoint after a part of a plan, for one branch, if the next one is due."""
        if not self.checkpoints.due():
            return
        about: dict[str, Any] = {
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
            at = self._position(state.about.get("at"), operator.index(state.about["parts"]))
            if self.checkpoints.divided != self.checkpoints.levels:
                at = replace(at, part=0, before=(*at.before, (self.checkpoints.divided, at.part)))
            binding = int(state.about.get("binding", 0)) - unit.begin
            mine = left.chosen(np.flatnonzero(left.binding == binding))
            if not self._program.branches:
                return (at, mine.settled()) if len(mine) else None
            told = state.about["branch"]
            shots = np.array(told["shots"], dtype=np.int64) - unit.first
            if not len(shots) or not np.isin(shots, mine.shots).all():
                return None
            one = mine.chosen(np.zeros(1, dtype=np.int64))
            branch = Branches(
                binding=one.binding,
                shots=shots,
                begins=np.array([0, len(shots)]),
                outcomes=np.array([told["outcomes"]], dtype=one.outcomes.dtype).reshape(one.outcomes.shape),
                scales=np.array([told["scales"]], dtype=np.float64).reshape(one.scales.shape),
                row=np.zeros(1, dtype=np.int64),
                decided=int(told["decided"]),
            )
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise SavedStateError(f"{state.path} is damaged: {error!r}. Remove it and run again.") from error
        return at, branch

    def _position(self, told: Any, parts: int) -> StoppedAt:
        """Return the position in a file; without one, the position after `parts` parts of all plans together."""
        if parts < 0:
            raise ValueError(f"expected parts >= 0, got {parts}")
        if told is not None:
            layout = Layout(tuple(map(int, told["address"])), int(told["flip"], 16))
            before = tuple((Levels.from_json(levels), operator.index(n)) for levels, n in told.get("before", ()))
            found = StoppedAt(int(told["node"]), parts, layout, int(told["fresh"], 16), before)
            n = next(iter(self._plans.values())).num_wires
            if any(parts < 0 for _, parts in before):
                raise ValueError(f"expected parts >= 0, got {before}")
            if found.node not in self._plans or sorted(layout.address) != list(range(n)):
                raise ValueError(f"expected a segment of this program and a layout of {n} wires, got another position")
            if max(layout.flip, found.fresh) >> n or min(layout.flip, found.fresh) < 0:
                raise ValueError(f"expected index bits below {n}, got higher ones")
            return found
        for node, plan in self._plans.items():
            count = len(cut(plan))
            if parts <= count:
                return StoppedAt(node, parts, plan.start, plan.fresh)
            parts -= count
        raise ValueError(f"expected no more parts than the run has, got {parts} more")

    def plans_at(self, at: StoppedAt) -> list[Plan]:
        """Return the plans of the divisions before a position, and last the plan of which it counts the parts."""
        plans: list[Plan] = []
        for k, (levels, parts) in enumerate(at.before):
            plans = plans or [self._machine.plan_on(levels, at.node, at.start, at.fresh)]
            self._require(parts, len(cut(plans[-1])))
            following = at.before[k + 1][0] if k + 1 < len(at.before) else None
            plans.append(self._machine.resumed(plans[-1], parts, following))
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
        placement.mark_zero(parts[done - 1].left if done else parts[0].fresh)

    def saved_before(self, node: int, binding: int) -> Amplitudes | None:
        """Return the state that a run of version 0.1 has saved at a node; None if it is among the results so far.

        Raises `SavedStateError` if it is neither there nor here.
        """
        found = self.checkpoints.kept(self._labels[node], binding)
        if found is None and not self.checkpoints.found:
            raise SavedStateError(
                f"{self.checkpoints.path} is damaged: the file of what was saved before it is missing. Remove it and "
                "run again."
            )
        return found
