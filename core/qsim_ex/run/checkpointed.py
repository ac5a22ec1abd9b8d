"""The checkpoints of a run, and what distinguishes it from others, which cannot go on with them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from qsim_ex.comm import connection
from qsim_ex.errors import SavedStateError
from qsim_ex.execution.checkpoints import Checkpoints
from qsim_ex.later import later
from qsim_ex.options import Checkpoint
from qsim_ex.planning.cut import cut
from qsim_ex.planning.edition import EDITION
from qsim_ex.steps.layout import Levels

if TYPE_CHECKING:
    from qsim_ex.execution import checkpoints_of_ranks
    from qsim_ex.run.planned import PlannedRun
    from qsim_ex.steps.plan import Plan
else:
    checkpoints_of_ranks = later("qsim_ex.execution.checkpoints_of_ranks")


def checkpoints_at(
    where: Checkpoint, run: PlannedRun, seeds: tuple[int, ...] | None, fresh: Callable[[], tuple[int, ...]]
) -> Checkpoints:
    """Return the checkpoints of a run at a place; seeds: those that were given; fresh: makes some if none are kept."""
    options = run.options
    ranks = run.machines[0].where.ranks
    if ranks is None:
        where = replace(where, path=connection.own_path(Path(where.path), options.processes))
    alone = not run.machines[0].batched
    given = where, options.checkpoint_every, _identity(run), seeds, fresh
    deployment = run.machines[0].where.deployment
    levels = deployment.planning_levels or Levels(deployment.num_wires)

    def digests(other: Levels) -> list[str]:
        return [_digest(plans) for plans in run.machines[0].plans_on(other)]

    if ranks is None:
        made = Checkpoints(*given, one_by_one=alone, levels=levels, digests=digests)
    else:
        made = checkpoints_of_ranks.CheckpointsOfRanks(ranks, *given, one_by_one=alone, levels=levels, digests=digests)
    if len(made.seeds) != run.bound.count:
        raise SavedStateError(
            f"{made.path} is damaged: expected {run.bound.count} seeds, got {len(made.seeds)}. Remove it and run again."
        )
    return made


def _identity(run: PlannedRun) -> dict[str, object]:
    """Return what distinguishes a run from others: its circuit, numbers, plan, and more than one binding's shots."""
    request, bound = run.request, run.bound
    numbers = hashlib.blake2b(digest_size=8)
    step = max(1, (1 << 20) // run.circuit.operands.shape[1])
    for begin in range(0, bound.count, step):
        numbers.update(np.ascontiguousarray(bound.operands(begin, min(begin + step, bound.count))).tobytes())
    identity: dict[str, object] = {
        "circuit": run.circuit.key,
        "numbers": numbers.hexdigest(),
        "wires": run.circuit.num_qubits,
        "precision": run.options.dtype.name,
        "plan": _digest(run.machines[0].plans),
    }
    if bound.count > 1 or run.program.branches or request.observables:
        misread = tuple((error.clbits, error.measurement, error.matrix.tobytes()) for error in request.readout)
        asked = (bound.count, request.shots, request.trajectories, request.observables, misread)
        identity["asked"] = hashlib.blake2b(repr(asked).encode(), digest_size=8).hexdigest()
    return identity


def _digest(plans: Sequence[Plan]) -> str:
    """Return a digest of plans, which says how they are cut too, and by which edition of the planner."""
    keys = " ".join(part.key for plan in plans for part in cut(plan))
    keys += f" edition {EDITION}" if EDITION > 1 else ""
    return hashlib.blake2b(keys.encode(), digest_size=8).hexdigest()
