"""Cirq's `simulate_moment_steps` beside `simulate`: ``python -m benchmarks.moment_steps [--turns 7] [--out FILE]``.

20 qubits and 20 moments, complex64, on one thread of a CPU. The state is *read* after every moment, *copied* there, or
looked at once at the *end*. Each time is that of the process over the time of `simulate`, and the least of all turns.

Goals: `GOALS`, over the time of `simulate`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import process_time

import cirq
import numpy as np

from benchmarks import machine
from qsim_ex_cirq import QsimExSimulator

QUBITS = cirq.LineQubit.range(20)
MOMENTS = 20
GOALS = {"end": 1.5, "read": 5.0}


def bricks(one: Callable[[float], cirq.Gate], two: cirq.Gate) -> cirq.Circuit:
    """Return a circuit in which layers of one gate on every qubit and of another on pairs of neighbours alternate."""
    rng, moments = np.random.default_rng(0), []
    for number in range(MOMENTS):
        pairs = zip(QUBITS[number // 2 % 2 :: 2], QUBITS[number // 2 % 2 + 1 :: 2], strict=False)
        layer = [two(*pair) for pair in pairs] if number % 2 else [one(rng.random())(qubit) for qubit in QUBITS]
        moments.append(cirq.Moment(layer))
    return cirq.Circuit(moments)


CIRCUITS = {
    "ry, cx": bricks(cirq.ry, cirq.CX),
    "phased xz, cz": bricks(lambda t: cirq.PhasedXZGate(x_exponent=t, z_exponent=0.3, axis_phase_exponent=t), cirq.CZ),
    "phased xz, √iswap": bricks(
        lambda t: cirq.PhasedXZGate(x_exponent=t, z_exponent=0.3, axis_phase_exponent=t), cirq.SQRT_ISWAP
    ),
    "random Clifford and T": cirq.testing.random_circuit(QUBITS, MOMENTS, 0.9, random_state=1),
}


def least(turns: int, work: Callable[[], object]) -> float:
    """Return the least time of the process that some work takes, in seconds."""
    found = []
    for _ in range(turns):
        began = process_time()
        work()
        found.append(process_time() - began)
    return min(found)


def steps(simulator: QsimExSimulator, circuit: cirq.Circuit, how: str) -> None:
    """Go through all moments, and read the states."""
    for step in simulator.simulate_moment_steps(circuit):
        if how != "end":
            step.state_vector(copy=how == "copied")
    step.state_vector()


def main() -> None:
    """Measure, print a table, and write everything to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    simulator, ways = QsimExSimulator(device="cpu", threads=1), ("end", "read", "copied")
    found: dict[str, dict[str, float]] = {}
    print(f"{'':24}{'simulate, ms':>14}" + "".join(f"{way:>10}" for way in ways))
    for name, circuit in CIRCUITS.items():
        whole = least(given.turns, lambda circuit=circuit: simulator.simulate(circuit))  # type: ignore[misc]
        times = {way: least(given.turns, lambda c=circuit, w=way: steps(simulator, c, w)) / whole for way in ways}  # type: ignore[misc]
        found[name] = {"simulate_ms": 1e3 * whole, **times}
        print(f"{name:24}{1e3 * whole:14.1f}" + "".join(f"{times[way]:10.2f}" for way in ways))
    print(f"{'goal':38}" + "".join(f"{GOALS.get(way, ''):>10}" for way in ways))
    if given.out is not None:
        about = {"kind": "moment steps", "commit": machine.commit(), "machine": machine.describe(), "goals": GOALS}
        given.out.write_text(json.dumps({**about, "found": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
