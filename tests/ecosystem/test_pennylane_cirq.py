"""pennylane-cirq: PennyLane's QNodes run on the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pennylane as qml
import pytest
from pennylane import numpy as pnp


@pytest.fixture
def device(cirq_simulator: Any) -> Any:
    """A device of PennyLane with two wires on the simulator."""
    return qml.device("cirq.simulator", wires=2, simulator=cirq_simulator(dtype=np.complex128, seed=7))


def turned(x: Any, y: Any) -> Any:
    """Turn two qubits and join them; <Z1> is cos x cos y."""
    qml.RX(x, wires=0)
    qml.RY(y, wires=1)
    qml.CNOT(wires=[0, 1])
    return qml.expval(qml.PauliZ(1))


def test_a_qnode_and_its_gradient(device: Any) -> None:
    """<Z> and its derivatives by both angles, from the parameter-shift rule, are exact."""
    node = qml.QNode(turned, device, diff_method="parameter-shift")
    x, y = pnp.array(0.6, requires_grad=True), pnp.array(1.1, requires_grad=True)
    assert float(node(x, y)) == pytest.approx(np.cos(0.6) * np.cos(1.1), abs=1e-6)
    by_x, by_y = qml.grad(node)(x, y)
    assert float(by_x) == pytest.approx(-np.sin(0.6) * np.cos(1.1), abs=1e-6)
    assert float(by_y) == pytest.approx(-np.cos(0.6) * np.sin(1.1), abs=1e-6)


def test_states_and_probabilities(device: Any) -> None:
    """A Bell pair has its state and its probabilities."""

    def bell(asked: Any) -> Any:
        qml.Hadamard(wires=0)
        qml.CNOT(wires=[0, 1])
        return asked()

    node = qml.QNode(bell, device)
    assert np.asarray(node(qml.state)) == pytest.approx(np.sqrt([0.5, 0, 0, 0.5]), abs=1e-6)
    assert np.asarray(node(lambda: qml.probs(wires=[0, 1]))) == pytest.approx([0.5, 0, 0, 0.5], abs=1e-6)


def test_samples(device: Any) -> None:
    """Shots of a turned qubit are as frequent as they should be."""

    def turn() -> Any:
        qml.RY(1.0, wires=0)
        return qml.counts(wires=0)

    counts = qml.set_shots(qml.QNode(turn, device), 2000)()
    assert abs(counts["1"] - 2000 * np.sin(0.5) ** 2) < 5 * np.sqrt(2000)
