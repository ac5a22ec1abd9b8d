"""Runs with density matrices: the circuit is doubled, and then it is run as any other circuit is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Measure
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.saves import Save, SaveValues
from qsim_ex.density.branching import in_blocks
from qsim_ex.density.doubled import Doubled
from qsim_ex.density.questions import DensityRows, read
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.errors import NotSupported, OptionError, OutOfMemory
from qsim_ex.execution.progress import Ticker, work_of
from qsim_ex.later import later
from qsim_ex.observe import sampling
from qsim_ex.observe.readout import apply_readout
from qsim_ex.placement.base import NormCheck, States
from qsim_ex.placement.index_bits import pack
from qsim_ex.program.divide import groups_of, program_of
from qsim_ex.program.program import Program
from qsim_ex.program.separate import separation_of
from qsim_ex.result import BatchResult
from qsim_ex.run.branches import Branches
from qsim_ex.run.collector import Collector
from qsim_ex.run.exact.circuit import certain, doubled_for
from qsim_ex.run.methods.method import RunMethod
from qsim_ex.run.outcome import result_of
from qsim_ex.run.pipeline import BatchCall, checkpoints_of
from qsim_ex.run.planned import PlannedRun
from qsim_ex.run.request import BatchInputs, WorkUnit, without_idle_wires
from qsim_ex.run.worker import machines_of, traverse

if TYPE_CHECKING:
    from qsim_ex.execution import together
    from qsim_ex.options import Options
    from qsim_ex.program.separation import How, SeparatePart, Separation
    from qsim_ex.run import instead, over_ranks, saved_rows
    from qsim_ex.run.exact import branches as density_branches
    from qsim_ex.run.exact import parts as density_parts
    from qsim_ex.run.request import Request
else:
    together = later("qsim_ex.execution.together")
    density_branches = later("qsim_ex.run.exact.branches")
    density_parts = later("qsim_ex.run.exact.parts")
    instead = later("qsim_ex.run.instead")
    over_ranks = later("qsim_ex.run.over_ranks")
    saved_rows = later("qsim_ex.run.saved_rows")

_NOTHING = np.zeros((0, 0), dtype=np.complex128)


@dataclass(eq=False)
class DensityCollector(Collector):
    """Collects what is asked of density matrices; exact, so every state stands for all shots of its binding."""

    doubled: Doubled | None = None

    @property
    def _circuit(self) -> Doubled:
        assert self.doubled is not None
        return self.doubled

    def _rows(self, states: States) -> DensityRows:
        return DensityRows(states, self._circuit.num_wires, self._circuit.bits)

    def read(self, states: States, saves: Sequence[Save]) -> list[SaveValues]:
        """Return the values of some saves, [rows, 2^bits, …] for each value of the bit wires on which they depend."""
        return [read(self._rows(states), save, self._circuit.num_wires, self._given(save)) for save in saves]

    def _given(self, save: Save) -> list[int]:
        """Return the bit wires that hold the classical bits at a save by classical memory."""
        return sorted({*self._circuit.saved.get(save.label, {}).values()})

    def save(
        self, unit: WorkUnit, save: Save, values: SaveValues, branches: Branches, rounds: tuple[int, ...] = ()
    ) -> None:
        """Put in the values of a save; every value of the classical bits is a branch of its own."""
        given = self._given(save)
        if not given:
            super().save(unit, save, values[:, 0], branches, rounds)
            return
        rows, memories = np.nonzero(~np.isnan(values.reshape(*values.shape[:2], -1)[:, :, 0]))
        masks = [0] * len(given)
        for clbit, at in self._circuit.saved[save.label].items():
            masks[given.index(at)] |= 1 << clbit
        found = saved_rows.SavedRows(
            values=values[rows, memories],
            binding=unit.begin + branches.binding[rows],
            memory=pack(memories, masks, self.num_clbits),
            branch_of=np.arange(len(rows)),
            trajectories=np.zeros(len(rows), dtype=np.int64),
        )
        with self.lock:
            self.saves[save.label].add(found)

    def ahead(self, states: States) -> None:
        """Queue nothing."""

    def finish(self, unit: WorkUnit, inputs: BatchInputs, states: States, branches: Branches) -> None:
        """Sample the populations of the states at the end, and take expectation values."""
        rows, values = self._rows(states), _NOTHING
        if self.request.observables:
            values, traces = rows.expectations(self.request.observables)
            if (check := self._norm_check(states, inputs, branches)) is not None:
                check(float(traces[0]))
        if self.packed is not None:
            self._draw(self.packed, unit, inputs, states, branches)
        with self.lock:
            if self.request.observables:
                self._add(unit, branches, values)
            if report := states.report():
                self._merge(report)
            if self.done is not None:
                self._checkpoint(unit, branches)

    def _draw(
        self, packed: NDArray[np.uint8], unit: WorkUnit, inputs: BatchInputs, states: States, branches: Branches
    ) -> None:
        """Write the classical bits of all shots; shot k of a binding falls on the running sum of its populations."""
        wires = sorted({*self._circuit.final.values()})
        weights = self._rows(states).populations(wires)
        check: NormCheck | None = self._norm_check(states, inputs, branches)
        if check is not None:
            check(float(weights[0].sum()))
        masks = [0] * len(wires)
        for clbit, at in self._circuit.final.items():
            masks[wires.index(at)] |= 1 << clbit
        shots = packed.shape[1]
        for binding, row in zip(branches.binding.tolist(), branches.row.tolist(), strict=True):
            numbers = sampling.uniforms(inputs.seeds[binding], 0, shots)
            values, _ = sampling.chosen(np.maximum(weights[row], 0), numbers)
            packed[unit.begin + binding] = pack(values, masks, self.num_clbits)


def run(call: BatchCall) -> BatchResult:
    """Run circuits with density matrices; see `Simulator.run_batch`."""
    circuit = in_blocks(call.circuit)
    call = call if circuit is call.circuit else replace(call, circuit=circuit)
    if circuit.structure.has_control_flow:
        return density_branches.run_branches(call)
    if (found := _in_parts(call)) is not None:
        return found
    if not (call.options.separate and call.options.divides):
        return _run(call, "together" if call.options.separate else "whole")
    try:
        return _run(call, "together")
    except (OptionError, NotSupported):  # the demanded pieces are too many for the wires that are left
        return _run(call, "whole")


def _in_parts(call: BatchCall) -> BatchResult | None:
    """Return the result of a circuit in several parts that have nothing to do with one another; None for others."""
    options, structure = call.options, call.circuit.structure
    if not options.separate or options.divides or options.checkpoint is not None:
        return None
    separation = separation_of(structure, bool(call.observables), call.groups, "apart")
    if separation is None or not density_parts.can_part(call, separation):
        return None
    call.checked(certain(call), measures(call))
    parts = [density_parts.part_of(call, part) for part in separation.parts]
    made = [doubled_for(part.circuit, part.bound) for part in parts]
    if any(one.bits for one in made):
        return None
    finals = [
        {clbit: wire for clbit, wire in one.final.items() if clbit in part.final}
        for one, part in zip(made, separation.parts, strict=True)
    ]
    return density_parts.run_parts(call, separation, finals, lambda part: _run(part, None))


def measures(call: BatchCall) -> bool:
    """Return whether a circuit measures anything."""
    return Measure in call.circuit.structure.kinds


def _run(call: BatchCall, how: How | None) -> BatchResult:
    """Run a circuit as one part; how: see `separation_of`, None for one that is a part already."""
    began = perf_counter()
    circuit, bound, readout = call.circuit, call.bound, call.readout
    observed = bool(call.observables)
    request = replace(call.checked(certain(call), measures(call)), trajectories=1)
    separation = separation_of(circuit.structure, observed, call.groups, how) if how else None
    if separation is not None:
        circuit, bound, request = without_idle_wires(separation, circuit, bound, request)
    errors = readout if groups_of(circuit.structure, readout) else ()
    made = doubled_for(circuit, bound, observed=observed, sampled=call.shots is not None, readout=errors)
    whole = Circuit.of_structure(made.structure, made.operands(circuit.operands))
    numbers = Bindings(bound.count, lambda begin, end: made.operands(bound.operands(begin, end)))
    program = program_of(made.structure)
    wheres = _places(call, made, bound.count)
    inputs = _DensityInputs(separation, circuit, whole, program, numbers, request, wheres, made, began)
    if (ranks := wheres[0].ranks) is None:
        return _simulated(call, inputs)
    with together.in_step(ranks):
        agreed = over_ranks.seeds_heard(call, call.bound, wheres[0].heard)
        return _simulated(replace(over_ranks.quiet(ranks, call), seeds=agreed), inputs)


class _DensityInputs(NamedTuple):
    """A checked run, its places, and its circuit on density matrices. began: when the call began."""

    separation: Separation | None
    circuit: Circuit
    whole: Circuit
    program: Program
    numbers: Bindings
    request: Request
    wheres: Sequence[Assignment]
    made: Doubled
    began: float


def _simulated(call: BatchCall, inputs: _DensityInputs) -> BatchResult:
    """Plan and run what was checked and assigned."""
    separation, circuit, whole, program, numbers, request, wheres, made, began = inputs
    options, readout, count = call.options, call.readout, numbers.count
    as_it_came, facts = partial(machines_of, wheres, program, options, count), dict[str, str]()
    if len(whole.instructions) << made.size >= thresholds.now.method_work:
        program, numbers, facts = instead.of_run(program, made.size, numbers, 1, wheres, options, as_it_came)
    way, machines = machines_of(wheres, program, options, count)
    run = PlannedRun(separation, whole, program, numbers, request, way, machines, options, "density_matrix", facts)
    gates = sum(plan.num_gates for plan in machines[0].plans)
    collector = DensityCollector.empty(circuit, program, request, count, wheres[0], options, machines[0].plans)
    collector.doubled = made
    kept, seeds = checkpoints_of(run, call.seeds)
    if kept is not None:
        collector.keep(kept)
    planned = perf_counter()
    with Ticker(call.cancel, options.progress, options.watch, work_of(made.size, gates, count)) as ticker:
        workers = traverse(run, collector, kept, seeds, ticker)
    if kept is not None:
        kept.end(collector.arrays)
    if readout and collector.packed is not None:
        for bits, seed in zip(collector.packed, seeds, strict=True):
            bits[...] = apply_readout(bits, readout, seed, made.read)
    ended = perf_counter()
    return result_of(run, collector, workers, seeds, (planned - began, ended - began))


def _places(call: BatchCall, made: Doubled, states: int) -> list[Assignment]:
    """Return where density matrices are computed; raises `OutOfMemory` in words of density matrices."""
    try:
        return call.assigner.many(made.size, states, lambda: over_ranks.asked_of(call, call.circuit, call.bound))
    except OutOfMemory as error:
        bits = branches = ""
        if made.bits:
            bits = f" and {made.bits} classical bits that were measured on the way"
            branches = f", with {1 << made.bits} branches of classical bits"
        raise OutOfMemory(
            f"the density matrix of {made.num_wires} wires{bits} is computed as a state of {made.size} wires, "
            f"two for each"
            f"{branches}: {error} "
            "Or use method='statevector', which draws trajectories."
        ) from error


def parts(circuit: Circuit, options: Options) -> tuple[Separation | None, list[tuple[Circuit, Program]]]:
    """Return the separate parts of a circuit as they are planned, with their programs; None for one part."""
    circuit = in_blocks(circuit)

    def of(part: SeparatePart | None) -> tuple[Doubled, tuple[Circuit, Program]]:
        one = circuit
        if part is not None:
            operands = circuit.operands if part.columns is None else circuit.operands[:, part.columns]
            one = Circuit.of_structure(part.structure, operands)
        made = doubled_for(one, Bindings.of(one.operands))
        return made, (Circuit.of_structure(made.structure, made.operands(one.operands)), program_of(made.structure))

    if not options.separate:
        return None, [of(None)[1]]
    separation = separation_of(circuit.structure, how="apart")
    if separation is not None and density_parts.are_apart(separation) and not options.divides:
        each = [of(part) for part in separation.parts]
        if not any(made.bits for made, _ in each):
            return separation, [found for _, found in each]
    separation = separation_of(circuit.structure, how="together")
    return separation, [of(None if separation is None else separation.parts[0])[1]]


def _heads(circuit: Circuit) -> str:
    return f"a density matrix as a state of {circuit.num_qubits} wires: rows, columns, measured bits"


METHOD = RunMethod(run, parts=parts, heads=_heads)
