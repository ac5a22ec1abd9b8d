"""Decompositions with qubits of their own: they get wires after all others, which are |0⟩ again at the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cirq
import numpy as np
import pytest

from qsim_ex import errors
from qsim_ex_cirq import QsimExSimulator, translate

WIDTH = 11  # wider than what is taken as a matrix
Q = cirq.LineQubit.range(WIDTH)
CARRY = cirq.NamedQubit("carry")


class Parity(cirq.Gate):
    """A phase on odd values, by way of a qubit that holds the parity; undone: whether that qubit is left in |0⟩."""

    def __init__(self, width: int, undone: bool = True) -> None:
        self.width, self.undone = width, undone

    def _num_qubits_(self) -> int:
        return self.width

    def _decompose_(self, qubits: Any) -> Iterator[cirq.Operation]:
        yield from (cirq.CX(qubit, CARRY) for qubit in qubits)
        yield cirq.Z(CARRY) ** 0.3
        if self.undone:
            yield from (cirq.CX(qubit, CARRY) for qubit in qubits)


class MeasuredParity(cirq.Gate):
    """The parity of two qubits, measured on a qubit of its own, under a key."""

    def _num_qubits_(self) -> int:
        return 2

    def _decompose_(self, qubits: Any) -> Iterator[cirq.Operation]:
        yield cirq.CX(qubits[0], CARRY)
        yield cirq.CX(qubits[1], CARRY)
        yield cirq.measure(CARRY, key="parity")


SPREAD = [cirq.ry(0.3 + 0.2 * k)(qubit) for k, qubit in enumerate(Q)]
PHASED = cirq.Circuit(SPREAD, Parity(WIDTH)(*Q), Parity(WIDTH)(*Q[::-1]))


def expected() -> Any:
    """The state of `PHASED`, by the definition of the gate."""
    state = cirq.Circuit(SPREAD).final_state_vector(qubit_order=Q, dtype=np.complex128)
    odd = np.bitwise_count(np.arange(1 << WIDTH)) & 1
    return state * np.exp(0.6j * np.pi * odd)


def test_a_state_is_without_ancillas() -> None:
    """Amplitudes, samples and expectation values are those of the qubits; one ancilla serves both gates."""
    simulator = QsimExSimulator(seed=1, device="cpu", dtype=np.complex128)
    assert translate(PHASED).circuit.num_qubits == WIDTH + 1
    assert simulator.simulate(PHASED, qubit_order=Q).final_state_vector == pytest.approx(expected(), abs=1e-9)
    assert simulator.compute_amplitudes(PHASED, [5, 6]) == pytest.approx(expected()[[5, 6]], abs=1e-9)
    (mean,) = simulator.simulate_expectation_values(PHASED, cirq.X(Q[0]))
    assert mean == pytest.approx(
        cirq.X(Q[0]).expectation_from_state_vector(expected(), {Q[k]: k for k in range(WIDTH)})
    )
    result = simulator.run(PHASED + cirq.measure(*Q, key="m"), repetitions=10)
    assert result.measurements["m"].shape == (10, WIDTH)


def test_a_state_that_is_given_has_no_ancillas() -> None:
    """An initial state is one of the qubits, where nothing is random and where something is."""
    simulator = QsimExSimulator(seed=1, device="cpu", dtype=np.complex128)
    start = cirq.testing.random_superposition(1 << WIDTH, random_state=3)
    odd = np.bitwise_count(np.arange(1 << WIDTH)) & 1
    circuit = cirq.Circuit(Parity(WIDTH)(*Q))
    result = simulator.simulate(circuit, initial_state=start).final_state_vector
    assert result == pytest.approx(start * np.exp(0.3j * np.pi * odd), abs=1e-9)
    circuit.append(cirq.depolarize(1e-12)(Q[0]))
    result = simulator.simulate(circuit, initial_state=start).final_state_vector
    assert result == pytest.approx(start * np.exp(0.3j * np.pi * odd), abs=1e-9)


def test_steps_use_ancillas_too() -> None:
    """A moment with such a gate ends in the state of the qubits."""
    steps = list(QsimExSimulator(device="cpu", dtype=np.complex128).simulate_moment_steps(PHASED, qubit_order=Q))
    assert steps[-1].state_vector() == pytest.approx(expected(), abs=1e-9)


def test_what_an_ancilla_measures_is_recorded() -> None:
    """A parity is measured again and again on one ancilla, and the state is projected onto it."""
    a, b = Q[:2]
    circuit = cirq.Circuit(
        cirq.H(a), cirq.H(b), MeasuredParity()(a, b), MeasuredParity()(b, a), cirq.measure(a, b, key="m")
    )
    assert translate(circuit).circuit.num_qubits == 3
    simulator = QsimExSimulator(seed=1, device="cpu")
    found = simulator.run(circuit, repetitions=100)
    parity = found.records["parity"]
    assert parity.shape == (100, 2, 1)
    assert 25 < parity[:, 0].sum() < 75
    assert np.array_equal(parity[:, 0], parity[:, 1])
    assert np.array_equal(found.records["m"][:, 0].sum(axis=1) % 2, parity[:, 0, 0])
    state = simulator.simulate(circuit[:-1])
    weights = np.abs(state.final_state_vector) ** 2
    odd = state.measurements["parity"][0]
    assert weights == pytest.approx([0, 0.5, 0.5, 0] if odd else [0.5, 0, 0, 0.5], abs=1e-6)


@pytest.mark.parametrize("noise", [None, cirq.depolarize(1e-12)])
def test_an_ancilla_that_is_left_entangled_is_an_error(noise: Any) -> None:
    """A gate that does not return its ancilla to |0⟩ has no state of its qubits alone."""
    circuit = cirq.Circuit(SPREAD, Parity(WIDTH, undone=False)(*Q))
    with pytest.raises(errors.StateError):
        QsimExSimulator(device="cpu", noise=noise).simulate(circuit)
