"""Translation in microseconds: ``python -m benchmarks.translation [--turns 15] [--out FILE.json]``.

*Gates*: circuits of 16 qubits, 2,000 named gates of 12 kinds or 500 two-qubit matrices, all different, on random wires,
from a framework's circuit to one of the engine that is ready for planning: with the checks of its structure and its
division. The *first* translation is that of a circuit that has just been built, whose structure is not known; *again*
is that of the same object, unchanged. Of *noisy* circuits, with a channel after each gate, division is not counted.
Times are those of the thread, and the least of all turns.
*Estimator*: ``efficient_su2(6, reps=2)`` with 36 parameters, 5 Pauli strings, one point a call, the same circuit
object; Aer's and Qiskit's estimators take turns with ours.

Goals: `GOALS`, in microseconds of a first translation; `PEERS`, the peer's time over ours.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, thread_time
from typing import Any

import cirq
import numpy as np
from qiskit.circuit import QuantumCircuit
from qiskit.circuit.library import UnitaryGate, efficient_su2
from qiskit.quantum_info import SparsePauliOp, random_unitary

from benchmarks import machine
from qsim_ex import Circuit
from qsim_ex.circuit.noise.channels import depolarizing
from qsim_ex.circuit.noise.model import NoiseModel
from qsim_ex.program.divide import program_of
from qsim_ex_cirq.translation.circuits import translate as from_cirq
from qsim_ex_provider.translation.circuits import translate_noisy

QUBITS, GATES, MATRICES = 16, 2000, 500

GOALS = {"qiskit gate": 1.5, "cirq gate": 2.0, "qiskit matrix": 6.0, "cirq matrix": 6.0}
PEERS = {"aer": 3.0, "statevector": 1.5}

_ONE, _TURNS, _TWO = ("h", "x", "s", "t", "sx"), ("rx", "ry", "rz", "p"), ("cx", "cz", "swap")
NOISE = NoiseModel().with_error([*_ONE, *_TURNS], depolarizing(0.001)).with_error([*_TWO], depolarizing(0.01, 2))


def named(seed: int) -> tuple[QuantumCircuit, cirq.Circuit]:
    """Return random named gates in both frameworks' words."""
    rng, made, gates = np.random.default_rng(seed), QuantumCircuit(QUBITS), []
    qubits = cirq.LineQubit.range(QUBITS)
    fixed = {"h": cirq.H, "x": cirq.X, "s": cirq.S, "t": cirq.T, "sx": cirq.X**0.5}
    fixed |= {"cx": cirq.CX, "cz": cirq.CZ, "swap": cirq.SWAP}
    for _ in range(GATES):
        name = str(rng.choice([*_ONE, *_TURNS, *_TWO]))
        wires = [int(wire) for wire in rng.permutation(QUBITS)[: 2 if name in _TWO else 1]]
        angle = float(rng.uniform(-3, 3))
        on = [qubits[wire] for wire in wires]
        if name in _TURNS:
            getattr(made, name)(angle, *wires)
            gates.append((cirq.ZPowGate(exponent=angle) if name == "p" else getattr(cirq, name)(angle))(*on))
        else:
            getattr(made, name)(*wires)
            gates.append(fixed[name](*on))
    return made, cirq.Circuit(gates)


def matrices(seed: int) -> tuple[QuantumCircuit, cirq.Circuit]:
    """Return random two-qubit matrices in both frameworks' words."""
    rng, made, gates = np.random.default_rng(seed), QuantumCircuit(QUBITS), []
    qubits = cirq.LineQubit.range(QUBITS)
    kinds = [random_unitary(4, seed=1000 * seed + k).data for k in range(MATRICES)]
    for k in range(MATRICES):
        one, other = (int(wire) for wire in rng.permutation(QUBITS)[:2])
        made.append(UnitaryGate(kinds[k]), [one, other])
        gates.append(cirq.MatrixGate(kinds[k])(qubits[one], qubits[other]))
    return made, cirq.Circuit(gates)


def ready(circuit: Circuit) -> None:
    """Do all that comes between translation and planning."""
    if circuit.structure.all_joined:
        program_of(circuit.structure, False, 0, ())


def microseconds(translate: Callable[[Any], Circuit], build: Callable[[int], Any], turns: int) -> dict[str, float]:
    """Return the least microseconds of a circuit's first translation, and of another one of the same object."""
    first, again = [], []
    for turn in range(turns):
        circuit = build(turn)
        program_of.cache_clear()  # which keeps structures
        for found in (first, again):
            began = thread_time()
            ready(translate(circuit))
            found.append(1e6 * (thread_time() - began))
    return {"first": min(first[1:]), "again": min(again[1:])}


def gates(turns: int) -> dict[str, dict[str, float]]:
    """Return microseconds for each gate and matrix, for both frameworks."""
    cells: dict[str, tuple[Callable[[Any], Circuit], Callable[[int], Any], int]] = {
        "qiskit gate": (lambda c: translate_noisy(c, None).circuit, lambda seed: named(seed)[0], GATES),
        "qiskit gate, noisy": (lambda c: translate_noisy(c, NOISE).circuit, lambda seed: named(seed)[0], GATES),
        "qiskit matrix": (lambda c: translate_noisy(c, None).circuit, lambda seed: matrices(seed)[0], MATRICES),
        "cirq gate": (lambda c: from_cirq(c).circuit, lambda seed: named(seed)[1], GATES),
        "cirq matrix": (lambda c: from_cirq(c).circuit, lambda seed: matrices(seed)[1], MATRICES),
    }
    found = {}
    for name, (translate, build, count) in cells.items():
        found[name] = {which: one / count for which, one in microseconds(translate, build, turns).items()}
    return found


def estimators(turns: int) -> dict[str, list[float]]:
    """Return the seconds of a single-point loop of each estimator; they take turns."""
    from qiskit.primitives import StatevectorEstimator
    from qiskit_aer.primitives import EstimatorV2 as AerEstimator

    from qsim_ex_provider import EstimatorV2

    circuit, rng = efficient_su2(6, reps=2), np.random.default_rng(0)
    strings = ["ZZIIII", "IXXIII", "IIYYII", "ZIIIIZ", "XXXXXX"]
    observable = SparsePauliOp(strings, [0.1, 0.2, 0.3, 0.4, 0.5])
    ways = {"ours": EstimatorV2(), "aer": AerEstimator(), "statevector": StatevectorEstimator()}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(turns + 1):
        for name, estimator in ways.items():
            values = rng.uniform(-3, 3, circuit.num_parameters)
            began = perf_counter()
            estimator.run([(circuit, observable, values)]).result()
            if turn:
                seconds[name].append(perf_counter() - began)
    return seconds


def main() -> None:
    """Measure, print tables, and write everything to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = gates(given.turns)
    print(f"{'µs, the least of turns':28}{'first':>8}{'again':>8}{'goal':>8}")
    for name, cell in found.items():
        print(f"{name:28}{cell['first']:8.2f}{cell['again']:8.2f}{GOALS.get(name, ''):>8}")
    seconds = estimators(10 * given.turns)
    print(f"\n{'estimator, ms':28}{'median':>8}{'least':>8}{'/ ours':>8}{'goal':>8}")
    for name, turns in seconds.items():
        ratio = median(turns) / median(seconds["ours"])
        goal = PEERS.get(name, "")
        print(f"{name:28}{1e3 * median(turns):8.2f}{1e3 * min(turns):8.2f}{ratio:8.2f}{goal:>8}")
    if given.out is not None:
        about = {"kind": "translation", "turns": given.turns, "commit": machine.commit(), "machine": machine.describe()}
        written = {**about, "microseconds": found, "goals": {**GOALS, **PEERS}, "estimator": seconds}
        given.out.write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
