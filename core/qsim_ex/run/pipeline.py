"""The pipeline of every run: assign → plan → prepare → traverse → observe.

A method is chosen first (`options.methods`). A circuit, or many bindings of it, is divided into a program; its states
are assigned to devices; its segments are planned; units of work run through the program; final states are observed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Channel
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.saves import SAVE_KINDS, Save
from qsim_ex.circuit.structure import Structure
from qsim_ex.comm import connection
from qsim_ex.deployment.assign import Assigner
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.errors import NotSupported, OptionError, OutOfMemory
from qsim_ex.execution.progress import MANY_GATES, Ticker, while_planning, work_of
from qsim_ex.later import later
from qsim_ex.observe import seeding
from qsim_ex.observe.readout import apply_readout
from qsim_ex.options import Checkpoint, Options
from qsim_ex.options.methods import UNDER, MethodRow
from qsim_ex.program.divide import groups_of, program_of
from qsim_ex.program.program import Program
from qsim_ex.program.seen import parted, seen
from qsim_ex.result import BatchResult
from qsim_ex.run.collector import Collector
from qsim_ex.run.methods.method import RunMethod, loaded
from qsim_ex.run.outcome import result_of
from qsim_ex.run.planned import PlannedRun
from qsim_ex.run.request import TRAJECTORIES, Request, checked_request, own_bindings, without_idle_wires
from qsim_ex.run.worker import machines_of, traverse
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.circuit.noise.readout import ReadoutErrors
    from qsim_ex.circuit.observables import PauliSum
    from qsim_ex.comm.protocol import Communicator
    from qsim_ex.execution import checkpoints, together
    from qsim_ex.program import separate
    from qsim_ex.program.separation import How, SeparatePart, Separation
    from qsim_ex.run import candidates, checkpointed, instead, over_ranks, shares, written_by_ranks, written_out
    from qsim_ex.run import where as places
else:
    together = later("qsim_ex.execution.together")
    checkpointed = later("qsim_ex.run.checkpointed")
    over_ranks = later("qsim_ex.run.over_ranks")
    shares = later("qsim_ex.run.shares")
    instead = later("qsim_ex.run.instead")
    separate = later("qsim_ex.program.separate")
    candidates = later("qsim_ex.run.candidates")
    places = later("qsim_ex.run.where")
    written_out = later("qsim_ex.run.written_out")
    written_by_ranks = later("qsim_ex.run.written_by_ranks")


@dataclass(frozen=True, eq=False, slots=True)
class BatchCall:
    """The arguments of `Simulator.run_batch`. ranks: those that share out the trajectories of all bindings, if any."""

    assigner: Assigner
    options: Options
    circuit: Circuit
    bound: Bindings
    shots: int | None
    seeds: int | Sequence[int] | None
    observables: Sequence[PauliSum]
    trajectories: int | None
    cancel: threading.Event | None
    readout: ReadoutErrors
    ranks: Communicator | None = None

    @classmethod
    def of_shots(cls, circuit: Circuit, options: Options) -> BatchCall:
        """Return a call for shots of a circuit, with its own numbers, for questions before a run."""
        return cls(Assigner(options), options, circuit, own_bindings(circuit), TRAJECTORIES, None, (), None, None, ())

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The groups of classical bits that are misread together, if conditions read bits."""
        return groups_of(self.circuit.structure, self.readout) if self.readout else ()

    @property
    def may_be_heavy(self) -> bool:
        """Whether looking at every gate for a method pays, or something is saved that one method alone keeps."""
        structure = self.circuit.structure
        if len(structure.instructions) << structure.num_qubits >= thresholds.now.method_work:
            return True
        return any(SAVE_KINDS[save.what].method is not None for save in structure.saves)

    @property
    def may_be_stabilizer(self) -> bool:
        """Whether it pays to look for a stabilizer state; of gates with measurements behind them one state is run."""
        structure, least = self.circuit.structure, thresholds.now.stabilizer_work
        short = len(structure.instructions) << structure.num_qubits < least
        return self.may_be_heavy and not (short and structure.gate_wires is not None)

    @property
    def is_light(self) -> bool:
        """Whether gates, and measurements behind them, surely take less time as one state than in separate parts."""
        structure, options = self.circuit.structure, self.options
        limited = options.divides or options.max_memory is not None or options.checkpoint is not None
        if limited or structure.gate_wires is None:
            return False
        return self.bound.count * len(structure.instructions) << structure.num_qubits < thresholds.now.parts_work

    @property
    def draws_noise(self) -> bool:
        """Whether shots of a noisy circuit are asked for and nothing else, and some wires may be idle if it is wide."""
        structure, counted = self.circuit.structure, self.shots is not None and self.trajectories is None
        if not counted or self.observables or Channel not in structure.kinds:
            return False
        return structure.num_qubits <= thresholds.now.narrow_density_wires or not structure.joins_all

    @property
    def averages_noise(self) -> bool:
        """Whether values of a noisy circuit are asked for, and no number of trajectories of which they are means."""
        kinds, observed = self.circuit.structure.kinds, bool(self.observables)
        return Channel in kinds and (self.trajectories is None if observed else Save in kinds)

    def checked(self, program: Program, measures: bool) -> Request:
        """Return the request; program, measures: see `checked_request`."""
        return checked_request(
            program, self.circuit, self.bound, self.shots, self.observables, self.trajectories, self.readout, measures
        )


class Inputs(NamedTuple):
    """A checked run and its machines' places. began: when the call began. part: the one whose circuit it is, if any."""

    separation: Separation | None
    circuit: Circuit
    program: Program
    bound: Bindings
    request: Request
    wheres: Sequence[Assignment]
    began: float
    part: SeparatePart | None = None


def run_by_method(call: BatchCall) -> BatchResult:
    """Run a call with the method that suits it under its options; see `Simulator.run_batch`."""
    *asked, usual = UNDER[call.options.method]
    for row in asked:
        if (row.only_if is None or getattr(call, row.only_if)) and (suited := _method(row).suits(call)) is not None:
            return suited.result()
    method = _method(usual)
    if usual.index_bits == 1 and not call.observables and call.may_be_heavy:
        call = replace(call, circuit=Circuit.of_structure(parted(call.circuit.structure), call.circuit.operands))
    alone = call.circuit.structure.is_one_part(bool(call.observables)) or call.is_light
    try:
        return ((alone and method.run_joined) or method.run)(call)
    except OutOfMemory as error:
        if words := [found for row in asked if (found := _method(row).would_suit(call)) is not None]:
            raise OutOfMemory(" ".join([str(error), *words])) from error
        raise


def _method(row: MethodRow) -> RunMethod:
    found: RunMethod = loaded(row.name).METHOD
    return found


def run_separated(call: BatchCall) -> BatchResult:
    """Run a call whose circuit may have idle wires and separate parts; see `Simulator.run_batch`."""
    if not call.options.separate:
        return _run_in_parts(call, "whole")
    how: How = "apart" if call.options.checkpoint is None else "together"
    if not call.options.divides:
        return _run_in_parts(call, how)
    try:
        return _run_in_parts(call, how)
    except (OptionError, NotSupported):  # the demanded pieces are too many for the wires that are left
        return _run_in_parts(call, "whole")


def _run_in_parts(call: BatchCall, how: How) -> BatchResult:
    """Run a call in one of the ways to part its circuit."""
    separation = separate.separation_of(call.circuit.structure, bool(call.observables), call.groups, how)
    if separation is None or separation.alone is not None:
        return run_whole(call, separation)
    largest = max(len(part.wires) for part in separation.parts)
    if how == "apart" and connection.planned(call.options.processes, largest) > 1:  # a divided state is one part
        return _run_in_parts(call, "together")
    joined: BatchResult = loaded("statevector").run_parts(call, separation)
    return joined


def run_whole(call: BatchCall, separation: Separation | None = None) -> BatchResult:
    """Run a circuit, or what is left of it without idle wires, as one part."""
    began, circuit, bound, observed = perf_counter(), call.circuit, call.bound, bool(call.observables)
    part = None if separation is None else separation.parts[0]
    made = circuit.structure if observed or not call.may_be_heavy else seen(circuit.structure, whole=True)
    program = program_of(made, observed, 0, call.groups) if part is None else part.program(observed)
    request = call.checked(program, program.has_measurement or (separation is not None and separation.measures))
    if separation is not None:
        circuit, bound, request = without_idle_wires(separation, circuit, bound, request)
    states = bound.count * request.trajectories
    wheres = call.assigner.many(circuit.num_qubits, states, lambda: over_ranks.asked_of(call, circuit, bound))
    inputs = Inputs(separation, circuit, program, bound, request, wheres, began, part)
    if (ranks := wheres[0].ranks) is None:
        return _simulated(call, inputs, call.seeds)
    with together.in_step(ranks):
        return _simulated(over_ranks.quiet(ranks, call), inputs, over_ranks.seeds_heard(call, bound, wheres[0].heard))


def _simulated(call: BatchCall, inputs: Inputs, asked_seeds: object) -> BatchResult:
    """Plan and run what was checked and assigned; asked_seeds: the seeds of the call."""
    plan, gates = partial(planned_run, call, inputs), len(inputs.circuit.instructions)
    planned = plan() if gates < MANY_GATES else while_planning(call.options.progress, gates, plan)
    return executed(call, planned, inputs.began, asked_seeds)


def planned_run(call: BatchCall, inputs: Inputs) -> PlannedRun:
    """Plan a run of a circuit, or of what takes less time in its place."""
    separation, circuit, program, bound, request, wheres, *_ = inputs
    options, states = call.options, bound.count * request.trajectories
    as_it_came = cache(partial(machines_of, wheres, program, options, states))
    found = _faster(call, inputs, lambda: as_it_came()[1][0].plans) if (heavy := call.may_be_heavy) else None
    if found is not None:
        circuit, program, bound, _, observables, _ = found
        request = replace(request, observables=observables or request.observables)
    facts = {} if found is None else {written_out.FACT: found.fact}
    if found is None and heavy and not candidates.gates_of(circuit.structure):
        given = program, circuit.num_qubits, bound, request.trajectories, wheres, options
        program, bound, facts = instead.of_run(*given, as_it_came)
    way, machines = machines_of(wheres, program, options, states) if facts else as_it_came()
    return PlannedRun(separation, circuit, program, bound, request, way, machines, options, facts=facts)


def _faster(call: BatchCall, inputs: Inputs, plans: Callable[[], Sequence[Plan]]) -> written_out.Written | None:
    """Return what runs in place of a circuit; None if nothing is that is faster. plans: makes its plans."""
    where, options, bound, observed = inputs.wheres[0], call.options, inputs.bound, bool(call.observables)
    if inputs.program.branches or options.checkpoint is not None:
        return None  # a checkpoint is found again by the circuit's own numbers

    def planned(written: Structure) -> tuple[Program, Sequence[Plan]]:
        made = written if observed else seen(written, whole=inputs.part is None)
        apart = inputs.part and replace(inputs.part, structure=made)
        program = apart.program(observed) if apart else program_of(made, observed, 0, call.groups)
        return program, machines_of(inputs.wheres, program, options, bound.count)[1][0].plans

    place, structure = places.Where(where.device, where.deployment, options), inputs.circuit.structure
    values = inputs.request.observables if call.shots is None and structure.only_gates else ()
    chosen = partial(written_out.written_out, structure, bound, plans, place, planned, values=values)
    if (ranks := where.ranks) is not None:
        return written_by_ranks.written_alike(ranks, structure, bound, chosen, plans, planned, values)
    return chosen()


def executed(call: BatchCall, run: PlannedRun, began: float, asked_seeds: object) -> BatchResult:
    """Execute a planned run, and return its result; began: when its planning began. asked_seeds: those of the call."""
    circuit, program, bound, options = run.circuit, run.program, run.bound, run.options
    where = run.machines[0].where
    gates = sum(plan.num_gates for plan in run.machines[0].plans)
    collector = Collector.empty(circuit, program, run.request, bound.count, where, options, run.machines[0].plans)
    kept, seeds = checkpoints_of(run, asked_seeds)
    if kept is not None:
        collector.keep(kept)
    planned, work = perf_counter(), work_of(where.deployment.num_wires, gates, bound.count * run.request.trajectories)
    with Ticker(call.cancel, options.progress, options.watch, work) as ticker:
        share = None
        if call.ranks is not None and run.program.branches:  # each process runs some of the trajectories
            share = shares.trajectories_of(call.ranks, run.request.trajectories)
        workers = traverse(run, collector, kept, seeds, ticker, share)
        if call.ranks is not None and share is not None:
            shares.add_up(call.ranks, collector)
    if kept is not None:
        kept.end(collector.arrays)
    if call.readout and collector.packed is not None:
        for bits, seed in zip(collector.packed, seeds, strict=True):
            bits[...] = apply_readout(bits, call.readout, seed, program.read)
    return result_of(run, collector, workers, seeds, (planned - began, perf_counter() - began))


def checkpoints_of(run: PlannedRun, seeds: object) -> tuple[checkpoints.Checkpoints | None, tuple[int, ...]]:
    """Return the checkpoints of a run, None without them, and the seed of each binding."""
    count, checkpoint = run.bound.count, run.options.checkpoint
    drawn = seeds if isinstance(seeds, seeding.DrawnSeeds) else None
    known = seeding.given_seeds(seeds, count, run.options) if drawn is None else None
    fresh = partial(tuple, drawn) if drawn else partial(seeding.fresh_seeds, count)
    if checkpoint is None:
        return None, known or fresh()
    where = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
    kept = checkpointed.checkpoints_at(where, run, known, fresh)
    return kept, kept.seeds
