"""Qiskit for the engine's command line, which finds `frontend` under the entry-point group ``qsim_ex.frontends``.

A frontend is any object with

- ``name``: of the framework, for people;
- ``load(path)``: the circuit in a file and what is known of it, as ``(Circuit, info)``, where ``info.name`` and
  ``info.format`` are for people and ``info.format_bits(value)`` writes an outcome (bit c = classical bit c) the way
  the framework's users read it;
- ``demo(num_qubits, shots, seed, options)``: a `Demonstration` of the circuit that `ising_quench` describes. Every
  framework runs that circuit, so their amplitudes can be compared: bit w of an amplitude's index is qubit w.

Errors are those of `qsim_ex.errors`.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qiskit import qasm2, qasm3
from qiskit.circuit import QuantumCircuit

from qsim_ex import Circuit, Options, Result
from qsim_ex.errors import CircuitError, MissingPackage
from qsim_ex_provider.backend import QsimExBackend
from qsim_ex_provider.results import register_sizes
from qsim_ex_provider.save import save_statevector
from qsim_ex_provider.translate import translate


@dataclass(frozen=True, slots=True)
class LoadedInfo:
    """What is known of a circuit from a file.

    registers: names and sizes of the classical registers, if they follow one another without gaps.
    """

    name: str
    format: str
    num_clbits: int
    registers: tuple[tuple[str, int], ...]

    def format_bits(self, value: int) -> str:
        """Write an outcome with the highest bit first and a space between registers, as Qiskit does."""
        return format_bits(value, [size for _, size in self.registers] or [self.num_clbits])


@dataclass(frozen=True, eq=False, slots=True)
class Demonstration:
    """A circuit that ran: the engine's result, its counts by bit string, its amplitudes, and a picture of it.

    amplitudes: complex [2^n]; bit w of the index is qubit w. drawing: lines of text.
    """

    result: Result
    counts: dict[str, int]
    amplitudes: NDArray[np.complexfloating[Any, Any]]
    drawing: str


def format_bits(value: int, sizes: Sequence[int]) -> str:
    """Write a number in binary with the last register first, separated by spaces."""
    parts = []
    for size in sizes:
        parts.append(format(value & (1 << size) - 1, f"0{size}b") if size else "")
        value >>= size
    return " ".join(part for part in reversed(parts) if part)


class QiskitFrontend:
    """Files in OpenQASM 2 and 3, and a demonstration."""

    name = "qiskit"

    def load(self, path: str | Path) -> tuple[Circuit, LoadedInfo]:
        """Read a circuit from a file; raises `CircuitError` with the file's name and line, or `MissingPackage`."""
        circuit, format_name = read(Path(path))
        registers = tuple((name, size) for name, size in register_sizes(circuit))
        return translate(circuit), LoadedInfo(circuit.name, format_name, circuit.num_clbits, registers)

    def demo(self, num_qubits: int, shots: int, seed: int, options: Options) -> Demonstration:
        """Run the quench through Qiskit's own interface: backend, job, result."""
        circuit = ising_quench(num_qubits)
        drawing = str(circuit.draw("text", fold=100))
        save_statevector(circuit)
        circuit.measure_all()
        fields = {**asdict(options), "seed_simulator": seed}
        del fields["seed"]
        done = QsimExBackend(**fields).run(circuit, shots=shots).result()
        data = done.results[0].data
        return Demonstration(
            data.engine_result, dict(done.get_counts()), data.engine_result.saved["statevector"], drawing
        )


def ising_quench(num_qubits: int, steps: int = 4) -> QuantumCircuit:
    """A chain of spins, all up, after a transverse field was switched on; first-order Trotter steps.

    Each step applies exp(−i·0.4·Z_w Z_{w+1}) to all neighbours and then exp(−i·0.3·X_w) to all spins: RZZ(0.8) and
    RX(0.6).
    """
    circuit = QuantumCircuit(num_qubits, name="ising quench")
    for _ in range(steps):
        for wire in range(num_qubits - 1):
            circuit.rzz(0.8, wire, wire + 1)
        for wire in range(num_qubits):
            circuit.rx(0.6, wire)
    return circuit


def read(path: Path) -> tuple[QuantumCircuit, str]:
    """Read a file in OpenQASM 2 or 3, whichever its first statement names (3 if it names none), and say which."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CircuitError(f"{path}: the file cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise CircuitError(f"{path}: this is no text file.") from error
    circuit, name = (_read2(path), "OpenQASM 2") if _version(text) == "2" else (_read3(path, text), "OpenQASM 3")
    circuit.name = path.stem
    return circuit, name


def _version(text: str) -> str:
    bare = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    found = re.match(r"\s*OPENQASM\s+(\d+)", bare)
    return found.group(1) if found else "3"


def _read2(path: Path) -> QuantumCircuit:
    try:
        return qasm2.load(
            path,
            include_path=(path.parent,),
            custom_instructions=qasm2.LEGACY_CUSTOM_INSTRUCTIONS,  # the gates that Qiskit's own files use
            custom_classical=qasm2.LEGACY_CUSTOM_CLASSICAL,
        )
    except qasm2.QASM2ParseError as error:
        raise CircuitError(f"{path.parent / error.message}") from error  # "name:line,column: what is wrong"


def _read3(path: Path, text: str) -> QuantumCircuit:
    if importlib.util.find_spec("qiskit_qasm3_import") is None:
        raise MissingPackage(
            f"{path}: Qiskit reads OpenQASM 3 with the package qiskit-qasm3-import, which is not installed. "
            "Run: pip install qiskit-qasm3-import"
        )
    try:
        return qasm3.loads(text)
    except qasm3.QASM3ImporterError as error:
        raise CircuitError(f"{path}:{error.message}") from error
    except Exception as error:  # the importer and its parser let all kinds through
        where = _token_line(error)
        what = str(error) or "this is not OpenQASM 3"
        raise CircuitError(f"{path}:{where} {what} ({type(error).__name__}).") from error


def _token_line(error: BaseException | None) -> str:
    """The line and column of the token at which the parser of OpenQASM 3 gave up, if an error of it holds one."""
    while error is not None:
        for found in (error, *error.args):
            token = getattr(found, "offendingToken", None)
            if token is not None:
                return f"{token.line},{token.column}:"
        error = error.__cause__
    return ""


frontend = QiskitFrontend()
