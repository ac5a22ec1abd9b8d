"""What runs in place of the program of a run that is not gates alone, or in words why it runs as it came.

Ranks that share a state run what rank 0 chooses, if all have written the same (see `run.written_by_ranks`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.comm.agreed import digest
from qsim_ex.comm.protocol import Communicator
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.options import Options
from qsim_ex.program.choices import entropy
from qsim_ex.program.program import Program
from qsim_ex.run.machine import Machine
from qsim_ex.run.methods.method import ProgramWay, SimulatesStates
from qsim_ex.run.stretches import InStretches, Planning, StretchLook, as_told, in_stretches
from qsim_ex.run.where import Where
from qsim_ex.run.worker import PLANS, machines_of
from qsim_ex.run.written_out import FACT
from qsim_ex.steps.plan import Plan

CHECKPOINT = "a checkpoint is found again by its own numbers"

_ALL = 62
"""Bits of entropy from which on all trajectories are different."""


class Instead(NamedTuple):
    """A program with its bindings, and the facts that results tell of it."""

    program: Program
    bound: Bindings
    facts: dict[str, str]


def of_run(
    program: Program,
    num_wires: int,
    bound: Bindings,
    trajectories: int,
    wheres: Sequence[Assignment],
    options: Options,
    as_it_came: Callable[[], tuple[ProgramWay, Sequence[SimulatesStates]]],
) -> Instead:
    """Return what a run takes: the program as it came, or another one.

    as_it_came: returns the way and the machines of the program. trajectories: of each binding.
    """
    stays, where = Instead(program, bound, {}), wheres[0]
    if options.checkpoint is not None:
        return stays
    way, (machine, *_) = as_it_came()
    if way is not PLANS or not isinstance(machine, Machine):
        return stays

    def of(other: Program) -> Sequence[Plan]:
        return machines_of(wheres, other, options, bound.count * trajectories)[1][0].plans

    plans, place = Planning(lambda: machine.plans, of, machine.plan_for), Where(where.device, where.deployment, options)
    look = StretchLook(program, num_wires, bound, plans, place)

    def states() -> float:
        most = 2 ** min(entropy(program, bound.operands(0, 1)[0]), _ALL) if program.branches else 1
        return bound.count * min(trajectories, most)

    found = _agreed(where.ranks, look, states)
    return stays if isinstance(found, str) else Instead(found.program, found.bound, {FACT: found.fact})


def _agreed(ranks: Communicator | None, look: StretchLook, states: Callable[[], float]) -> InStretches | str:
    """Return what runs, which is the same on all ranks; see `in_stretches`."""
    if ranks is None:
        return in_stretches(look, states)
    found = in_stretches(look, states) if ranks.rank == 0 else ""
    told = ranks.broadcast(None if isinstance(found, str) else tuple(look.tried.manners.items()))
    if told is None:
        return ""
    if ranks.rank:
        found = as_told(look, told)
    everyone = ranks.allgather("" if isinstance(found, str) else _digest(found))
    return found if len(set(everyone)) == 1 and everyone[0] else ""


def _digest(found: InStretches) -> str:
    """Return what tells work and numbers from others."""
    return digest([*(segment.work.key.encode() for segment in found.program.segments), *found.bound.told_apart()])
