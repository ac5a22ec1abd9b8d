"""Narrow, deep and noisy circuits: whole jobs of `QsimExBackend` beside Qiskit Aer, in turns.

    python -m benchmarks.narrow_noise [--new] --out narrow_noise.json

Each job is a list of circuits with a noise model and 1,024 shots, timed from the call of ``run`` to its counts: with
translation, since that is a large part of short runs. Aer runs with its automatic method and as a state vector, and the
faster one counts. Turns alternate; printed are the first run of a process, the median and the least of the turns, and
the ratios of both. With --new each turn has circuits of its own; random ones have other gates, too.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from qiskit import QuantumCircuit
from qiskit_aer import AerSimulator
from qiskit_aer.noise import NoiseModel, ReadoutError, depolarizing_error, thermal_relaxation_error

from benchmarks import machine
from qsim_ex_provider import QsimExBackend

SHOTS = 1024
LENGTHS = (1, 50, 100, 200, 400)
ONE_WIRE = ("x", "h", "sx", "s")


class Job(NamedTuple):
    """A job: its name, what makes its circuits from a seed, and the noise of the machine."""

    name: str
    draw: Callable[[int], list[QuantumCircuit]]
    noise: NoiseModel


Run = Callable[[list[QuantumCircuit]], Any]
"""Runs circuits, and reads the counts of the first."""


class Times(NamedTuple):
    """The seconds of a job: of its first run, and of all later turns; and those of the processor."""

    first: float
    turns: list[float]
    processor: list[float]


def gates(wires: int, count: int, seed: int) -> QuantumCircuit:
    """Return random gates, every third one on two wires if there are as many, and a measurement of all wires."""
    rng = np.random.default_rng(seed)
    circuit = QuantumCircuit(wires, wires)
    for k in range(count):
        if wires > 1 and k % 3 == 0:
            circuit.cx(*map(int, rng.choice(wires, 2, replace=False)))
        else:
            getattr(circuit, ONE_WIRE[int(rng.integers(4))])(int(rng.integers(wires)))
    circuit.measure(range(wires), range(wires))
    return circuit


def depolarized() -> NoiseModel:
    """Return a machine with depolarizing gates and misread bits."""
    model = NoiseModel()
    model.add_all_qubit_quantum_error(depolarizing_error(0.002, 1), list(ONE_WIRE))
    model.add_all_qubit_quantum_error(depolarizing_error(0.01, 2), ["cx"])
    model.add_all_qubit_readout_error(ReadoutError([[0.98, 0.02], [0.05, 0.95]]))
    return model


def relaxing() -> NoiseModel:
    """Return a machine with gates and delays of 100 ns and 1 µs, and relaxation meanwhile."""
    model, short = NoiseModel(), thermal_relaxation_error(50e3, 40e3, 100)
    model.add_all_qubit_quantum_error(short, list(ONE_WIRE))
    model.add_all_qubit_quantum_error(short.tensor(short), ["cx"])
    model.add_all_qubit_quantum_error(thermal_relaxation_error(50e3, 40e3, 1000), ["id"])
    return model


def relaxation(delays: Sequence[int]) -> list[QuantumCircuit]:
    """Return a measurement of T1: an excitation, then delays as identities of 1 µs."""
    circuits = []
    for count in delays:
        circuit = QuantumCircuit(1, 1)
        circuit.x(0)
        for _ in range(count):
            circuit.id(0)
        circuit.measure(0, 0)
        circuits.append(circuit)
    return circuits


def tomography() -> list[QuantumCircuit]:
    """Return a state of three wires in all 27 bases of Paulis."""
    circuits = []
    for number in range(27):
        circuit = QuantumCircuit(3, 3)
        circuit.h(0)
        circuit.cx(0, 1)
        circuit.cx(1, 2)
        for wire in range(3):
            basis = number // 3**wire % 3
            if basis == 1:
                circuit.sx(wire)
            elif basis == 2:
                circuit.h(wire)
        circuit.measure(range(3), range(3))
        circuits.append(circuit)
    return circuits


def jobs() -> list[Job]:
    """Return all jobs."""
    noise, damped = depolarized(), relaxing()

    def cliffords(wires: int, seed: int) -> list[QuantumCircuit]:
        return [gates(wires, 2 * n, 1000 * seed + 100 * s + n) for s in range(5) for n in LENGTHS]

    def one(wires: int, count: int, noise: NoiseModel, how: str = "") -> Job:
        name = f"{wires} qubit{'s' * (wires > 1)}, {count} gates{how}"
        return Job(name, lambda seed: [gates(wires, count, 10_000 * seed + count + wires)], noise)

    return [
        Job("25 RB circuits, 1 qubit", lambda seed: cliffords(1, seed), noise),
        Job("25 RB circuits, 2 qubits", lambda seed: cliffords(2, seed), noise),
        Job("T1, 20 delays", lambda _: relaxation(range(1, 201, 10)), damped),
        Job("tomography, 27 bases", lambda _: tomography(), noise),
        *[one(1, count, noise) for count in (50, 100, 400, 2000)],
        *[one(1, count, damped, ", relaxing") for count in (400, 2000)],
        *[one(wires, 200, noise) for wires in (4, 8)],
        one(8, 200, damped, ", relaxing"),
    ]


def measured(job: Job, ways: dict[str, Run], turns: int, new: bool) -> dict[str, Times]:
    """Return the times of some ways to run a job, which take turns; new: whether each turn has its own circuits."""
    found: dict[str, Times] = {}
    circuits = job.draw(0)
    for turn in range(turns + 1):
        for name, run in ways.items():
            if new:  # neither way may profit from what Qiskit keeps in a circuit that the other has looked at
                circuits = job.draw(turn)
            began, worked = perf_counter(), process_time()
            run(circuits)
            seconds, worked = perf_counter() - began, process_time() - worked
            if turn == 0:
                found[name] = Times(seconds, [], [])
            else:
                found[name].turns.append(seconds)
                found[name].processor.append(worked)
    return found


def ways_of(job: Job, statevector: bool) -> dict[str, Run]:
    """Return the ways to run a job: ours, and Aer's methods."""
    asked = {"shots": SHOTS, "seed_simulator": 1}
    backend = QsimExBackend(noise_model=job.noise)
    methods = ("automatic", "statevector") if statevector else ("automatic",)
    aer = {method: AerSimulator(noise_model=job.noise, method=method) for method in methods}
    ways: dict[str, Run] = {"qsim-ex": lambda circuits: backend.run(circuits, **asked).result().get_counts(0)}
    for method, simulator in aer.items():
        ways[f"aer {method}"] = lambda circuits, of=simulator: of.run(circuits, **asked).result().get_counts(0)
    return ways


def main() -> None:
    """Time all jobs, print a table, and write all times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--automatic", action="store_true", help="leave Aer's state vector out, which is slow here")
    parser.add_argument("--new", action="store_true", help="circuits that are new in each turn")
    given = parser.parse_args()
    written = {}
    print(f"{'ms, median (least) of turns':34}{'qsim-ex':>18}{'first':>8}{'Aer':>18}{'first':>8}{'Aer / ours':>18}")
    for job in jobs():
        times = measured(job, ways_of(job, not given.automatic), given.turns, given.new)
        ours = times.pop("qsim-ex")
        aer = min(times.values(), key=lambda one: median(one.turns))
        cells = [f"{1e3 * median(one.turns):9.1f} ({1e3 * min(one.turns):6.1f})" for one in (ours, aer)]
        middle, least = (of(aer.turns) / of(ours.turns) for of in (median, min))
        firsts = [f"{1e3 * one.first:8.0f}" for one in (ours, aer)]
        print(
            f"{job.name:34}{cells[0]:>18}{firsts[0]}{cells[1]:>18}{firsts[1]}{middle:9.2f} ({least:6.2f})", flush=True
        )
        written[job.name] = {"qsim-ex": ours._asdict(), **{name: one._asdict() for name, one in times.items()}}
    if given.out is not None:
        about = {
            "kind": "narrow noise",
            "commit": machine.commit(),
            "machine": machine.describe(),
            "shots": SHOTS,
            "new": given.new,
        }
        given.out.write_text(json.dumps({**about, "jobs": written}, indent=1) + "\n")


if __name__ == "__main__":
    main()
