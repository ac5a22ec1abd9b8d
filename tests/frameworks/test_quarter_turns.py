"""Wide circuits of Qiskit and Cirq with quarter turns, read one by one and in bulk, have the frameworks' amplitudes."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

import numpy as np
import pytest

from qsim_ex import thresholds

WIDE = thresholds.now.quarter_wires
FEW, MANY = 2, 20
"""Gates beside those that are looked at: so that all are read one by one, or in bulk."""

WITHIN = {"double": 1e-13, "single": 1e-5}

FIRST = ("z", "s", "sdg", "t", "tdg")
"""Gates that are rows of their own and stand for turns."""

BETWEEN = ("ryy", "rxx", "rzz", "cp", "crx")

ANGLES = (-pi, pi, -pi / 2, pi / 4, 3 * pi / 4, 7 * pi / 2, 10 * pi)


def _qiskit(wires: int, many: int, first: Sequence[str], between: str, turn: tuple[str, float]) -> Any:
    from qiskit import QuantumCircuit

    circuit = QuantumCircuit(wires)
    for _ in range(many):
        circuit.y(1)
    for name in first:
        getattr(circuit, name)(0)
    circuit.h([0, 2])
    getattr(circuit, between)(0.7, 2, 0)
    getattr(circuit, turn[0])(turn[1], 2)
    circuit.h(2)
    return circuit


def _off_qiskit(wires: int, many: int, *given: Any, precision: str = "double") -> float:
    """Return how far amplitudes are from those of Qiskit's own circuit on three wires."""
    from qiskit.quantum_info import Statevector

    from qsim_ex_provider import QsimExBackend, save_statevector

    circuit = save_statevector(_qiskit(wires, many, *given))
    data = QsimExBackend(device="cpu", threads=1, precision=precision).run(circuit).result().data()
    return float(np.abs(np.asarray(data["statevector"])[:8] - Statevector(_qiskit(3, many, *given)).data).max())


@pytest.mark.parametrize("precision", WITHIN)
@pytest.mark.parametrize("many", [FEW, MANY])
@pytest.mark.parametrize("name", ["p", "rz"])
def test_turns_and_the_rows_they_stand_for_in_qiskit(name: str, many: int, precision: str) -> None:
    """A gate that is a row of its own, and an angle for which the same row stands, are both in the amplitudes."""
    pytest.importorskip("qiskit")
    for number, angle in enumerate(ANGLES):
        first, between = (FIRST[number % 5],), BETWEEN[number % 5]
        assert _off_qiskit(WIDE, many, first, between, (name, angle), precision=precision) < WITHIN[precision]
    assert _off_qiskit(WIDE, many, FIRST, "ryy", (name, -pi), precision=precision) < WITHIN[precision]


@pytest.mark.parametrize("many", [FEW, MANY])
@pytest.mark.parametrize("size", [10, 12, 13, 14, 15, 16])
def test_huge_angles_are_no_quarter_turns_in_qiskit(size: int, many: int) -> None:
    """An angle is what it is, however large: nothing of it is rounded to a turn."""
    pytest.importorskip("qiskit")
    for angle in np.random.default_rng(size).uniform(1, 9, 6) * 10.0**size:
        assert _off_qiskit(WIDE, many, (), "rxx", ("p", float(angle))) < 1e-9


def _cirq(wires: int, many: int) -> tuple[Any, Any]:
    import cirq

    q = cirq.LineQubit.range(wires)
    turns = [cirq.Z(q[2]) ** -1.0, cirq.ZPowGate(exponent=3)(q[2]), cirq.rz(-pi / 2)(q[2]), cirq.H(q[2])]
    rows = [cirq.T(q[0]), cirq.S(q[0]), cirq.Z(q[0]) ** 0.25, cirq.Z(q[0]) ** 2.25, cirq.Z(q[0]) ** -0.5, cirq.H(q[0])]
    first = [cirq.Z(q[0]), cirq.H(q[0]), cirq.H(q[2]), cirq.CZ(q[0], q[2]) ** 0.3]
    return q, cirq.Circuit([cirq.Y(q[1])] * many, first, turns, rows)


@pytest.mark.parametrize("precision", WITHIN)
@pytest.mark.parametrize("many", [0, MANY])
def test_turns_and_the_rows_they_stand_for_in_cirq(many: int, precision: str) -> None:
    """Powers of Z that are turns, and gates that are rows, are both in the amplitudes."""
    cirq = pytest.importorskip("cirq")
    from qsim_ex_cirq import QsimExSimulator

    kind: Any = np.complex64 if precision == "single" else np.complex128
    (ours, circuit), (theirs, same) = _cirq(WIDE, many), _cirq(3, many)
    found = QsimExSimulator(dtype=kind).simulate(circuit, qubit_order=ours).final_state_vector
    expected = cirq.Simulator(dtype=np.complex128).simulate(same, qubit_order=theirs).final_state_vector
    assert np.abs(found[:: 1 << WIDE - 3] - expected).max() < WITHIN[precision]
