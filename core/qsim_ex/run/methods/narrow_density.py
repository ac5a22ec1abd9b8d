"""Shots of narrow noisy circuits, drawn from their exact distribution.

The shots of a noisy circuit without measurements on the way are independent samples of one distribution, the diagonal
of its density matrix. Of a few wires that matrix costs less than a few trajectories, so it is computed once, and all
shots are drawn from it. Which circuits are run so depends on the circuit alone (`density_table.table_of`): a seed gives
the same shots whichever devices a run is given, and the host computes the matrix in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from qsim_ex import thresholds
from qsim_ex.circuit.parameters.bindings import Operands
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.errors import NotSupported, OptionError
from qsim_ex.execution.checkpoints import Checkpoints
from qsim_ex.execution.progress import Ticker
from qsim_ex.kernels.cpu.narrow_density import probabilities
from qsim_ex.observe import sampling
from qsim_ex.placement.index_bits import pack
from qsim_ex.program.program import Program
from qsim_ex.result import BatchResult
from qsim_ex.run.collector import Collector
from qsim_ex.run.collects import Collects
from qsim_ex.run.density_table import DensityTable, table_of
from qsim_ex.run.methods.method import ProgramWay, RunMethod, Suited
from qsim_ex.run.pipeline import BatchCall, executed
from qsim_ex.run.planned import PlannedRun
from qsim_ex.run.request import Request, WorkUnit
from qsim_ex.run.worker import WorkQueue
from qsim_ex.steps.layout import Levels
from qsim_ex.steps.plan import Plan

_enabled = True
"""Tests of trajectories set this to False."""


def suits(call: BatchCall) -> Suited | None:
    """Return why the shots of a call are drawn here, and what draws them; None if they are not."""
    if not _enabled or table_of(call.circuit.structure) is None:
        return None
    return Suited("shots of so few noisy wires are drawn from their exact density matrix", lambda: run(call))


def run(call: BatchCall) -> BatchResult:
    """Draw the shots of a call that is suited; raises what any run raises."""
    began, table = perf_counter(), table_of(call.circuit.structure)
    assert table is not None
    request = call.checked(table.program, table.program.has_measurement)
    machine = DensityMachine(_assigned(call, table), table)
    planned = PlannedRun(
        None, call.circuit, table.program, call.bound, request, WAY, [machine], call.options, "density_matrix"
    )
    return executed(replace(call, ranks=None), planned, began, call.seeds)  # one matrix has all shots


def _assigned(call: BatchCall, table: DensityTable) -> Assignment:
    """Return where a state of the wires that are not idle is, or of all wires if it is demanded in more pieces."""
    try:
        return call.assigner.one(len(table.wires))
    except (OptionError, NotSupported):
        if not call.options.divides:
            raise
        return call.assigner.one(call.circuit.num_qubits)


class DensityMachine:
    """Computes the distribution of one table; it has no plans, and in all else it answers as `machine.Machine`.

    rows: the number of bindings at a time. run_seconds: the time in compiled code so far.
    """

    plans: tuple[Plan, ...] = ()
    batched = True
    bytes_moved = 0
    prepare_seconds = 0.0

    def __init__(self, where: Assignment, table: DensityTable) -> None:
        self.where = where
        self.table = table
        self.rows = thresholds.now.narrow_bindings
        self.run_seconds = 0.0

    def plans_on(self, levels: Levels) -> list[tuple[Plan, ...]]:  # noqa: ARG002
        """Return that there are no plans."""
        return []


class DensityWorker:
    """Draws the shots of units of work, each of which has all shots of some bindings.

    most_rows: the largest number of density matrices at a time. states: their number in all.
    """

    def __init__(
        self,
        machine: DensityMachine,
        program: Program,
        request: Request,
        collector: Collects,
        ticker: Ticker,
        checkpoints: Checkpoints | None,  # noqa: ARG002 (the collector keeps what is done, and no state is half done)
        count: int,
    ) -> None:
        assert isinstance(collector, Collector)  # the parts of a circuit do not run here
        assert request.shots is not None
        self.machine = machine
        self.most_rows = 0
        self.states = 0
        self._collector = collector
        self._ticker = ticker
        self._shots = request.shots
        self._masks = [
            sum(1 << clbit for clbit, wire in program.measured.items() if wire == own) for own in machine.table.wires
        ]
        if ticker.reports:  # a density matrix is one step
            ticker.expect(count, (1,), lambda: 0)

    def __call__(self, queue: WorkQueue, seeds: Sequence[int]) -> None:
        """Run units of work until none is left."""
        done = self._collector.done
        while (found := queue.next()) is not None:
            unit, operands = found
            if done is not None and done[unit.begin : unit.end].all():
                self._ticker.skip_states(len(operands))
                continue
            self._ticker.advance(len(operands))
            self._run(unit, operands, seeds[unit.begin : unit.end])
            if done is not None:
                done[unit.begin : unit.end] = True

    def _run(self, unit: WorkUnit, operands: Operands, seeds: Sequence[int]) -> None:
        """Write the bits of all shots of a unit, without their readout errors."""
        began, table, collector = perf_counter(), self.machine.table, self._collector
        operands = np.ascontiguousarray(operands)
        transfers, at = table.transfers(operands)
        found = probabilities(len(table.wires), table.ops, table.steps, table.forms, operands, transfers, at)
        self.machine.run_seconds += perf_counter() - began
        packed = collector.packed
        assert packed is not None  # without shots nothing is drawn
        drawn = sampling.uniforms_of(seeds, 0, self._shots, collector.threads)
        for binding, (weights, numbers) in enumerate(zip(found, drawn, strict=True), unit.begin):
            values, _ = sampling.chosen(weights, numbers)
            packed[binding] = pack(values, self._masks, collector.num_clbits)
        self.most_rows, self.states = max(self.most_rows, len(operands)), self.states + len(operands)


WAY = ProgramWay("exact density matrix", DensityMachine, DensityWorker, names_itself=True)

METHOD = RunMethod(
    run,
    suits,
    adds="shots of so few noisy wires are drawn from the exact density matrix, which the host computes; the plans "
    "above are those of a run with a given number of trajectories, or with values of single ones",
)
