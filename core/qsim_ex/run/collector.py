"""The results of a run so far: bits, sums of expectation values, saved states; and which shots are done."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.saves import Save, SaveValues
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.memory import require_on_host
from qsim_ex.errors import SavedStateError
from qsim_ex.later import later
from qsim_ex.observe import sampling
from qsim_ex.options import Options
from qsim_ex.placement.index_bits import pack
from qsim_ex.program.memory import classical_memory
from qsim_ex.program.program import Program
from qsim_ex.run.branches import Branches, uniforms
from qsim_ex.run.request import BatchInputs, Request, WorkUnit

if TYPE_CHECKING:
    from qsim_ex.execution import checkpoints as stored
    from qsim_ex.execution.checkpoints import Arrays, Checkpoints
    from qsim_ex.observe import expectation
    from qsim_ex.observe import saved as saved_reader
    from qsim_ex.placement.base import NormCheck, States
    from qsim_ex.run import records as branch_records
    from qsim_ex.run import saved_rows, saved_values
    from qsim_ex.steps.plan import Plan
else:
    saved_reader = later("qsim_ex.observe.saved")
    branch_records = later("qsim_ex.run.records")
    saved_rows = later("qsim_ex.run.saved_rows")
    saved_values = later("qsim_ex.run.saved_values")
    stored = later("qsim_ex.execution.checkpoints")
    expectation = later("qsim_ex.observe.expectation")

_NO_VALUES = np.zeros((0, 0), dtype=np.complex128), np.zeros(0)

_THREADS = 4
"""Threads that generate random numbers for a state on a GPU."""


@dataclass(eq=False, slots=True)
class Collector:
    """The results so far; threads write to different bindings or shots, sums are guarded.

    packed: uint8 [bindings, shots, bytes]. saves: the values of each save. sums, squares: [bindings, observables].
    masks: for each wire, the mask of the classical bits that it is measured into at the end. measures: whether there
    are any. done: bool [bindings, trajectories]; kept only if checkpoints are written. plans: of the run, whose gates
    set the tolerance of a state's norm. report: the merged reports of the placements.
    records: what the shots have recorded; None if there are no shots, or no records.
    """

    program: Program
    request: Request
    num_clbits: int
    count: int
    masks: list[int]
    measures: bool
    packed: NDArray[np.uint8] | None
    saves: dict[str, saved_values.SavedValues]
    sums: NDArray[np.complex128]
    squares: NDArray[np.float64]
    threads: int
    draw_threads: int
    plans: Sequence[Plan]
    checkpoints: Checkpoints | None = None
    done: NDArray[np.bool_] | None = None
    report: dict[str, object] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    records: branch_records.RecordsSoFar | None = None

    @classmethod
    def empty(
        cls,
        circuit: Circuit,
        program: Program,
        request: Request,
        count: int,
        where: Assignment,
        options: Options,
        plans: Sequence[Plan],
    ) -> Self:
        """Return a collector with memory for all results; raises `OutOfMemory` if the host has too little."""
        width, shots = -(-circuit.num_clbits // 8), request.shots
        if shots is not None:
            what = f"a sample of {shots} shots" + (f" for each of {count} bindings" if count > 1 else "")
            needed = sampling.BYTES_PER_SHOT * shots + shots * (count - 1) * width
            if needed > where.host_free:
                require_on_host(what, needed, where.host_free, "Ask for fewer at a time.")
        masks = [0] * circuit.num_qubits
        for clbit, wire in program.measured.items():
            masks[wire] |= 1 << clbit
        threads, draw_threads = _threads(where, options)
        observables = len(request.observables)
        return cls(
            program=program,
            request=request,
            num_clbits=circuit.num_clbits,
            count=count,
            masks=masks,
            measures=bool(program.measured),
            packed=None if shots is None else np.zeros((count, shots, width), dtype=np.uint8),
            saves=saved_values.collected(circuit, program, request, count, where, options) if program.saves else {},
            sums=np.zeros((count, observables), dtype=np.complex128),
            squares=np.zeros((count, observables)),
            threads=threads,
            draw_threads=draw_threads,
            plans=plans,
            records=None
            if shots is None or not program.records
            else branch_records.RecordsSoFar(program.records, count, shots),
        )

    # --- results of states -------------------------------------------------------------------------------------------

    def read(self, states: States, saves: Sequence[Save]) -> list[SaveValues]:
        """Return the values of some saves; the states of a program with choices are normalised first."""
        return saved_reader.read(states, saves, normalise=bool(self.program.choices))

    def save(
        self, unit: WorkUnit, save: Save, values: SaveValues, branches: Branches, rounds: tuple[int, ...] = ()
    ) -> None:
        """Put in the values of some branches at a save, value b that of branch b."""
        columns, width = self.program.memory.get(save.label), -(-self.num_clbits // 8)
        memory = np.zeros((len(branches), width), dtype=np.uint8)  # unless it is saved by the bits
        rows = saved_rows.SavedRows(
            values=values,
            binding=unit.begin + branches.binding,
            memory=memory if columns is None else classical_memory(columns, branches.outcomes, width),
            branch_of=branches.branch_of,
            trajectories=unit.first + branches.shots,
            rounds=rounds,
        )
        with self.lock:
            self.saves[save.label].add(rows)
            if self.checkpoints is not None:
                self.checkpoints.unwritten = True

    def ahead(self, states: States) -> None:
        """Queue the sums from which shots are drawn, unless anything else is asked before."""
        asked, shots = self.program.branches or self.request.observables, self.request.shots
        if self.measures and not asked and shots is not None and states.single is not None:
            sampling.begin(states.single, shots)

    def finish(self, unit: WorkUnit, inputs: BatchInputs, states: States, branches: Branches) -> None:
        """Sample states at the end of the program, and take expectation values."""
        values, norms = _NO_VALUES
        if self.request.observables:
            values, norms = expectation.in_rows(states, self.request.observables)
            values = values / norms[:, None] if self.program.choices else values
        if self.packed is not None:
            self._sample(self.packed, unit, inputs, states, branches)
        elif (check := self._norm_check(states, inputs, branches)) is not None:
            check((norms if len(norms) else expectation.in_rows(states, ())[1])[0])
        with self.lock:
            if self.records is not None:
                self.records.add(unit, branches)
            if self.request.observables:
                self._add(unit, branches, values)
            if report := states.report():
                self._merge(report)
            if self.done is not None:
                self._checkpoint(unit, branches)

    def _add(self, unit: WorkUnit, branches: Branches, values: NDArray[np.complex128]) -> None:
        if not self.program.branches:  # a state for each binding
            at = unit.begin + branches.binding
            self.sums[at] += values
            self.squares[at] += np.abs(values) ** 2
            return
        counts, at = branches.counts[:, None], unit.begin + branches.binding
        np.add.at(self.sums, at, counts * values)
        np.add.at(self.squares, at, counts * np.abs(values) ** 2)

    def _norm_check(self, states: States, inputs: BatchInputs, branches: Branches) -> NormCheck | None:
        """Return the norm check of the placement, if it moves states; None for programs with choices."""

        def told() -> str:
            keys = [plan.key for plan in self.plans]
            seed, more = inputs.seeds[branches.binding[0]], f" and {len(keys) - 1} more" if len(keys) > 1 else ""
            return (
                f"The seed is {seed} and the plan's key {keys[0]}{more}; simulator.plans(circuit) returns it, and "
                "print(simulator.explain(circuit)) prints it. "
            )

        gates = sum([plan.num_gates for plan in self.plans])
        return None if self.program.choices else states.norm_check(gates, told)

    def _sample(
        self, packed: NDArray[np.uint8], unit: WorkUnit, inputs: BatchInputs, states: States, branches: Branches
    ) -> None:
        """Write the classical bits of all shots of some branches, without the readout errors of the end."""
        _, shots, width = packed.shape
        if self.program.branches:
            rows = branches.branch_of
            bits = np.zeros((len(rows), width), dtype=np.uint8)
            if self.measures:
                drawn = uniforms(branches, inputs, [0] * len(inputs.seeds))
                check = self._norm_check(states, inputs, branches)
                values = sampling.draw_states(states, rows, drawn, check, self.draw_threads)
                bits |= pack(values, self.masks, self.num_clbits)
            for clbit, column in self.program.recorded.items():
                bits[:, clbit // 8] |= branches.outcomes[rows, column] << clbit % 8
            packed[unit.begin + branches.binding[rows], unit.first + branches.shots] = bits
        elif self.measures and states.single is not None:  # one branch for a binding stands for all of its shots
            (binding,), check = branches.binding, self._norm_check(states, inputs, branches)
            values = sampling.draw_seeded(states.single, inputs.seeds[binding], 0, shots, check, self.draw_threads)
            packed[unit.begin + binding] = pack(values, self.masks, self.num_clbits)
        elif self.measures:
            rows = np.repeat(branches.row, shots)
            seeds = [inputs.seeds[binding] for binding in branches.binding.tolist()]
            drawn = sampling.uniforms_of(seeds, 0, shots, self.threads).reshape(-1)
            bits = pack(sampling.draw_states(states, rows, drawn), self.masks, self.num_clbits)
            packed[unit.begin + branches.binding] = bits.reshape(len(branches), shots, width)

    def _merge(self, report: Mapping[str, object]) -> None:
        """Merge the report of a placement: copied bytes are added up, all other values are those of the last one."""
        for name, value in report.items():
            before = self.report.get(name)
            copied = name.startswith("bytes_") and "held" not in name
            self.report[name] = _added(before, value) if copied and before is not None else value

    # --- checkpoints -------------------------------------------------------------------------------------------------

    def keep(self, checkpoints: Checkpoints) -> None:
        """Write checkpoints from now on, and load the results of an earlier run; raises `SavedStateError`."""
        self.checkpoints = checkpoints
        self.done = np.zeros((self.count, self.request.trajectories), dtype=np.bool_)
        checkpoints.results = self.arrays
        found = checkpoints.found
        try:
            for name, mine in self._own().items() if found else ():
                mine[...] = stored.fitting(found, name, mine.dtype, mine.shape)
            if found and self.packed is not None and (self.packed[..., -1:] >> (self.num_clbits - 1) % 8 + 1).any():
                raise ValueError(f"packed: expected {self.num_clbits} classical bits, got higher ones")
            if found and self.records is not None:
                self.records.load(found)
            for number, values in enumerate(self.saves.values()) if found else ():
                name = f"saved{number}"
                length = len(name) + 1
                own = {key[length:]: array for key, array in found.items() if key == name or key[:length] == f"{name}_"}
                values.load(own)
        except (KeyError, ValueError, TypeError, IndexError) as error:
            how = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise SavedStateError(f"{checkpoints.path} is damaged: {how}. Remove it and run again.") from error

    def _own(self) -> Arrays:
        """Return the results that are no saves."""
        assert self.done is not None
        packed = {} if self.packed is None else {"packed": self.packed}
        return {"done": self.done, "sums": self.sums, "squares": self.squares, **packed}

    def arrays(self) -> Arrays:
        """Return all results so far as arrays."""
        saved = {
            f"saved{number}_{name}".rstrip("_"): array
            for number, values in enumerate(self.saves.values())
            for name, array in values.arrays().items()
        }
        records = {} if self.records is None else self.records.arrays()
        return {**self._own(), **records, **saved}

    def left(self, unit: WorkUnit, branches: Branches) -> Branches:
        """Return the branches of a unit without the shots that are done."""
        assert self.done is not None
        of = unit.begin + branches.binding[branches.branch_of]
        return branches.without(self.done[of, unit.first + branches.shots])

    def _checkpoint(self, unit: WorkUnit, branches: Branches) -> None:
        assert self.done is not None and self.checkpoints is not None  # noqa: PT018
        self.done[unit.begin + branches.binding[branches.branch_of], unit.first + branches.shots] = True
        if self.checkpoints.due() and not self.done.all():
            self.checkpoints.write_found(self.arrays())


def _threads(where: Assignment, options: Options) -> tuple[int, int]:
    """Return the threads that generate random numbers, and those that draw shots; a CPU device sets both."""
    threads: int | None = getattr(where.device, "threads", None)
    if threads is not None:
        return threads, min(sampling.MOST_THREADS, threads)
    draw = sampling.threads_for(options.threads)
    return min(draw, _THREADS), draw


def _added(one: Any, other: Any) -> Any:
    """Return the sum of two numbers, two lists of numbers, or two dictionaries of numbers."""
    if isinstance(one, Mapping):
        return {key: one.get(key, 0) + other.get(key, 0) for key in dict.fromkeys((*one, *other))}
    if isinstance(one, Sequence):
        return [a + b for a, b in zip(one, other, strict=True)]
    return one + other
