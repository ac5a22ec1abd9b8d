"""``method="density_matrix"`` in Qiskit's words: the backend, the estimator and the sampler are exact with noise."""

from __future__ import annotations

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.quantum_info import DensityMatrix, Kraus, Operator, SparsePauliOp, random_unitary

from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.noise.model import NoiseModel
from qsim_ex_provider import EstimatorV2, QsimExBackend, SamplerV2
from qsim_ex_provider.saves.instructions import save_density_matrix, save_statevector

EXACT = {"method": "density_matrix", "device": "cpu"}
MODEL = (
    NoiseModel()
    .with_error("sx", noise.amplitude_damping(0.05))
    .with_error("cx", noise.depolarizing(0.1, 2))
    .with_error("rz", noise.phase_damping(0.02))
)


def drawn(seed: int) -> tuple[QuantumCircuit, DensityMatrix]:
    """A random circuit of the model's gates, and the density matrix that Qiskit evolves gate by gate."""
    rng = np.random.default_rng(seed)
    circuit, rho = QuantumCircuit(3), DensityMatrix.from_label("000")
    kraus = {"sx": noise.amplitude_damping(0.05), "cx": noise.depolarizing(0.1, 2), "rz": noise.phase_damping(0.02)}
    for _ in range(20):
        name = ("sx", "rz", "cx")[int(rng.integers(3))]
        qubits = rng.permutation(3)[: 2 if name == "cx" else 1].tolist()
        getattr(circuit, name)(*([float(rng.uniform(0, 6))] if name == "rz" else []), *qubits)
        rho = rho.evolve(Operator(circuit.data[-1].operation), qubits).evolve(Kraus(list(kraus[name])), qubits)
    return circuit, rho


@pytest.mark.parametrize("seed", range(3))
def test_the_backend_saves_qiskits_density_matrix(seed: int) -> None:
    """A noise model's channels give what `quantum_info` gives, within 1e-10."""
    circuit, rho = drawn(seed)
    save_density_matrix(circuit)
    for backend in (QsimExBackend(noise_model=MODEL, **EXACT), QsimExBackend(noise_model=MODEL)):
        data = backend.run(circuit, shots=1, **EXACT).result().data(0)
        assert np.abs(np.asarray(data["density_matrix"]) - rho.data).max() < 1e-10


def test_the_estimator_is_exact() -> None:
    """Values are traces with Qiskit's density matrix, and their standard errors 0."""
    circuit, rho = drawn(5)
    observables = [SparsePauliOp(["XYZ", "ZZI"], [0.5, -1]), SparsePauliOp("IIX")]
    result = EstimatorV2(noise_model=MODEL, **EXACT).run([(circuit, observables)]).result()[0]
    expected = [rho.expectation_value(one).real for one in observables]
    assert np.abs(result.data.evs - expected).max() < 1e-10
    assert not result.data.stds.any()


def test_the_sampler_draws_from_the_populations() -> None:
    """Frequencies of 4,000 shots are within five deviations of the diagonal of Qiskit's density matrix."""
    circuit, rho = drawn(6)
    circuit.measure_all()
    data = SamplerV2(noise_model=MODEL, seed=3, **EXACT).run([circuit], shots=4000).result()[0].data
    counts = data.meas.get_counts()
    for value, p in enumerate(rho.probabilities()):
        assert abs(counts.get(f"{value:03b}", 0) - 4000 * p) < 5 * np.sqrt(4000 * p + 1)


def test_measurements_on_the_way_and_conditions() -> None:
    """A teleported qubit arrives in every shot."""
    circuit = QuantumCircuit(3, 3)
    state = random_unitary(2, seed=4)
    circuit.append(state, [0])
    circuit.h(1)
    circuit.cx(1, 2)
    circuit.cx(0, 1)
    circuit.h(0)
    circuit.measure([0, 1], [0, 1])
    with circuit.if_test((circuit.clbits[1], 1)):
        circuit.x(2)
    with circuit.if_test((circuit.clbits[0], 1)):
        circuit.z(2)
    circuit.append(state.adjoint(), [2])
    circuit.measure(2, 2)
    counts = QsimExBackend(**EXACT).run(circuit, shots=400, seed_simulator=1).result().get_counts()
    assert len(counts) == 4
    assert all(bits[0] == "0" for bits in counts)


def test_aers_names_of_methods() -> None:
    """The backend lists its methods; others are refused, and so is what a mixed state does not have."""
    backend = QsimExBackend(device="cpu")
    assert backend.available_methods() == ("automatic", "statevector", "density_matrix", "stabilizer")
    circuit = QuantumCircuit(1)
    circuit.h(0)
    for method in ("extended_stabilizer", "matrix_product_state"):
        with pytest.raises(Exception, match="'automatic', 'statevector', 'density_matrix'"):
            backend.run(circuit, method=method)
    save_statevector(circuit)
    with pytest.raises(Exception, match="save the density matrix"):
        backend.run(circuit, method="density_matrix").result()


def until_success() -> QuantumCircuit:
    """A coin that is thrown until it shows 1, with noise, and a qubit that turns in every round."""
    circuit = QuantumCircuit(2, 2)
    with circuit.while_loop((circuit.clbits[0], 0)):
        circuit.sx(0)
        circuit.rz(0.4, 1)
        circuit.sx(1)
        circuit.cx(1, 0)
        circuit.measure(0, 0)
        with circuit.if_test((circuit.clbits[0], 1)):
            circuit.reset(0)
    return circuit


def test_loops_and_blocks_are_exact() -> None:
    """The state behind a loop is the mean of many trajectories, within their errors, and has none itself."""
    circuit, observables = until_success(), [SparsePauliOp("ZI"), SparsePauliOp("XI"), SparsePauliOp("IZ")]
    (exact,) = EstimatorV2(**EXACT, noise_model=MODEL).run([(circuit, observables)], precision=0).result()
    drawn = QsimExBackend(device="cpu", noise_model=MODEL)
    (means,) = EstimatorV2(backend=drawn, trajectories=4000).run([(circuit, observables)]).result()
    assert not np.asarray(exact.data.stds).any()
    assert np.abs(exact.data.evs - means.data.evs).max() < 5 / np.sqrt(4000)
    assert abs(exact.data.evs[2] - 1) < 1e-12  # it was reset in the last round


def test_shots_of_loops_come_from_exact_branches() -> None:
    """The backend and the sampler draw from the branches; bits and populations agree with the saved state."""
    circuit = until_success()
    circuit.measure(1, 1)
    save_density_matrix(circuit, [1], label="rho")
    backend = QsimExBackend(**EXACT, noise_model=MODEL)
    result = backend.run(circuit, shots=4000, seed_simulator=3).result()
    up = result.data(0)["rho"].data[1, 1].real
    counts = result.get_counts()
    assert {key[-1] for key in counts} == {"1"}
    assert abs(counts["11"] - 4000 * up) < 5 * np.sqrt(1000)
    (sampled,) = SamplerV2(backend=backend).run([circuit], shots=4000).result()
    assert abs(sampled.data.c.get_counts()["11"] - 4000 * up) < 5 * np.sqrt(1000)
