"""Density matrices of noisy circuits: beside Aer's method and ``cirq.DensityMatrixSimulator``, in turns.

    python -m benchmarks.density --n 6 8 10 12 --device cpu --out density.json

A circuit has 200 gates, half of them U and half CX on drawn qubits, each followed by a channel: depolarizing noise, or
amplitude and phase damping. A job is timed from the call to the expectation value of Z⊗…⊗Z, with translation. Aer and
`QsimExBackend` compute in double precision, which is the default of both, and the classes for Cirq in single precision,
which is theirs. All values must agree. With ``--one-thread`` each computes in one thread, and times are those of the
processor, so that a machine that others use too gives the same ratios. On a GPU only qsim-ex is timed there, and the
others beside it on the CPU.
The goal: 10 qubits on a CPU at least ten times faster than both, 12 qubits on a GPU three times that again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import cirq
import numpy as np
from qiskit import QuantumCircuit
from qiskit.quantum_info import SparsePauliOp
from qiskit_aer import AerSimulator
from qiskit_aer.noise import NoiseModel, amplitude_damping_error, depolarizing_error, phase_damping_error

from benchmarks import machine
from qsim_ex_cirq import QsimExDensityMatrixSimulator
from qsim_ex_provider import QsimExBackend

GATES = 200
ONE, TWO = 0.001, 0.01
"""The probability of a depolarizing error after a gate on one qubit and on two."""

CIRQ_WIRES = 9
"""Beyond this a circuit takes Cirq's simulator minutes; ``--slow`` asks for it all the same."""


def drawn(wires: int) -> list[tuple[str, tuple[int, ...], tuple[float, ...]]]:
    """Return the gates of a circuit: name, qubits, angles."""
    rng = np.random.default_rng(wires)
    found: list[tuple[str, tuple[int, ...], tuple[float, ...]]] = []
    for _ in range(GATES // 2):
        found.append(("u", (int(rng.integers(wires)),), tuple(rng.uniform(0, 2 * np.pi, 3).tolist())))
        found.append(("cx", tuple(map(int, rng.choice(wires, 2, replace=False))), ()))
    return found


def for_qiskit(wires: int, noise: str) -> tuple[QuantumCircuit, NoiseModel]:
    """Return the circuit and the noise in Qiskit's words."""
    circuit = QuantumCircuit(wires)
    for name, qubits, angles in drawn(wires):
        getattr(circuit, name)(*angles, *qubits)
    circuit.save_expectation_value(SparsePauliOp("Z" * wires), range(wires))
    model = NoiseModel()
    if noise == "depolarizing":
        one, two = depolarizing_error(ONE, 1), depolarizing_error(TWO, 2)
    else:
        one = amplitude_damping_error(TWO).compose(phase_damping_error(TWO))
        two = one.tensor(one)
    model.add_all_qubit_quantum_error(one, ["u"])
    model.add_all_qubit_quantum_error(two, ["cx"])
    return circuit, model


def for_cirq(wires: int, noise: str) -> cirq.Circuit:
    """Return the noisy circuit in Cirq's words."""
    qubits = cirq.LineQubit.range(wires)
    circuit = cirq.Circuit()
    for name, on, angles in drawn(wires):
        at = [qubits[k] for k in on]
        if name == "u":
            theta, phi, lam = angles
            circuit += [cirq.rz(lam)(*at), cirq.ry(theta)(*at), cirq.rz(phi)(*at)]
        else:
            circuit += cirq.CNOT(*at)
        if noise == "depolarizing":
            size = 4 ** len(at)
            circuit += cirq.depolarize((ONE if len(at) == 1 else TWO) * (size - 1) / size, len(at))(*at)
        else:
            circuit += [channel(TWO)(qubit) for qubit in at for channel in (cirq.amplitude_damp, cirq.phase_damp)]
    return circuit


def ways_of(wires: int, noise: str, device: str, threads: int | None, *, slow: bool) -> dict[str, Callable[[], float]]:
    """Return the ways to compute the value. threads: None for as many as there are. slow: whether Cirq may be."""
    written, model = for_qiskit(wires, noise)
    backend = QsimExBackend(noise_model=model, method="density_matrix", device=device, threads=threads)
    aer = AerSimulator(noise_model=model, method="density_matrix", max_parallel_threads=threads or 0)
    circuit = for_cirq(wires, noise)
    observable = cirq.PauliString(dict.fromkeys(cirq.LineQubit.range(wires), cirq.Z))
    order = cirq.LineQubit.range(wires)
    ours, theirs = QsimExDensityMatrixSimulator(device=device, threads=threads), cirq.DensityMatrixSimulator()

    def valued(simulator: Any) -> float:
        return float(np.real(simulator.simulate_expectation_values(circuit, observable, qubit_order=order)[0]))

    def of_backend(one: Any) -> float:
        return float(one.run(written, shots=1).result().data(0)["expectation_value"])

    ways = {"qsim-ex": lambda: of_backend(backend), "aer": lambda: of_backend(aer)}
    ways["qsim-ex cirq"] = lambda: valued(ours)
    if wires <= CIRQ_WIRES or slow:
        ways["cirq"] = lambda: valued(theirs)
    return ways


def measured(ways: dict[str, Callable[[], float]], turns: int, clock: Callable[[], float]) -> dict[str, list[float]]:
    """Return the seconds of all turns but the first one of each way; all values must agree."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    values: dict[str, float] = {}
    for turn in range(turns + 1):
        for name, run in ways.items():
            if turn > 1 and name == "cirq":  # once is enough for what takes so long
                continue
            began = clock()
            values[name] = run()
            if turn or name == "cirq":
                times[name].append(clock() - began)
    first = values["qsim-ex"]
    for name, value in values.items():
        if abs(value - first) > (1e-10 if name == "aer" else 1e-4):
            raise AssertionError(f"{name} gives {value}, expected {first}")
    return times


def main() -> None:
    """Time all circuits, print a table, and write all times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[6, 8, 10])
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--one-thread", action="store_true")
    parser.add_argument("--slow", action="store_true", help="Cirq's simulator for more than 9 qubits too")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    written: dict[str, Any] = {}
    print(
        f"{'seconds, median of turns':32}{'qsim-ex':>10}{'Aer':>10}{'ratio':>8}{'for Cirq':>10}{'Cirq':>10}{'ratio':>8}"
    )
    for wires in given.n:
        for noise in ("depolarizing", "damping"):
            ways = ways_of(wires, noise, given.device, 1 if given.one_thread else None, slow=given.slow)
            times = measured(ways, given.turns, process_time if given.one_thread else perf_counter)
            found = {name: median(turns) for name, turns in times.items() if turns}
            row = f"{wires:3} qubits, {GATES} gates, {noise:12}"
            row += f"{found['qsim-ex']:9.4f}{found['aer']:10.4f}{found['aer'] / found['qsim-ex']:8.1f}"
            row += f"{found['qsim-ex cirq']:10.4f}"
            if "cirq" in found:
                row += f"{found['cirq']:10.4f}{found['cirq'] / found['qsim-ex cirq']:8.1f}"
            print(row, flush=True)
            written[f"{wires} {noise}"] = times
    if given.out is not None:
        about = {"device": given.device, "commit": machine.commit(), "machine": machine.describe()}
        given.out.write_text(json.dumps({**about, "times": written}, indent=1) + "\n")


if __name__ == "__main__":
    main()
