"""A run of a circuit that leaves nothing to chance, step by step; `Simulator.run` puts the steps together.

refuse → plan → prepare → follow the plans, saving states on the way → ask the state → tell the result
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import sampling
from qsim_ex.checkpoints import Checkpoints
from qsim_ex.circuit import check
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.readout import ReadoutErrors
from qsim_ex.clock import Clock
from qsim_ex.deployment.assign import Where
from qsim_ex.devices.memory import require, require_on_host
from qsim_ex.errors import MeasurementError, SavedStateError
from qsim_ex.options import Options
from qsim_ex.placement.base import Amplitudes
from qsim_ex.placement.bits import pack
from qsim_ex.plans import total_of
from qsim_ex.program import Program
from qsim_ex.readout import apply_readout
from qsim_ex.ready import Ready, make_ready
from qsim_ex.result import Result
from qsim_ex.state import StateVector
from qsim_ex.steps.plan import Plan


@dataclass(frozen=True, eq=False, slots=True)
class StraightRun:
    """What the steps of a run share, once it is planned.

    shots: None samples nothing. plans: one for each segment of the program.
    parts: each of these plans in the pieces between which the run may stop: one, if there are no checkpoints.
    kept: the checkpoints, if there are any.
    """

    circuit: Circuit
    program: Program
    shots: int | None
    seed: int
    where: Where
    options: Options
    plans: list[Plan]
    parts: list[tuple[Plan, ...]]
    kept: Checkpoints | None


def checked_shots(program: Program, shots: int | None) -> int | None:
    """The shots that were asked for; raises `ShotsError`, `MeasurementError`."""
    if shots is None:
        return None
    shots = check.shots(shots)
    if not program.has_measurement:
        raise MeasurementError("shots were asked for, but the circuit measures nothing; add a measurement.")
    return shots


def require_room(program: Program, shots: int | None, where: Where, dtype: np.dtype[Any]) -> None:
    """Check that the host holds the saved states, besides the state itself where that lives there, and the shots."""
    if program.labels:
        states = len(program.labels) + (where.device.kind == "cpu")
        require(where.deployment.num_wires, dtype, [("the host", where.host_free)], states=states)
    require_on_host(f"a sample of {shots} shots", sampling.BYTES_PER_SHOT * (shots or 0), where.host_free)


def prepare(run: StraightRun) -> list[list[Ready]]:
    """Bind every part to the circuit's numbers and prepare it on the devices."""
    operands, devices = run.circuit.operands, run.where.devices
    dtype, compile = run.options.dtype, run.options.compile
    return [[make_ready(part, operands, devices, dtype, compile) for part in parts] for parts in run.parts]


def follow(
    run: StraightRun, ready: list[list[Ready]], state: StateVector, cancel: threading.Event | None
) -> dict[str, Amplitudes]:
    """Run all segments and return the states that are saved between them; with checkpoints, go on where one stands."""
    kept, ticker = run.kept, state.ticker(run.plans, cancel)
    saved: dict[str, Amplitudes] = {}
    done = 0
    if kept is not None:
        with state.placed() as placed:
            kept.resume(placed)
    for segment, parts in zip(run.program.segments, ready, strict=True):
        for part in parts:
            done += 1
            if kept is not None and done <= kept.done:
                with state.placed() as placed:
                    ticker.skip(placed.ticks(part.plan))
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


def ask(run: StraightRun, state: StateVector) -> tuple[NDArray[np.uint8] | None, dict[str, Any]]:
    """The classical bits of all shots, packed, and facts about a divided state.

    Where amplitudes have been moved about, their norm is looked at once.
    """
    if run.where.deployment.in_one_piece:
        return _sample(run, state), {}
    gates = sum(plan.num_gates for plan in run.plans)
    with state.placed() as placed:
        watchful = placed.norm_check(gates)
        packed = _sample(run, state, watchful)
        if packed is None and watchful is not None:
            watchful(state.norm() ** 2)
        return packed, placed.report()


def _sample(
    run: StraightRun, state: StateVector, watchful: Callable[[float], None] | None = None
) -> NDArray[np.uint8] | None:
    """The classical bits of each shot, packed; bits that nothing was measured into are 0."""
    if run.shots is None:
        return None
    num_clbits, masks = run.circuit.num_clbits, [0] * state.num_wires
    for clbit, wire in run.program.measured.items():
        masks[wire] |= 1 << clbit
    if not any(masks):
        return np.zeros((run.shots, -(-num_clbits // 8)), dtype=np.uint8)
    return pack(state.draw(run.shots, run.seed, check_norm=watchful), masks, num_clbits)


def result_of(
    run: StraightRun,
    saved: dict[str, Amplitudes],
    packed: NDArray[np.uint8] | None,
    facts: dict[str, Any],
    readout: ReadoutErrors,
    clock: Clock,
) -> Result:
    """What was found, with where, how and how fast."""
    where = run.where
    return Result(
        shots=run.shots,
        num_clbits=run.circuit.num_clbits,
        packed=packed if packed is None else apply_readout(packed, readout, run.seed),
        saved=saved,
        seed=run.seed,
        device=where.device.name,
        device_description=where.device.description,
        device_reason=where.reason,
        precision=run.options.precision,
        placement=where.deployment.kind,
        plan=total_of(run.plans, run.options.dtype, where.deployment),
        timings=clock.timings(),
        peak_bytes=where.needed,
        deployment=where.deployment,
        facts=facts,
    )
