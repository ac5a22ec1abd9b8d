"""Sweeps over parameters: ``python -m benchmarks.many [--device gpu] [--out FILE.json]``, in single precision.

*engine*: 1,000 bindings of an efficient SU2 circuit (10 qubits, 150 gates: RZ RY RZ on all wires four times, a ring of
CX between), 100 shots each, in one call of `Simulator.run_batch`, which returns packed bits. The numbers of all
bindings are made before. *engine from angles*: the same, but making the numbers from the angles is timed too.
*qiskit*: the same through ``backend.run(circuit, parameter_binds=…).result()``; *qiskit counts*: and all counts are
read. Beside it Aer's, with its defaults, with parallel circuits, and with parameters bound at run time.
*cirq samples*, *cirq states*: 200 resolvers, 8 qubits, 62 gates, through `run_sweep` (100 repetitions) and
`simulate_sweep`, beside ``cirq.Simulator``.
*estimator*: `EstimatorV2`, exact, 100 random Pauli strings on 12 qubits over 1,000 bindings, beside Aer's.

Whole calls are timed by the wall clock, with the Python of each package. Every turn has fresh angles; circuits with
their parameters are made before, and stay the same.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import turns
from benchmarks.ansatz import ESTIMATED, SAMPLED, SWEPT, in_cirq, in_engine, in_qiskit
from benchmarks.means import Means
from benchmarks.noise import succeeded
from benchmarks.run import set_threads
from benchmarks.turns import Contestant, Goal, Times, Within

GOALS: dict[tuple[str, str], tuple[Goal, ...]] = {
    ("gpu", "engine"): (Within(5e-3),),
    ("gpu", "qiskit"): (Times("aer", 3),),
    ("gpu", "qiskit counts"): (Times("aer", 3),),
    ("cpu", "qiskit"): (Times("aer", 4),),
    ("cpu", "qiskit counts"): (Times("aer", 4),),
    ("cpu", "cirq samples"): (Times("cirq", 10),),
    ("cpu", "cirq states"): (Times("cirq", 10),),
    ("gpu", "cirq samples"): (Times("cirq", 10),),
    ("gpu", "cirq states"): (Times("cirq", 10),),
    ("gpu", "estimator"): (Within(0.1),),
}
"""By device and row; for the sizes that `Sizes` has of itself."""

Makers = Mapping[str, Callable[[], Sequence[Contestant]]]


@dataclass(frozen=True)
class Sizes:
    """How much there is to do."""

    bindings: int = 1000
    shots: int = 100
    resolvers: int = 200
    strings: int = 100


def engine(sizes: Sizes, options: Mapping[str, Any], *, from_angles: bool) -> list[Contestant]:
    """The engine alone."""
    from qsim_ex import Options, Simulator
    from qsim_ex.circuit.parameters.bindings import Bindings

    simulator = Simulator(Options(**options))

    def prepare(turn: int) -> Callable[[], NDArray[np.uint8]]:
        sweep = in_engine(SAMPLED, SAMPLED.angles(turn, sizes.bindings))
        made = sweep.bindings()
        if not from_angles:
            made = Bindings.of(made.operands(0, sizes.bindings))
        return lambda: simulator.run_batch(sweep.template, made, shots=sizes.shots, seeds=turn).packed

    def read(packed: NDArray[np.uint8]) -> Means:
        return Means.of_bits(np.unpackbits(packed, axis=-1, bitorder="little", count=SAMPLED.n))

    return [Contestant("ours", "angles" if from_angles else "operands", prepare, read)]


def backends(sizes: Sizes, name: str, variants: Mapping[str, Any], *, counts: bool) -> list[Contestant]:
    """Backends of Qiskit as one writes it; with `counts`, those of all bindings are read."""
    circuit, parameters = in_qiskit(SAMPLED)
    circuit.measure_all()

    def contestant(variant: str, backend: Any) -> Contestant:
        def prepare(turn: int) -> Callable[[], Any]:
            columns = SAMPLED.angles(turn, sizes.bindings).T.tolist()
            binds = [dict(zip(parameters, columns, strict=True))]

            def work() -> Any:
                job = backend.run(circuit, parameter_binds=binds, shots=sizes.shots, seed_simulator=turn)
                result = succeeded(job.result())
                return (result, [result.get_counts(k) for k in range(sizes.bindings)]) if counts else (result, None)

            return work

        def read(found: Any) -> Means:
            return Means.of_bits(np.array([_bits(found[0].get_counts(k)) for k in range(sizes.bindings)]))

        return Contestant(name, variant, prepare, read)

    return [contestant(variant, backend) for variant, backend in variants.items()]


def _bits(counts: Mapping[str, int]) -> NDArray[np.uint8]:
    """Counts as bits of shots, uint8 [shots, bits]; column c is classical bit c."""
    rows = np.array([[int(letter) for letter in reversed(key)] for key in counts], dtype=np.uint8)
    return np.repeat(rows, list(counts.values()), axis=0)


def our_backend(sizes: Sizes, options: Mapping[str, Any], *, counts: bool) -> list[Contestant]:
    """`QsimExBackend`."""
    from qsim_ex_provider import QsimExBackend

    return backends(sizes, "ours", {"default": QsimExBackend(**options)}, counts=counts)


def aer(sizes: Sizes, threads: int, *, counts: bool) -> list[Contestant]:
    """`AerSimulator`."""
    from qiskit_aer import AerSimulator

    settings: dict[str, dict[str, Any]] = {
        "default": {},
        "parallel": {"max_parallel_experiments": 0},
        "runtime": {"runtime_parameter_bind_enable": True},
    }
    fixed: dict[str, Any] = {"method": "statevector", "precision": "single", "max_parallel_threads": threads}
    variants = {name: AerSimulator(**fixed, **more) for name, more in settings.items()}
    return backends(sizes, "aer", variants, counts=counts)


def sweeps(sizes: Sizes, name: str, make: Callable[[], Any], *, states: bool) -> list[Contestant]:
    """Simulators of Cirq: samples of every resolver, or final states, of which the probabilities are compared."""
    import cirq

    circuit, names = in_cirq(SWEPT)
    sampled = circuit + cirq.measure(*cirq.LineQubit.range(SWEPT.n), key="all")
    simulator = make()

    def prepare(turn: int) -> Callable[[], Any]:
        angles = SWEPT.angles(turn, sizes.resolvers).tolist()
        resolvers = [cirq.ParamResolver(dict(zip(names, row, strict=True))) for row in angles]
        if states:
            return lambda: simulator.simulate_sweep(circuit, resolvers)
        return lambda: simulator.run_sweep(sampled, resolvers, repetitions=sizes.shots)

    def read(found: Any) -> Means:
        if states:
            return Means.exact(np.array([np.abs(one.final_state_vector) ** 2 for one in found]))
        return Means.of_bits(np.array([one.measurements["all"] for one in found]))

    return [Contestant(name, "default", prepare, read)]


def our_cirq(options: Mapping[str, Any]) -> Any:
    """`QsimExSimulator`, which has single precision of itself."""
    from qsim_ex_cirq import QsimExSimulator

    return QsimExSimulator(**{name: value for name, value in options.items() if name != "precision"})


def their_cirq() -> Any:
    """``cirq.Simulator``, which knows no threads but NumPy's."""
    import cirq

    return cirq.Simulator()


def estimators(sizes: Sizes, name: str, make: Callable[[], Any]) -> list[Contestant]:
    """Estimators of Qiskit, exact."""
    from qiskit.quantum_info import SparsePauliOp

    circuit, _ = in_qiskit(ESTIMATED)
    letters = np.random.default_rng(0).choice(list("IXYZ"), (sizes.strings, ESTIMATED.n))
    observables = [SparsePauliOp("".join(row)) for row in letters]
    estimator = make()

    def prepare(turn: int) -> Callable[[], Any]:
        pub = circuit, observables, ESTIMATED.angles(turn, sizes.bindings)[:, None]
        return lambda: estimator.run([pub]).result()[0].data.evs

    return [Contestant(name, "default", prepare, Means.exact)]


def our_estimator(options: Mapping[str, Any]) -> Any:
    """`EstimatorV2` of `qsim_ex_provider`."""
    from qsim_ex_provider import EstimatorV2

    return EstimatorV2(**options)


def aer_estimator(threads: int) -> Any:
    """Aer's."""
    from qiskit_aer.primitives import EstimatorV2

    fixed = {"method": "statevector", "precision": "single", "max_parallel_threads": threads}
    return EstimatorV2(options={"backend_options": fixed, "default_precision": 0.0})


def rows(sizes: Sizes, device: str, threads: int) -> dict[str, Makers]:
    """Who takes part in each row."""
    options = {"device": device, "precision": "single", "threads": threads}
    found: dict[str, Makers] = {
        "engine": {"ours": partial(engine, sizes, options, from_angles=False)},
        "engine from angles": {"ours": partial(engine, sizes, options, from_angles=True)},
    }
    for what, counts in (("qiskit", False), ("qiskit counts", True)):
        ours = partial(our_backend, sizes, options, counts=counts)
        found[what] = {"ours": ours, "aer": partial(aer, sizes, threads, counts=counts)}
    for what, states in (("cirq samples", False), ("cirq states", True)):
        ours = partial(sweeps, sizes, "ours", partial(our_cirq, options), states=states)
        found[what] = {"ours": ours, "cirq": partial(sweeps, sizes, "cirq", their_cirq, states=states)}
    found["estimator"] = {
        "ours": partial(estimators, sizes, "ours", partial(our_estimator, options)),
        "aer": partial(estimators, sizes, "aer", partial(aer_estimator, threads)),
    }
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write; see `turns.finish` for what is returned."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.many", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    turns.common(parser, repeat=5)
    for name, value in vars(Sizes()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value)
    given = parser.parse_args(argv)
    set_threads(given.threads)
    sizes = Sizes(**{name: getattr(given, name) for name in vars(Sizes())})
    made = turns.document("many", given)
    for what, makers in rows(sizes, given.device, given.threads).items():
        if given.rows and what not in given.rows:
            continue
        missing: dict[str, str] = {}
        contestants = turns.gathered(makers, missing)
        made["missing"] |= {f"{what}, {name}": reason for name, reason in missing.items()}
        if contestants:
            goals = GOALS.get((given.device, what), ()) if sizes == Sizes() else ()
            turns.add(made, turns.row(what, contestants, goals, given.repeat), given.out)
    return turns.finish(made)


if __name__ == "__main__":
    sys.exit(main())
