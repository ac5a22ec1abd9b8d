"""pennylane-qiskit: PennyLane's QNodes run on the backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pennylane as qml
import pytest
from pennylane import numpy as pnp

SHOTS = 20_000


@pytest.fixture
def device(simulators: Any) -> Any:
    """A device of PennyLane with two wires on the backend."""
    return qml.device("qiskit.remote", wires=2, backend=simulators.backend(seed_simulator=7))


def turned(x: Any, y: Any) -> Any:
    """Turn two qubits and join them; <Z1> is cos x cos y."""
    qml.RX(x, wires=0)
    qml.RY(y, wires=1)
    qml.CNOT(wires=[0, 1])
    return qml.expval(qml.PauliZ(1))


def test_a_qnode_and_its_gradient(device: Any) -> None:
    """<Z> and its derivatives by both angles, from the parameter-shift rule, are right within 5 standard deviations."""
    node = qml.set_shots(qml.QNode(turned, device, diff_method="parameter-shift"), SHOTS)
    x, y = pnp.array(0.6, requires_grad=True), pnp.array(1.1, requires_grad=True)
    within = 5 / np.sqrt(SHOTS)
    assert float(node(x, y)) == pytest.approx(np.cos(0.6) * np.cos(1.1), abs=within)
    by_x, by_y = qml.grad(node)(x, y)
    assert float(by_x) == pytest.approx(-np.sin(0.6) * np.cos(1.1), abs=within)
    assert float(by_y) == pytest.approx(-np.cos(0.6) * np.sin(1.1), abs=within)


def test_an_optimiser_finds_the_ground_state(device: Any) -> None:
    """Gradient descent of a QNode finds the lowest energy of hydrogen on two qubits."""
    hamiltonian = qml.Hamiltonian(
        [-1.052373245, 0.397937425, -0.397937425, -0.011280104, 0.180931200],
        [qml.I(0), qml.Z(0), qml.Z(1), qml.Z(0) @ qml.Z(1), qml.X(0) @ qml.X(1)],
    )

    def energy(theta: Any) -> Any:
        qml.PauliX(wires=0)
        qml.SingleExcitation(theta, wires=[0, 1])
        return qml.expval(hamiltonian)

    node = qml.set_shots(qml.QNode(energy, device, diff_method="parameter-shift"), 4000)
    theta, descent = pnp.array(0.4, requires_grad=True), qml.GradientDescentOptimizer(0.6)
    for _ in range(12):
        theta = descent.step(node, theta)
    exact = np.linalg.eigvalsh(qml.matrix(hamiltonian, wire_order=[0, 1]))[0]
    assert float(node(theta)) == pytest.approx(exact, abs=0.02)


def test_counts_and_probabilities(device: Any) -> None:
    """A Bell pair has equal counts of 00 and 11 and nothing else."""

    @qml.set_shots(shots=SHOTS)
    @qml.qnode(device)
    def bell() -> Any:
        qml.Hadamard(wires=0)
        qml.CNOT(wires=[0, 1])
        return qml.counts(), qml.probs(wires=[0, 1])

    counts, probabilities = bell()
    assert set(counts) == {"00", "11"}
    assert probabilities == pytest.approx([0.5, 0, 0, 0.5], abs=5 * 0.5 / np.sqrt(SHOTS))
