"""Twirled randomizations of one circuit: ``python -m benchmarks.twirled [--aer 4] [--noise] [--out FILE.json]``.

Layers of RX on every qubit and CZ on every other pair of neighbours; gates and measurements are twirled, and every
randomization is measured in a number of shots. Timed is a job of the `Executor` of qiskit-ibm-runtime, from its
submission to its result, on the engine and, with ``--aer R``, with R randomizations in the runtime's own executor on
Aer, one after the other and as often. ``--noise`` gives each layer Pauli-Lindblad noise, drawn for each shot. Goal: a
twentieth of the runtime's time with Aer for each randomization. It needs ``pip install 'qsim-ex[runtime]'``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from qiskit import QuantumCircuit
from qiskit.quantum_info import PauliLindbladMap

from benchmarks import machine

GOAL = 20.0
"""How many times less than the runtime with Aer a randomization takes, at least."""


def kicks(qubits: int, layers: int) -> QuantumCircuit:
    """Return layers of RX and CZ on a chain, and measurements of all qubits."""
    circuit = QuantumCircuit(qubits)
    for layer in range(layers):
        circuit.rx(0.6, range(qubits))
        for qubit in range(layer % 2, qubits - 1, 2):
            circuit.cz(qubit, qubit + 1)
    circuit.measure_all()
    return circuit


def noise_of(width: int) -> PauliLindbladMap:
    """Return noise of a layer: rates of single qubits and of pairs of neighbours."""
    terms: list[tuple[str, list[int], float]] = [(p, [k], 4e-4) for k in range(width) for p in "XYZ"]
    terms += [(a + b, [k, k + 1], 1e-4) for k in range(width - 1) for a in "XYZ" for b in "XYZ"]
    return PauliLindbladMap.from_sparse_list(terms, num_qubits=width)


def job(executor: Any, circuit: QuantumCircuit, given: argparse.Namespace, randomizations: int) -> Callable[[], object]:
    """Return what is timed: one job of an executor."""
    from qiskit_ibm_runtime import QuantumProgram
    from samplomatic import build
    from samplomatic.transpiler import generate_boxing_pass_manager
    from samplomatic.utils import find_unique_box_instructions

    boxed = generate_boxing_pass_manager(enable_gates=True, enable_measures=True, add_tags="unique_box").run(circuit)
    template, samplex = build(boxed)
    program = QuantumProgram(shots=given.shots)
    program.append_samplex_item(template, samplex, shape=(randomizations,))
    executor.options.simulator.seed_simulator = 1
    if given.noise:
        boxes = find_unique_box_instructions(boxed, normalize_annotations=None, undress_boxes=True)
        layers = [box for box in boxes if "cz" in box.operation.body.count_ops()]
        executor.options.simulator.layer_noise_model = [(box, noise_of(len(box.qubits))) for box in layers]
        executor.options.simulator.warn_absent = False
    return lambda: executor.run(program).result()


def main() -> int:
    """Time both in turn, print milliseconds for each randomization, and return 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("qubits", 20), ("layers", 10), ("randomizations", 40), ("shots", 100), ("repeat", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--precision", choices=["single", "double"], default="double")
    parser.add_argument("--aer", type=int, default=0, metavar="R")
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    from qsim_ex_provider import QsimExBackend
    from qsim_ex_provider.runtime import Executor

    circuit = kicks(given.qubits, given.layers)
    timed = {"ours": (given.randomizations, Executor(QsimExBackend(precision=given.precision)))}
    if given.aer:
        import qiskit_ibm_runtime
        from qiskit_aer import AerSimulator

        timed["aer"] = given.aer, qiskit_ibm_runtime.Executor(AerSimulator(precision=given.precision))
    jobs = {name: (count, job(executor, circuit, given, count)) for name, (count, executor) in timed.items()}
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(given.repeat):
        for name, (count, run) in jobs.items():
            begin = perf_counter()
            run()
            found[name].append((perf_counter() - begin) / count * 1e3)
            print(f"{name}: {found[name][-1]:.2f} ms for each of {count} randomizations, load {os.getloadavg()[0]:.1f}")
    best = {name: median(times) for name, times in found.items()}
    if given.out:
        about = {"machine": machine.describe(), "commit": machine.commit(), "options": vars(given) | {"out": None}}
        given.out.write_text(json.dumps({**about, "ms": found}, indent=1) + "\n", encoding="utf-8")
    if "aer" not in best:
        return 0
    print(f"Aer takes {best['aer'] / best['ours']:.0f} times as long; the goal is {GOAL:.0f}.")
    return int(best["aer"] < GOAL * best["ours"])


if __name__ == "__main__":
    sys.exit(main())
