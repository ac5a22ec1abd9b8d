"""`Simulator`: a circuit in, a result out. The only place where the parts are put together.

divide → choose a device and check memory → plan → prepare → run, saving states on the way → sample
"""

from __future__ import annotations

import threading
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex import sampling
from qsim_ex.circuit import check
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.base import Device
from qsim_ex.devices.memory import require, require_on_host
from qsim_ex.devices.probe import Where, choose, place
from qsim_ex.errors import CircuitError, MeasurementError
from qsim_ex.options import Options
from qsim_ex.placement.bits import pack
from qsim_ex.placement.single import Amplitudes, Single
from qsim_ex.planning.cost import NO_WORK, PlanSummary
from qsim_ex.planning.explain import explain, summary
from qsim_ex.program import Program, divide
from qsim_ex.ready import Ready, make_ready, plan_of
from qsim_ex.result import Result
from qsim_ex.state import StateVector
from qsim_ex.steps import Layout, Plan
from qsim_ex.ticker import Ticker


class Simulator:
    """Runs circuits with some options: ``Simulator(device="cpu", precision="single")``.

    It holds no state, so threads may share it. Raises `OptionError` for an option that does not exist.
    """

    def __init__(self, options: Options | None = None, **changes: Any) -> None:
        self.options = (options or Options()).with_(changes)

    def __repr__(self) -> str:
        return f"Simulator({self.options})"

    def placement(self, num_wires: int) -> Where:
        """Where a state of that many wires would go and why; raises `OutOfMemory`, `DeviceError`."""
        return place(check.count(num_wires, "num_wires"), self.options)

    def run(
        self,
        circuit: Circuit,
        shots: int | None = None,
        seed: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Result:
        """Run a circuit from |0…0> and sample its measurements.

        shots: None samples nothing (saved states are all there is). seed: the options' seed if None, and a fresh one
        if that is None too; the result tells it. cancel: an event that ends the run between two steps.
        Raises, before memory is touched: `ShotsError`, `MeasurementError` if there are shots and no measurement,
        `NotSupported` for a feature of later versions, `OutOfMemory`, `DeviceError`; later only `Cancelled`.
        """
        clock = _Clock()
        program = divide(circuit)
        if shots is not None:
            shots = check.shots(shots)
            if not program.has_measurement:
                raise MeasurementError("shots were asked for, but the circuit measures nothing; add a measurement.")
        seed = self._seed(seed)
        where = self.placement(circuit.num_qubits)
        dtype = self.options.dtype
        _require_saves(program, circuit.num_qubits, dtype, where)
        require_on_host(f"a sample of {shots} shots", sampling.BYTES_PER_SHOT * (shots or 0), where.host_free)
        plans = _plans(program, circuit.num_qubits, where.device, dtype)
        clock.lap("plan")
        ready = [make_ready(plan, circuit.operands, where.device, dtype, self.options.compile) for plan in plans]
        clock.lap("prepare")
        ticker = Ticker(sum(len(plan.steps) for plan in plans), cancel, self.options.progress)
        with StateVector(circuit.num_qubits, options=self.options, where=where) as state:
            saved = _run(state, program, ready, ticker)
            clock.lap("run")
            packed = None if shots is None else _sample(state, program, shots, seed, circuit.num_clbits)
        clock.lap("sample")
        return Result(
            shots=shots,
            num_clbits=circuit.num_clbits,
            packed=packed,
            saved=saved,
            seed=seed,
            device=where.device.name,
            device_description=where.device.description,
            device_reason=where.reason,
            precision=self.options.precision,
            placement=Single.kind,
            plan=sum((_summary(plan, dtype.itemsize) for plan in plans), NO_WORK),
            timings=clock.timings(),
            peak_bytes=where.needed,
        )

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
        if circuit is not None:  # refuse what must be refused before memory is touched
            divide(circuit, touched=0 if initial is None else (1 << num_wires) - 1)
        state = StateVector(num_wires, options=self.options, initial=initial)
        try:
            return state if circuit is None else state.apply(circuit, cancel)
        except BaseException:
            state.close()
            raise

    def explain(self, circuit: Circuit) -> str:
        """The plan of a circuit in words: steps, and bytes moved. Touches no memory and runs nothing."""
        device, reason = choose(circuit.num_qubits, self.options)
        dtype = self.options.dtype
        plans, program = self.plans(circuit), divide(circuit)
        lines = [f"{device.name}: {device.description} ({reason}), {dtype.name}"]
        for plan, segment in zip(plans, program.segments, strict=True):
            lines.append(explain(plan, dtype.itemsize))
            if segment.label is not None:
                lines.append(f"the state is saved as {segment.label!r}")
        return "\n".join(lines)

    def plans(self, circuit: Circuit) -> list[Plan]:
        """The plans that a run of a circuit follows, one for each part between two saves; runs nothing."""
        device, _ = choose(circuit.num_qubits, self.options)
        return _plans(divide(circuit), circuit.num_qubits, device, self.options.dtype)

    def summary(self, circuit: Circuit) -> PlanSummary:
        """What a run of a circuit does, counted: sweeps, phases, bytes moved, multiply-adds; runs nothing."""
        return sum((_summary(plan, self.options.dtype.itemsize) for plan in self.plans(circuit)), NO_WORK)

    def _seed(self, seed: int | None) -> int:
        given = self.options.seed if seed is None else seed
        return sampling.fresh_seed() if given is None else sampling.checked_seed(given)


def _plans(program: Program, num_wires: int, device: Device, dtype: np.dtype[Any]) -> list[Plan]:
    """A plan for each segment, each beginning where the one before it ended; saving puts the wires in order."""
    plans = []
    start, fresh = Layout.identity(num_wires), (1 << num_wires) - 1 if device.grows else 0
    shape = device.shape(dtype)
    for segment in program.segments:
        plan = plan_of(segment, num_wires, start, shape, fresh)
        plans.append(plan)
        fresh = 0
        start = plan.end if segment.label is None else Layout.identity(num_wires)
    return plans


def _run(state: StateVector, program: Program, ready: list[Ready], ticker: Ticker) -> dict[str, Amplitudes]:
    """Run all segments and return the states that are saved between them."""
    saved: dict[str, Amplitudes] = {}
    for segment, work in zip(program.segments, ready, strict=True):
        state.run(work, ticker)
        if segment.label is not None:
            saved[segment.label] = state.canonical().to_numpy()
    ticker.finish()
    state.synchronize()
    return saved


def _sample(state: StateVector, program: Program, shots: int, seed: int, num_clbits: int) -> NDArray[np.uint8]:
    """The classical bits of each shot, packed; bits that nothing was measured into are 0."""
    masks = [0] * state.num_wires
    for clbit, wire in program.measured.items():
        masks[wire] |= 1 << clbit
    if not any(masks):
        return np.zeros((shots, -(-num_clbits // 8)), dtype=np.uint8)
    return pack(state.draw(shots, seed), masks, num_clbits)


@lru_cache(maxsize=256)
def _summary(plan: Plan, itemsize: int) -> PlanSummary:
    """Counted once for a plan: it looks at every item."""
    return summary(plan, itemsize)


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
