"""Many circuits of one structure in one call: planned once, and worked on together.

bindings → choose devices → plan each part of the course → for as many bindings and shots as fit: bind, run, ask
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from time import perf_counter
from typing import Any

from numpy.typing import ArrayLike

from qsim_ex import sampling
from qsim_ex.chance import entropy
from qsim_ex.circuit import check
from qsim_ex.circuit.bindings import Bindings
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.readout import ReadoutErrors, check_groups
from qsim_ex.course import Course
from qsim_ex.deployment.assign import Where, place
from qsim_ex.dynamics import course_of
from qsim_ex.errors import CircuitError, MeasurementError, NotSupported, OptionError, WireError
from qsim_ex.options import Options
from qsim_ex.outcome import Outcome
from qsim_ex.readout import apply_readout
from qsim_ex.result import BatchResult
from qsim_ex.tasks import Asked, Tasks
from qsim_ex.worker import Worker

TRAJECTORIES = 1_000
"""How many trajectories an expectation value is the mean of, where nothing is said."""


def run_batch(
    options: Options,
    circuit: Circuit,
    bindings: Bindings | ArrayLike | None,
    shots: int | None,
    seeds: int | Sequence[int] | None,
    observables: Sequence[PauliSum],
    trajectories: int | None,
    cancel: threading.Event | None,
    readout: ReadoutErrors,
) -> BatchResult:
    """See `Simulator.run_batch`."""
    began = perf_counter()
    bound = circuit.operands if bindings is None else bindings
    bound = bound if isinstance(bound, Bindings) else Bindings.of(bound)
    course = course_of(circuit.structure, observed=bool(observables))
    check_groups(readout, circuit.num_clbits)
    asked = _asked(course, circuit, bound, shots, tuple(observables), trajectories)
    given_seeds = seeds_of(seeds, bound.count, options)
    wheres = _wheres(circuit.num_qubits, options, bound.count * (asked.trajectories if course.choices else 1))
    outcome = Outcome.empty(circuit, course, asked, bound.count, options.dtype, wheres[0])
    workers = [Worker(where, course, options, cancel) for where in wheres]
    planned = perf_counter()
    tree = asked.trajectories > 2 ** min(entropy(course, bound.operands(0, 1)[0]), 62)
    tasks = Tasks(bound, course, asked, max(worker.rows for worker in workers), len(workers), tree=tree)
    with ThreadPoolExecutor(max(1, len(workers) - 1), thread_name_prefix="qsim-ex-batch") as pool:
        others = [pool.submit(_work, worker, tasks, asked, given_seeds, outcome) for worker in workers[1:]]
        _work(workers[0], tasks, asked, given_seeds, outcome)
        for other in others:
            other.result()
    if readout and outcome.packed is not None:
        for bits, seed in zip(outcome.packed, given_seeds, strict=True):
            bits[...] = apply_readout(bits, readout, seed)
    ended = perf_counter()
    return outcome.result(circuit, course, asked, given_seeds, options, workers, planned - began, ended - began)


def _work(worker: Worker, tasks: Tasks, asked: Asked, seeds: Sequence[int], outcome: Outcome) -> None:
    """Do tasks until none is left; after an error or Ctrl-C nobody begins another one."""
    try:
        worker.work(tasks, asked, seeds, outcome)
    except BaseException:
        tasks.end()
        raise


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
    wanted, found = circuit.operands.shape[1], bound.operands(0, 1).shape
    if found != (1, wanted):
        raise CircuitError(f"operands [bindings, {wanted}] of this structure are wanted; those of one are {found}.")
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
        if each and all(where.deployment.in_one_piece for where in each):
            return each
    return [place(num_wires, options, states)]
