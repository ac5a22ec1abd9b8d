"""The modules of ours that a first job loads, kept in a file: ``python -m tools.first_modules`` compares them.

A new process waits for each of them, so what few jobs use is loaded by `qsim_ex.later` where it is used. A job is ten
qubits, gates, measurements and shots on the CPU, through each way in. If a change loads another module, or none any
more, the lists differ, and ``python -m tools.first_modules --bless`` writes them anew, in the diff of that change.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FILE = Path(__file__).parent.parent / "tests" / "data" / "first_modules.json"

JOBS = {
    "qsim_ex": """
from qsim_ex import CircuitBuilder, Simulator
builder = CircuitBuilder(10, 10).gate("h", [0])
for wire in range(9):
    builder.gate("cx", [wire, wire + 1]).gate("rx", [wire], 0.3)
Simulator(device="cpu").run(builder.measure(range(10), range(10)).build(), shots=100)
""",
    "qsim_ex_cirq": """
import cirq
from qsim_ex_cirq import QsimExSimulator
qubits = cirq.LineQubit.range(10)
circuit = cirq.Circuit(cirq.H(qubits[0]), map(cirq.CNOT, qubits, qubits[1:]), cirq.rx(0.3).on_each(qubits))
QsimExSimulator(device="cpu").run(circuit + cirq.measure(*qubits, key="end"), repetitions=100).histogram(key="end")
""",
    "qsim_ex_provider": """
from qiskit import QuantumCircuit
from qsim_ex_provider import QsimExBackend
circuit = QuantumCircuit(10)
circuit.h(0)
for qubit in range(9):
    circuit.cx(qubit, qubit + 1)
    circuit.rx(0.3, qubit)
circuit.measure_all()
QsimExBackend(device="cpu").run(circuit, shots=100).result().get_counts()
""",
}
"""What a new process does, by the package that a user imports."""

_TOLD = "import sys; print(*sorted(name for name in sys.modules if name.startswith('qsim_ex')))"


def loaded(way: str) -> list[str]:
    """Return the names of our modules that a new process has loaded after its first job."""
    command = [sys.executable, "-c", JOBS[way] + _TOLD]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()


def stored() -> dict[str, list[str]]:
    """Return the lists of the file, by the ways in."""
    found: dict[str, list[str]] = json.loads(FILE.read_text())
    return found


def differences(way: str, known: Sequence[str]) -> list[str]:
    """Return in words what a first job loads and did not, and the other way round."""
    now = loaded(way)
    more = [f"{way}: a first job loads {name} too" for name in now if name not in known]
    return more + [f"{way}: a first job loads {name} no longer" for name in known if name not in now]


def main(argv: Sequence[str] | None = None) -> int:
    """Print what differs from the file, or write it anew."""
    parser = argparse.ArgumentParser(prog="python -m tools.first_modules", description=__doc__)
    parser.add_argument("--bless", action="store_true", help="write the file anew")
    bless = parser.parse_args(argv).bless
    known = stored() if FILE.exists() else {}
    found = [words for way in JOBS for words in differences(way, known.get(way, ()))]
    print("\n".join(found) or "as it was")
    if bless:
        FILE.write_text(json.dumps({way: loaded(way) for way in JOBS}, indent=1) + "\n")
    return int(bool(found) and not bless)


if __name__ == "__main__":
    sys.exit(main())
