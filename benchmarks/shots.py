"""What 1,000 shots cost beyond their state: ``python -m benchmarks.shots --n 28 --out shots.json``.

A QFT on a GPU, measured whole, with everything compiled and translated before: its state; shots of a state; a run of
the engine, and its counts; a job of Qiskit's backend, and its counts. All take turns; printed are medians and leasts.
The goal is a job with its counts at most 1.5 ms beyond the state.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks import machine
from benchmarks.engine import appended, circuit_of
from benchmarks.families import FAMILIES
from benchmarks.warm import qiskit_circuit
from qsim_ex import CircuitBuilder, Simulator
from qsim_ex_provider import QsimExBackend

SHOTS, WARM = 1000, 5


def ways(n: int, device: str) -> dict[str, Callable[[], object]]:
    """Return what is timed, by name."""
    gates = FAMILIES["qft"].build(n, 1)
    circuit = circuit_of(gates, n)
    measured = appended(CircuitBuilder(n, n), gates).measure(range(n), range(n)).build()
    in_qiskit = qiskit_circuit(gates, n)
    in_qiskit.measure_all()
    options = {"device": device, "precision": "single", "compile": "always"}
    simulator, backend = Simulator(**options), QsimExBackend(**options)

    def state() -> None:
        with simulator.state(circuit) as made:
            made.synchronize()

    def sample() -> None:
        with simulator.state(circuit) as made:
            made.sample(SHOTS)

    return {
        "state": state,
        "sample": sample,
        "run": lambda: simulator.run(measured, SHOTS),
        "run and counts": lambda: simulator.run(measured, SHOTS).counts(),
        "job": lambda: backend.run(in_qiskit, shots=SHOTS).result(),
        "job and counts": lambda: backend.run(in_qiskit, shots=SHOTS).result().get_counts(),
    }


def measured(n: int, turns: int, device: str) -> dict[str, list[float]]:
    """Return the milliseconds of all turns of each way."""
    timed = ways(n, device)
    found: dict[str, list[float]] = {name: [] for name in timed}
    for turn in range(WARM + turns):
        for name, work in timed.items():
            begin = perf_counter()
            work()
            if turn >= WARM:
                found[name].append(1e3 * (perf_counter() - begin))
    return found


def main() -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=28)
    parser.add_argument("--turns", type=int, default=25)
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = measured(given.n, given.turns, given.device)
    for name, times in found.items():
        beyond = median(times) - median(found["state"])
        print(f"{name:16} median {median(times):7.3f} ms, least {min(times):7.3f}, beyond the state {beyond:6.3f}")
    if given.out:
        told = {"kind": "shots", "n": given.n, "machine": machine.describe(), "ms": found}
        given.out.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
