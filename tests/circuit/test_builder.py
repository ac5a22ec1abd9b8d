"""The builder checks what it is given and keeps structure and numbers apart."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from qsim_ex import errors, reference
from qsim_ex.circuit.builder import CircuitBuilder

PAULI = {
    "I": np.eye(2),
    "X": np.array([[0, 1], [1, 0]]),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1, -1]),
}


def matrix(builder: CircuitBuilder) -> np.ndarray:
    """The circuit on all basis states."""
    circuit = builder.build()
    return np.array([reference.simulate(circuit, column) for column in np.eye(1 << circuit.num_qubits)]).T


@settings(deadline=None)
@given(paulis=st.text("IXYZ", min_size=1, max_size=4), angle=st.floats(-7, 7))
def test_pauli_rotation(paulis: str, angle: float) -> None:
    """A Pauli rotation is exp(−iθ/2·P) of the Kronecker product of its letters, wire 0 least significant."""
    product = np.eye(1)
    for letter in paulis:
        product = np.kron(PAULI[letter], product)
    found = matrix(CircuitBuilder(len(paulis)).pauli_rotation(angle, paulis, range(len(paulis))))
    assert found == pytest.approx(expm(-0.5j * angle * product), abs=1e-12)


def test_a_circuit_has_no_bits_unless_it_is_given_some() -> None:
    """A builder that is given no number of classical bits makes a circuit without any."""
    circuit = CircuitBuilder(2).gate("h", [0]).build()
    assert (circuit.num_qubits, circuit.num_clbits) == (2, 0)


def test_controls_with_wanted_values() -> None:
    """A gate acts exactly where every control has its control value."""
    found = matrix(CircuitBuilder(3).gate("ry", [0], 0.7, controls=[1, 2], control_values=0b10))
    expected = np.eye(8)
    c, s = math.cos(0.35), math.sin(0.35)
    expected[np.ix_([4, 5], [4, 5])] = [[c, -s], [s, c]]  # wire 1 is 0 and wire 2 is 1
    assert found == pytest.approx(expected, abs=1e-15)


def test_structure_without_numbers() -> None:
    """Circuits that differ in angles alone have equal structure and key; another gate has another."""

    def circuit(name: str, angle: float) -> tuple[object, str]:
        built = CircuitBuilder(2).gate(name, [0], angle).gate("rzz", [0, 1], angle).build()
        return built.structure, built.key

    assert circuit("rx", 0.1) == circuit("rx", math.pi)
    assert circuit("rx", 0.1)[1] != circuit("ry", 0.1)[1]


BAD: dict[str, tuple[type[Exception], str, Callable[[CircuitBuilder], object]]] = {
    "unknown gate": (errors.UnknownInstruction, "Did you mean 'swap'", lambda b: b.gate("swapp", [0, 1])),
    "wire out of range": (errors.WireError, "got wire 3, which is out of range", lambda b: b.gate("h", [3])),
    "wire not whole": (errors.WireError, "whole number", lambda b: b.gate("h", [0.5])),  # type: ignore[list-item]
    "wire twice": (errors.WireError, "wire 1 twice", lambda b: b.gate("cx", [1, 1])),
    "control is target": (errors.WireError, "wire 1 twice", lambda b: b.gate("x", [1], controls=[1])),
    "wires missing": (errors.WireError, "expected 2 wires, got 1", lambda b: b.gate("cx", [1])),
    "angle missing": (errors.ParameterError, "expected 1 parameters .theta., got 0", lambda b: b.gate("rx", [1])),
    "angle NaN": (errors.ParameterError, "not finite", lambda b: b.gate("rz", [1], math.nan)),
    "angle a word": (errors.ParameterError, "numbers", lambda b: b.gate("rx", [1], "a")),  # type: ignore[arg-type]
    "rotation infinite": (errors.ParameterError, "not finite", lambda b: b.pauli_rotation(math.inf, "X", [0])),
    "not square": (errors.MatrixError, "square", lambda b: b.unitary(np.ones((2, 3)), [0])),
    "not a power of two": (errors.MatrixError, "power of two", lambda b: b.unitary(np.eye(3), [0])),
    "too small": (errors.MatrixError, "4 rows for 2 wires, got 2", lambda b: b.unitary(np.eye(2), [0, 1])),
    "not unitary": (errors.MatrixError, "a unitary matrix", lambda b: b.unitary([[1, 1], [0, 1]], [0])),
    "NaN": (errors.MatrixError, "NaN", lambda b: b.unitary([[np.nan, 0], [0, 1]], [0])),
    "diagonal not unitary": (errors.MatrixError, "modulus", lambda b: b.diagonal([1, 2], [0])),
    "multiplexer short": (errors.MatrixError, "expected 2 matrices", lambda b: b.multiplexer([np.eye(2)], [0], [1])),
    "not normalised": (errors.StateError, "norm 1, got one of norm 2", lambda b: b.initialize([2, 0], [0])),
    "state too long": (errors.StateError, "2 amplitudes", lambda b: b.initialize([1, 0, 0, 0], [0])),
    "no permutation": (errors.MatrixError, "exactly once", lambda b: b.permutation([0, 0], [0])),
    "no Pauli": (errors.CircuitError, "IXYZ", lambda b: b.pauli_rotation(1, "A", [0])),
    "no such clbit": (errors.MeasurementError, "out of range", lambda b: b.measure([0], [7])),
    "clbit missing": (errors.MeasurementError, "as many", lambda b: b.measure([0, 1], [0])),
    "label taken": (errors.CircuitError, "already", lambda b: b.save("a").save("a")),
    "negative wires": (errors.CircuitError, "negative", lambda _: CircuitBuilder(-1)),
    "fractional wires": (errors.CircuitError, "whole number", lambda _: CircuitBuilder(1.5)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    """Each mistake has its own error, which says what was given or expected."""
    kind, words, mistake = BAD[name]
    with pytest.raises(kind, match=words):
        mistake(CircuitBuilder(3, 1))


def test_equal_structures_are_one_object():
    """Circuits that differ in numbers alone share one structure, and circuits of other gates do not."""

    def rotation(angle, name="rx"):
        return CircuitBuilder(2).gate(name, [0], angle).build()

    first, second = rotation(0.1), rotation(0.2)
    assert first.structure is second.structure
    assert first.instructions is second.instructions
    assert rotation(0.1, "ry").structure is not first.structure
    assert pickle.loads(pickle.dumps(first)).structure is first.structure
    assert copy.deepcopy(first).structure is first.structure


def test_numpy_integers_are_wires() -> None:
    """Wires and classical bits may be NumPy integers, and instructions hold Python's all the same."""
    wires = np.arange(11, 15)  # of other circuits no gate lies here: what was placed once is remembered
    builder = CircuitBuilder(15, 15)
    builder.gate("h", wires[:1]).gate("cx", wires[:2]).gate("ry", wires[3:], 0.3, controls=wires[1:3])
    builder.unitary(np.eye(4)[[0, 2, 3, 1]], wires[1:3], controls=wires[:1]).diagonal([1, 1j], wires[2:3])
    builder.initialize([0, 1], wires[2:3]).permutation([1, 2, 3, 0], wires[:2]).pauli_rotation(0.2, "XZ", wires[:2])
    builder.channel(np.array([np.eye(2), np.diag([1, -1])]) * 0.5**0.5, wires[:1])
    builder.reset(wires[:1]).measure(wires, wires[::-1])
    with builder.condition(wires[:1], [1]):
        builder.gate("x", wires[1:2])
    assert "int64" not in repr(builder.build().instructions)
