"""Runs of circuits in separate parts: each part is a run of its own, and the answers are put together.

Parts with equal structures run together, as bindings of one batch. Small parts leave tables of probabilities; a large
part is drawn from while its state is in memory, after all wires above it. So memory is needed for the largest part
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.execution.progress import Ticker, work_of
from qsim_ex.observe import seeding
from qsim_ex.observe.joint import JointDraw, ProbabilityTable, Run, runs_of
from qsim_ex.observe.readout import apply_readout
from qsim_ex.placement.index_bits import pack
from qsim_ex.program.program import Program
from qsim_ex.program.separation import SeparatePart, Separation
from qsim_ex.result import BatchResult, Provenance
from qsim_ex.run.outcome import means, provenance_of, remembered
from qsim_ex.run.part_states import PartAnswers, PartsCollector
from qsim_ex.run.part_values import PartValues
from qsim_ex.run.pipeline import BatchCall, Inputs, planned_run
from qsim_ex.run.request import Request
from qsim_ex.run.worker import traverse


def run_parts(call: BatchCall, separation: Separation) -> BatchResult:
    """Run many circuits of one structure, which has separate parts; see `Simulator.run_batch`."""
    began = perf_counter()
    programs = [part.program(bool(call.observables)) for part in separation.parts]
    united = replace(
        programs[0],
        choices=tuple(choice for program in programs for choice in program.choices),
        branches=any(program.branches for program in programs),
    )
    request = call.checked(united, separation.measures)
    count = call.bound.count
    seeds = seeding.given_seeds(call.seeds, count, call.options) or seeding.fresh_seeds(count)
    run = _JointRun(call, separation, programs, request, seeds)
    run.everything()
    packed = run.answers.packed
    if call.readout and packed is not None:
        parts = zip(separation.parts, programs, strict=True)
        read = {tuple(part.clbits[bit] for bit in group) for part, program in parts for group in program.read}
        for bits, seed in zip(packed, seeds, strict=True):
            bits[...] = apply_readout(bits, call.readout, seed, read)
    return run.result(perf_counter() - began)


class _JointRun:
    """A run of all parts. answers: those of all parts so far."""

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
        packed = draw = None
        if shots is not None:
            packed = np.zeros((bound.count, shots, -(-separation.num_clbits // 8)), dtype=np.uint8)
            draw = JointDraw([len(part.wires) for part in parts], seeds, shots)
        values = PartValues(separation, programs, request, bound.count)
        needed = {(bit.part, bit.kept) for part in parts for bit in part.given}
        needed.update((number, bit) for number in range(len(parts)) for bit in values.kept(number))
        kept = {one: np.zeros((bound.count, request.trajectories), dtype=np.uint8) for one in needed}
        self.answers = PartAnswers(separation, bound.count, shots or 0, packed, kept, values, draw)
        self._runs = self._order() if shots is not None else []

    # --- the order of the wires --------------------------------------------------------------------------------------

    def _order(self) -> list[Run]:
        """Return the runs that draw all wires, from the highest to the lowest one that is measured."""
        place = self.separation.place
        entries: list[
            tuple[int, int, int, bool]
        ] = []  # where it is drawn, its part, its wire there, whether it is mixed
        measured = set[tuple[int, int]]()
        for number, (part, program) in enumerate(zip(self.separation.parts, self._programs, strict=True)):
            measured.update((number, wire) for clbit, wire in program.measured.items() if clbit in part.final)
            at = -1
            for local, wire in enumerate(part.wires):
                if mixed := place.get(wire) == (number, local) or (number, local) in measured:
                    at = wire
                if at >= 0:  # else it is |0⟩, as all wires below, and is not drawn; above others it is drawn with them
                    entries.append((at, number, local, mixed))
        entries.sort(key=lambda one: (-one[0], one[1], -one[2]))
        last = max((k + 1 for k, (_, *one, _) in enumerate(entries) if tuple(one) in measured), default=0)
        order = [(number, mixed) for _, number, _, mixed in entries]
        return runs_of(order, last)

    # --- running -----------------------------------------------------------------------------------------------------

    def everything(self) -> None:
        """Run all parts, and draw all shots."""
        draw, values, count = self.answers.draw, self.answers.values, len(self._programs)
        tabled = [number for number in range(count) if self._is_small(number)]
        visited = set(tabled)
        for numbers in self._first_runs(tabled):
            if visited.issuperset(numbers):
                self._tables(numbers)
                self._run(numbers, None, True)
            else:  # a large part, whose outcomes others need
                self._run(numbers, (), True)
                visited.update(numbers)
        for large, runs in self._visits(set(tabled)):
            if large is None:
                assert draw is not None
                draw.draw(runs)
            else:
                self._run([large], runs, large not in visited)
                visited.add(large)
            if draw is not None:
                draw.passed(runs)
        for number in range(count):
            if number not in visited and (self._programs[number].recorded or values.asked(number)):
                self._run([number], (), True)
        if not self._ran:  # nothing asks for any part; the result still says where it would have run
            self._run([0], (), True)
        self._write_bits()

    def _first_runs(self, tabled: Sequence[int]) -> list[list[int]]:
        """Return the parts that run before shots are drawn, those with one structure together, in their order.

        A part runs after those whose outcomes it needs.
        """
        parts = self.separation.parts
        needed = {bit.part for part in parts for bit in part.given}
        after: dict[int, int] = {}  # how many parts run before a part, one after the other
        waiting = list(range(len(parts)))
        while waiting:
            number = waiting[-1]
            sources = {bit.part for bit in parts[number].given}
            if unknown := [one for one in sources if one not in after]:
                waiting += unknown
            else:
                after[number] = max([1 + after[one] for one in sources], default=0)
                waiting.pop()
        kinds: dict[tuple[int, int, int], list[int]] = {}
        for number in sorted({*tabled, *needed}):
            # Readings are keyed by a part's own bits; a large part is simulated by itself.
            alone = number if parts[number].groups or number not in tabled else -1
            kinds.setdefault((after[number], self._kind(number), alone), []).append(number)
        return [numbers for _, numbers in sorted(kinds.items(), key=lambda one: one[0][0])]

    def _kind(self, part: int) -> int:
        return id(self._programs[part])

    def _is_small(self, number: int) -> bool:
        wires = len(self.separation.parts[number].wires)
        rows = self.bound.count * (self._request.trajectories if self._programs[number].branches else 1)
        return wires <= thresholds.now.table_wires and rows << wires <= thresholds.now.table_size

    def _tables(self, numbers: Sequence[int]) -> None:
        """Make the table of parts with one structure."""
        draw = self.answers.draw
        if draw is not None:
            table = ProbabilityTable()
            columns = self.answers.shots if self._programs[numbers[0]].branches else 1
            for number in numbers:
                draw.tables[number] = table
                draw.rows[number] = np.zeros((self.bound.count, columns), dtype=np.int64)

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
            parts[0].readout(request.readout) if program.readings else (),
            [part.streams for part in parts for _ in range(count)],
            parts[0].clbits,
            self._given(parts),
        )
        circuit = Circuit.of_structure(parts[0].structure, bound.operands(0, 1))
        states = bound.count * own.trajectories
        wheres = self._call.assigner.many(circuit.num_qubits, states)
        run = planned_run(self._call, Inputs(None, circuit, program, bound, own, wheres, began, parts[0]))
        program = run.program
        collector = PartsCollector(self.answers, numbers, program, live, first_visit)
        self._planned += perf_counter() - began
        with self._ticker(circuit.num_qubits, states, circuit.num_gates) as ticker:
            workers = traverse(run, collector, None, self._seeds * len(parts), ticker)
        self._ran.append(provenance_of(run, collector.report, workers, (0.0, perf_counter() - began)))

    def _given(self, parts: Sequence[SeparatePart]) -> NDArray[np.uint8] | None:
        """Return the bits that some parts need of others, for their bindings one part after another."""
        if not parts[0].given:
            return None
        kept = self.answers.kept
        return np.concatenate([np.stack([kept[bit.part, bit.kept] for bit in part.given], axis=2) for part in parts])

    def _ticker(self, num_wires: int, states: int, gates: int) -> Ticker:
        """Return the ticker of a part; the progress of the run is that of the largest part."""
        options, cancel = self._call.options, self._call.cancel
        if num_wires < max(len(part.wires) for part in self.separation.parts):
            return Ticker(cancel)
        return Ticker(cancel, options.progress, options.watch, work_of(num_wires, gates, states))

    def _write_bits(self) -> None:
        """Write the bits that are measured at the end."""
        answers = self.answers
        if answers.packed is None or answers.draw is None:
            return
        for number, (part, program) in enumerate(zip(self.separation.parts, self._programs, strict=True)):
            masks = [0] * len(part.wires)
            for clbit, wire in program.measured.items():
                if clbit in part.final:
                    masks[wire] |= 1 << part.clbits[clbit]
            if any(masks):
                values = answers.draw.values(number)
                bits = pack(values.reshape(-1), masks, self.separation.num_clbits)
                answers.packed[...] |= bits.reshape(*values.shape, -1)

    # --- the result --------------------------------------------------------------------------------------------------

    def result(self, seconds: float) -> BatchResult:
        """Return the result of all parts; seconds: of the whole run."""
        sums, squares = self.answers.values.sums()
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
            packed=self.answers.packed,
            saved={},
            values=values,
            errors=errors,
            seeds=self._seeds,
            trajectories=self._request.trajectories if any(one.branches for one in self._programs) else None,
            provenance=remembered(provenance),
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
