"""Gradients of means over trajectories, with common random numbers.

A mixture of unitary matrices is chosen from without looking at the state. So which matrices a trajectory has does not
depend on parameters, and each trajectory is unitary work whose numbers are the circuit's and those of its matrices.
Trajectories with equal choices are one row, and means over all rows of a binding are what is returned: the value and
the gradient of the very function that a run with this seed and this number of trajectories evaluates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.derivatives import add_at
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.circuit.structure import Structure
from qsim_ex.errors import NotSupported, OptionError
from qsim_ex.observe.seeding import fresh_seeds, given_seeds, may_be_divided
from qsim_ex.options import Options
from qsim_ex.program.choices import Choice, GatheredOperands, Kraus
from qsim_ex.program.divide import program_of
from qsim_ex.program.program import Program, Segment
from qsim_ex.run.branches import Branches, first_branches
from qsim_ex.run.gradients.targets import Complex, Rows
from qsim_ex.run.request import BatchInputs, Request, WorkUnit

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class AskedTrajectories(NamedTuple):
    """The trajectories of each binding, and the seeds as they were given."""

    trajectories: int
    seeds: int | Sequence[int] | None


@dataclass(frozen=True, eq=False, slots=True)
class ChosenRows:
    """Rows of bindings with chosen matrices.

    work: of each row, whose operands are `gathered`. trajectories: of each binding. branches: the trajectories of each
    row, and what they have chosen.
    """

    work: Structure
    trajectories: int
    gathered: GatheredOperands
    branches: Branches
    inputs: BatchInputs

    @property
    def binding(self) -> NDArray[np.int64]:
        """The binding of each row."""
        return self.branches.binding

    def operands(self, given: Complex, which: Rows) -> Complex:
        """Return the operands of some rows, for those of their bindings' circuits [rows, total]."""
        gathered, branches = self.gathered, self.branches
        found = np.empty((len(which), gathered.total), dtype=np.complex128)
        found[:, :2] = 0, 1
        at = 2 + len(gathered.taken)
        found[:, 2:at] = given[:, gathered.taken]
        for choice in gathered.inserted:
            assert isinstance(choice, Choice)
            entries = _unitary_entries(self.inputs.kraus[0][choice.number], choice)
            found[:, at : at + choice.width] = entries[branches.outcomes[which, choice.number]]
            at += choice.width
        return found

    def wanted(self, flags: Flags) -> Flags:
        """Return which operands of a row depend on parameters, for those of the circuit."""
        found = np.zeros(self.gathered.total, dtype=np.bool_)
        found[2 : 2 + len(self.gathered.taken)] = flags[self.gathered.taken]
        return found

    def pull_back(self, cotangents: Complex, total: int) -> Complex:
        """Return cotangents [rows, values, total] of the circuit's operands for those of the rows'."""
        taken = self.gathered.taken
        found = np.zeros((*cotangents.shape[:2], total), dtype=np.complex128)
        if len(taken):
            add_at(found, taken, cotangents[:, :, 2 : 2 + len(taken)])
        return found

    def means(self, rows: Floats, bindings: int) -> tuple[Floats, Floats]:
        """Return the means of numbers [rows, …] over the trajectories of each binding, and their standard errors."""
        counts = self.branches.counts.reshape(-1, *[1] * (rows.ndim - 1))
        sums, squares = (np.zeros((bindings, *rows.shape[1:])) for _ in range(2))
        np.add.at(sums, self.binding, counts * rows)
        mean = sums / self.trajectories
        np.add.at(squares, self.binding, counts * (rows - mean[self.binding]) ** 2)
        return mean, np.sqrt(squares / (self.trajectories * max(1, self.trajectories - 1)))


def _unitary_entries(kraus: Kraus, choice: Choice) -> Complex:
    """Return the operands of a row for each matrix of a mixture, [count, width], each operation's a unitary matrix.

    What goes back is the inverse of each operation by itself, and of a product only the whole has a known norm.
    """
    found, at = kraus.entries.copy(), 0
    for wires in choice.groups:
        own = found[:, at : at + 4 ** len(wires)]
        norms = np.linalg.norm(own, axis=1, keepdims=True)
        own *= np.sqrt(2 ** len(wires)) / np.where(norms == 0, 1, norms)  # what is 0 is never chosen
        at += own.shape[1]
    return found


def chosen_rows(sweep: ParameterSweep, asked: AskedTrajectories, options: Options) -> ChosenRows | None:
    """Return the rows of a sweep whose circuit is random; None if it is not.

    Raises `NotSupported` for what looks at the state, and `OptionError` and what `seeds_of` raises for bad arguments.
    """
    trajectories = check.count(asked.trajectories, "trajectories")
    if trajectories < 1:
        raise OptionError("gradient: expected trajectories >= 1, got 0; pass about 1000.")
    program = program_of(sweep.template.structure, True)
    given = given_seeds(asked.seeds, sweep.count, options)
    if not program.branches:
        return None
    segment = _one_segment(program)
    assert segment.operands is not None
    if given is None and may_be_divided(options):
        raise OptionError("gradient: expected a seed, which processes have to share, got none; pass seeds=… to all.")
    seeds = fresh_seeds(sweep.count) if given is None else given
    unit, request = WorkUnit(0, sweep.count, 0, trajectories), Request(None, (), trajectories, ())
    operands = np.repeat(sweep.template.operands, sweep.count, axis=0)  # channels have no parameters
    inputs = BatchInputs.of(program, operands, seeds, unit, request)
    return ChosenRows(segment.work, trajectories, segment.operands, first_branches(program, inputs), inputs)


def _one_segment(program: Program) -> Segment:
    """Return the work of a program whose matrices are all chosen before it; `NotSupported` for another program."""
    looks = next((one for one in program.choices if not one.mixed), None)
    if looks is not None:
        what = "a channel that is no mixture of unitary matrices" if looks.kind == "channel" else f"a {looks.kind}"
        raise _refused(f"{what} on wires {', '.join(map(str, looks.wires))}")
    nodes = program.nodes
    if program.readings or program.loops or len(nodes) != 1 or nodes[0].work is None:
        raise _refused("bits that are read, or states that are set, on the way")
    return program.segment_at(0)


def _refused(what: str) -> NotSupported:
    return NotSupported(
        "gradient: expected trajectories that choose without looking at the state, as mixtures of unitary matrices do, "
        f"got {what}: which outcome a trajectory has depends on parameters there, so its mean has no derivative; use "
        "method='density_matrix', which is exact."
    )
