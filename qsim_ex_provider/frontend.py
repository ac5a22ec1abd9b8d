"""Qiskit for the engine's command line, which finds `frontend` under the entry-point group ``qsim_ex.frontends``.

`qsim_ex.frontends` says what the command line asks of it: it reads circuits from files, and it runs plain lists of
gates the way a user of Qiskit would. Errors are those of `qsim_ex.errors`.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from qiskit import qasm2, qpy
from qiskit.circuit import QuantumCircuit

from qsim_ex import Circuit, Options
from qsim_ex.errors import CircuitError, MissingPackage, NotSupported, ParameterError, some_of
from qsim_ex_provider.backend import QsimExBackend
from qsim_ex_provider.results import register_sizes
from qsim_ex_provider.saves.instructions import save_statevector
from qsim_ex_provider.translation.circuits import translate
from qsim_ex_provider.translation.limits import Limits, check_circuit, check_program, check_text
from qsim_ex_provider.translation.translator import class_rows


@dataclass(frozen=True, slots=True)
class LoadedInfo:
    """The name, format and registers of a circuit from a file.

    registers: names and sizes of the classical registers, if they follow one another without gaps.
    """

    name: str
    format: str
    num_clbits: int
    registers: tuple[tuple[str, int], ...]

    def format_bits(self, value: int) -> str:
        """Write an outcome with the highest bit first and a space between registers, as Qiskit does."""
        return format_bits(value, [size for _, size in self.registers] or [self.num_clbits])


def format_bits(value: int, sizes: Sequence[int]) -> str:
    """Write a number in binary with the last register first, separated by spaces."""
    parts = []
    for size in sizes:
        parts.append(format(value & (1 << size) - 1, f"0{size}b") if size else "")
        value >>= size
    return " ".join(part for part in reversed(parts) if part)


class QiskitFrontend:
    """Files in OpenQASM 2 and 3 and in QPY, and gates run through Qiskit's own interface."""

    name = "qiskit"
    suffixes = (".qasm", ".qasm2", ".qasm3", ".qpy")

    def load(
        self, path: str | Path, values: Mapping[str, float] | None = None, **limits: int
    ) -> tuple[Circuit, LoadedInfo]:
        """Read a circuit from a file; raises `CircuitError` with the file's name and line, or `MissingPackage`.

        values: of the circuit's parameters, by their names. limits: those of `limits.Limits`, such as
        ``max_qubits=2000``.
        """
        circuit, format_name = read(Path(path), Limits(**limits))
        circuit = _bound(Path(path), circuit, values or {})
        registers = tuple((name, size) for name, size in register_sizes(circuit))
        return translate(circuit), LoadedInfo(circuit.name, format_name, circuit.num_clbits, registers)

    def run_neutral(
        self,
        gates: Sequence[tuple[str, Sequence[int], Sequence[float]]],
        num_qubits: int,
        shots: int,
        seed: int,
        options: Options,
    ) -> tuple[NDArray[np.complex128], dict[int, int], Mapping[str, object]]:
        """Run gates (name in the engine's table, wires, angles) through backend, job and result, and measure all wires.

        Returns the amplitudes before the measurement (bit w of the index = wire w), the counts (bit w of a key =
        wire w), and the metadata of the run.
        """
        circuit = save_statevector(neutral_circuit(gates, num_qubits))
        circuit.measure_all()
        engine = {field.name: getattr(options, field.name) for field in fields(options) if field.name != "seed"}
        result = QsimExBackend(**engine).run(circuit, shots=shots, seed_simulator=seed).result()
        counts = {int(bits, 2): count for bits, count in result.get_counts().items()}
        return result.get_statevector().data, counts, result.results[0].metadata


def _bound(path: Path, circuit: QuantumCircuit, values: Mapping[str, float]) -> QuantumCircuit:
    """Return a file's circuit with the values of its parameters; raises `ParameterError` unless these are all."""
    names = {parameter.name: parameter for parameter in circuit.parameters}
    if unknown := values.keys() - names:
        raise ParameterError(
            f"{path}: expected values of the file's parameters ({some_of(names) or 'it has none'}), got one of "
            f"{', '.join(sorted(unknown))}."
        )
    if missing := [name for name in names if name not in values]:
        raise ParameterError(
            f"{path}: expected values of the file's parameters, got none of {some_of(missing)}; give each, such as "
            f"--set {missing[0]}=0.5."
        )
    return circuit.assign_parameters({names[name]: value for name, value in values.items()}) if names else circuit


def neutral_circuit(gates: Sequence[tuple[str, Sequence[int], Sequence[float]]], num_qubits: int) -> QuantumCircuit:
    """Build a circuit from rows of the engine's gate table; raises `NotSupported` for one that Qiskit does not have."""
    classes = {name: gate_class for gate_class, (name, _) in class_rows().items()}
    circuit = QuantumCircuit(num_qubits)
    for name, wires, angles in gates:
        if name not in classes:
            raise NotSupported(f"Qiskit has no gate for {name!r} of the engine's table.")
        circuit.append(classes[name](*angles), list(wires))
    return circuit


def read(path: Path, limits: Limits = Limits()) -> tuple[QuantumCircuit, str]:  # noqa: B008 - frozen
    """Read a file in QPY, or in OpenQASM 2 or 3, whichever its first statement names (3 if none), and return which.

    Raises `CircuitError` for a file that asks for more than the limits, or for files outside its own folder.
    """
    if path.suffix.lower() == ".qpy":
        return _read_qpy(path, limits), "QPY"
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors begin files with a mark
    except OSError as error:
        raise CircuitError(f"{path}: the file cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise CircuitError(f"{path}: this is no text file.") from error
    if not (bare := _COMMENT.sub(" ", text)).strip():
        raise CircuitError(f"{path}: expected a circuit in OpenQASM 2 or 3, got a file with no statements.")
    try:
        if _version(bare) == "2":
            check_text(path, text, "2", limits)
            circuit, name = _read2(path, text), "OpenQASM 2"
        else:
            check_text(path, text, "3", limits)
            circuit, name = _read3(path, text, limits), "OpenQASM 3"
        check_circuit(path, circuit, limits)
    except RecursionError as error:
        raise CircuitError(
            f"{path}: expected at most max_depth={limits.max_depth} levels of nesting (--max-depth), got more than "
            "Python can follow."
        ) from error
    circuit.name = path.stem
    return circuit, name


def _read_qpy(path: Path, limits: Limits) -> QuantumCircuit:
    try:
        with path.open("rb") as file:
            found = qpy.load(file)
    except OSError as error:
        raise CircuitError(f"{path}: the file cannot be read: {error.strerror}.") from error
    except Exception as error:  # Qiskit's reader lets all kinds through
        raise CircuitError(f"{path}: this is no QPY that Qiskit reads: {error} ({type(error).__name__}).") from error
    if len(found) != 1 or not isinstance(found[0], QuantumCircuit):
        raise CircuitError(f"{path}: expected one circuit, got {len(found)}; write each to a file of its own.")
    check_circuit(path, found[0], limits)
    return found[0]


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def _version(bare: str) -> str:
    found = re.match(r"\s*OPENQASM\s+(\d+)", bare)
    return found.group(1) if found else "3"


def _read2(path: Path, text: str) -> QuantumCircuit:
    try:
        return qasm2.loads(
            text,
            include_path=(path.parent,),
            custom_instructions=qasm2.LEGACY_CUSTOM_INSTRUCTIONS,  # the gates that Qiskit's own files use
            custom_classical=qasm2.LEGACY_CUSTOM_CLASSICAL,
        )
    except qasm2.QASM2ParseError as error:
        named = error.message.replace("<input>", path.name, 1)  # "name:line,column: what is wrong"
        raise CircuitError(f"{path.parent / named}") from error


def _read3(path: Path, text: str, limits: Limits) -> QuantumCircuit:
    if importlib.util.find_spec("qiskit_qasm3_import") is None:
        raise MissingPackage(
            f"{path}: Qiskit reads OpenQASM 3 with the package qiskit-qasm3-import, which is not installed. "
            "Run: pip install qiskit-qasm3-import"
        )
    import openqasm3
    import qiskit_qasm3_import

    try:
        program = openqasm3.parse(text)
        check_program(path, program, limits)
        return qiskit_qasm3_import.convert(program)
    except (CircuitError, RecursionError):
        raise
    except qiskit_qasm3_import.ConversionError as error:
        raise CircuitError(f"{path}:{error.message}") from error
    except Exception as error:  # the importer and its parser let all kinds through
        where = _token_line(error)
        what = str(error) or "this is not OpenQASM 3"
        raise CircuitError(f"{path}:{where} {what} ({type(error).__name__}).") from error


def _token_line(error: BaseException | None) -> str:
    """Return the line and column of the token at which the parser of OpenQASM 3 gave up, if its error holds one."""
    while error is not None:
        for found in (error, *error.args):
            token = getattr(found, "offendingToken", None)
            if token is not None:
                return f"{token.line},{token.column}:"
        error = error.__cause__
    return ""


frontend = QiskitFrontend()
