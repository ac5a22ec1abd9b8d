"""Circuits of Cirq that are translated again: nothing is translated twice, and no change goes unnoticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cirq
import numpy as np
import pytest

from qsim_ex_cirq.moment_circuits import circuit_of
from qsim_ex_cirq.translation.circuits import translate

Q = cirq.LineQubit.range(3)


def fresh() -> cirq.Circuit:
    """Return a circuit with gates, a matrix and measurements."""
    matrix = cirq.MatrixGate(np.array([[0, 1j], [1j, 0]]))
    return cirq.Circuit(cirq.H(Q[0]), cirq.rx(0.3)(Q[1]), cirq.CX(Q[0], Q[2]), matrix(Q[1]), cirq.measure(*Q, key="z"))


def test_unchanged() -> None:
    """A circuit that is unchanged is translated once, and so is a frozen one."""
    for circuit in (fresh(), fresh().freeze()):
        assert translate(circuit) is translate(circuit)


CHANGES: dict[str, Callable[[cirq.Circuit], Any]] = {
    "append": lambda circuit: circuit.append(cirq.X(Q[0])),
    "insert": lambda circuit: circuit.insert(0, cirq.X(Q[0])),
    "replace a moment": lambda circuit: circuit.__setitem__(0, cirq.Moment(cirq.X(Q[0]))),
    "replace an operation": lambda circuit: circuit.batch_replace([(0, cirq.H(Q[0]), cirq.Y(Q[0]))]),
    "angle": lambda circuit: circuit.batch_replace([(0, cirq.rx(0.3)(Q[1]), cirq.rx(np.nextafter(0.3, 1))(Q[1]))]),
    "remove a moment": lambda circuit: circuit.__delitem__(0),
    "clear an operation": lambda circuit: circuit.clear_operations_touching([Q[2]], [1]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes(change: str) -> None:
    """A change after the first translation is in the second one."""
    circuit = fresh()
    before = translate(circuit).circuit
    CHANGES[change](circuit)
    after, expected = translate(circuit).circuit, translate(circuit.copy()).circuit
    assert after.instructions == expected.instructions
    assert (after.operands == expected.operands).all()
    assert after.instructions != before.instructions or (after.operands != before.operands).any()


def test_arguments() -> None:
    """Another order of the qubits, another initial state and other uses of a circuit have translations of their own."""
    circuit = fresh()
    found = [
        translate(circuit),
        translate(circuit, qubit_order=Q[::-1]),
        translate(circuit, initial=5),
        translate(circuit, from_zero=False),
        translate(circuit, sampled=True),
    ]
    assert len({id(one) for one in found}) == len(found)


def test_gates_that_may_change() -> None:
    """A gate that its user may change in place is translated anew."""
    gate = cirq.MutableDensePauliString("XY")
    circuit = cirq.Circuit(cirq.GateOperation(gate, Q[:2]))
    before = translate(circuit).circuit
    gate[0] = "Z"
    assert translate(circuit).circuit.instructions != before.instructions


def test_confusion_maps() -> None:
    """A confusion map that is changed in place is read anew."""
    matrix = np.array([[0.9, 0.1], [0.2, 0.8]])
    circuit = cirq.Circuit(cirq.measure(Q[0], key="z", confusion_map={(0,): matrix}))
    before = translate(circuit).readout[0]
    matrix[:] = np.eye(2)
    after = translate(circuit).readout
    assert not after or (after[0].matrix != before.matrix).any()


@pytest.mark.parametrize("count", [1, 3])
def test_matrices_changed_in_place(count: int) -> None:
    """A matrix gate keeps the array that it was given: a change of that array is in the next translation."""
    matrix = np.eye(2, dtype=complex)
    circuit = cirq.Circuit([cirq.MatrixGate(matrix)(Q[0])] * count)
    assert translate(circuit) is translate(circuit)
    matrix[:] = [[0, 1], [1, 0]]
    after, expected = translate(circuit).circuit, translate(circuit.copy()).circuit
    assert after.instructions == expected.instructions
    assert (after.operands == expected.operands).all()


def test_moments_with_matrices_changed_in_place() -> None:
    """The circuit of a moment whose matrix was changed in place is made anew."""
    matrix = np.eye(2, dtype=complex)
    moment = cirq.Moment(cirq.MatrixGate(matrix)(Q[0]))
    given = [(0, moment.operations[0])], (Q[0],), moment
    before = circuit_of(*given)
    assert circuit_of(*given) is before
    matrix[:] = [[0, 1], [1, 0]]
    assert (circuit_of(*given).operands[0, -4:] == [0, 1, 1, 0]).all()
