"""Runs of circuits in separate parts: each part is a run of its own, and the answers are put together.

Parts with equal structures run together, as bindings of one batch. Small parts leave tables of probabilities; a large
part is drawn from while its state is in memory, after all wires above it. So memory is needed for the largest part
alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise.readout import ReadoutError, ReadoutErrors
from qsim_ex.circuit.observables import PauliString, PauliSum
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.execution.progress import Ticker, work_of
from qsim_ex.observe import expectation, sampling
from qsim_ex.observe.joint import JointDraw, LiveShots, Run, Table, runs_of
from qsim_ex.observe.readout import apply_readout
from qsim_ex.placement.batch import States
from qsim_ex.placement.bits import pack
from qsim_ex.program.divide import program_of
from qsim_ex.program.program import Program
from qsim_ex.program.separate import SeparatePart, Separation
from qsim_ex.result import BatchResult, Provenance
from qsim_ex.run.branches import Branches
from qsim_ex.run.pipeline import BatchCall, PlannedRun, machines_of, means, provenance_of, seeds_of, traverse
from qsim_ex.run.request import Request
from qsim_ex.run.work import BatchInputs, WorkUnit

TABLE_WIRES = 16
TABLE_SIZE = 1 << 22
"""The most wires of a part whose probabilities are kept in a table, and the most probabilities of a table."""

Term = tuple[complex, tuple[tuple[int, int], ...]]
"""A Pauli string over parts: its coefficient, and for each part that it acts on the part's number and string."""


def run_parts(call: BatchCall, separation: Separation) -> BatchResult:
    """Run many circuits of one structure, which has separate parts; see `Simulator.run_batch`."""
    began = perf_counter()
    programs = [program_of(part.structure, bool(call.observables), 0, part.groups) for part in separation.parts]
    united = replace(
        programs[0],
        choices=tuple(choice for program in programs for choice in program.choices),
        branches=any(program.branches for program in programs),
    )
    request = call.checked(united, separation.measures)
    count = call.bound.count
    seeds = seeds_of(call.seeds, count, call.options) or sampling.seeds_of(sampling.fresh_seed(), count, "bindings")
    run = _JointRun(call, separation, programs, request, seeds)
    run.everything()
    if call.readout and run.packed is not None:
        parts = zip(separation.parts, programs, strict=True)
        read = {tuple(part.clbits[bit] for bit in group) for part, program in parts for group in program.read}
        for bits, seed in zip(run.packed, seeds, strict=True):
            bits[...] = apply_readout(bits, call.readout, seed, read)
    return run.result(perf_counter() - began)


@dataclass(eq=False, slots=True)
class _Values:
    """The values of a part's Pauli strings in its final states, float64 [bindings, trajectories or 1, strings]."""

    strings: dict[tuple[int, int], int]
    found: NDArray[np.float64]


@dataclass(eq=False)
class _PartsCollector:
    """Takes the final states of parts with one structure; the bindings of the first part come first.

    live: the runs that are drawn from the states at once, for the one part of `numbers`.
    """

    joint: _JointRun
    numbers: Sequence[int]
    program: Program
    live: Sequence[Run] | None
    first_visit: bool
    done: NDArray[np.bool_] | None = None
    report: dict[str, Any] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def save(self, *of: Any) -> None:
        """Raise an error, since circuits with saves are not separated."""
        raise AssertionError(of)

    def left(self, *of: Any) -> Branches:
        """Raise an error, since runs with checkpoints are not separated."""
        raise AssertionError(of)

    def finish(self, unit: WorkUnit, inputs: BatchInputs, states: States, branches: Branches) -> None:  # noqa: ARG002
        """Take the final states of some bindings and shots."""
        if self.program.branches:
            rows = branches.branch_of
            ended = _Ended(rows, unit.begin + branches.binding[rows], unit.first + branches.shots)
        else:
            ended = _Ended(np.arange(len(branches)), unit.begin + branches.binding, None)
        draw = self.joint.draw
        with self.lock:
            if self.first_visit:
                self._values(states, ended)
                self._recorded(branches, ended)
            if draw is not None and self.live is None:
                first = draw.tables[self.numbers[0]].add(states)
                for number, some in self._of_parts(ended):
                    draw.rows[number][some.binding, 0 if some.shot is None else some.shot] = first + some.row
            elif draw is not None and self.live:
                some = ended.of_every_shot(self.joint.shots)
                assert some.shot is not None
                draw.draw(self.live, self.numbers[0], LiveShots(states, some.row, some.binding, some.shot))
            self.report.update(states.report())

    def _of_parts(self, ended: _Ended) -> Iterator[tuple[int, _Ended]]:
        """Yield the shots of each part, with its number; their bindings are those of the circuit."""
        count = self.joint.bound.count
        for place, number in enumerate(self.numbers):
            mine = ended.binding // count == place
            shot = None if ended.shot is None else ended.shot[mine]
            yield number, _Ended(ended.row[mine], ended.binding[mine] % count, shot)

    def _values(self, states: States, ended: _Ended) -> None:
        """Keep the values of all Pauli strings on these parts."""
        strings = self.joint.values[self.numbers[0]].strings
        if not strings:
            return
        values, norms = expectation.in_rows(states, [PauliSum((PauliString(x, z),)) for x, z in strings])
        if self.program.choices:
            values = values / norms[:, None]
        for number, some in self._of_parts(ended):
            found = self.joint.values[number].found
            found[some.binding, 0 if some.shot is None else some.shot] = values.real[some.row]

    def _recorded(self, branches: Branches, ended: _Ended) -> None:
        """Write the bits that were measured before the end."""
        packed = self.joint.packed
        if packed is None or not self.program.recorded:
            return
        for number, some in self._of_parts(ended):
            part = self.joint.separation.parts[number]
            for clbit, column in self.program.recorded.items():
                if clbit in part.final:
                    byte, at = divmod(part.clbits[clbit], 8)
                    packed[some.binding, some.shot, byte] |= branches.outcomes[some.row, column] << at


@dataclass(frozen=True, eq=False, slots=True)
class _Ended:
    """Shots at the end of a part: shot k is ``shot[k]`` of ``binding[k]``, in row ``row[k]`` of the states.

    shot: None if all shots of a binding share its state.
    """

    row: NDArray[np.int64]
    binding: NDArray[np.int64]
    shot: NDArray[np.int64] | None

    def of_every_shot(self, shots: int) -> _Ended:
        """Return the same with each shot by itself."""
        if self.shot is not None:
            return self
        every = np.tile(np.arange(shots), len(self.row))
        return _Ended(np.repeat(self.row, shots), np.repeat(self.binding, shots), every)


class _JointRun:
    """A run of all parts.

    packed: uint8 [bindings, shots, bytes]. values: of each part, by its number. draw: the shots; None without shots.
    """

    def __init__(
        self,
        call: BatchCall,
        separation: Separation,
        programs: Sequence[Program],
        request: Request,
        seeds: tuple[int, ...],
    ) -> None:
        self._call = call
        self.separation = separation
        self._programs = programs
        self.bound = bound = call.bound
        self._request = request
        self._seeds = seeds
        self._ran: list[Provenance] = []  # of each run of parts
        self._planned = 0.0
        parts, shots = separation.parts, request.shots
        self.shots = shots or 0
        self.packed: NDArray[np.uint8] | None = None
        self.draw: JointDraw | None = None
        if shots is not None:
            width = -(-separation.num_clbits // 8)
            self.packed = np.zeros((bound.count, shots, width), dtype=np.uint8)
            self.draw = JointDraw([len(part.wires) for part in parts], seeds, shots)
        self._strings: dict[int, dict[tuple[int, int], int]] = {}  # of each kind of parts
        self._terms = [self._split(one) for one in request.observables]
        self.values = self._no_values()
        self._runs = self._order() if shots is not None else []

    # --- observables -------------------------------------------------------------------------------------------------

    def _split(self, one: PauliSum) -> list[Term]:
        """Return the terms of an observable as products of strings on parts; X and Y of an idle wire have mean 0."""
        terms: list[Term] = []
        for term in one.terms:
            strings: dict[int, list[int]] = {}
            vanishes = False
            acted, wire = term.x | term.z, 0
            while acted >> wire:
                if acted >> wire & 1:
                    if wire in self.separation.place:
                        part, local = self.separation.place[wire]
                        string = strings.setdefault(part, [0, 0])
                        string[0] |= (term.x >> wire & 1) << local
                        string[1] |= (term.z >> wire & 1) << local
                    elif term.x >> wire & 1:
                        vanishes = True
                wire += 1
            if not vanishes:
                numbered = ((part, (x, z)) for part, (x, z) in strings.items())
                terms.append((term.coefficient, tuple((part, self._string(part, key)) for part, key in numbered)))
        return terms

    def _string(self, part: int, key: tuple[int, int]) -> int:
        """Return the number of a Pauli string of a part; parts of one structure share their strings."""
        known = self._strings.setdefault(self._kind(part), {})
        return known.setdefault(key, len(known))

    def _kind(self, part: int) -> int:
        return id(self._programs[part])

    def _no_values(self) -> dict[int, _Values]:
        found = {}
        for number, program in enumerate(self._programs):
            mine = self._strings.get(self._kind(number), {})
            trajectories = self._request.trajectories if program.branches else 1
            found[number] = _Values(mine, np.zeros((self.bound.count, trajectories, len(mine))))
        return found

    def _sums(self) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
        """Return the sums of all observables and of their squares over trajectories, [bindings, observables]."""
        request, count = self._request, self.bound.count
        sums = np.zeros((count, len(request.observables)), dtype=np.complex128)
        squares = np.zeros(sums.shape)
        for column, terms in enumerate(self._terms):
            values: NDArray[np.complex128] = np.zeros((count, 1), dtype=np.complex128)
            for coefficient, strings in terms:
                product: NDArray[Any] = np.full((count, 1), coefficient, dtype=np.complex128)
                for part, string in strings:
                    product = product * self.values[part].found[:, :, string]
                values = values + product
            repeated = request.trajectories // values.shape[1]
            sums[:, column] = values.sum(axis=1) * repeated
            squares[:, column] = (np.abs(values) ** 2).sum(axis=1) * repeated
        return sums, squares

    # --- the order of the wires --------------------------------------------------------------------------------------

    def _order(self) -> list[Run]:
        """Return the runs that draw all wires, from the highest to the lowest one that is measured."""
        parts = self.separation.parts
        entries = sorted(
            ((wire, number, local) for number, part in enumerate(parts) for local, wire in enumerate(part.wires)),
            key=lambda one: (-one[0], one[1]),
        )
        measured = {
            (number, wire)
            for number, (part, program) in enumerate(zip(parts, self._programs, strict=True))
            for clbit, wire in program.measured.items()
            if clbit in part.final
        }
        last = max((k + 1 for k, (_, number, local) in enumerate(entries) if (number, local) in measured), default=0)
        order = [(number, self.separation.place.get(wire) == (number, local)) for wire, number, local in entries]
        return runs_of(order, last)

    # --- running -----------------------------------------------------------------------------------------------------

    def everything(self) -> None:
        """Run all parts, and draw all shots."""
        tabled = [number for number in range(len(self._programs)) if self._is_small(number)]
        kinds: dict[tuple[int, int], list[int]] = {}
        for number in tabled:
            alone = number if self.separation.parts[number].groups else -1  # readings are keyed by the part's own bits
            kinds.setdefault((self._kind(number), alone), []).append(number)
        for numbers in kinds.values():
            self._tables(numbers)
            self._run(numbers, None, True)
        visited = set(tabled)
        for large, runs in self._visits(visited):
            if large is None:
                assert self.draw is not None
                self.draw.draw(runs)
            else:
                self._run([large], runs, large not in visited)
                visited.add(large)
            if self.draw is not None:
                self.draw.passed(runs)
        for number in range(len(self._programs)):
            if number not in visited and (self._programs[number].recorded or self.values[number].strings):
                self._run([number], (), True)
        if not self._ran:  # nothing asks for any part; the result still says where it would have run
            self._run([0], (), True)
        self._write_bits()

    def _is_small(self, number: int) -> bool:
        wires = len(self.separation.parts[number].wires)
        rows = self.bound.count * (self._request.trajectories if self._programs[number].branches else 1)
        return wires <= TABLE_WIRES and rows << wires <= TABLE_SIZE

    def _tables(self, numbers: Sequence[int]) -> None:
        """Make the table of parts with one structure."""
        if self.draw is not None:
            table = Table()
            columns = self.shots if self._programs[numbers[0]].branches else 1
            for number in numbers:
                self.draw.tables[number] = table
                self.draw.rows[number] = np.zeros((self.bound.count, columns), dtype=np.int64)

    def _visits(self, tabled: set[int]) -> list[tuple[int | None, list[Run]]]:
        """Divide the order of drawing into visits, in each of which at most one part has no table."""
        visits: list[tuple[int | None, list[Run]]] = []
        tables = set(tabled)
        for run in self._runs:
            large = None if run.part in tables else run.part
            if not visits or (large is not None and visits[-1][0] not in (None, large)):
                visits.append((large, [run]))
            else:
                before, runs = visits[-1]
                visits[-1] = (large if before is None else before, [*runs, run])
        return visits

    def _run(self, numbers: Sequence[int], live: Sequence[Run] | None, first_visit: bool) -> None:
        """Run parts of one structure as bindings of one batch."""
        began = perf_counter()
        program, request, count = self._programs[numbers[0]], self._request, self.bound.count
        parts = [self.separation.parts[number] for number in numbers]
        bound = Bindings(count * len(parts), _operands(self.bound, parts))
        own = Request(
            None if request.shots is None else request.shots,
            (),
            request.trajectories if program.branches else 1,
            _readout(request.readout, parts[0]) if program.readings else (),
            [part.streams for part in parts for _ in range(count)],
            parts[0].clbits,
        )
        circuit = Circuit.of_structure(parts[0].structure, bound.operands(0, 1))
        states = bound.count * own.trajectories
        wheres = self._call.assigner.many(circuit.num_qubits, states)
        machines = machines_of(wheres, program, self._call.options, states)
        run = PlannedRun(None, circuit, program, bound, own, machines, self._call.options)
        collector = _PartsCollector(self, numbers, program, live, first_visit)
        self._planned += perf_counter() - began
        with self._ticker(circuit.num_qubits, states, circuit.num_gates) as ticker:
            workers = traverse(run, collector, None, self._seeds * len(parts), ticker)
        self._ran.append(provenance_of(run, collector.report, workers, (0.0, perf_counter() - began)))

    def _ticker(self, num_wires: int, states: int, gates: int) -> Ticker:
        """Return the ticker of a part; the progress of the run is that of the largest part."""
        options, cancel = self._call.options, self._call.cancel
        if num_wires < max(len(part.wires) for part in self.separation.parts):
            return Ticker(cancel)
        work = work_of(num_wires, gates, states)
        return Ticker(cancel, options.progress, options.watch, work)

    def _write_bits(self) -> None:
        """Write the bits that are measured at the end."""
        if self.packed is None or self.draw is None:
            return
        for number, (part, program) in enumerate(zip(self.separation.parts, self._programs, strict=True)):
            masks = [0] * len(part.wires)
            for clbit, wire in program.measured.items():
                if clbit in part.final:
                    masks[wire] |= 1 << part.clbits[clbit]
            if any(masks):
                values = self.draw.values(number)
                bits = pack(values.reshape(-1), masks, self.separation.num_clbits)
                self.packed |= bits.reshape(*values.shape, -1)

    # --- the result --------------------------------------------------------------------------------------------------

    def result(self, seconds: float) -> BatchResult:
        """Return the result of all parts; seconds: of the whole run."""
        sums, squares = self._sums()
        values, errors = means(sums, squares, self._request)
        largest, *others = sorted(self._ran, key=lambda ran: -ran.deployment.num_wires)
        timings = {name: sum([ran.timings[name] for ran in self._ran]) for name in ("prepare", "run")}
        rest = seconds - self._planned - sum(timings.values())
        provenance = replace(
            largest,
            timings={"plan": self._planned, **timings, "sample": rest, "total": seconds},
            facts={
                **largest.facts,
                "bindings": self.bound.count,
                "states": sum(ran.facts["states"] for ran in self._ran),
                **self.separation.facts(),
            },
            others=tuple(others),
        )
        return BatchResult(
            shots=self._request.shots,
            num_clbits=self.separation.num_clbits,
            packed=self.packed,
            saved={},
            values=values,
            errors=errors,
            seeds=self._seeds,
            trajectories=self._request.trajectories if any(one.branches for one in self._programs) else None,
            provenance=provenance.remember(),
        )


def _operands(bound: Bindings, parts: Sequence[SeparatePart]) -> Any:
    """Return the function that gives the operands of all parts, one part after another."""

    def of_parts(begin: int, end: int) -> NDArray[np.complex128]:
        found = []
        for place in range(begin // bound.count, -(-end // bound.count)):
            first = max(begin - place * bound.count, 0)
            last = min(end - place * bound.count, bound.count)
            operands, columns = bound.operands(first, last), parts[place].columns
            found.append(operands if columns is None else operands[:, columns])
        return found[0] if len(found) == 1 else np.concatenate(found)

    return of_parts


def _readout(errors: ReadoutErrors, part: SeparatePart) -> ReadoutErrors:
    """Return the readout errors of a part's bits, in the part's numbers."""
    place = {clbit: k for k, clbit in enumerate(part.clbits)}
    return tuple(
        ReadoutError(tuple(place[clbit] for clbit in error.clbits), error.matrix, error.measurement)
        for error in errors
        if all(clbit in place for clbit in error.clbits)
    )
