"""Qiskit's primitives for backends work over ours."""

from __future__ import annotations

import numpy as np
import pytest
from qiskit.circuit import ClassicalRegister, Parameter, QuantumCircuit, QuantumRegister
from qiskit.primitives import BackendEstimatorV2, BackendSamplerV2
from qiskit.quantum_info import SparsePauliOp, Statevector

from qsim_ex_provider import QsimExBackend


@pytest.fixture
def ansatz() -> QuantumCircuit:
    """A circuit with two parameters."""
    circuit = QuantumCircuit(3)
    circuit.ry(Parameter("a"), 0)
    circuit.cx(0, 1)
    circuit.rx(Parameter("b"), 2)
    circuit.cz(1, 2)
    return circuit


def test_sampler(ansatz: QuantumCircuit) -> None:
    """The sampler returns every shot of every register for every set of parameters, the same for the same seed."""
    circuit = QuantumCircuit(QuantumRegister(3, "q"), ClassicalRegister(2, "left"), ClassicalRegister(1, "right"))
    circuit.compose(ansatz, inplace=True)
    circuit.measure([0, 1, 2], [0, 1, 2])
    values = [[0.0, np.pi], [np.pi, 0.0], [1.0, 2.0]]
    results = []
    for _ in range(2):
        sampler = BackendSamplerV2(backend=QsimExBackend(device="cpu"), options={"seed_simulator": 5})
        results.append(sampler.run([(circuit, values)], shots=400).result()[0].data)
    data = results[0]
    assert data["left"].shape == (3,)
    assert data["left"].get_counts(0) == {"00": 400}
    assert data["right"].get_counts(0) == {"1": 400}
    assert data["left"].get_counts(1) == {"11": 400}
    assert np.array_equal(data["left"].array, results[1]["left"].array)


def test_estimator(ansatz: QuantumCircuit) -> None:
    """Expectation values agree with exact ones within their own standard errors."""
    observables = [SparsePauliOp(["ZZI", "XIX"], [1.0, -0.5]), SparsePauliOp("III"), SparsePauliOp("IYZ")]
    estimator = BackendEstimatorV2(backend=QsimExBackend(device="cpu"), options={"seed_simulator": 6})
    point = [0.7, -1.2]
    found = estimator.run([(ansatz, observables, [point])], precision=0.01).result()[0].data
    state = Statevector(ansatz.assign_parameters(point))
    exact = [state.expectation_value(observable).real for observable in observables]
    assert np.all(np.abs(found.evs - exact) <= 6 * 0.01 * 1.5)


def test_many_parameter_sets(ansatz: QuantumCircuit) -> None:
    """A sweep of parameters is as many circuits with seeds of their own."""
    ansatz.measure_all()
    sampler = BackendSamplerV2(backend=QsimExBackend(device="cpu"), options={"seed_simulator": 1})
    data = sampler.run([(ansatz, np.full((8, 2), 1.1))], shots=50).result()[0].data.meas
    assert len({data[k].array.tobytes() for k in range(8)}) == 8
