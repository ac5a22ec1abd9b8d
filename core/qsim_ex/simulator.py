"""`Simulator`: a circuit in, a result out. The only place where the parts are put together.

divide → choose a device and check memory → plan → prepare → run, saving states on the way → sample
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import inf
from time import monotonic
from typing import Any

from numpy.typing import ArrayLike

from qsim_ex import sampling
from qsim_ex.batches import run_batch
from qsim_ex.chance import entropy
from qsim_ex.checkpoints import Checkpoints
from qsim_ex.circuit import check
from qsim_ex.circuit.bindings import Bindings
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.readout import ReadoutErrors, check_groups
from qsim_ex.clock import Clock
from qsim_ex.deployment.assign import Where, imagine, place
from qsim_ex.devices.memory import human
from qsim_ex.dynamics import course_of
from qsim_ex.errors import CircuitError, NotSupported
from qsim_ex.grown import Grown
from qsim_ex.options import Options
from qsim_ex.placement import kinds
from qsim_ex.planning.cost import PlanSummary
from qsim_ex.planning.cut import cut
from qsim_ex.planning.explain import explain
from qsim_ex.plans import plans_of, segments_of, total_of
from qsim_ex.program import divide
from qsim_ex.result import BatchResult, Result
from qsim_ex.state import StateVector
from qsim_ex.steps.plan import Plan
from qsim_ex.straight import StraightRun, ask, checked_shots, follow, prepare, require_room, result_of


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
            if where.deployment.in_one_piece and 64 * where.needed < where.free:
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
        clock = Clock()
        run = self._planned(circuit, shots, seed)
        clock.lap("plan")
        ready = prepare(run)
        clock.lap("prepare")
        with StateVector(circuit.num_qubits, options=self.options, where=run.where) as state:
            saved = follow(run, ready, state, cancel)
            clock.lap("run")
            packed, facts = ask(run, state)
        if run.kept is not None:
            run.kept.end(len(run.program.labels))
        clock.lap("sample")
        return result_of(run, saved, packed, facts, readout, clock)

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

    def _planned(self, circuit: Circuit, shots: int | None, seed: int | None) -> StraightRun:
        """Refuse what must be refused before memory is touched, and plan the rest."""
        program = divide(circuit)
        shots = checked_shots(program, shots)
        where = self._where(circuit.num_qubits)
        dtype = self.options.dtype
        require_room(program, shots, where, dtype)
        plans = plans_of(program.segments, where.device, where.deployment, dtype)
        parts: list[tuple[Plan, ...]] = [(plan,) for plan in plans]
        kept: Checkpoints | None = None
        if self.options.checkpoint is not None:
            parts, kept = self._checkpoints(circuit, plans, seed)
            seed = kept.seed
        return StraightRun(circuit, program, shots, self._seed(seed), where, self.options, plans, parts, kept)

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
        segments = segments_of(circuit)
        plans = plans_of(segments, device, deployment, dtype)
        head = f"{device.name}: {device.description}"
        if deployment.in_one_piece:
            lines = [f"{head} ({deployment.reason}), {dtype.name}"]
        else:
            lines = [f"{head}, {dtype.name}", deployment.describe()]
        lines += course.describe(entropy(course, circuit.operands[0]))
        for plan, segment in zip(plans, segments, strict=True):
            lines.append(explain(plan, dtype.itemsize))
            if segment.label is not None:
                lines.append(f"the state is saved as {segment.label!r}")
        if kinds.of(deployment).copies is not None:
            total = total_of(plans, dtype, deployment)
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
        return plans_of(segments_of(circuit), device, deployment, self.options.dtype)

    def summary(self, circuit: Circuit) -> PlanSummary:
        """What a run of a circuit does, counted: sweeps, phases, bytes moved, multiply-adds; runs nothing."""
        device, deployment = imagine(circuit.num_qubits, self.options)
        plans = plans_of(segments_of(circuit), device, deployment, self.options.dtype)
        return total_of(plans, self.options.dtype, deployment)

    def _seed(self, seed: int | None) -> int:
        given = self.options.seed if seed is None else seed
        return sampling.fresh_seed() if given is None else sampling.checked_seed(given)
