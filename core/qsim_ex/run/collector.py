"""The results of a run so far: bits, sums of expectation values, saved states; and which shots are done."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.deployment.assign import Assignment
from qsim_ex.devices.memory import require, require_on_host
from qsim_ex.errors import SavedStateError
from qsim_ex.execution.checkpoints import Arrays, Checkpoints
from qsim_ex.kernels.host import cores
from qsim_ex.observe import expectation, sampling
from qsim_ex.options import Options
from qsim_ex.placement.base import Amplitudes, NormCheck
from qsim_ex.placement.batch import States
from qsim_ex.placement.bits import pack
from qsim_ex.program.program import Program
from qsim_ex.run.branches import Branches, uniforms
from qsim_ex.run.request import Request
from qsim_ex.run.work import BatchInputs, WorkUnit

_NO_VALUES = np.zeros((0, 0), dtype=np.complex128), np.zeros(0)

_THREADS = 4
"""Threads that generate random numbers for a state on a GPU."""


class Collects(Protocol):
    """Takes the states of a run: at saves and at the end. done: see `Collector`."""

    done: NDArray[np.bool_] | None

    def save(self, unit: WorkUnit, label: str, amplitudes: Amplitudes, states: States, branches: Branches) -> None:
        """Take states at a save."""

    def finish(self, unit: WorkUnit, inputs: BatchInputs, states: States, branches: Branches) -> None:
        """Take states at the end of the program; they are released after it."""

    def left(self, unit: WorkUnit, branches: Branches) -> Branches:
        """Return the branches of a unit without the shots that are done; called only if `done` is kept."""


@dataclass(eq=False, slots=True)
class Collector:
    """The results so far; threads write to different bindings or shots, sums are guarded.

    packed: uint8 [bindings, shots, bytes]. saved: label -> [bindings, 2^n]. sums, squares: [bindings, observables].
    masks: for each wire, the mask of the classical bits that it is measured into at the end. measures: whether there
    are any. done: bool [bindings, trajectories]; kept only if checkpoints are written. num_gates: the number of gates
    of the plans, which sets the tolerance of a state's norm. report: the merged reports of the placements.
    """

    program: Program
    request: Request
    num_clbits: int
    count: int
    masks: list[int]
    measures: bool
    packed: NDArray[np.uint8] | None
    saved: dict[str, Amplitudes]
    sums: NDArray[np.complex128]
    squares: NDArray[np.float64]
    threads: int
    draw_threads: int
    num_gates: int
    checkpoints: Checkpoints | None = None
    done: NDArray[np.bool_] | None = None
    report: dict[str, Any] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def empty(
        cls,
        circuit: Circuit,
        program: Program,
        request: Request,
        count: int,
        where: Assignment,
        options: Options,
        num_gates: int,
    ) -> Self:
        """Return a collector with memory for all results; raises `OutOfMemory` if the host has too little."""
        width, shots = -(-circuit.num_clbits // 8), request.shots
        if shots is not None:
            what = f"a sample of {shots} shots" + (f" for each of {count} bindings" if count > 1 else "")
            needed = sampling.BYTES_PER_SHOT * shots + shots * (count - 1) * width
            if needed > where.host_free:
                require_on_host(what, needed, where.host_free)
        if program.labels:
            states = count * len(program.labels) + (where.device.kind == "cpu")
            require(circuit.num_qubits, options.dtype, [("the host", where.host_free)], states=states)
        masks = [0] * circuit.num_qubits
        for clbit, wire in program.measured.items():
            masks[wire] |= 1 << clbit
        size, (threads, draw_threads) = (count, 1 << circuit.num_qubits), _threads(where, options)
        observables = len(request.observables)
        return cls(
            program=program,
            request=request,
            num_clbits=circuit.num_clbits,
            count=count,
            masks=masks,
            measures=any(masks),
            packed=None if shots is None else np.zeros((count, shots, width), dtype=np.uint8),
            saved={label: np.empty(size, dtype=options.dtype) for label in program.labels},
            sums=np.zeros((count, observables), dtype=np.complex128),
            squares=np.zeros((count, observables)),
            threads=threads,
            draw_threads=draw_threads,
            num_gates=num_gates,
        )

    # --- results of states -------------------------------------------------------------------------------------------

    def save(self, unit: WorkUnit, label: str, amplitudes: Amplitudes, states: States, branches: Branches) -> None:
        """Keep states under a label; states of trajectories, whose norm is only near 1, are normalised."""
        if self.program.choices:
            _, norms = expectation.in_rows(states, ())
            amplitudes = amplitudes / np.sqrt(norms)[:, None].astype(amplitudes.real.dtype)
        self.saved[label][unit.begin + branches.binding] = amplitudes

    def finish(self, unit: WorkUnit, inputs: BatchInputs, states: States, branches: Branches) -> None:
        """Sample states at the end of the program, and take expectation values."""
        values, norms = _NO_VALUES
        if self.request.observables:
            values, norms = expectation.in_rows(states, self.request.observables)
            values = values / norms[:, None] if self.program.choices else values
        if self.packed is not None:
            self._sample(self.packed, unit, inputs, states, branches)
        elif (check := self._norm_check(states)) is not None:
            check((norms if len(norms) else expectation.in_rows(states, ())[1])[0])
        with self.lock:
            if self.request.observables:
                self._add(unit, branches, values)
            if report := states.report():
                self._merge(report)
            if self.done is not None:
                self._checkpoint(unit, branches)

    def _add(self, unit: WorkUnit, branches: Branches, values: NDArray[np.complex128]) -> None:
        counts, at = branches.counts[:, None], unit.begin + branches.binding
        np.add.at(self.sums, at, counts * values)
        np.add.at(self.squares, at, counts * np.abs(values) ** 2)

    def _norm_check(self, states: States) -> NormCheck | None:
        """Return the norm check of the placement, if it moves states; None for programs with choices."""
        return None if self.program.choices else states.norm_check(self.num_gates)

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
                values = sampling.draw_states(states, rows, drawn, self._norm_check(states), self.draw_threads)
                bits |= pack(values, self.masks, self.num_clbits)
            for clbit, column in self.program.recorded.items():
                bits[:, clbit // 8] |= branches.outcomes[rows, column] << clbit % 8
            packed[unit.begin + branches.binding[rows], unit.first + branches.shots] = bits
        elif self.measures and states.single is not None:  # one branch for a binding stands for all of its shots
            (binding,) = branches.binding
            drawn = sampling.uniforms(inputs.seeds[binding], 0, shots)
            values = sampling.draw(states.single, drawn, self._norm_check(states), self.draw_threads)
            packed[unit.begin + binding] = pack(values, self.masks, self.num_clbits)
        elif self.measures:
            rows = np.repeat(branches.row, shots)
            seeds = [inputs.seeds[binding] for binding in branches.binding.tolist()]
            drawn = sampling.uniforms_of(seeds, 0, shots, self.threads).reshape(-1)
            bits = pack(sampling.draw_states(states, rows, drawn), self.masks, self.num_clbits)
            packed[unit.begin + branches.binding] = bits.reshape(len(branches), shots, width)

    def _merge(self, report: Mapping[str, Any]) -> None:
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
        found = checkpoints.found
        for name, mine in self.arrays().items() if found else ():
            theirs = found.get(name)
            if theirs is None or theirs.shape != mine.shape or theirs.dtype != mine.dtype:
                raise SavedStateError(
                    f"{checkpoints.path} is damaged: {name} of shape {mine.shape} is missing. Remove it and run again."
                )
            mine[...] = theirs

    def arrays(self) -> Arrays:
        """Return all results so far as arrays."""
        assert self.done is not None
        packed = {} if self.packed is None else {"packed": self.packed}
        saved = {f"saved{number}": states for number, states in enumerate(self.saved.values())}
        return {"done": self.done, "sums": self.sums, "squares": self.squares, **packed, **saved}

    def left(self, unit: WorkUnit, branches: Branches) -> Branches:
        """Return the branches of a unit without the shots that are done."""
        assert self.done is not None
        of = unit.begin + branches.binding[branches.branch_of]
        return branches.without(self.done[of, unit.first + branches.shots])

    def _checkpoint(self, unit: WorkUnit, branches: Branches) -> None:
        assert self.done is not None
        assert self.checkpoints is not None
        self.done[unit.begin + branches.binding[branches.branch_of], unit.first + branches.shots] = True
        if self.checkpoints.due() and not self.done.all():
            self.checkpoints.write_found(self.arrays())


def _threads(where: Assignment, options: Options) -> tuple[int, int]:
    """Return the threads that generate random numbers, and those that draw shots; a CPU device sets both."""
    threads: int | None = getattr(where.device, "threads", None)
    if threads is not None:
        return threads, min(sampling.MOST_THREADS, threads)
    return min(cores(), _THREADS), sampling.threads_for(options.threads)


def _added(one: Any, other: Any) -> Any:
    """Return the sum of two numbers, two lists of numbers, or two dictionaries of numbers."""
    if isinstance(one, Mapping):
        return {key: one.get(key, 0) + other.get(key, 0) for key in dict.fromkeys((*one, *other))}
    if isinstance(one, Sequence):
        return [a + b for a, b in zip(one, other, strict=True)]
    return one + other
