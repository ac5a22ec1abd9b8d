"""Loops over the angles of one circuit in a machine's gates, as it came and as it is written out of its form:

    python -m benchmarks.written_loops [--wires 20] [--points 50] [--family uccsd] [--basis cz]

Every angle of the circuit is a parameter of its own, and each point has other values. A loop is a job of the backend
for each point; a sweep is one job of the backend, or one call of `EstimatorV2`, for all of them. Printed are the time
of the first call, and milliseconds a point of the rest, or of a second call with other values.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from time import perf_counter

import numpy as np
from qiskit import QuantumCircuit, transpile
from qiskit.circuit import ParameterVector
from qiskit.quantum_info import SparsePauliOp

from benchmarks.bases import BASES
from benchmarks.warm import qiskit_circuit
from qsim_ex import thresholds
from qsim_ex_provider import EstimatorV2, QsimExBackend
from tools.golden_counts import FAMILIES

SHOTS = 100
Values = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def parametric(family: str, wires: int, basis: str) -> QuantumCircuit:
    """Return a family with a parameter in the place of each angle, in a basis."""
    made = qiskit_circuit(FAMILIES[family](wires), wires)
    angles = [[isinstance(given, float) for given in one.operation.params] for one in made.data]
    new, used = made.copy_empty_like(), iter(ParameterVector("t", sum(map(sum, angles))))
    for one, free in zip(made.data, angles, strict=True):
        operation = one.operation.to_mutable()
        operation.params = [next(used) if own else given for own, given in zip(free, operation.params, strict=True)]
        new.append(operation, one.qubits)
    gates = BASES[basis]
    return new if gates is None else transpile(new, basis_gates=list(gates), optimization_level=1)


def loop(circuit: QuantumCircuit, values: Values) -> Callable[[], list[float]]:
    """Return a function that runs a job of the backend for each point, and returns the seconds of each."""
    backend, measured = QsimExBackend(device="cpu", precision="single"), circuit.copy()
    measured.measure_all()
    jobs = [measured.assign_parameters(row) for row in values]

    def run() -> list[float]:
        found = []
        for job in jobs:
            begin = perf_counter()
            backend.run(job, shots=SHOTS).result().get_counts()
            found.append(perf_counter() - begin)
        return found

    return run


def sweep(circuit: QuantumCircuit, values: Values) -> Callable[[Values], float]:
    """Return a function that runs one job of the backend for some points, and returns its seconds."""
    backend, measured = QsimExBackend(device="cpu", precision="single"), circuit.copy()
    measured.measure_all()
    del values

    def run(values: Values) -> float:
        binds = [{one: list(column) for one, column in zip(circuit.parameters, values.T, strict=True)}]
        begin = perf_counter()
        backend.run(measured, parameter_binds=binds, shots=SHOTS).result()
        return perf_counter() - begin

    return run


def estimates(circuit: QuantumCircuit) -> Callable[[Values], float]:
    """Return a function that estimates one observable at some points, and returns the seconds of the call."""
    estimator = EstimatorV2(device="cpu", precision="single")
    wires = circuit.num_qubits
    observable = SparsePauliOp(["Z" * wires, "I" * (wires - 2) + "XX", "ZZ" + "I" * (wires - 2)], [1.0, 0.5, 0.25])

    def run(values: Values) -> float:
        begin = perf_counter()
        estimator.run([(circuit, observable, values)]).result()
        return perf_counter() - begin

    return run


def row(name: str, first: float, each: Sequence[float]) -> str:
    """Return a line of times."""
    return f"{name:28} first call {1e3 * first:8.1f} ms, then {1e3 * float(np.median(each)):8.2f} ms a point"


def rows(circuit: QuantumCircuit, values: Values) -> list[str]:
    """Return the times of all three ways."""
    first, *later = loop(circuit, values)()
    found = [row("a job for each point", first, later)]
    for name, run in (("a sweep of the backend", sweep(circuit, values)), ("EstimatorV2", estimates(circuit))):
        one = run(values[: len(values) // 2])
        found.append(row(name, one, [run(values[::-1]) / len(values)]))
    run = estimates(circuit)
    first, *later = [run(point[None]) for point in values]
    found.append(row("EstimatorV2, point by point", first, later))
    return found


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wires", type=int, default=20)
    parser.add_argument("--points", type=int, default=50)
    parser.add_argument("--family", choices=FAMILIES, default="uccsd")
    parser.add_argument("--basis", choices=BASES, default="cz")
    given = parser.parse_args()
    circuit = parametric(given.family, given.wires, given.basis)
    values = np.random.default_rng(1).uniform(-3, 3, (given.points, circuit.num_parameters))
    for way in ("as it came", "written out"):
        with nullcontext() if way == "written out" else thresholds.instead(written_percent=0):
            print(way, *rows(circuit, values), sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
