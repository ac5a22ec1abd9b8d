"""Many circuits of one structure in one call: planned once, and worked on together.

bindings → choose devices → plan each part of the course → for as many bindings and shots as fit: bind, run, ask
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex import expectation, sampling
from qsim_ex.adopt import begun
from qsim_ex.branches import Branches, first_branches
from qsim_ex.chance import BLOCK, numbers
from qsim_ex.circuit import check
from qsim_ex.circuit.bindings import Bindings, Operands
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.devices.base import Batches, Loads
from qsim_ex.devices.memory import require_on_host
from qsim_ex.devices.probe import Where, place
from qsim_ex.dynamics import Course, course_of
from qsim_ex.errors import Cancelled, CircuitError, MeasurementError, NotSupported, OptionError, WireError
from qsim_ex.options import Options
from qsim_ex.placement.alone import Alone
from qsim_ex.placement.batch import Batch, BatchDevice, States, rows_at_once
from qsim_ex.placement.bits import pack
from qsim_ex.placement.single import Single
from qsim_ex.planning.binding import fill
from qsim_ex.planning.explain import summary
from qsim_ex.program import Segment
from qsim_ex.ready import plan_of, ready_rows
from qsim_ex.result import BatchResult
from qsim_ex.steps import Layout, Plan
from qsim_ex.trajectories import Route, Walk, given

TRAJECTORIES = 1_000
"""How many trajectories an expectation value is the mean of, where nothing is said."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted of every binding.

    shots: None samples nothing. trajectories: how many are run where the circuit leaves something to chance.
    """

    shots: int | None
    observables: tuple[PauliSum, ...]
    trajectories: int


def run_batch(
    options: Options,
    circuit: Circuit,
    bindings: Bindings | ArrayLike | None,
    shots: int | None,
    seeds: int | Sequence[int] | None,
    observables: Sequence[PauliSum],
    trajectories: int | None,
    cancel: threading.Event | None,
) -> BatchResult:
    """See `Simulator.run_batch`."""
    began = perf_counter()
    bound = circuit.operands if bindings is None else bindings
    bound = bound if isinstance(bound, Bindings) else Bindings.of(bound)
    course = course_of(circuit.structure, observed=bool(observables))
    asked = _asked(course, circuit, bound, shots, tuple(observables), trajectories)
    given_seeds = seeds_of(seeds, bound.count, options)
    wheres = _wheres(circuit.num_qubits, options, bound.count * (asked.trajectories if course.choices else 1))
    outcome = _Outcome.empty(circuit, course, asked, bound.count, options.dtype, wheres[0])
    workers = [_Worker(where, course, options, cancel) for where in wheres]
    planned = perf_counter()
    tasks = _Tasks(bound, course, asked, max(worker.rows for worker in workers))
    with ThreadPoolExecutor(max(1, len(workers) - 1), thread_name_prefix="qsim-ex-batch") as pool:
        others = [pool.submit(worker.work, tasks, asked, given_seeds, outcome) for worker in workers[1:]]
        workers[0].work(tasks, asked, given_seeds, outcome)
        for other in others:
            other.result()
    ended = perf_counter()
    return outcome.result(circuit, course, asked, given_seeds, options, workers, planned - began, ended - began)


def seeds_of(seeds: Any, count: int, options: Options) -> tuple[int, ...]:
    """A seed for each binding: those given, or made of one."""
    if seeds is None:
        seeds = sampling.fresh_seed() if options.seed is None else options.seed
    return sampling.seeds_of(seeds, count, "bindings")


def _asked(
    course: Course,
    circuit: Circuit,
    bound: Bindings,
    shots: int | None,
    observables: tuple[PauliSum, ...],
    trajectories: int | None,
) -> Asked:
    """Check what is wanted, before anything else happens."""
    if bound.count < 1:
        raise CircuitError("a batch of no bindings; at least one is wanted.")
    widest = max((one.num_wires() for one in observables), default=0)
    if widest > circuit.num_qubits:
        raise WireError(f"an observable acts on wire {widest - 1}, the circuit has {circuit.num_qubits} wires.")
    if trajectories is not None:
        trajectories = check.count(trajectories, "trajectories")
        if trajectories < 1:
            raise OptionError("trajectories=0: one or more are wanted.")
    if shots is not None:
        shots = check.shots(shots)
        if not course.has_measurement:
            raise MeasurementError("shots were asked for, but the circuit measures nothing; add a measurement.")
        if trajectories not in (None, shots):
            raise OptionError(f"shots={shots} and trajectories={trajectories}: every shot is a trajectory of its own.")
        trajectories = shots
    if trajectories is None:
        trajectories = TRAJECTORIES if observables else 1
    if course.choices and course.labels and trajectories != 1:
        raise NotSupported(
            f"the circuit saves a state ({course.labels[0]!r}) and leaves something to chance (noise, or a measurement "
            f"or reset that something follows), so each of {trajectories} trajectories ends in another state. Ask for "
            "one shot, or for expectation values."
        )
    return Asked(shots, observables, trajectories)


def _wheres(num_wires: int, options: Options, states: int) -> list[Where]:
    """Where the states go: on several devices that each hold whole states, or as `place` says of one."""
    if options.devices is not None and len(options.devices) > 1 and options.virtual_peers == 1:
        whole = options.device_wires is None or options.device_wires >= num_wires
        each = [
            place(num_wires, replace(options, devices=None, device="gpu", device_id=number), states)
            for number in (options.devices if whole else ())
        ]
        if each and all(where.deployment.kind == "single" for where in each):
            return each
    return [place(num_wires, options, states)]


@dataclass(frozen=True, slots=True)
class _Task:
    """Bindings from `begin` up to `end`, and `shots` shots from block · BLOCK on."""

    begin: int
    end: int
    block: int
    shots: int


class _Tasks:
    """All bindings and shots, in pieces; threads may share it."""

    def __init__(self, bound: Bindings, course: Course, asked: Asked, rows: int) -> None:
        self.bound = bound
        self._lock = threading.Lock()
        self._pieces = self._all(course, asked, rows)

    def _all(self, course: Course, asked: Asked, rows: int) -> Iterator[_Task]:
        shots = asked.trajectories if course.choices else 1
        step = rows if not course.choices else max(1, rows // min(shots, BLOCK))
        for begin in range(0, self.bound.count, step):
            for block in range(-(-shots // BLOCK)):
                end = min(begin + step, self.bound.count)
                yield _Task(begin, end, block, min(BLOCK, shots - block * BLOCK))

    def next(self) -> tuple[_Task, Operands] | None:
        """The next piece, with the operands of its bindings."""
        with self._lock:
            task = next(self._pieces, None)
            return None if task is None else (task, self.bound.operands(task.begin, task.end))


class _Worker:
    """One device, or the devices that share one state, and the plans for it."""

    def __init__(self, where: Where, course: Course, options: Options, cancel: threading.Event | None) -> None:
        self.where = where
        self._num_wires = where.deployment.num_wires
        self._course = course
        self._options = options
        self._cancel = cancel
        self.batched = where.deployment.kind == "single" and isinstance(where.device, Batches)
        self._levels = None if where.deployment.kind == "single" else where.deployment.levels
        self.plans = self._plans()
        self.rows = self._rows()
        self.most_rows = 0
        self.states = 0

    def _plans(self) -> tuple[Plan, ...]:
        n, device = self._num_wires, self.where.device
        start, fresh = Layout.identity(n), (1 << n) - 1 if device.grows else 0
        plans: list[Plan] = []
        for part in self._course.parts:
            plans.append(self._plan(part.segment, start, fresh, first=not plans))
            start, fresh = plans[-1].end, plans[-1].left if part.label is None else 0
        return tuple(plans)

    def _plan(self, segment: Segment, start: Layout, fresh: int, *, first: bool = False) -> Plan:
        shape = self.where.device.shape(self._options.dtype)
        place = first and fresh == (1 << self._num_wires) - 1
        return plan_of(segment, self._num_wires, start, shape, fresh, self._levels, place)

    def _rows(self) -> int:
        """How many states are worked on at a time."""
        if not self.batched:
            return 1
        state = self._options.dtype.itemsize << self._num_wires
        count = 16 * max(1, *(plan.numbers.size() for plan in self.plans))
        return max(1, min(rows_at_once(self.where.device, state, count), self.where.free // (2 * state)))

    def work(self, tasks: _Tasks, asked: Asked, seeds: Sequence[int], outcome: _Outcome) -> None:
        """Do tasks until none is left."""
        route = Route(self._course, self.plans, self._plan, self._prepare, self._begin, self.rows, self._tick)
        while (found := tasks.next()) is not None:
            task, operands = found
            mine = seeds[task.begin : task.end]
            known = given(self._course, operands, mine, task.shots)
            early = [[kraus[choice.number] for choice in self._course.early] for kraus in known.kraus]
            walk = Walk(route, known, partial(outcome.finish, task, asked, mine), partial(outcome.save, task))
            walk(first_branches(self._course, early, mine, task.block, task.shots))
            self.most_rows, self.states = max(self.most_rows, walk.most_rows), self.states + walk.states
            outcome.tell(task, self._options)

    def _begin(self, rows: int) -> States:
        """States |0…0> in the layout that the first plan begins in."""
        states: Batch | Alone
        if self.batched:
            states = Batch(cast(BatchDevice, self.where.device), self._num_wires, rows, self._options.dtype)
        elif self._levels is None:
            device, n = self.where.device, self._num_wires
            buffer = device.allocate(1 << n, self._options.dtype)
            if device.grows:
                device.begin(buffer)
            else:
                device.set_basis(buffer, 0)
            states = Alone(Single(device, buffer, Layout.identity(n), (1 << n) - 1 if device.grows else 0))
        else:
            states = Alone(begun(self.where, self._options, 0))
        if states.fresh:
            states.layout = self.plans[0].start
        return states

    def _prepare(self, plan: Plan, operands: Operands) -> Sequence[tuple[Any, Any]]:
        """Bind a plan for all rows, and prepare it on each device."""
        dtype, compile = self._options.dtype, self._options.compile
        local = plan.levels.local
        if self.batched:
            return ready_rows(plan, operands, cast(BatchDevice, self.where.device), dtype, compile).work
        bound, work = fill(plan.numbers, operands[0]), []
        for device in self.where.devices:
            prepared = device.prepare(plan.steps, local, dtype, compile)
            work.append((prepared, device.load(prepared, bound) if isinstance(device, Loads) else bound))
        return work

    def _tick(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled("the batch was cancelled.")


@dataclass(eq=False, slots=True)
class _Outcome:
    """What was found so far; threads write to different bindings or shots, sums are guarded."""

    packed: NDArray[np.uint8] | None
    saved: dict[str, NDArray[np.complexfloating[Any, Any]]]
    masks: list[int]
    recorded: dict[int, int]
    num_clbits: int
    chance: bool
    sums: NDArray[np.complex128]
    squares: NDArray[np.float64]
    done: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def empty(
        cls, circuit: Circuit, course: Course, asked: Asked, count: int, dtype: np.dtype[Any], where: Where
    ) -> _Outcome:
        """Room for everything; raises `OutOfMemory` if there is none."""
        width = -(-circuit.num_clbits // 8)
        if asked.shots is not None:
            require_on_host(
                f"a sample of {asked.shots} shots for each of {count} bindings",
                asked.shots * count * width + sampling.BYTES_PER_SHOT * asked.shots,
                where.host_free,
            )
        states = dtype.itemsize * count * len(course.labels) << circuit.num_qubits
        require_on_host(f"{count * len(course.labels)} saved states", states, where.host_free)
        masks = [0] * circuit.num_qubits
        for clbit, wire in course.measured.items():
            masks[wire] |= 1 << clbit
        size = count, 1 << circuit.num_qubits
        return cls(
            packed=None if asked.shots is None else np.zeros((count, asked.shots, width), dtype=np.uint8),
            saved={label: np.empty(size, dtype=dtype) for label in course.labels},
            masks=masks,
            recorded=course.recorded,
            num_clbits=circuit.num_clbits,
            chance=bool(course.choices),
            sums=np.zeros((count, len(asked.observables)), dtype=np.complex128),
            squares=np.zeros((count, len(asked.observables))),
        )

    def save(self, task: _Task, label: str, states: States, branches: Branches) -> None:
        """Keep states under a label."""
        self.saved[label][task.begin + branches.binding] = states.read()

    def finish(self, task: _Task, asked: Asked, seeds: Sequence[int], states: States, branches: Branches) -> None:
        """Sample states at the end of the course, and take expectation values."""
        if asked.observables:
            values, norms = expectation.in_rows(states, asked.observables)
            if self.chance:
                values = values / norms[:, None]
            counts = branches.counts[:, None]
            with self.lock:
                np.add.at(self.sums, task.begin + branches.binding, counts * values)
                np.add.at(self.squares, task.begin + branches.binding, counts * np.abs(values) ** 2)
        if self.packed is None:
            return
        if self.chance:
            shots, rows = branches.shots, branches.branch_of
        else:  # one branch for each binding stands for all of its shots
            shots, rows = (
                np.tile(np.arange(asked.shots or 0), len(branches)),
                np.repeat(np.arange(len(branches)), asked.shots or 0),
            )
        binding = branches.binding[rows]
        bits = np.zeros((len(rows), self.packed.shape[2]), dtype=np.uint8)
        if any(self.masks):
            drawn = np.concatenate([np.zeros(0), *self._numbers(task, asked, seeds, branches)])
            bits |= pack(sampling.draw_states(states, rows, drawn), self.masks, self.num_clbits)
        for clbit, choice in self.recorded.items():
            bits[:, clbit // 8] |= branches.outcomes[rows, choice] << clbit % 8
        self.packed[task.begin + binding, task.block * BLOCK + shots] = bits

    def _numbers(
        self, task: _Task, asked: Asked, seeds: Sequence[int], branches: Branches
    ) -> Iterator[NDArray[np.float64]]:
        """The random numbers of the shots of each branch."""
        for k, binding in enumerate(branches.binding.tolist()):
            if not self.chance:
                yield sampling.uniforms(seeds[binding], 0, asked.shots or 0)
            else:
                shots = branches.shots[branches.begins[k] : branches.begins[k + 1]]
                yield numbers(seeds[binding], 0, task.block, task.shots)[shots]

    def tell(self, task: _Task, options: Options) -> None:
        """Report progress: bindings done, and bindings in all."""
        with self.lock:
            self.done += task.end - task.begin if task.block == 0 else 0
        if options.progress is not None:
            options.progress(self.done, len(self.sums))

    def result(
        self,
        circuit: Circuit,
        course: Course,
        asked: Asked,
        seeds: tuple[int, ...],
        options: Options,
        workers: Sequence[_Worker],
        planned: float,
        total: float,
    ) -> BatchResult:
        """Everything, with where and how it was found."""
        trajectories = asked.trajectories if self.chance else 1
        values: NDArray[Any] = self.sums / trajectories
        spread = np.maximum(self.squares / trajectories - np.abs(values) ** 2, 0)
        errors = np.sqrt(spread / (trajectories - 1)) if trajectories > 1 else np.full(spread.shape, 0.0)
        if all(complex(term.coefficient).imag == 0 for one in asked.observables for term in one.terms):
            values = np.ascontiguousarray(values.real)
        first, where = workers[0], workers[0].where
        summaries = [summary(plan, options.dtype.itemsize) for plan in first.plans]
        rows = max(worker.most_rows for worker in workers)
        facts: dict[str, Any] = {"bindings": len(seeds), "rows": rows, "states": sum(w.states for w in workers)}
        if self.chance:
            facts |= {"trajectories": trajectories, "stops": course.stops}
        if len(workers) > 1:
            facts["devices"] = [worker.where.device.name for worker in workers]
        return BatchResult(
            shots=asked.shots,
            num_clbits=circuit.num_clbits,
            packed=self.packed,
            saved=self.saved,
            values=values,
            errors=errors,
            seeds=seeds,
            trajectories=trajectories if self.chance else None,
            device=where.device.name,
            device_description=where.device.description,
            device_reason=where.reason,
            precision=options.precision,
            placement=where.deployment.kind,
            plan=sum(summaries[1:], summaries[0]),
            timings={"plan": planned, "run": total - planned, "total": total},
            peak_bytes=where.needed * max(1, rows),
            deployment=where.deployment,
            facts=facts,
        )
