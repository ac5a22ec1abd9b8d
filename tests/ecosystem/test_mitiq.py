"""mitiq: error mitigation brings values of noisy circuits nearer to those without noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cirq
import pytest
from mitiq import Executor, MeasurementResult, Observable, PauliString, pec, raw, rem, zne
from mitiq.benchmarks import generate_rb_circuits
from mitiq.pec.representations import represent_operations_in_circuit_with_local_depolarizing_noise
from qiskit import QuantumCircuit
from qiskit_aer.noise import NoiseModel, ReadoutError, depolarizing_error

SEED = 7
SHOTS = 20_000
FACTORY = zne.RichardsonFactory([1, 2, 3])
ONE, TWO = 0.002, 0.02
"""With these probabilities gates of one and two qubits depolarise them."""


def survival(backend: Any, shots: int = SHOTS) -> Callable[[QuantumCircuit], float]:
    """Return an executor: how often a circuit of Qiskit ends in 0…0 on a backend."""

    def run(circuit: QuantumCircuit) -> float:
        measured = circuit.measure_all(inplace=False)
        counts = backend.run(measured, shots=shots, seed_simulator=SEED).result().get_counts()
        return float(counts.get("0" * measured.num_qubits, 0)) / shots

    return run


@pytest.fixture
def noisy(simulators: Any) -> Any:
    """A backend on which every gate depolarises its qubits."""
    model = NoiseModel()
    one_qubit = ["h", "x", "y", "z", "s", "sdg", "t", "rx", "ry", "rz", "sx", "sxdg", "u"]
    model.add_all_qubit_quantum_error(depolarizing_error(ONE, 1), one_qubit)
    model.add_all_qubit_quantum_error(depolarizing_error(TWO, 2), ["cx", "cz"])
    return simulators.backend(noise_model=model)


def benchmark(framework: str) -> Any:
    """Return a circuit of four Cliffords on two qubits that ends in |00⟩ if nothing goes wrong."""
    return generate_rb_circuits(2, 4, return_type=framework, seed=SEED)[0]


def test_zero_noise_extrapolation_of_a_qiskit_circuit(noisy: Any) -> None:
    """Extrapolation takes away at least half of the error of randomised benchmarking."""
    run = survival(noisy)
    without = run(benchmark("qiskit"))
    mitigated = zne.execute_with_zne(benchmark("qiskit"), run, factory=FACTORY, scale_noise=zne.scaling.fold_global)
    assert without < 0.95
    assert abs(mitigated - 1) < (1 - without) / 2


def test_zero_noise_extrapolation_of_a_cirq_circuit() -> None:
    """The same on Cirq's side, where the noise comes after every moment."""
    from qsim_ex_cirq import QsimExSimulator

    simulator = QsimExSimulator(noise=cirq.depolarize(0.005), seed=SEED)

    def run(circuit: cirq.Circuit) -> float:
        qubits = sorted(circuit.all_qubits())
        outcomes = simulator.run(circuit + cirq.measure(*qubits, key="all"), repetitions=SHOTS).measurements["all"]
        return float((~outcomes.any(axis=1)).mean())

    without = run(benchmark("cirq"))
    mitigated = zne.execute_with_zne(benchmark("cirq"), run, factory=FACTORY, scale_noise=zne.scaling.fold_global)
    assert without < 0.95
    assert abs(mitigated - 1) < (1 - without) / 2


def test_probabilistic_error_cancellation(simulators: Any) -> None:
    """With the true noise of CX, cancellation gives back the value without noise within 4 standard errors."""
    model = NoiseModel()
    noise = 0.05  # on each qubit; a probability of mitiq's is 3/4 of one of Aer's
    error = depolarizing_error(noise * 4 / 3, 1)
    model.add_all_qubit_quantum_error(error.tensor(error), ["cx"])
    backend = simulators.backend(noise_model=model)
    echo = QuantumCircuit(2)
    for _ in range(4):
        echo.cx(0, 1)
    representations = represent_operations_in_circuit_with_local_depolarizing_noise(echo, noise)
    run = survival(backend, shots=1000)
    without = run(echo)
    mitigated, data = pec.execute_with_pec(
        echo, run, representations=representations, num_samples=800, random_state=SEED, full_output=True
    )
    assert without < 0.85
    assert abs(mitigated - 1) < 4 * data["pec_error"] < 1 - without


def test_readout_mitigation(simulators: Any) -> None:
    """The inverse of the confusion matrix gives back <ZZ> = 1 of a Bell pair."""
    p0, p1 = 0.05, 0.12
    model = NoiseModel()
    model.add_all_qubit_readout_error(ReadoutError([[1 - p0, p0], [p1, 1 - p1]]))
    backend = simulators.backend(noise_model=model)

    def run(circuit: QuantumCircuit) -> MeasurementResult:
        memory = backend.run(circuit, shots=SHOTS, memory=True, seed_simulator=SEED).result().get_memory()
        return MeasurementResult([[int(bit) for bit in reversed(shot)] for shot in memory], (0, 1))

    bell = QuantumCircuit(2)
    bell.h(0)
    bell.cx(0, 1)
    zz, inverse = Observable(PauliString("ZZ")), rem.generate_inverse_confusion_matrix(2, p0, p1)
    without = raw.execute(bell, Executor(run), zz)
    mitigated = rem.execute_with_rem(bell, Executor(run), zz, inverse_confusion_matrix=inverse)
    assert without == pytest.approx(((1 - 2 * p0) ** 2 + (1 - 2 * p1) ** 2) / 2, abs=0.03)
    assert mitigated == pytest.approx(1, abs=0.04)
