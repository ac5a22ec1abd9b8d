"""qiskit-machine-learning: kernels, networks and classifiers on the primitives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import Parameter
from qiskit.circuit.library import real_amplitudes, zz_feature_map
from qiskit.quantum_info import SparsePauliOp, Statevector
from qiskit_machine_learning.algorithms import QSVC, VQC
from qiskit_machine_learning.gradients import ParamShiftEstimatorGradient
from qiskit_machine_learning.kernels import FidelityQuantumKernel
from qiskit_machine_learning.neural_networks import EstimatorQNN
from qiskit_machine_learning.optimizers import COBYLA
from qiskit_machine_learning.state_fidelities import ComputeUncompute
from qiskit_machine_learning.utils import algorithm_globals

SEED = 7
SHOTS = 4000


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Seed the package's own random numbers."""
    algorithm_globals.random_seed = SEED


def two_clouds(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points in the plane and the class of each: two clouds that a line separates."""
    rng = np.random.default_rng(SEED)
    labels = np.arange(count) % 2
    return rng.normal(0, 0.15, (count, 2)) + np.where(labels, 1.0, 0.2)[:, None], labels


def test_a_kernel_has_the_fidelities_of_its_states(simulators: Any) -> None:
    """Each entry of the kernel matrix is |<φ(x)|φ(y)>|² within 5 standard deviations of its shots."""
    points, feature_map = two_clouds(6)[0], zz_feature_map(2)
    fidelity = ComputeUncompute(simulators.sampler(seed=SEED, default_shots=SHOTS))
    found = FidelityQuantumKernel(feature_map=feature_map, fidelity=fidelity, enforce_psd=False).evaluate(points)
    states = np.array([Statevector(feature_map.assign_parameters(point)).data for point in points])
    exact = np.abs(states.conj() @ states.T) ** 2
    assert np.all(np.abs(found - exact) <= 5 * np.sqrt(exact * (1 - exact).clip(0) / SHOTS) + 1e-9)


def test_a_support_vector_machine_classifies(simulators: Any) -> None:
    """A classifier with a quantum kernel is right for 9 of 10 points that it has not seen."""
    points, labels = two_clouds(40)
    fidelity = ComputeUncompute(simulators.sampler(seed=SEED))
    machine = QSVC(quantum_kernel=FidelityQuantumKernel(feature_map=zz_feature_map(2, reps=1), fidelity=fidelity))
    machine.fit(points[:20], labels[:20])
    assert machine.score(points[20:], labels[20:]) >= 0.9


def test_a_variational_classifier_trains(simulators: Any) -> None:
    """Training lowers the loss and ends right for 8 of 10 points."""
    points, labels = two_clouds(20)
    losses: list[float] = []
    classifier = VQC(
        num_qubits=2,
        feature_map=zz_feature_map(2, reps=1),
        ansatz=real_amplitudes(2, reps=2),
        optimizer=COBYLA(maxiter=60),
        sampler=simulators.sampler(seed=SEED),
        initial_point=np.zeros(6),
        callback=lambda _weights, loss: losses.append(loss),
    )
    classifier.fit(points, labels)
    assert min(losses) < 0.8 * losses[0]
    assert classifier.score(points, labels) >= 0.8


def test_a_network_has_the_gradient_of_its_function(simulators: Any) -> None:
    """Forward and backward pass of RY(x) RX(w) measured in Z are cos x cos w and its derivatives."""
    x, w = Parameter("x"), Parameter("w")
    circuit = QuantumCircuit(1)
    circuit.ry(x, 0)
    circuit.rx(w, 0)
    estimator = simulators.estimator()
    network = EstimatorQNN(
        circuit=circuit,
        estimator=estimator,
        observables=SparsePauliOp("Z"),
        input_params=[x],
        weight_params=[w],
        input_gradients=True,
        gradient=ParamShiftEstimatorGradient(estimator),
        default_precision=0,
    )
    at = np.linspace(0.1, 2, 5)[:, None]
    assert network.forward(at, [0.7]) == pytest.approx(np.cos(at) * np.cos(0.7), abs=1e-9)
    by_input, by_weight = network.backward(at, [0.7])
    assert by_input[:, 0] == pytest.approx(-np.sin(at) * np.cos(0.7), abs=1e-9)
    assert by_weight[:, 0] == pytest.approx(-np.cos(at) * np.sin(0.7), abs=1e-9)
