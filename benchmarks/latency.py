"""Loops of small circuits: ``python -m benchmarks.latency [--device cpu] [--out FILE.json]``.

*Loops*: a circuit of 10 qubits and 150 gates with fresh angles each time, 1000 shots, as users of Qiskit and Cirq run
it, beside Aer and ``cirq.Simulator``: all in turn, a different one first each time. Medians are compared.
*Parts*: the time of a warm run on the host besides its kernels, for the seven families, each part alone.

Goals: at most `GOALS` of the peer's time in a loop; translation at most 5 µs a gate; all parts of a warm run together
at most 150 µs on the host.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.families import FAMILIES
from benchmarks.gates import Gate
from benchmarks.measure import PAUSE

QUBITS, GATES, SHOTS = 10, 150, 1000

GOALS = {"qiskit": 0.6, "cirq": 0.3}
"""Our time over the peer's, at most."""

_STRUCTURE = 7
"""Seed of the gates' names and wires, which never change."""


def circuit(seed: int) -> list[Gate]:
    """150 gates on 10 qubits: Hadamards, rotations and CX or CZ of random pairs; the seed gives the angles."""
    rng, angles = np.random.default_rng(_STRUCTURE), np.random.default_rng(seed)
    gates = []
    for _ in range(GATES):
        name = ("h", "rx", "ry", "rz", "cx", "cz")[rng.integers(6)]
        wires = tuple(int(wire) for wire in rng.permutation(QUBITS)[: 2 if name in ("cx", "cz") else 1])
        gates.append(Gate(name, wires, (angles.uniform(-3, 3),) if name in ("rx", "ry", "rz") else ()))
    return gates


def for_qiskit(gates: Sequence[Gate]) -> Any:
    """The circuit in Qiskit's words, measured at its end."""
    from qiskit.circuit import QuantumCircuit

    made = QuantumCircuit(QUBITS)
    for gate in gates:
        getattr(made, gate.name)(*gate.params, *gate.wires)
    made.measure_all()
    return made


def for_cirq(gates: Sequence[Gate]) -> Any:
    """The circuit in Cirq's words, measured at its end."""
    import cirq

    fixed = {"h": cirq.H, "cx": cirq.CX, "cz": cirq.CZ}
    qubits = cirq.LineQubit.range(QUBITS)
    made = cirq.Circuit(
        (getattr(cirq, gate.name)(*gate.params) if gate.params else fixed[gate.name])(*(qubits[w] for w in gate.wires))
        for gate in gates
    )
    return made + cirq.measure(*qubits, key="all")


def runners(framework: str, device: str) -> dict[str, Callable[[Any], Any]]:
    """Us and the peer: what a user writes in a loop."""
    if framework == "qiskit":
        from qiskit_aer import AerSimulator

        from qsim_ex_provider import QsimExBackend

        backends = {"ours": QsimExBackend(device=device), "aer": AerSimulator()}
        return {
            name: lambda made, backend=backend: backend.run(made, shots=SHOTS).result().get_counts()
            for name, backend in backends.items()
        }
    import cirq

    from qsim_ex_cirq import QsimExSimulator

    simulators = {"ours": QsimExSimulator(device=device), "cirq": cirq.Simulator()}
    return {
        name: lambda made, simulator=simulator: simulator.run(made, repetitions=SHOTS).histogram(key="all")
        for name, simulator in simulators.items()
    }


def loop(framework: str, device: str, repeat: int) -> dict[str, Any]:
    """Run everybody's loop, interleaved; seconds of each call, and the ratio of the medians."""
    words = for_qiskit if framework == "qiskit" else for_cirq
    contestants = list(runners(framework, device).items())
    seconds: dict[str, list[float]] = {name: [] for name, _ in contestants}
    for turn in range(-3, repeat):  # three rounds to warm up
        made = words(circuit(turn + 3))
        for name, run in contestants[turn % 2 :] + contestants[: turn % 2]:
            sleep(PAUSE)
            begin = perf_counter()
            run(made)
            if turn >= 0:
                seconds[name].append(perf_counter() - begin)
    peer = contestants[1][0]
    ratio = median(seconds["ours"]) / median(seconds[peer])
    return {"framework": framework, "peer": peer, "ratio": ratio, "goal": GOALS[framework], "seconds": seconds}


def fastest(work: Callable[[], Any], repeat: int = 200) -> float:
    """The least of many times, in microseconds: what it costs when nobody disturbs it."""
    times = []
    for _ in range(repeat):
        begin = perf_counter()
        work()
        times.append(perf_counter() - begin)
    return min(times) * 1e6


def translation() -> dict[str, float]:
    """Microseconds a gate from each framework's circuit to the engine's."""
    from qsim_ex_cirq.translation.circuits import translate as from_cirq
    from qsim_ex_provider.translation.circuits import translate as from_qiskit

    gates = circuit(0)
    qiskit, cirq = for_qiskit(gates), for_cirq(gates)
    return {
        "qiskit": fastest(lambda: from_qiskit(qiskit)) / GATES,
        "cirq": fastest(lambda: from_cirq(cirq)) / GATES,
    }


def parts(family: str, n: int, device: str) -> dict[str, Any]:
    """Microseconds of each part of a warm run for |0…0> → state, and of all of it with the device's own time."""
    from benchmarks.engine import appended
    from qsim_ex import CircuitBuilder, Simulator, StateVector
    from qsim_ex.devices.base import LoadsNumbers
    from qsim_ex.execution.prepare import plan_of
    from qsim_ex.planning.coefficients.binding import bind
    from qsim_ex.program.one_state import unitary_program

    builder = appended(CircuitBuilder(n), FAMILIES[family].build(n, 0))
    made = builder.build()
    simulator = Simulator(device=device, precision="single")  # type: ignore[arg-type]
    for _ in range(5):  # kernels are compiled at the third time, and their launches laid out after that
        simulator.state(made).close()
    empty = StateVector(n, options=simulator.options)
    worker, dtype, start = empty.device, empty.dtype, empty.layout
    shape, fresh = worker.shape(dtype), (1 << n) - 1 if worker.grows else 0

    def look_up() -> Any:
        return plan_of(unitary_program(made.structure).whole.work, n, start, shape, fresh)

    plan = look_up()
    prepared = worker.prepare(plan.steps, n, dtype)
    numbers = bind(plan, made.operands)

    def whole() -> None:
        with simulator.state(made) as state:
            state.synchronize()

    found = {
        "build": fastest(builder.build),
        "look up": fastest(look_up),
        "prepare": fastest(lambda: worker.prepare(plan.steps, n, dtype)),
        "bind": fastest(lambda: bind(plan, made.operands)),
        "load": fastest(lambda: worker.load(prepared, numbers)) if isinstance(worker, LoadsNumbers) else 0.0,
        "new state": fastest(lambda: StateVector(n, options=simulator.options).close()),
        "asked": fastest(lambda: simulator.state(made).close()),
        "done": fastest(whole),
    }
    empty.close()
    return {"family": family, "n": n, "operations": len(made.instructions), "steps": len(plan.steps), "us": found}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write; return 1 if a goal of the loops is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="where our circuits run")
    parser.add_argument("--n", type=int, default=20, help="qubits of the families whose parts are measured")
    parser.add_argument("--families", nargs="*", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--loops", nargs="*", choices=list(GOALS), default=list(GOALS))
    parser.add_argument("--repeat", type=int, default=40, help="repetitions of the loops that count")
    parser.add_argument("--commit", help="default: what git says; name it where there is no git")
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    chosen = parser.parse_args(argv)
    document: dict[str, Any] = {
        "kind": "latency",
        "device": chosen.device,
        "repeat": chosen.repeat,
        "commit": chosen.commit or machine.commit(),
        "machine": machine.describe(),
        "loops": [],
        "parts": [],
    }
    for framework in chosen.loops:
        try:
            row = loop(framework, chosen.device, chosen.repeat)
        except ModuleNotFoundError as error:
            print(f"skipped {framework}: {error}; pip install -e '.[bench]'")
            continue
        document["loops"].append(row)
        times = ", ".join(f"{name} {median(values) * 1e3:.2f} ms" for name, values in row["seconds"].items())
        print(f"{framework}: {times}; {row['ratio']:.2f} of {row['peer']}, goal {row['goal']}", flush=True)
    if document["loops"]:
        document["translation"] = translation()
        print("translation: " + ", ".join(f"{name} {us:.1f} µs a gate" for name, us in document["translation"].items()))
    for family in chosen.families:
        row = parts(family, chosen.n, chosen.device)
        document["parts"].append(row)
        figures = ", ".join(f"{name} {us:.0f}" for name, us in row["us"].items())
        print(f"{family} n={chosen.n}, {row['operations']} operations, {row['steps']} steps, µs: {figures}", flush=True)
    if chosen.out:
        chosen.out.write_text(json.dumps(document, indent=1) + "\n")
    return int(any(row["ratio"] > row["goal"] for row in document["loops"]))


if __name__ == "__main__":
    sys.exit(main())
