"""What the command line gets from Qiskit: files in OpenQASM 2 and 3, and gates run its way."""

from __future__ import annotations

import importlib.util
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit, qasm2, qasm3, qpy
from qiskit.circuit.library import get_standard_gate_name_mapping
from qiskit.quantum_info import Statevector
from support.paths import DATA

from qsim_ex import CircuitBuilder, Options, Simulator, errors, reference
from qsim_ex.circuit.gates import GATES as TABLE
from qsim_ex_provider import QsimExBackend
from qsim_ex_provider.frontend import format_bits, frontend, neutral_circuit, read
from qsim_ex_provider.translation.circuits import translate


def gates_of_the_specification(skip: set[str]) -> QuantumCircuit:
    """Every standard gate on four qubits, in an order that leaves no qubit idle, and measurements of two registers."""
    circuit = QuantumCircuit(4, name="all gates")
    circuit.h(range(4))
    for k, (name, gate) in enumerate(get_standard_gate_name_mapping().items()):
        if name not in skip:
            operation = type(gate)(*[0.1 * k + j for j in range(len(gate.params))]) if gate.params else gate
            circuit.append(operation, [(k + j) % 4 for j in range(gate.num_qubits)])
    return circuit


OTHER = {"measure", "reset", "delay"}


def test_file_in_openqasm_2(tmp_path: Path) -> None:
    """A file that Qiskit writes in OpenQASM 2 with every standard gate is the circuit that was written."""
    circuit = gates_of_the_specification(OTHER | {"global_phase"})
    path = tmp_path / "all.qasm"
    path.write_text(qasm2.dumps(circuit))
    translated, info = frontend.load(path)
    assert (info.name, info.format) == ("all", "OpenQASM 2")
    wanted = Statevector(qasm2.load(path, custom_instructions=qasm2.LEGACY_CUSTOM_INSTRUCTIONS)).data
    np.testing.assert_allclose(reference.simulate(translated), wanted, atol=1e-12)
    assert abs(np.vdot(wanted, Statevector(circuit).data)) == pytest.approx(1)


def test_file_in_openqasm_3(tmp_path: Path) -> None:
    """The same in OpenQASM 3."""
    circuit = gates_of_the_specification(OTHER | {"global_phase"})  # Qiskit writes a gate of that name wrongly
    circuit.global_phase = 0.3
    path = tmp_path / "all.qasm"
    path.write_text(qasm3.dumps(circuit))
    translated, info = frontend.load(path)
    assert info.format == "OpenQASM 3"
    wanted = Statevector(qasm3.load(path)).data
    np.testing.assert_allclose(reference.simulate(translated), wanted, atol=1e-12)
    assert abs(np.vdot(wanted, Statevector(circuit).data)) == pytest.approx(1)


@pytest.mark.parametrize(("name", "wanted"), [("phase_estimation", "1 001"), ("grover", "101")])
def test_files_written_by_hand(name: str, wanted: str) -> None:
    """Two algorithms whose outcome is known find it, and the outcome is written with a space between registers."""
    translated, info = frontend.load(DATA / f"{name}.qasm")
    counts = Simulator(device="cpu").run(translated, shots=200, seed=1).counts()
    assert info.format_bits(max(counts, key=lambda value: counts[value])) == wanted
    assert counts[max(counts, key=lambda value: counts[value])] > 180


def test_bits_are_written_as_qiskit_does() -> None:
    """The frontend's bit strings are those that Qiskit's own results have."""
    circuit, _ = read(DATA / "phase_estimation.qasm")
    qiskit_counts = QsimExBackend(device="cpu").run(circuit, shots=50, seed_simulator=2).result().get_counts()
    translated, info = frontend.load(DATA / "phase_estimation.qasm")
    ours = Simulator(device="cpu").run(translated, shots=50, seed=2).counts()
    assert {info.format_bits(value): count for value, count in ours.items()} == dict(qiskit_counts)
    assert format_bits(0b1_00_101, [3, 2, 0, 1]) == "1 00 101"
    assert format_bits(0, [0]) == ""


WRONG = {
    "unknown gate in 2": ('OPENQASM 2.0;\ninclude "qelib1.inc";\nqreg q[2];\nfoo q[0];\n', r"wrong.qasm:4,0:.*'foo'"),
    "unknown file in 2": ('OPENQASM 2.0;\ninclude "nowhere.inc";\n', r"wrong.qasm:2,8:.*nowhere.inc"),
    "unknown gate in 3": ("OPENQASM 3.0;\nqubit[2] q;\nfoo q[0];\n", r"wrong.qasm:3,0:.*'foo'"),
    "syntax in 3": ("OPENQASM 3.0;\nqubit[2] q\nfoo q[0];\n", r"wrong.qasm:3,0: this is not OpenQASM 3"),
    "character in 3": ("OPENQASM 3.0;\nqubit[2] q;\n§ q[0];\n", r"wrong.qasm:.*L3:C0"),
    "subroutine in 3": ("def f(qubit q) { }\n", r"wrong.qasm:1,0:.*SubroutineDefinition"),
    "trouble of the importer": (
        'OPENQASM 3.0;\ninclude "stdgates.inc";\nqubit[2] q;\nctrl(2) @ x q[0],q[1],q[2];\n',
        r"wrong.qasm:.*index",
    ),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_mistakes_in_files_are_located(name: str, tmp_path: Path) -> None:
    """A file that cannot be read as a circuit is named, with the line where it goes wrong."""
    text, message = WRONG[name]
    path = tmp_path / "wrong.qasm"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(errors.CircuitError, match=message):
        frontend.load(path)


def test_files_that_are_none(tmp_path: Path) -> None:
    """A missing file, a file that is no text, and files in which nothing stands are refused by name."""
    with pytest.raises(errors.CircuitError, match=r"nothing.qasm: the file cannot be read"):
        frontend.load(tmp_path / "nothing.qasm")
    (tmp_path / "binary.qasm").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(errors.CircuitError, match="no text file"):
        frontend.load(tmp_path / "binary.qasm")
    for text in ("", "\n// OPENQASM 3.0;\n"):
        (tmp_path / "empty.qasm").write_text(text)
        with pytest.raises(errors.CircuitError, match=r"empty.qasm: expected a circuit in OpenQASM .* no statements"):
            frontend.load(tmp_path / "empty.qasm")


def test_comments_before_the_version(tmp_path: Path) -> None:
    """The version is the first statement, after comments of both kinds."""
    path = tmp_path / "commented.qasm"
    path.write_text("// OPENQASM 3.0;\nOPENQASM 2.0;\nqreg q[1];\n")
    assert read(path)[1] == "OpenQASM 2"
    path.write_text("// OPENQASM 2.0;\n/* OPENQASM 2.0;\n */ OPENQASM 3.0;\nqubit q;\n")
    assert read(path)[1] == "OpenQASM 3"
    path.write_text("/* no version is the newest */ qubit q;\n")
    assert read(path)[1] == "OpenQASM 3"


def test_missing_importer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package that reads OpenQASM 3, the error holds the command that installs it."""
    find = importlib.util.find_spec

    def none_found(name: str, package: str | None = None) -> Any:
        return None if name == "qiskit_qasm3_import" else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", none_found)
    path = tmp_path / "three.qasm"
    path.write_text("OPENQASM 3.0;\nqubit q;\n")
    with pytest.raises(errors.MissingPackage, match="pip install qiskit-qasm3-import"):
        frontend.load(path)


GATES = [
    ("h", (0,), ()),
    ("u", (1,), (0.1, 0.2, 0.3)),
    ("cp", (2, 0), (0.4,)),
    ("ccx", (1, 0, 2), ()),
    ("ry", (2,), (1,)),
]


def test_neutral_gates_run_as_in_the_engine() -> None:
    """A list of gates gives the engine's own amplitudes and shots when it goes through Qiskit."""
    builder = CircuitBuilder(3, 3)
    for name, wires, angles in GATES:
        builder.gate(name, wires, *angles)
    wanted = Simulator(device="cpu").run(builder.measure(range(3), range(3)).build(), shots=300, seed=4)
    amplitudes, counts, metadata = frontend.run_neutral(GATES, 3, 300, 4, Options(device="cpu"))
    np.testing.assert_allclose(amplitudes, reference.simulate(builder.build()), atol=1e-12)
    assert counts == wanted.counts()
    assert (metadata["seed"], metadata["device"]) == (4, wanted.device)


def test_every_gate_of_the_table_that_names_one_of_qiskit() -> None:
    """The rows of the gate table that can be written in Qiskit come back as the same rows."""
    rows = {name: row for name, row in TABLE.items() if row.qiskit in get_standard_gate_name_mapping()}
    assert len(rows) > 40
    for name, row in rows.items():
        circuit = neutral_circuit([(name, range(row.qubits), [0.3] * len(row.parameters))], row.qubits)
        builder = CircuitBuilder(row.qubits).gate(name, range(row.qubits), *[0.3] * len(row.parameters))
        assert translate(circuit).instructions == builder.build().instructions
    with pytest.raises(errors.NotSupported, match="'fsim'"):
        neutral_circuit([("fsim", (0, 1), (0.1, 0.2))], 2)


def test_entry_point_finds_the_frontend() -> None:
    """The object that pyproject.toml names is there."""
    point = EntryPoint("qiskit", "qsim_ex_provider.frontend:frontend", "qsim_ex.frontends")
    assert point.load().name == "qiskit"


def test_qpy_is_read(tmp_path):
    """A circuit in QPY is the circuit that was written; several in one file, and other bytes, are errors."""
    circuit = QuantumCircuit(3, 2, name="written")
    circuit.h(0)
    circuit.cp(0.3, 0, 2)
    circuit.measure([0, 2], [0, 1])
    for name, circuits in (("one", [circuit]), ("two", [circuit, circuit])):
        with (tmp_path / f"{name}.qpy").open("wb") as file:
            qpy.dump(circuits, file)
    found, info = frontend.load(tmp_path / "one.qpy")
    expected = translate(circuit)
    assert found.structure == expected.structure
    np.testing.assert_array_equal(found.operands, expected.operands)
    assert (info.name, info.format, info.num_clbits) == ("written", "QPY", 2)
    with pytest.raises(errors.CircuitError, match=r"two.qpy: expected one circuit, got 2"):
        frontend.load(tmp_path / "two.qpy")
    (tmp_path / "other.qpy").write_bytes(b"OPENQASM 3.0;")
    with pytest.raises(errors.CircuitError, match=r"other.qpy: this is no QPY that Qiskit reads"):
        frontend.load(tmp_path / "other.qpy")
    with pytest.raises(errors.CircuitError, match=r"one.qpy: expected at most 2 qubits, got 3"):
        frontend.load(tmp_path / "one.qpy", max_qubits=2)


@pytest.mark.parametrize("version", ['2.0;\ninclude "qelib1.inc"', '3.0;\ninclude "stdgates.inc"'])
def test_a_file_may_begin_with_a_byte_order_mark(version: str, tmp_path: Path) -> None:
    """A file as some editors write it, with a mark before the first statement, is read as one without."""
    path = tmp_path / "marked.qasm"
    path.write_text(f"OPENQASM {version};\nqreg q[2];\nh q[1];\n", encoding="utf-8-sig")
    translated, _ = frontend.load(path)
    assert (translated.num_qubits, len(translated.instructions)) == (2, 1)
