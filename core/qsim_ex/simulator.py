"""`Simulator`: a circuit in, a result out. The only place where the parts are put together.

divide → choose a device and check memory → plan → prepare → run, saving states on the way → sample
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import inf
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex import sampling
from qsim_ex.batches import run_batch
from qsim_ex.chance import entropy
from qsim_ex.checkpoints import Checkpoints
from qsim_ex.circuit import check
from qsim_ex.circuit.bindings import Bindings
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.readout import ReadoutErrors, check_groups
from qsim_ex.devices.choice import Deployment
from qsim_ex.devices.memory import human, require, require_on_host
from qsim_ex.devices.probe import Where, imagine, place
from qsim_ex.dynamics import course_of
from qsim_ex.errors import CircuitError, MeasurementError, NotSupported, SavedStateError
from qsim_ex.facts import facts_of, ticks
from qsim_ex.grown import Grown
from qsim_ex.options import Options
from qsim_ex.placement.base import Amplitudes
from qsim_ex.placement.bits import pack
from qsim_ex.placement.norm import check_norm
from qsim_ex.placement.rehearsal import rehearse
from qsim_ex.placement.room import Scenario
from qsim_ex.planning.cost import PlanSummary
from qsim_ex.planning.cut import cut
from qsim_ex.planning.explain import explain, summary
from qsim_ex.program import Program, Segment, divide
from qsim_ex.readout import apply_readout
from qsim_ex.ready import Ready, make_ready, plan_of
from qsim_ex.result import BatchResult, Result
from qsim_ex.state import StateVector
from qsim_ex.steps import Layout, Plan
from qsim_ex.ticker import Ticker

if TYPE_CHECKING:
    from qsim_ex.devices.absent import Planned


class Simulator:
    """Runs circuits with some options: ``Simulator(device="cpu", precision="single")``.

    It holds no state, so threads may share it. Raises `OptionError` for an option that does not exist.
    """

    def __init__(self, options: Options | None = None, **changes: Any) -> None:
        self.options = (options or Options()).with_(changes)
        self._placed: dict[int, tuple[float, Where]] = {}
        self._grown = Grown(self.options)
        self._quiet = self.options.progress is None and self.options.watch is None

    def __repr__(self) -> str:
        return f"Simulator({self.options})"

    def __reduce__(self) -> tuple[Any, ...]:
        # What is remembered of devices stays here.
        return type(self), (self.options,)

    def placement(self, num_wires: int) -> Where:
        """Where a state of that many wires would go and why; raises `OutOfMemory`, `DeviceError`."""
        return place(check.count(num_wires, "num_wires"), self.options)

    def _where(self, num_wires: int) -> Where:
        """The same; for a small state what was found within the last second is good enough."""
        now = monotonic()
        when, where = self._placed.get(num_wires, (-inf, None))
        if where is None or now - when > 1:
            where = self.placement(num_wires)
            if where.deployment.kind == "single" and 64 * where.needed < where.free:
                self._placed[num_wires] = now, where
        return where

    def run(
        self,
        circuit: Circuit,
        shots: int | None = None,
        seed: int | None = None,
        cancel: threading.Event | None = None,
        readout: ReadoutErrors = (),
    ) -> Result:
        """Run a circuit from |0…0> and sample its measurements.

        shots: None samples nothing (saved states are all there is). seed: the options' seed if None, and a fresh one
        if that is None too; the result tells it. cancel: an event that ends the run between two steps.
        readout: how measured bits are misread, see `circuit.readout`.
        Raises, before memory is touched: `ShotsError`, `MeasurementError` if there are shots and no measurement,
        `NotSupported` for a feature of later versions, `OutOfMemory`, `DeviceError`; later only `Cancelled`.
        """
        if course_of(circuit.structure).dynamic:
            if self.options.checkpoint is not None:
                raise NotSupported(
                    "checkpoints of circuits that go on after a measurement, or have noise, are not supported yet."
                )
            return self.run_batch(circuit, shots=shots, seeds=seed, cancel=cancel, readout=readout)[0]
        check_groups(readout, circuit.num_clbits)
        clock = _Clock()
        program = divide(circuit)
        if shots is not None:
            shots = check.shots(shots)
            if not program.has_measurement:
                raise MeasurementError("shots were asked for, but the circuit measures nothing; add a measurement.")
        where = self._where(circuit.num_qubits)
        dtype = self.options.dtype
        _require_saves(program, circuit.num_qubits, dtype, where)
        require_on_host(f"a sample of {shots} shots", sampling.BYTES_PER_SHOT * (shots or 0), where.host_free)
        plans = _plans(program.segments, where.device, where.deployment, dtype)
        parts: list[tuple[Plan, ...]] = [(plan,) for plan in plans]
        kept: Checkpoints | None = None
        if self.options.checkpoint is not None:
            parts, kept = self._checkpoints(circuit, plans, seed)
            seed = kept.seed
        seed = self._seed(seed)
        clock.lap("plan")
        compile = self.options.compile
        ready = [[make_ready(part, circuit.operands, where.devices, dtype, compile) for part in some] for some in parts]
        clock.lap("prepare")
        with StateVector(circuit.num_qubits, options=self.options, where=where) as state:
            ticker = state.ticker(plans, cancel)
            saved = _run(state, program, ready, ticker, kept)
            clock.lap("run")
            watchful = None
            facts: dict[str, Any] = {}
            if where.deployment.kind != "single":  # amplitudes have been moved about: one look at their norm
                gates = sum(plan.num_gates for plan in plans)
                watchful = partial(check_norm, num_gates=gates, dtype=dtype)
            packed = None if shots is None else _sample(state, program, shots, seed, circuit.num_clbits, watchful)
            if watchful is not None:
                if packed is None:
                    watchful(state.norm() ** 2)
                with state.placed() as placed:
                    facts = dict(facts_of(placed))
        if kept is not None:
            kept.end(len(program.labels))
        clock.lap("sample")
        return Result(
            shots=shots,
            num_clbits=circuit.num_clbits,
            packed=packed if packed is None else apply_readout(packed, readout, seed),
            saved=saved,
            seed=seed,
            device=where.device.name,
            device_description=where.device.description,
            device_reason=where.reason,
            precision=self.options.precision,
            placement=where.deployment.kind,
            plan=_total(plans, dtype, where.deployment),
            timings=clock.timings(),
            peak_bytes=where.needed,
            deployment=where.deployment,
            facts=facts,
        )

    def run_batch(
        self,
        circuit: Circuit,
        bindings: Bindings | ArrayLike | None = None,
        *,
        shots: int | None = None,
        seeds: int | Sequence[int] | None = None,
        observables: Sequence[PauliSum] = (),
        trajectories: int | None = None,
        cancel: threading.Event | None = None,
        readout: ReadoutErrors = (),
    ) -> BatchResult:
        """Run many circuits of one structure: planned once, and worked on together where states are small.

        circuit: gives the structure. bindings: the operands of each, complex128 [bindings, total] (see `Bindings`);
        the circuit's own, one binding, if None. shots: of each binding; None samples nothing.
        seeds: one for each binding, which then gives the shots that `run` gives for that seed; or one that all of them
        are made from, the options' seed if None, or else a fresh one.
        observables: their expectation values are taken after the last instruction; measurements at the end of the
        circuit do not disturb them. trajectories: how many a value is the mean of where the circuit leaves something
        to chance; as many as shots, or 1,000, if None. readout: how measured bits are misread, see `circuit.readout`.
        Raises what `run` raises, and `CircuitError`, `OptionError`, `WireError` for what does not fit together.
        """
        return run_batch(self.options, circuit, bindings, shots, seeds, observables, trajectories, cancel, readout)

    def _checkpoints(
        self, circuit: Circuit, plans: Sequence[Plan], seed: int | None
    ) -> tuple[list[tuple[Plan, ...]], Checkpoints]:
        """The parts of each plan between which a run may stop, and its checkpoints."""
        options = self.options
        assert options.checkpoint is not None
        parts = [cut(plan) for plan in plans]
        known = None if seed is None and options.seed is None else self._seed(seed)
        every = [part for some in parts for part in some]
        kept = Checkpoints(options.checkpoint, options.checkpoint_every, circuit, every, options.dtype, known)
        if kept.seed is None:
            kept.seed = sampling.fresh_seed()
        return parts, kept

    def state(
        self,
        circuit: Circuit | None = None,
        *,
        num_wires: int | None = None,
        initial: int | ArrayLike | None = None,
        cancel: threading.Event | None = None,
    ) -> StateVector:
        """The state after all unitary instructions of a circuit; measurements at its end are ignored.

        num_wires: the circuit's by default. initial: a basis value or amplitudes in place of |0…0>.
        The caller owns it: ``with simulator.state(circuit) as state:`` gives the memory back.
        """
        if num_wires is None:
            if circuit is None:
                raise CircuitError("state: a circuit or num_wires is wanted.")
            num_wires = circuit.num_qubits
            if self._quiet and cancel is None and initial is None:
                where = self._where(num_wires)
                if where.grows:
                    return self._grown(circuit, where)
        if circuit is not None:  # refuse what must be refused before memory is touched
            divide(circuit, touched=0 if initial is None else (1 << num_wires) - 1)
        where = self._where(check.count(num_wires, "num_wires"))
        state = StateVector(num_wires, options=self.options, initial=initial, where=where)
        try:
            return state if circuit is None else state.apply(circuit, cancel)
        except BaseException:
            state.close()
            raise

    def explain(self, circuit: Circuit) -> str:
        """The plan of a circuit in words: steps, and bytes moved. Touches no memory and runs nothing."""
        device, deployment = imagine(circuit.num_qubits, self.options)
        dtype = self.options.dtype
        course = course_of(circuit.structure)
        segments = course.segments if course.dynamic else divide(circuit).segments
        plans = _plans(segments, device, deployment, dtype)
        head = f"{device.name}: {device.description}"
        if deployment.kind == "single":
            lines = [f"{head} ({deployment.reason}), {dtype.name}"]
        else:
            lines = [f"{head}, {dtype.name}", deployment.describe()]
        lines += course.describe(entropy(course, circuit.operands[0]))
        for plan, segment in zip(plans, segments, strict=True):
            lines.append(explain(plan, dtype.itemsize))
            if segment.label is not None:
                lines.append(f"the state is saved as {segment.label!r}")
        if deployment.kind == "migrated":
            total = _total(plans, dtype, deployment)
            lines.append(
                f"what is on the device already is not copied: {human(total.bytes_host)} go to and from the host with "
                f"{deployment.in_flight} sub state vectors on it; predicted: {total.seconds:.3g} s"
            )
        return "\n".join(lines)

    def plans(self, circuit: Circuit) -> list[Plan]:
        """The plans that a run of a circuit follows, one for each part between two saves; runs nothing.

        They can be made for GPUs that are not here: give `device` or `devices`, and `max_memory` or `device_wires`.
        """
        device, deployment = imagine(circuit.num_qubits, self.options)
        return _plans(_segments(circuit), device, deployment, self.options.dtype)

    def summary(self, circuit: Circuit) -> PlanSummary:
        """What a run of a circuit does, counted: sweeps, phases, bytes moved, multiply-adds; runs nothing."""
        device, deployment = imagine(circuit.num_qubits, self.options)
        plans = _plans(_segments(circuit), device, deployment, self.options.dtype)
        return _total(plans, self.options.dtype, deployment)

    def _seed(self, seed: int | None) -> int:
        given = self.options.seed if seed is None else seed
        return sampling.fresh_seed() if given is None else sampling.checked_seed(given)


def _segments(circuit: Circuit) -> tuple[Segment, ...]:
    """The work of a circuit between saves, and between stops where it leaves something to chance."""
    course = course_of(circuit.structure)
    return course.segments if course.dynamic else divide(circuit).segments


def _plans(segments: Sequence[Segment], device: Planned, deployment: Deployment, dtype: np.dtype[Any]) -> list[Plan]:
    """A plan for each segment, each beginning where the one before it ended; saving puts the wires in order."""
    plans: list[Plan] = []
    num_wires = deployment.num_wires
    start, fresh = Layout.identity(num_wires), (1 << num_wires) - 1 if device.grows else 0
    shape = device.shape(dtype)
    levels = None if deployment.kind == "single" else deployment.levels
    for segment in segments:
        plan = plan_of(
            segment, num_wires, start, shape, fresh, levels, place=not plans and fresh == (1 << num_wires) - 1
        )
        plans.append(plan)
        start, fresh = (plan.end, plan.left) if segment.label is None else (Layout.identity(num_wires), 0)
    return plans


def _run(
    state: StateVector, program: Program, ready: list[list[Ready]], ticker: Ticker, kept: Checkpoints | None
) -> dict[str, Amplitudes]:
    """Run all segments and return the states that are saved between them; with checkpoints, go on where one stands."""
    saved: dict[str, Amplitudes] = {}
    done = 0
    if kept is not None:
        with state.placed() as placed:
            kept.resume(placed)
    for segment, parts in zip(program.segments, ready, strict=True):
        for part in parts:
            done += 1
            if kept is not None and done <= kept.done:
                with state.placed() as placed:
                    ticker.skip(ticks(placed, part.plan))
                continue
            state.run(part, ticker)
            if kept is not None:
                with state.placed() as placed:
                    kept.after(placed, done)
        if segment.label is not None:
            saved[segment.label] = _saved(state, len(saved), done, kept)
    ticker.finish()
    state.synchronize()
    return saved


def _saved(state: StateVector, label: int, done: int, kept: Checkpoints | None) -> Amplitudes:
    """The state that is saved after so many parts, in the order of the wires; an earlier run may have written it."""
    found = None if kept is None else kept.kept(label)
    if kept is not None and done < kept.done:
        if found is None:
            raise SavedStateError(f"{kept.path} has lost the state that was saved beside it. Remove it and run again.")
        return found
    state.canonical()
    with state.placed() as placed:
        placed.settle()
        if kept is not None and found is None:
            kept.keep(placed, label)
    return state.to_numpy() if found is None else found


def _sample(
    state: StateVector,
    program: Program,
    shots: int,
    seed: int,
    num_clbits: int,
    watchful: Callable[[float], None] | None,
) -> NDArray[np.uint8]:
    """The classical bits of each shot, packed; bits that nothing was measured into are 0."""
    masks = [0] * state.num_wires
    for clbit, wire in program.measured.items():
        masks[wire] |= 1 << clbit
    if not any(masks):
        return np.zeros((shots, -(-num_clbits // 8)), dtype=np.uint8)
    return pack(state.draw(shots, seed, check_norm=watchful), masks, num_clbits)


def _total(plans: Sequence[Plan], dtype: np.dtype[Any], deployment: Deployment) -> PlanSummary:
    """All plans together."""
    slots = deployment.in_flight if deployment.kind == "migrated" else None
    first, *others = (_summary(plan, dtype, slots, deployment.host_memory) for plan in plans)
    return sum(others, first)


@lru_cache(maxsize=256)
def _summary(plan: Plan, dtype: np.dtype[Any], slots: int | None, scenario: Scenario | None) -> PlanSummary:
    """Counted once for a plan: it looks at every item, and a run over host memory is rehearsed."""
    if slots is None:
        return summary(plan, dtype.itemsize)
    copied = rehearse(plan, dtype, slots, scenario or "whole")
    return summary(plan, dtype.itemsize, copied=copied, overlaps=slots > 1)


def _require_saves(program: Program, num_wires: int, dtype: np.dtype[Any], where: Where) -> None:
    """Check that the host holds the saved states, besides the state itself where that lives on the host."""
    if program.labels:
        states = len(program.labels) + (where.device.kind == "cpu")
        require(num_wires, dtype, [("the host", where.host_free)], states=states)


class _Clock:
    """Seconds of each part of a run, and of all of it."""

    def __init__(self) -> None:
        self._begin = self._last = perf_counter()
        self._laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """The part `name` has just ended."""
        now = perf_counter()
        self._laps[name] = now - self._last
        self._last = now

    def timings(self) -> dict[str, float]:
        """Seconds of each part, and the total."""
        return {**self._laps, "total": self._last - self._begin}
