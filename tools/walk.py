"""Count the calls of one circuit through the source: ``python tools/walk.py [--case NAME] [--list]``.

A walk begins with a user's call and ends with the counts, for a circuit that was not run before. *Calls* are calls of
the project's functions, each resumption of a comprehension or generator included; *files* are the files of these
functions; a *hop* is a call into another file than that of the call before it. Calls of libraries are left out. Each
thread has its own way, from call to call, and the ways of all are added up.

Each walk has a process of its own, in which another circuit of another size has run before through another backend:
all modules are loaded, devices are known and what they have free was read just now, and nothing else is cached.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]  # also when this file is run as a script

from tools.packages import packages  # noqa: E402

SOURCE = tuple(str(ROOT / folder) + "/" for folder in packages())
NO_ROOMS = ("/qsim_ex/later.py", "/circuit/kept.py")
"""Import statements and `lru_cache` in other words, which count for nothing either."""

SHOTS, ANGLE = 1000, 0.3


class Case(NamedTuple):
    """A walk and its goals. begin: loads everything and returns the walk itself."""

    title: str
    begin: Callable[[], Callable[[], object]]
    files: int
    hops: int


def _qiskit(**options: Any) -> Callable[[], object]:
    from qiskit import QuantumCircuit

    from qsim_ex_provider import QsimExBackend

    def made(num_qubits: int) -> QuantumCircuit:
        circuit = QuantumCircuit(num_qubits)
        circuit.h(0)
        circuit.cx(0, 1)
        circuit.ry(ANGLE, 1)
        for qubit in range(1, num_qubits - 1):
            circuit.cx(qubit, qubit + 1)
        circuit.measure_all()
        return circuit

    QsimExBackend(device="cpu", **options).run(made(4), shots=SHOTS).result().get_counts()
    backend, circuit = QsimExBackend(device="cpu", **options), made(3)
    return lambda: backend.run(circuit, shots=SHOTS).result().get_counts()


def _saved() -> Callable[[], object]:
    from qiskit import QuantumCircuit

    from qsim_ex_provider import QsimExBackend, save_statevector

    def made(num_qubits: int) -> QuantumCircuit:
        circuit = QuantumCircuit(num_qubits)
        circuit.h(0)
        for qubit in range(num_qubits - 1):
            circuit.cx(qubit, qubit + 1)
        return save_statevector(circuit)

    QsimExBackend(device="cpu").run(made(4)).result().get_statevector()
    backend, circuit = QsimExBackend(device="cpu"), made(3)
    return lambda: backend.run(circuit).result().get_statevector()


def _condition() -> Callable[[], object]:
    from qiskit import QuantumCircuit

    from qsim_ex_provider import QsimExBackend

    def made(num_qubits: int) -> QuantumCircuit:
        circuit = QuantumCircuit(num_qubits, num_qubits)
        circuit.h(0)
        for qubit in range(num_qubits - 1):
            circuit.cx(qubit, qubit + 1)
        circuit.measure(0, 0)
        with circuit.if_test((0, 1)):
            circuit.x(1)
        circuit.measure(range(num_qubits), range(num_qubits))
        return circuit

    QsimExBackend(device="cpu").run(made(4), shots=SHOTS).result().get_counts()
    backend, circuit = QsimExBackend(device="cpu"), made(3)
    return lambda: backend.run(circuit, shots=SHOTS).result().get_counts()


def _noisy() -> Callable[[], object]:
    from qiskit import QuantumCircuit

    from qsim_ex import NoiseModel, depolarizing
    from qsim_ex_provider import QsimExBackend

    noise = NoiseModel().with_error("ry", depolarizing(0.01)).with_error("cx", depolarizing(0.02, 2))

    def made(num_qubits: int) -> QuantumCircuit:
        circuit = QuantumCircuit(num_qubits)
        for qubit in range(num_qubits):
            circuit.ry(ANGLE + qubit, qubit)
        for qubit in range(num_qubits - 1):
            circuit.cx(qubit, qubit + 1)
        circuit.measure_all()
        return circuit

    QsimExBackend(device="cpu", noise_model=noise).run(made(13), shots=SHOTS).result().get_counts()
    backend, circuit = QsimExBackend(device="cpu", noise_model=noise), made(12)
    return lambda: backend.run(circuit, shots=SHOTS).result().get_counts()


def _cirq() -> Callable[[], object]:
    import cirq
    import sympy

    from qsim_ex_cirq import QsimExSimulator

    def made(num_qubits: int) -> cirq.Circuit:
        qubits = cirq.LineQubit.range(num_qubits)
        chain = [cirq.CNOT(a, b) for a, b in pairwise(qubits)]
        return cirq.Circuit(cirq.rx(sympy.Symbol("a"))(qubits[0]), chain, cirq.measure(*qubits, key="all"))

    points = cirq.Linspace("a", 0, 1, 3)
    QsimExSimulator(device="cpu").run_sweep(made(4), points, repetitions=SHOTS)
    simulator, circuit = QsimExSimulator(device="cpu"), made(3)
    return lambda: [one.histogram(key="all") for one in simulator.run_sweep(circuit, points, repetitions=SHOTS)]


CASES = {
    "qiskit": Case("Qiskit `backend.run` → counts, 3 qubits", _qiskit, files=49, hops=170),
    "migrated": Case("the same, migrated", lambda: _qiskit(device_wires=2), files=60, hops=383),
    "saved": Case("the same, `save_statevector`", _saved, files=55, hops=210),
    "condition": Case("the same, with a condition", _condition, files=52, hops=207),
    "noisy": Case("the same, 12 noisy qubits", _noisy, files=62, hops=404),
    "cirq": Case("Cirq `run_sweep`, 3 points", _cirq, files=64, hops=275),
}


class Way:
    """The files that were called in a walk, in order, on each thread."""

    def __init__(self) -> None:
        self.files: defaultdict[int, list[str]] = defaultdict(list)

    def follow(self, walk: Callable[[], object]) -> None:
        """Run the walk and record all calls, on this thread and on those that it starts."""
        threading.setprofile(self._event)
        sys.setprofile(self._event)
        try:
            walk()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _event(self, frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(SOURCE) and not file.endswith(NO_ROOMS):
            self.files[threading.get_ident()].append(str(Path(file).relative_to(ROOT)))

    def counted(self) -> dict[str, Any]:
        """Return the numbers of calls, files and hops, and the calls of each file and hops of each pair, in order."""
        calls = Counter(file for files in self.files.values() for file in files)
        hops = Counter(f"{a} → {b}" for files in self.files.values() for a, b in pairwise(files) if a != b)
        return {
            "calls": calls.total(),
            "files": len(calls),
            "hops": hops.total(),
            "calls_of": dict(calls.most_common()),
            "hops_of": dict(hops.most_common()),
        }


def _hold_the_clock() -> None:
    """Let no time pass for what asks what memory is free once a second: the speed of the machine would count else."""
    from qsim_ex.devices import discover

    discover.free_bytes(discover.cpu(None), 0)
    began = time.monotonic()
    vars(discover)["monotonic"] = lambda: began


def walk(name: str) -> dict[str, Any]:
    """Count one walk in a process of its own; raises `subprocess.CalledProcessError` if it fails."""
    found = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), "--case", name, "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    counted: dict[str, Any] = json.loads(found.stdout)
    return counted


def main() -> None:
    """Print the table, and with --list the files and hops behind it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=sorted(CASES), help="one walk; all of them if left out")
    parser.add_argument("--list", action="store_true", help="the calls of each file, and the 40 most frequent hops")
    parser.add_argument("--json", action="store_true", help="one walk, here and now, as JSON")
    given = parser.parse_args()
    if given.json:
        sys.path[:0] = [str(ROOT / "core"), str(ROOT)]
        way, begun = Way(), CASES[given.case or "qiskit"].begin()
        _hold_the_clock()
        way.follow(begun)
        print(json.dumps(way.counted()))
        return
    names = [given.case] if given.case else list(CASES)
    found = {name: walk(name) for name in names}
    print("| walk (cold) | calls | files | hops | goal: files | hops |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, counted in found.items():
        case = CASES[name]
        figures = f"{counted['calls']:,} | {counted['files']} | {counted['hops']:,}"
        print(f"| {case.title} | {figures} | {case.files} | {case.hops} |")
    for name, counted in found.items() if given.list else ():
        print(f"\n{CASES[name].title}\n")
        for file, calls in counted["calls_of"].items():
            print(f"{calls:6}  {file}")
        print()
        for pair, hops in list(counted["hops_of"].items())[:40]:
            print(f"{hops:6}  {pair}")


if __name__ == "__main__":
    main()
