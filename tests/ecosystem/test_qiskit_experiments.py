"""qiskit-experiments: characterisation finds the noise that the backend was given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit, transpile
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit_aer.noise import NoiseModel, ReadoutError, depolarizing_error
from qiskit_experiments.framework import ParallelExperiment
from qiskit_experiments.library import (
    T1,
    InterleavedRB,
    LocalReadoutError,
    ProcessTomography,
    QuantumVolume,
    StandardRB,
    StateTomography,
    T2Hahn,
)

SEED = 7


def found(experiment: Any, backend: Any, *names: str, **options: Any) -> list[Any]:
    """Run an experiment and return the values of some of its analysis results."""
    data = experiment.run(backend, seed_simulator=SEED, **options).block_for_results()
    assert not data.errors(), data.errors()
    return [data.analysis_results(name, dataframe=True).iloc[0].value for name in names]


def depolarised(gates: list[str], probability: float, num_qubits: int) -> NoiseModel:
    """Return noise after some gates, in a basis of one-qubit gates and CX."""
    model = NoiseModel(basis_gates=["rz", "sx", "x", "cx"])
    model.add_all_qubit_quantum_error(depolarizing_error(probability, num_qubits), gates)
    return model


@pytest.fixture
def relaxing(simulators: Any) -> Any:
    """A backend with the noise of a device of two qubits, each with its own T1 and T2."""
    return simulators.backend.from_backend(GenericBackendV2(2, seed=SEED))


def test_t1_of_a_device_is_found(relaxing: Any) -> None:
    """The fitted T1 of each qubit, measured in parallel, is the one in the device's properties."""
    t1 = [relaxing.qubit_properties(qubit).t1 for qubit in range(2)]
    delays = np.linspace(1e-6, 3 * max(t1), 15)
    parallel = ParallelExperiment([T1([qubit], delays) for qubit in range(2)], flatten_results=True)
    data = parallel.run(relaxing, seed_simulator=SEED, shots=4000).block_for_results()
    fitted = data.analysis_results("T1", dataframe=True).value
    assert [one.n for one in fitted] == pytest.approx(t1, rel=0.06)


def test_t2_of_a_device_is_found(relaxing: Any) -> None:
    """The decay of a Hahn echo is the T2 in the device's properties."""
    t2 = relaxing.qubit_properties(0).t2
    (fitted,) = found(T2Hahn([0], np.linspace(1e-6, 2 * t2, 15)), relaxing, "T2", shots=4000)
    assert fitted.n == pytest.approx(t2, rel=0.1)


def error_per_clifford(experiment: Any, backend: Any, gates: set[str], probability: float) -> float:
    """Return the error per Clifford that depolarising gates make: depolarising all qubits commutes with every gate."""
    lengths, counted = [], []
    for circuit in transpile(experiment.circuits(), backend, optimization_level=1):
        lengths.append(circuit.metadata["xval"])
        counted.append(sum(count for name, count in circuit.count_ops().items() if name in gates))
    each, _ = np.polyfit(lengths, counted, 1)
    dim = 2**experiment.num_qubits
    return (1 - 1 / dim) * (1 - (1 - probability) ** each)


@pytest.mark.parametrize(
    ("qubits", "gates", "probability", "lengths"),
    [([0], ["sx", "x"], 0.01, [1, 25, 50, 100, 200]), ([0, 1], ["cx"], 0.02, [1, 10, 20, 40])],
)
def test_benchmarking_finds_the_error_per_clifford(
    simulators: Any, qubits: list[int], gates: list[str], probability: float, lengths: list[int]
) -> None:
    """The decay over random Cliffords is that of the depolarising gates in them, to a few percent."""
    backend = simulators.backend(noise_model=depolarised(gates, probability, len(qubits)))
    experiment = StandardRB(qubits, lengths, num_samples=10, seed=SEED)
    experiment.analysis.set_options(fixed_parameters={"b": 2.0 ** -len(qubits)})  # where the decay ends
    put_in = error_per_clifford(experiment, backend, set(gates), probability)
    (error,) = found(experiment, backend, "EPC", shots=2000)
    assert error.s < 0.03 * put_in
    assert abs(error.n - put_in) < 4 * error.s


def test_interleaved_benchmarking_finds_the_error_of_one_gate(simulators: Any) -> None:
    """Interleaving CX between Cliffords gives the error of CX alone."""
    backend = simulators.backend(noise_model=depolarised(["cx"], 0.03, 2))
    gate = QuantumCircuit(2, name="cx")
    gate.cx(0, 1)
    experiment = InterleavedRB(gate, [0, 1], [1, 8, 16, 24], num_samples=5, seed=SEED)
    (error,) = found(experiment, backend, "EPC", shots=2000)
    assert error.n == pytest.approx(0.03 * 3 / 4, rel=0.25)


def test_tomography_finds_the_fidelity_of_a_noisy_bell_pair(simulators: Any) -> None:
    """A depolarised Bell pair has fidelity 1 - 3p/4, and Z X Y tomography measures it."""
    bell = QuantumCircuit(2)
    bell.h(0)
    bell.cx(0, 1)
    backend = simulators.backend(noise_model=depolarised(["cx"], 0.2, 2))
    (fidelity,) = found(StateTomography(bell), backend, "state_fidelity", shots=4000)
    assert fidelity == pytest.approx(1 - 0.2 * 3 / 4, abs=0.02)


def test_process_tomography_of_a_gate_without_noise(simulators: Any) -> None:
    """The process of a CZ gate is that of CZ."""
    gate = QuantumCircuit(2)
    gate.cz(0, 1)
    (fidelity,) = found(ProcessTomography(gate), simulators.backend(), "process_fidelity", shots=2000)
    assert fidelity > 0.98


def test_readout_error_is_found(simulators: Any) -> None:
    """The assignment matrices are those of the noise model."""
    model, given = NoiseModel(), [np.array([[0.97, 0.03], [0.08, 0.92]]), np.array([[0.9, 0.1], [0.02, 0.98]])]
    for qubit, matrix in enumerate(given):
        model.add_readout_error(ReadoutError(matrix), [qubit])
    (mitigator,) = found(
        LocalReadoutError([0, 1]), simulators.backend(noise_model=model), "Local Readout Mitigator", shots=20000
    )
    for qubit, matrix in enumerate(given):
        assert mitigator.assignment_matrix(qubit) == pytest.approx(matrix.T, abs=0.01)


@pytest.mark.parametrize(("error", "reached"), [(0.0, True), (0.3, False)])
def test_quantum_volume_needs_good_gates(simulators: Any, error: float, reached: bool) -> None:
    """Four perfect qubits have quantum volume 16; with a bad CX they have not."""
    backend = simulators.backend(noise_model=depolarised(["cx"], error, 2) if error else None)
    experiment = QuantumVolume([0, 1, 2, 3], trials=100, seed=SEED, simulation_backend=simulators.backend())
    data = experiment.run(backend, seed_simulator=SEED).block_for_results()
    volume = data.analysis_results("quantum_volume", dataframe=True).iloc[0]
    assert (volume.value == 16, volume.quality == "good") == (reached, reached)
