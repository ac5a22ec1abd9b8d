"""The state vector after a circuit, from a run that writes checkpoints."""

from __future__ import annotations

import threading
from dataclasses import replace

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.execution.progress import Ticker, work_of
from qsim_ex.options import Options
from qsim_ex.placement.base import States
from qsim_ex.placement.batch_of_one import BatchOfOne
from qsim_ex.program.one_state import unitary_program
from qsim_ex.run.branches import Branches
from qsim_ex.run.collector import Collector
from qsim_ex.run.machine import Machine
from qsim_ex.run.pipeline import checkpoints_of
from qsim_ex.run.planned import PlannedRun
from qsim_ex.run.request import BatchInputs, Request, WorkUnit
from qsim_ex.run.worker import PLANS, Worker, WorkQueue
from qsim_ex.state.vector import StateVector


class _Handed(Collector):
    """A collector that keeps the one final state, and neither samples it nor takes expectation values."""

    state: BatchOfOne | None = None

    def ahead(self, states: States) -> None:
        """Queue nothing."""

    def finish(self, unit: WorkUnit, inputs: BatchInputs, states: States, branches: Branches) -> None:  # noqa: ARG002
        """Keep the final state, so that the machine does not release it."""
        assert isinstance(states, BatchOfOne)
        assert self.done is not None
        self.state = states
        self.done[:] = True
        states.hand_over()


def run_to_state(options: Options, where: Assignment, circuit: Circuit, cancel: threading.Event | None) -> StateVector:
    """Return the state after a circuit on |0…0⟩; this is `Simulator.state` with a checkpoint."""
    program = unitary_program(circuit.structure)
    whole = program.whole
    program = replace(program, make_nodes=lambda: (whole,), saves=())  # its saved states are not returned
    request, bound = Request(None, (), 1, ()), Bindings.of(circuit.operands)
    machine = Machine(where, program, options, 1)
    run = PlannedRun(None, circuit, program, bound, request, PLANS, [machine], options)
    collector = _Handed.empty(circuit, program, request, 1, where, options, ())
    kept, seeds = checkpoints_of(run, None)
    assert kept is not None
    collector.keep(kept)
    with Ticker(cancel, options.progress, options.watch, work_of(circuit.num_qubits, circuit.num_gates, 1)) as ticker:
        worker = Worker(machine, program, request, collector, ticker, kept, 1)
        worker(WorkQueue(bound, request, 1, 1, branches=False, tree=False), seeds)
        ticker.finish()
    kept.end(collector.arrays)
    assert collector.state is not None
    return StateVector.of(collector.state.single, where, options, program.touched)
