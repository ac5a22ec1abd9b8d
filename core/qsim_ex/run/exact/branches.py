"""Runs of circuits with blocks, loops and variables with density matrices: every branch is followed, none is drawn.

The branches of a binding are in memory together, each with its own density matrix; see `traversal`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.saves import Save, SaveValues
from qsim_ex.comm import connection
from qsim_ex.density.questions import DensityRows, mean, moments
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.errors import NotSupported, OutOfMemory
from qsim_ex.execution.progress import Ticker, work_of
from qsim_ex.observe import sampling, seeding
from qsim_ex.observe.readout import apply_readout
from qsim_ex.placement.base import States
from qsim_ex.placement.index_bits import pack
from qsim_ex.program.divide import groups_of, program_of
from qsim_ex.program.memory import classical_memory
from qsim_ex.program.separate import separation_of
from qsim_ex.result import BatchResult
from qsim_ex.run.branches import Branches, first_branches
from qsim_ex.run.collector import Collector
from qsim_ex.run.context import ExecutionContext
from qsim_ex.run.exact.circuit import certain, doubled_for
from qsim_ex.run.exact.traversal import ExactTraversal
from qsim_ex.run.machine import Machine
from qsim_ex.run.outcome import result_of
from qsim_ex.run.pipeline import BatchCall
from qsim_ex.run.planned import PlannedRun
from qsim_ex.run.request import BatchInputs, WorkUnit, without_idle_wires
from qsim_ex.run.saved_rows import SavedRows
from qsim_ex.run.worker import PLANS

_MANY = 1 << 20
"""More branches than anybody has memory for."""


@dataclass(slots=True)
class _SavedSum:
    """The sum over branches of what a save reads, and of their probabilities."""

    value: Any = 0.0
    weight: float = 0.0


@dataclass(eq=False)
class BranchCollector(Collector):
    """Collects what is asked of the branches of density matrices.

    num_wires: of each density matrix. sums_at: the sums of each save by label, binding and classical bits.
    """

    num_wires: int = 0
    sums_at: defaultdict[tuple[str, int, bytes], _SavedSum] = field(default_factory=lambda: defaultdict(_SavedSum))

    def _rows(self, states: States) -> DensityRows:
        return DensityRows(states, self.num_wires, 0)

    def read(self, states: States, saves: Sequence[Save]) -> list[SaveValues]:
        """Return what is added up over branches for some saves, [rows, …]."""
        return [moments(self._rows(states), save, self.num_wires) for save in saves]

    def save(
        self,
        unit: WorkUnit,
        save: Save,
        values: SaveValues,
        branches: Branches,
        rounds: tuple[int, ...] = (),  # noqa: ARG002  (every pass counts)
    ) -> None:
        """Add up the values of some branches, which have their probabilities as a factor."""
        width = -(-self.num_clbits // 8)
        memory = classical_memory(self.program.memory.get(save.label, ()), branches.outcomes, width)
        for b, binding in enumerate(branches.binding.tolist()):
            found = self.sums_at[save.label, unit.begin + binding, memory[b].tobytes()]
            found.value = found.value + values[b, :-1]
            found.weight += float(values[b, -1].real)

    def put_saves(self) -> None:
        """Put in the mean of each save, over all branches that have passed it, each time that they did."""
        width = -(-self.num_clbits // 8)
        for save in self.program.saves:
            found = [(key[1:], one) for key, one in self.sums_at.items() if key[0] == save.label]
            if not found:
                continue
            added = save.how.endswith("accum")  # the sum over the passes of a shot, whose mean number is the weight
            values = np.array([mean(save, one.value / one.weight) * (one.weight if added else 1) for _, one in found])
            if save.dtype(values.dtype).kind != "c":
                values = values.real
            rows = SavedRows(
                values=values.reshape(len(found), *save.shape(self.num_wires)),
                binding=np.array([binding for (binding, _), _ in found], dtype=np.int64),
                memory=np.array([np.frombuffer(bits, dtype=np.uint8) for (_, bits), _ in found]).reshape(
                    len(found), width
                ),
                branch_of=np.arange(len(found)),
                trajectories=np.zeros(len(found), dtype=np.int64),
            )
            for one in _one_by_one(rows) if save.how == "c_list" else [rows]:
                self.saves[save.label].add(one)

    def ahead(self, states: States) -> None:
        """Queue nothing."""

    def finish(self, unit: WorkUnit, inputs: BatchInputs, states: States, branches: Branches) -> None:
        """Sample the populations of all branches at the end, and take expectation values."""
        rows = self._rows(states)
        if self.request.observables:
            np.add.at(self.sums, unit.begin + branches.binding, rows.expectations(self.request.observables)[0])
        if self.packed is not None:
            weights = rows.populations(sorted({*self.program.measured.values()}))
            for binding, seed in enumerate(inputs.seeds):
                which = np.flatnonzero(branches.binding == binding)
                mine = branches.chosen(which)
                bits, branch = self._drawn(weights[mine.row], mine, seed)
                self.packed[unit.begin + binding] = bits
                if self.records is not None:
                    begins = np.searchsorted(np.sort(which[branch]), np.arange(len(branches) + 1))
                    self.records.add(unit, replace(branches, shots=np.argsort(branch, kind="stable"), begins=begins))

    def _drawn(
        self, weights: NDArray[np.float64], branches: Branches, seed: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the classical bits of all shots of a binding, and their branches.

        Shot k falls on the running sum of all populations.
        """
        assert self.packed is not None
        recorded = list(self.program.recorded.values())
        order = np.lexsort(branches.outcomes[:, recorded].T) if recorded else np.arange(len(branches))
        numbers = sampling.uniforms(seed, 0, self.packed.shape[1])
        places, _ = sampling.chosen(np.maximum(weights[order], 0).reshape(-1), numbers)
        branch, value = order[places // weights.shape[1]], places % weights.shape[1]
        wires = sorted({*self.program.measured.values()})
        masks = [0] * len(wires)
        for clbit, wire in self.program.measured.items():
            masks[wires.index(wire)] |= 1 << clbit
        bits = pack(value, masks, self.num_clbits)
        for clbit, column in self.program.recorded.items():
            bits[:, clbit // 8] |= branches.outcomes[branch, column] << clbit % 8
        return bits, branch


def _one_by_one(rows: SavedRows) -> Iterator[SavedRows]:
    """Yield each row as a pass of its own, so that lists keep all of them."""
    for k in range(len(rows.values)):
        own, first = slice(k, k + 1), np.zeros(1, dtype=np.int64)
        yield SavedRows(rows.values[own], rows.binding[own], rows.memory[own], first, first, (k,))


def run_branches(call: BatchCall) -> BatchResult:
    """Run circuits with control flow with density matrices; see `Simulator.run_batch`."""
    began, options = perf_counter(), call.options
    if options.divides or options.checkpoint is not None:
        raise NotSupported(
            "expected density matrices in one piece and no checkpoint for a circuit with blocks, loops or variables, "
            f"got {'a checkpoint' if options.checkpoint is not None else 'options that divide states'}; leave these "
            "options out, or use method='statevector', which draws trajectories."
        )
    circuit, bound = call.circuit, call.bound
    request = replace(call.checked(certain(call), circuit.structure.measures), trajectories=1)
    separation = separation_of(circuit.structure, bool(call.observables), call.groups, "together")
    if separation is not None:
        circuit, bound, request = without_idle_wires(separation, circuit, bound, request)
    errors = call.readout if groups_of(circuit.structure, call.readout) else ()
    made = doubled_for(circuit, bound)
    program = program_of(made.structure, False, 0, groups_of(made.structure, errors) if errors else ())
    whole = Circuit.of_structure(made.structure, made.operands(circuit.operands))
    numbers = Bindings(bound.count, lambda begin, end: made.operands(bound.operands(begin, end)))
    where = _assigned(call, made.size)
    machine = Machine(where, program, options, _MANY, least=2)
    if not machine.batched:
        raise OutOfMemory(
            f"expected room for the density matrices of at least two branches of {made.num_wires} wires on one device, "
            f"got {where}; use fewer wires, or method='statevector', which draws trajectories."
        )
    run = PlannedRun(separation, whole, program, numbers, request, PLANS, [machine], options, "density_matrix")
    gates = sum(plan.num_gates for plan in machine.plans)
    collector = BranchCollector.empty(circuit, program, request, bound.count, where, options, machine.plans)
    collector.num_wires = made.num_wires
    seeds = seeding.given_seeds(call.seeds, bound.count, options) or seeding.fresh_seeds(bound.count)
    planned = perf_counter()
    with Ticker(call.cancel, options.progress, options.watch, work_of(made.size, gates, bound.count)) as ticker:
        worker = BranchWorker(run, machine, collector, ticker)
        worker.run_all(seeds)
        ticker.finish()
    collector.put_saves()
    if call.readout and collector.packed is not None:
        for bits, seed in zip(collector.packed, seeds, strict=True):
            bits[...] = apply_readout(bits, call.readout, seed, program.read)
    ended = perf_counter()
    found = result_of(run, collector, [worker], seeds, (planned - began, ended - began))
    facts = {"way": "exact branches", "branches": worker.most_rows, "dropped": worker.dropped}
    return replace(found, provenance=replace(found.provenance, facts={**found.provenance.facts, **facts}))


def _assigned(call: BatchCall, size: int) -> Assignment:
    """Return where the branches are computed; ranks that could share a state do so each for itself."""
    if connection.planned(call.options.processes, size) == 1:
        return call.assigner.many(size, _MANY)[0]
    why = connection.left_whole("density matrices of a circuit with blocks, loops or variables are in one piece")
    (where, *_) = type(call.assigner)(call.options.with_({"processes": "never"})).many(size, _MANY)
    return replace(where, deployment=replace(where.deployment, reason=f"{where.deployment.reason}; {why}"))


class BranchWorker:
    """Runs the bindings of a run, as many at a time as have room for all of their branches.

    most_rows: the largest number of branches at a time. states: the number of states that were begun. dropped: the sum
    of the probabilities of all branches that were too improbable to be followed.
    """

    def __init__(self, run: PlannedRun, machine: Machine, collector: BranchCollector, ticker: Ticker) -> None:
        self.most_rows = self.states = 0
        self.dropped = 0.0
        self._run = run
        self._collector = collector
        takes = collector.ahead, collector.finish, collector.save, collector.read
        self._way = ExecutionContext(machine, run.program, ticker, run.bound.count, *takes, None)

    def run_all(self, seeds: Sequence[int]) -> None:
        """Run all bindings: first one, to see how many branches it has, and then many at a time."""
        begin, step, count = 0, 1, self._run.bound.count
        while begin < count:
            end = min(begin + step, count)
            try:
                self._do(begin, end, seeds[begin:end])
            except OutOfMemory:
                if step == 1:
                    raise
                step = 1
                continue
            step = max(1, self._way.machine.rows * step // (2 * self.most_rows))
            begin = end

    def _do(self, begin: int, end: int, seeds: Sequence[int]) -> None:
        run, unit = self._run, WorkUnit(begin, end, 0, 1)
        inputs = BatchInputs.of(run.program, run.bound.operands(begin, end), seeds, unit, run.request)
        sampled = run.request.shots is not None
        traversal = ExactTraversal(self._way, unit, inputs, self._collector.num_wires, sampled=sampled)
        traversal(first_branches(run.program, inputs))
        self.most_rows, self.states = max(self.most_rows, traversal.most_rows), self.states + traversal.states
        self.dropped += traversal.dropped
