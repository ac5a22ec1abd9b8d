"""qiskit-ibm-runtime: its primitives in local mode, with sessions, and its fake devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit.library import real_amplitudes
from qiskit.quantum_info import SparsePauliOp, Statevector
from qiskit.transpiler import generate_preset_pass_manager
from qiskit_aer.noise import NoiseModel
from qiskit_ibm_runtime import Batch, EstimatorV2, SamplerV2, Session
from qiskit_ibm_runtime.fake_provider import FakeManilaV2, FakeSherbrooke

SEED = 7
SHOTS = 20_000


def bell() -> QuantumCircuit:
    """Return a circuit that makes and measures a Bell pair."""
    circuit = QuantumCircuit(2)
    circuit.h(0)
    circuit.cx(0, 1)
    circuit.measure_all()
    return circuit


def suited(circuit: QuantumCircuit, backend: Any) -> QuantumCircuit:
    """Return a circuit in a backend's own gates and qubits."""
    return generate_preset_pass_manager(optimization_level=1, backend=backend, seed_transpiler=SEED).run(circuit)


def sampled(backend: Any, circuit: QuantumCircuit, mode: Any = None) -> dict[str, float]:
    """Return the frequencies that the sampler of IBM's runtime gives in local mode."""
    sampler = SamplerV2(mode=mode or backend)
    sampler.options.simulator.seed_simulator = SEED
    counts = sampler.run([suited(circuit, backend)], shots=SHOTS).result()[0].data.meas.get_counts()
    return {bits: count / SHOTS for bits, count in counts.items()}


def test_the_sampler_in_local_mode(simulators: Any) -> None:
    """A Bell pair is 00 or 11, each in half of the shots within 5 standard deviations."""
    found = sampled(simulators.backend(), bell())
    assert set(found) == {"00", "11"}
    assert found["00"] == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(SHOTS))


def test_the_estimator_in_local_mode(simulators: Any) -> None:
    """Values of a parametrised circuit at several angles are those of its state vectors."""
    backend, ansatz = simulators.backend(), real_amplitudes(3, reps=1)
    angles = np.random.default_rng(SEED).uniform(-1, 1, (4, ansatz.num_parameters))
    operator = SparsePauliOp(["ZZI", "IXX", "YIY"], [1.0, 0.5, -0.4])
    native = suited(ansatz, backend)
    estimator = EstimatorV2(mode=backend)
    estimator.options.simulator.seed_simulator = SEED
    found = estimator.run([(native, operator.apply_layout(native.layout), angles)], precision=0.01).result()[0].data
    exact = [Statevector(ansatz.assign_parameters(one)).expectation_value(operator).real for one in angles]
    assert found.evs == pytest.approx(exact, abs=0.07)


@pytest.mark.parametrize("kind", [Session, Batch])
def test_a_session_and_a_batch(simulators: Any, kind: Any) -> None:
    """A session of jobs on one backend gives what the backend alone gives."""
    backend = simulators.backend()
    with kind(backend=backend) as mode:
        assert sampled(backend, bell(), mode) == sampled(backend, bell())


def test_the_noise_of_a_fake_device(simulators: Any) -> None:
    """With the noise of a device of five qubits a Bell pair goes wrong as often as its density matrix says."""
    from qiskit_aer import AerSimulator

    device = FakeManilaV2()
    backend = simulators.backend.from_backend(device)
    assert backend.num_qubits == 5
    assert backend.coupling_map.get_edges() == device.coupling_map.get_edges()
    exact = AerSimulator(noise_model=NoiseModel.from_backend(device), method="density_matrix")
    circuit = suited(bell(), backend)
    counts = exact.run(circuit, shots=10 * SHOTS, seed_simulator=SEED).result().get_counts()
    found = sampled(backend, bell())
    assert found["01"] + found["10"] > 0.01
    for bits, count in counts.items():
        expected = count / (10 * SHOTS)
        assert found.get(bits, 0) == pytest.approx(expected, abs=6 * np.sqrt(expected / SHOTS))


def test_a_circuit_laid_out_on_a_wide_device(simulators: Any) -> None:
    """A circuit transpiled to a device of 127 qubits runs as one of its five, and the idle ones cost nothing."""
    chain = QuantumCircuit(5)
    chain.h(0)
    for qubit in range(4):
        chain.cx(qubit, qubit + 1)
    chain.measure_all()
    native = suited(chain, FakeSherbrooke())
    assert native.num_qubits == 127
    counts = simulators.backend().run(native, shots=SHOTS, seed_simulator=SEED).result().get_counts()
    assert set(counts) == {"00000", "11111"}
    assert counts["00000"] / SHOTS == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(SHOTS))


def test_the_noise_of_a_wide_fake_device(simulators: Any) -> None:
    """With the noise of 127 qubits a Bell pair is mostly right and not always."""
    found = sampled(simulators.backend.from_backend(FakeSherbrooke()), bell())
    assert 0.9 < found["00"] + found["11"] < 0.999
