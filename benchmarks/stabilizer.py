"""Clifford circuits without amplitudes: ``python -m benchmarks.stabilizer [--aer] [--out FILE.json]``.

Three circuits: a GHZ state of 100 qubits through Qiskit, 1,024 shots; a surface code of distance 3 through Qiskit, ten
rounds of noisy gates, measurements and resets with an X under a condition in each, 10,000 shots; and a drawn Clifford
circuit of 1,000 wires and 100,000 gates in the engine, all wires measured in 1,000 shots. Each is run twice in one
process, in which another circuit has run on Stim before; building circuits is not timed. Of each run there are seconds
and processor seconds, and of each circuit how much the process grew at its peak.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from qiskit import QuantumCircuit

from qsim_ex import Circuit, CircuitBuilder, NoiseModel, Simulator, bit_flip, depolarizing
from qsim_ex_provider import QsimExBackend

GOALS = {"ghz": 0.010, "surface code": 2.0, "clifford": 1.0}
"""Processor seconds of a run, at most."""

X_CHECKS, Z_CHECKS = ((0, 1, 3, 4), (4, 5, 7, 8), (1, 2), (6, 7)), ((1, 2, 4, 5), (3, 4, 6, 7), (0, 3), (5, 8))
"""The data qubits of each check of the rotated surface code of distance 3."""

ONE, TWO = ("h", "s", "sdg", "sx", "x", "y", "z"), ("cx", "cz", "swap")


def ghz(qubits: int) -> QuantumCircuit:
    """Return a GHZ state, all of whose qubits are measured."""
    circuit = QuantumCircuit(qubits)
    circuit.h(0)
    for pair in pairwise(range(qubits)):
        circuit.cx(*pair)
    circuit.measure_all()
    return circuit


def surface_code(rounds: int) -> QuantumCircuit:
    """Return rounds of the surface code: qubits 0 to 8 are data, 9 to 12 check X, 13 to 16 check Z."""
    circuit = QuantumCircuit(17, 8 * rounds + 9)
    checks = range(9, 17)
    for number in range(rounds):
        circuit.h(checks[:4])
        for check, data in zip(checks[:4], X_CHECKS, strict=True):
            circuit.cx(check, list(data))
        for check, data in zip(checks[4:], Z_CHECKS, strict=True):
            circuit.cx(list(data), check)
        circuit.h(checks[:4])
        circuit.measure(checks, range(8 * number, 8 * number + 8))
        circuit.reset(checks)
        with circuit.if_test((circuit.clbits[8 * number], 1)):
            circuit.x(0)
    circuit.measure(range(9), range(8 * rounds, 8 * rounds + 9))
    return circuit


def noise() -> NoiseModel:
    """Return noise after every gate and reset, and before measurements as flips of what is read."""
    model = NoiseModel().with_error("cx", depolarizing(0.005, 2)).with_error("reset", bit_flip(0.01))
    for name in ("h", "x"):
        model = model.with_error(name, depolarizing(0.001))
    return model.with_misreading([[0.98, 0.02], [0.02, 0.98]])


def clifford(wires: int, gates: int, seed: int) -> Circuit:
    """Return drawn gates of one wire and two, and measurements of all wires."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(wires, wires)
    for _ in range(gates):
        names = ONE if rng.random() < 0.5 else TWO
        builder.gate(str(rng.choice(names)), rng.choice(wires, 1 if names is ONE else 2, replace=False).tolist())
    return builder.measure(range(wires), range(wires)).build()


def runs(aer: bool) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name."""
    backend, noisy = QsimExBackend(method="stabilizer"), QsimExBackend(method="stabilizer", noise_model=noise())
    wide, code, drawn = ghz(100), surface_code(10), clifford(1000, 100_000, 1)
    found: dict[str, Callable[[], Any]] = {
        "ghz": lambda: backend.run(wide, shots=1024).result().get_counts(),
        "surface code": lambda: noisy.run(code, shots=10_000).result().get_counts(),
        "clifford": lambda: Simulator(method="stabilizer").run(drawn, 1000),
    }
    if aer:
        from qiskit_aer import AerSimulator

        peer = AerSimulator(method="stabilizer")
        found["ghz (Aer)"] = lambda: peer.run(wide, shots=1024).result().get_counts()
    return found


def peak() -> float:
    """Return the most memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(arguments: Sequence[str] | None = None) -> int:
    """Time everything and print it; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--aer", action="store_true", help="also time Aer's method of that name, without noise")
    parser.add_argument("--out", type=Path, help="write the numbers to a file of JSON")
    asked = parser.parse_args(arguments)
    QsimExBackend(method="stabilizer").run(ghz(5), shots=10).result().get_counts()  # which loads Stim
    found: dict[str, dict[str, Any]] = {}
    for name, run in runs(asked.aer).items():
        before, seconds, processor = peak(), [], []
        for _ in range(2):
            began, used = perf_counter(), process_time()
            run()
            seconds.append(perf_counter() - began)
            processor.append(process_time() - used)
        found[name] = {"seconds": seconds, "processor": processor, "grown_mib": peak() - before}
        told = ", ".join(f"{1e3 * one:.1f} ms" for one in processor)
        print(f"{name}: processor {told}; wall {1e3 * min(seconds):.1f} ms; {peak() - before:.0f} MiB")
    if asked.out:
        asked.out.write_text(json.dumps(found, indent=1) + "\n")
    return int(any(min(found[name]["processor"]) > goal for name, goal in GOALS.items()))


if __name__ == "__main__":
    sys.exit(main())
