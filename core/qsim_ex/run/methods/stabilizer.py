"""Stabilizer states: circuits of Clifford gates and Pauli noise, whose shots Stim draws.

One reference run holds a tableau of all wires, and each shot only what differs from it (Gidney, "Stim: a fast
stabilizer circuit simulator", 2021). A seed gives the same shots again on one machine with one version of Stim and one
number of shots. They are other shots than those of state vectors, since random numbers are drawn in another order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Save
from qsim_ex.circuit.saves import SAVE_KINDS
from qsim_ex.devices import discover
from qsim_ex.devices.memory import require_on_host
from qsim_ex.display.amounts import human
from qsim_ex.errors import NotSupported, OptionError, OutOfMemory
from qsim_ex.execution.progress import Ticker
from qsim_ex.observe import seeding
from qsim_ex.options import OF_PIECES, Options
from qsim_ex.placement.deployment import Deployment
from qsim_ex.program.separate import separation_of
from qsim_ex.result import BatchResult, Provenance
from qsim_ex.run.methods.method import RunMethod, Suited
from qsim_ex.run.outcome import means, remembered
from qsim_ex.run.over_ranks import with_agreed_seeds
from qsim_ex.run.pipeline import BatchCall
from qsim_ex.run.request import checked_request
from qsim_ex.run.sampled_answers import SampledAnswers
from qsim_ex.run.stim_samples import samples_of
from qsim_ex.stabilizer.gates import INSTALL, is_installed, stim_module
from qsim_ex.stabilizer.questions import fits, is_random
from qsim_ex.stabilizer.stim_circuit import Translation
from qsim_ex.stabilizer.translation import translated
from qsim_ex.steps.layout import Levels

Bits = NDArray[np.uint8]

_OF_AMPLITUDES = ("devices", "virtual_peers", "device_wires", *OF_PIECES, "checkpoint")
"""Options about amplitudes and where they lie."""


@dataclass(frozen=True, slots=True)
class _Random:
    """What a request is checked against: what is saved, and whether something is random before the end."""

    saves: tuple[Save, ...]
    branches: bool


# --- which calls ------------------------------------------------------------------------------------------------------


def suits(call: BatchCall) -> Suited | None:
    """Return why a call runs here, and what runs it; None if another method takes less time, or must take it."""
    began, structure = perf_counter(), call.circuit.structure
    random, needed = is_random(structure), any(SAVE_KINDS[save.what].method for save in structure.saves)
    least = thresholds.now.method_work if random else thresholds.now.stabilizer_work
    width, instructions = structure.num_qubits, len(structure.instructions)
    if not needed and instructions << width < least:  # most circuits end here: this is asked of all
        return None
    if not is_installed() or _refusal(call.options) is not None or not fits(structure, call.bound.operands(0, 1)[0]):
        return None  # that of the first binding, since the circuit may be a template, whose angles are all 0
    apart = separation_of(structure, bool(call.observables), call.groups)
    if apart is not None:
        width = max(len(part.wires) for part in apart.parts)
    if not needed and instructions << width < least:
        return None
    try:
        made = _translations(call)
    except NotSupported:
        return None
    what = "Clifford gates and Pauli noise" if random else "Clifford gates"
    why = f"{what} on {structure.num_qubits} wires take less as a stabilizer state than as a state vector of {width}"
    # All ranks have the shots of one, as those that would share the state vector.
    return Suited("a tableau is saved" if needed else why, lambda: _run(with_agreed_seeds(call, width), began, made))


def would_suit(call: BatchCall) -> str | None:
    """Return what a circuit that does not fit in memory needs to run here; None if it would not."""
    if is_installed() or _refusal(call.options) is not None:
        return None
    if not fits(call.circuit.structure, call.bound.operands(0, 1)[0]):
        return None
    return f"This circuit has Clifford gates and Pauli noise alone: as a stabilizer state it runs with Stim; {INSTALL}."


def _refusal(options: Options) -> str | None:
    """Return what is wrong with options that are about amplitudes; None if nothing is."""
    if options.device == "gpu":
        return "device='auto' or 'cpu', since stabilizer states are simulated on the CPU, got device='gpu'"
    if changed := options.changed(_OF_AMPLITUDES):
        name, given = next(iter(changed.items()))
        return f"no {name}, which is about amplitudes or states in progress, got {name}={given!r}"
    if options.over_processes:
        return f"processes='auto' or 'never', got processes={options.processes!r}"
    return None


# --- a run ------------------------------------------------------------------------------------------------------------


def run(call: BatchCall) -> BatchResult:
    """Run a call with stabilizer states; raises `NotSupported`, `OptionError`, `MissingPackage` for what cannot be."""
    if (wrong := _refusal(call.options)) is not None:
        raise OptionError(f"method='stabilizer': expected {wrong}; leave it out, or use method='statevector'.")
    stim_module()
    return _run(call, perf_counter())


def _translations(call: BatchCall) -> list[Translation]:
    """Return the circuit of each binding for Stim; those with equal numbers are one."""
    found: list[Translation] = []
    before: NDArray[np.complex128] | None = None
    for binding in range(call.bound.count):
        operands = call.bound.operands(binding, binding + 1)[0]
        if before is not None and np.array_equal(operands, before):
            found.append(found[-1])
            continue
        found.append(translated(call.circuit.structure, operands, call.readout, call.observables))
        before = operands
    return found


def _run(call: BatchCall, began: float, made: Sequence[Translation] | None = None) -> BatchResult:
    """Run the circuits of all bindings; began: when their translation began. made: the circuits, if that has ended."""
    structure, options = call.circuit.structure, call.options
    saves = structure.saves
    random = _Random(saves, is_random(structure))
    asked = call.shots, call.observables, call.trajectories, call.readout, structure.measures
    request = checked_request(random, call.circuit, call.bound, *asked, keeps="stabilizer")
    where = _where(call.circuit, options)
    count = call.bound.count
    answers = SampledAnswers.empty(call, request, saves)
    circuits = _translations(call) if made is None else made
    seeds = seeding.given_seeds(call.seeds, count, options) or seeding.fresh_seeds(count)
    total = request.trajectories if request.shots is None else request.shots
    planned = perf_counter()
    with Ticker(call.cancel, options.progress, options.watch) as ticker:
        ticker.expect(count * total, (1,), lambda: 0)
        for binding, (circuit, seed) in enumerate(zip(circuits, seeds, strict=True)):
            ticker.check()
            first = 0
            for samples in samples_of(circuit, seed, total):
                ticker.advance(samples.shape[1])
                answers.take(binding, circuit, first, samples)
                first += samples.shape[1]
            answers.misread(binding, circuit, seed)
        ticker.finish()
    ended = perf_counter()
    values, errors = means(answers.sums, answers.squares, request)
    device = discover.cpu(options.threads)
    seconds = {"plan": planned - began, "prepare": 0.0, "run": ended - planned, "sample": 0.0, "total": ended - began}
    facts = {"method": "stabilizer", "bindings": count, "rows": 1, "states": count, "way": "Stim"}
    facts |= {"stim": stim_module().__version__, "records": circuits[0].records}
    facts |= {"trajectories": request.trajectories} if random.branches else {}
    words = f"{device.description}; Stim {facts['stim']}"
    provenance = remembered(
        Provenance(device.name, words, options.precision, where, (), seconds, where.device_bytes, facts)
    )
    return BatchResult(
        shots=request.shots,
        num_clbits=structure.num_clbits,
        packed=answers.packed,
        saved={label: one.result() for label, one in answers.saves.items()},
        values=values,
        errors=errors,
        seeds=seeds,
        trajectories=request.trajectories if random.branches else None,
        provenance=provenance,
        records=answers.records(circuits),
    )


def _where(circuit: Circuit, options: Options) -> Deployment:
    """Return the place of the tableau; raises `OutOfMemory` if it does not fit."""
    wires = circuit.num_qubits
    needed = wires * (2 * wires + 1) // 2  # 2n strings of n wires, two bits for each
    if options.max_memory is not None and needed > options.device_limit:
        raise OutOfMemory(
            f"the tableau of {wires} wires needs {human(needed)}, and max_memory allows {human(options.device_limit)}; "
            "raise max_memory, or use fewer wires."
        )
    require_on_host(f"the tableau of {wires} wires", needed, discover.free_bytes(discover.HOST, needed))
    reason = "stabilizer states are simulated on the CPU"
    return Deployment("single", wires, Levels(wires), (0,), 1, None, needed, 0, reason)


# --- words ------------------------------------------------------------------------------------------------------------


def explain(call: BatchCall) -> list[str]:
    """Return what a run of a call does, in words."""
    module, wires = stim_module(), call.circuit.num_qubits
    made = translated(call.circuit.structure, call.circuit.operands[0])
    counts = Counter[str]()
    for instruction in module.Circuit("\n".join(made.texts)):
        counts[instruction.name] += len(instruction.target_groups())
    told = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    held = human(_where(call.circuit, call.options).device_bytes)
    of_shots = f"{len(made.between)} times Pauli gates or noise stand under conditions that are computed shot by shot"
    return [
        f"cpu: Stim {module.__version__}: a stabilizer state of {wires} wires, without amplitudes",
        f"a reference run holds its tableau, {held}, and each shot what differs from it",
        f"Stim's circuit has {told or 'nothing'}",
        *([of_shots] if made.between else []),
    ]


METHOD = RunMethod(run, suits, explains=explain, would_suit=would_suit)
