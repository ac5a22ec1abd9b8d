"""First runs, as users meet them: ``python -m benchmarks.first --out first.json``.

Three tables, each beside the peer of the framework (Aer for Qiskit, qsim for Cirq), with the defaults of both:

- *process*: fresh processes with empty caches, each followed by one that finds them: the imports of framework and
  simulator, the first run of a circuit and a second, new one of the same size. Measure an installed wheel (--python).
- *command*: ``qsim-ex run bell.qasm`` beside ``import qiskit``.
- *new circuits*: in a warm process every timed run is of a circuit that nobody has seen; whole calls with their counts.

Circuits are drawn (20 gates a qubit of many kinds, benchmarks/drawn.py). Turns alternate; printed are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter
from typing import Any

from benchmarks import machine

SHOTS = 1000
FRAMEWORK = {"qsim-ex-qiskit": "qiskit", "aer": "qiskit", "qsim-ex-cirq": "cirq", "qsim": "cirq"}
PACKAGE = {
    "qsim-ex-qiskit": "qsim_ex_provider",
    "aer": "qiskit_aer",
    "qsim-ex-cirq": "qsim_ex_cirq",
    "qsim": "qsimcirq",
}
PEER = {"qsim-ex-qiskit": "aer", "qsim-ex-cirq": "qsim"}

Run = Callable[[Any], object]


def runner(name: str) -> Run:
    """Return what runs a circuit to its counts."""
    match name:
        case "qsim-ex-qiskit":
            from qsim_ex_provider import QsimExBackend

            return lambda circuit: QsimExBackend(device="cpu").run(circuit, shots=SHOTS).result().get_counts()
        case "aer":
            from qiskit_aer import AerSimulator

            return lambda circuit: AerSimulator().run(circuit, shots=SHOTS).result().get_counts()
        case "qsim-ex-cirq":
            from qsim_ex_cirq import QsimExSimulator

            return lambda circuit: QsimExSimulator(device="cpu").run(circuit, repetitions=SHOTS).histogram(key="end")
        case _:
            import qsimcirq

            options = qsimcirq.QSimOptions(cpu_threads=len(os.sched_getaffinity(0)))
            return lambda circuit: qsimcirq.QSimSimulator(options).run(circuit, repetitions=SHOTS).histogram(key="end")


def circuit_for(name: str, n: int, seed: int) -> Any:
    """Return a drawn circuit in the framework of a simulator."""
    from benchmarks import drawn

    gates = drawn.drawn(n, seed)
    return (drawn.for_qiskit if FRAMEWORK[name] == "qiskit" else drawn.for_cirq)(gates, n)


# --- fresh processes --------------------------------------------------------------------------------------------------


def measure_here(name: str, n: int) -> dict[str, float]:
    """Measure in this very process, which must not have imported anything before."""
    from importlib import import_module

    start = perf_counter()
    import_module(FRAMEWORK[name])
    framework = perf_counter()
    import_module(PACKAGE[name])
    imported = perf_counter()
    circuits = [circuit_for(name, n, seed) for seed in range(2)]
    run = runner(name)
    times = []
    for circuit in circuits:
        began = perf_counter()
        run(circuit)
        times.append(perf_counter() - began)
    return {
        "framework": framework - start,
        "import": imported - framework,
        "first": times[0],
        "second": times[1],
        "beyond": imported - framework + times[0],
    }


def measure_fresh(python: str, folder: str, name: str, n: int) -> dict[str, float]:
    """Measure in a new process whose caches lie in a folder."""
    variables = ("QSIM_EX_CACHE_DIR", "XDG_CACHE_HOME", "MPLCONFIGDIR")
    environment = {**os.environ, **dict.fromkeys(variables, folder)}
    command = [python, "-m", "benchmarks.first", "--here", name, str(n)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def processes(python: str, sizes: Sequence[int], turns: int) -> list[dict[str, Any]]:
    """Measure processes with empty caches, and as many that find what one left; medians, and all seconds beyond."""
    rows = []
    for n in sizes:
        for name in FRAMEWORK:
            empty, kept = [], []
            for _ in range(turns):
                with tempfile.TemporaryDirectory() as folder:
                    empty.append(measure_fresh(python, folder, name, n))
                    kept.append(measure_fresh(python, folder, name, n))
            for caches, found in (("empty", empty), ("kept", kept)):
                times = {key: median(one[key] for one in found) for key in found[0]}
                every = [one["beyond"] for one in found]
                rows.append({"simulator": name, "n": n, "caches": caches, **times, "all beyond": every})
                told = ", ".join(f"{key} {value:.3f}" for key, value in times.items())
                print(f"{name:15} n={n:2} caches {caches}: {told} s", flush=True)
    return rows


def command_line(python: str, turns: int) -> dict[str, float]:
    """Return the seconds of the command on a Bell pair, and of the import of Qiskit alone; medians of turns."""
    text = 'OPENQASM 2.0; include "qelib1.inc"; qreg q[2]; creg c[2]; h q[0]; cx q[0],q[1]; measure q -> c;'
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bell.qasm"
        path.write_text(text)
        ways = {
            "qsim-ex run": [python, "-m", "qsim_ex", "run", str(path)],
            "qsim-ex --help": [python, "-m", "qsim_ex", "--help"],
            "import qiskit": [python, "-c", "import qiskit"],
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(turns):
            for name, command in ways.items():
                began = perf_counter()
                subprocess.run(command, capture_output=True, check=True)
                times[name].append(perf_counter() - began)
    found = {name: median(values) for name, values in times.items()}
    print(", ".join(f"{name} {value:.3f} s" for name, value in found.items()), flush=True)
    return found


# --- new circuits in a warm process -----------------------------------------------------------------------------------


def new_circuits(sizes: Sequence[int], turns: int) -> list[dict[str, Any]]:
    """Measure whole calls of circuits that are new to the process, ours and the peer's in turn."""
    rows = []
    for ours, peer in PEER.items():
        runs = {name: runner(name) for name in (ours, peer)}
        for n in sizes:
            times: dict[str, list[float]] = {name: [] for name in runs}
            for turn in range(turns + 2):
                order = list(runs) if turn % 2 else list(runs)[::-1]
                for name in order:
                    circuit = circuit_for(name, n, 1000 + turn)
                    began = perf_counter()
                    runs[name](circuit)
                    times[name].append(perf_counter() - began)
            found = {name: median(values[2:]) for name, values in times.items()}  # two turns warm up
            ratio = found[peer] / found[ours]
            rows.append({"simulator": ours, "peer": peer, "n": n, "seconds": found, "times faster": ratio})
            print(
                f"{ours:15} n={n:2}: {1e3 * found[ours]:9.2f} ms, {peer} {1e3 * found[peer]:9.2f}: {ratio:.2f}×",
                flush=True,
            )
    for ours in PEER:
        print(
            f"{ours}: geometric mean {geometric_mean([r['times faster'] for r in rows if r['simulator'] == ours]):.2f}×"
        )
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write JSON if asked."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["--here"]:
        print(json.dumps(measure_here(arguments[1], int(arguments[2]))))
        return 0
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first", description=__doc__)
    parser.add_argument(
        "--python", default=sys.executable, help="the Python of the environment that fresh processes use"
    )
    parser.add_argument(
        "--first",
        type=int,
        nargs="*",
        default=[10, 20],
        metavar="N",
        help="qubits in fresh processes; none: no process",
    )
    parser.add_argument(
        "--new", type=int, nargs="*", default=[8, 12, 16, 18, 20, 22], metavar="N", help="qubits of new circuits"
    )
    parser.add_argument("--processes", type=int, default=5, help="processes with empty caches, and with kept ones")
    parser.add_argument("--turns", type=int, default=15, help="new circuits of each size")
    parser.add_argument("--commit", help="default: what git says")
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    chosen = parser.parse_args(arguments)
    document: dict[str, Any] = {
        "kind": "first",
        "commit": chosen.commit or machine.commit(),
        "machine": machine.describe(),
        "threads": len(os.sched_getaffinity(0)),
    }
    parts: dict[str, Callable[[], Any]] = {}
    if chosen.new:
        parts["new circuits"] = lambda: new_circuits(chosen.new, chosen.turns)
    if chosen.first:
        parts["processes"] = lambda: processes(chosen.python, chosen.first, chosen.processes)
        parts["command"] = lambda: command_line(chosen.python, chosen.processes)
    for name, measure in parts.items():
        document[name] = measure()
        if chosen.out:  # after each part, should the next one fail
            chosen.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
