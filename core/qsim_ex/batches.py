"""Many circuits of one structure in one call: translated once, planned once, worked on together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qsim_ex import sampling
from qsim_ex.circuit import check
from qsim_ex.circuit.bindings import Bindings
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.errors import CircuitError, OptionError, WireError
from qsim_ex.options import Options
from qsim_ex.result import BatchResult, Result
from qsim_ex.state import StateVector


def run_batch(
    options: Options,
    run: Callable[[Circuit, int | None, int], Result],
    circuit: Circuit,
    bindings: Bindings | ArrayLike | None,
    shots: int | None,
    seeds: int | Sequence[int] | None,
    observables: Sequence[PauliSum],
    trajectories: int | None,
    cancel: threading.Event | None,
) -> BatchResult:
    """See `Simulator.run_batch`."""
    begin = perf_counter()
    bound = circuit.operands if bindings is None else bindings
    bound = bound if isinstance(bound, Bindings) else Bindings.of(bound)
    if bound.count < 1:
        raise CircuitError("a batch of no bindings; at least one is wanted.")
    widest = max((one.num_wires() for one in observables), default=0)
    if widest > circuit.num_qubits:
        raise WireError(f"an observable acts on wire {widest - 1}, the circuit has {circuit.num_qubits} wires.")
    if trajectories is not None:
        trajectories = check.shots(trajectories)
    given = seeds_of(seeds, bound.count, options)
    results, values = [], []
    for k in range(bound.count):
        one = Circuit(circuit.num_qubits, circuit.num_clbits, circuit.instructions, bound.operands(k, k + 1))
        results.append(run(one, shots, given[k]))
        if observables:
            with StateVector(circuit.num_qubits, options=options) as state:
                values.append(state.apply(one, cancel).expectation(list(observables)))
    first = results[0]
    return BatchResult(
        shots=first.shots,
        num_clbits=first.num_clbits,
        packed=None if first.packed is None else np.stack([r.packed for r in results if r.packed is not None]),
        saved={label: np.stack([r.saved[label] for r in results]) for label in first.saved},
        values=np.array(values) if observables else np.zeros((bound.count, 0)),
        errors=np.zeros((bound.count, len(observables))),
        seeds=given,
        trajectories=None,
        device=first.device,
        device_description=first.device_description,
        device_reason=first.device_reason,
        precision=first.precision,
        placement=first.placement,
        plan=first.plan,
        timings={"total": perf_counter() - begin},
        peak_bytes=first.peak_bytes,
        deployment=first.deployment,
        facts=first.facts,
    )


def seeds_of(seeds: Any, count: int, options: Options) -> tuple[int, ...]:
    """A seed for each binding: those given, or made of one."""
    if seeds is None or isinstance(seeds, int | np.integer):
        base = options.seed if seeds is None else int(seeds)
        base = sampling.fresh_seed() if base is None else sampling.checked_seed(base)
        if count == 1:
            return (base,)
        return tuple(np.random.SeedSequence(base).generate_state(count, np.uint64).tolist())
    given = tuple(sampling.checked_seed(seed) for seed in seeds)
    if len(given) != count:
        raise OptionError(f"{len(given)} seeds for {count} bindings; one for each, or a single one, is wanted.")
    return given
