"""The primitives and the backend agree with Aer's density matrices and shots, with noise and measurements in the
middle.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from qiskit import QuantumCircuit
from qiskit.circuit import ClassicalRegister, Parameter, QuantumRegister
from qiskit.circuit.library import PauliEvolutionGate, StatePreparation
from qiskit.quantum_info import DensityMatrix, SparsePauliOp, random_statevector

from qsim_ex import errors, reference
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.noise.model import NoiseModel
from qsim_ex_provider import EstimatorV2, QsimExBackend, SamplerV2
from qsim_ex_provider.translation.circuits import translate, translate_noisy

A, B = Parameter("a"), Parameter("b")
SHOTS = 4000
ANGLES = np.array([[0.3, 1.1], [2.0, -0.4], [0.3, 2.5]])


@pytest.fixture
def aer() -> Any:
    """Aer; tests that need it are skipped where it is not installed."""
    pytest.importorskip("qiskit_aer")
    import qiskit_aer

    return qiskit_aer


def model_of(aer: Any, *, readout: bool = True) -> Any:
    """Noise of every kind: mixtures, damping, before measurements and resets, and misread bits."""
    of, model = aer.noise, aer.noise.NoiseModel()
    model.add_all_qubit_quantum_error(of.amplitude_damping_error(0.15), ["ry", "h"])
    model.add_all_qubit_quantum_error(of.depolarizing_error(0.1, 2), ["cx"])
    model.add_all_qubit_quantum_error(of.pauli_error([("X", 0.08), ("I", 0.92)]), ["measure", "reset"])
    if readout:
        model.add_all_qubit_readout_error([[0.95, 0.05], [0.1, 0.9]])
        model.add_readout_error([[0.8, 0.2], [0.3, 0.7]], [1])
    return model


def ansatz() -> QuantumCircuit:
    """A circuit with two parameters."""
    circuit = QuantumCircuit(3)
    circuit.ry(A, 0)
    circuit.h(1)
    circuit.cx(0, 1)
    circuit.ry(B + A / 2, 2)
    circuit.cx(2, 0)
    return circuit


def dynamic() -> QuantumCircuit:
    """The same, that goes on after measurements and resets, in two registers; a bit is measured into twice."""
    circuit = QuantumCircuit(QuantumRegister(3), ClassicalRegister(2, "first"), ClassicalRegister(3, "last"))
    circuit.compose(ansatz(), inplace=True)
    circuit.measure([0, 2], [0, 1])
    circuit.ry(0.9, 0)
    circuit.cx(0, 1)
    circuit.reset(2)
    circuit.measure(1, 1)
    circuit.h(2)
    circuit.cx(2, 1)
    circuit.measure([0, 1, 2], [2, 3, 4])
    return circuit


def assert_alike(ours: dict[str, int], others: dict[str, int]) -> None:
    """Two samples of one size may come from one distribution: nowhere five standard deviations apart."""
    assert sum(ours.values()) == sum(others.values())
    for key in ours | others:
        a, b = ours.get(key, 0), others.get(key, 0)
        assert abs(a - b) <= 5 * np.sqrt(a + b + 1), key


def by_aer(aer: Any, circuit: QuantumCircuit, model: Any) -> dict[str, int]:
    """Counts by Aer, bits without spaces."""
    simulator = aer.AerSimulator(noise_model=model, seed_simulator=3)
    counts = simulator.run(circuit, shots=SHOTS).result().get_counts()
    return {key.replace(" ", ""): count for key, count in counts.items()}


def joined(data: Any, index: Any = ()) -> dict[str, int]:
    """Counts of both registers of `dynamic`, the last one first."""
    last, first = data.last[index].get_bitstrings(), data.first[index].get_bitstrings()
    return Counter(one + other for one, other in zip(last, first, strict=True))


@pytest.mark.parametrize("noisy", [False, True])
def test_sampler(aer: Any, device_name: str, noisy: bool) -> None:
    """Shots of dynamic circuits, noisy or not, have Aer's distribution, for each binding in its place."""
    model = model_of(aer) if noisy else None
    sampler = SamplerV2(device=device_name, noise_model=model, seed=5)
    result = sampler.run([(dynamic(), ANGLES)], shots=SHOTS).result()[0]
    assert result.metadata["trajectories"] == SHOTS
    for k, angles in enumerate(ANGLES):
        assert_alike(joined(result.data, k), by_aer(aer, dynamic().assign_parameters(angles), model))


def test_a_planted_error_is_seen(aer: Any) -> None:
    """Noise that is half as strong again as it should be is found."""
    right, wrong = aer.noise.NoiseModel(), aer.noise.NoiseModel()
    right.add_all_qubit_quantum_error(aer.noise.amplitude_damping_error(0.2), ["ry"])
    wrong.add_all_qubit_quantum_error(aer.noise.amplitude_damping_error(0.3), ["ry"])
    circuit = dynamic().assign_parameters(ANGLES[0])
    found = SamplerV2(device="cpu", noise_model=wrong, seed=5).run([circuit], shots=SHOTS).result()[0].data
    counts = joined(found)
    with pytest.raises(AssertionError):
        assert_alike(counts, by_aer(aer, circuit, right))


def observables() -> list[SparsePauliOp]:
    """Some observables of three qubits."""
    return [SparsePauliOp("ZII"), SparsePauliOp(["XXI", "IZZ"], [1.0, -0.5]), SparsePauliOp("YIX")]


def exact(circuit: QuantumCircuit, model: Any) -> NDArray[np.complex128]:
    """The density matrix of a circuit as a noisy machine runs it, by definition."""
    from qsim_ex_provider.options import noise_of

    return reference.density_matrix(translate_noisy(circuit, noise_of(model)).circuit)


def aers_matrix(aer: Any, circuit: QuantumCircuit, model: Any) -> DensityMatrix:
    """The density matrix that Aer computes."""
    saved = circuit.copy()
    saved.save_density_matrix()
    simulator = aer.AerSimulator(method="density_matrix", noise_model=model, fusion_enable=False)
    return DensityMatrix(simulator.run(saved).result().data(0)["density_matrix"])


@pytest.mark.parametrize("precision", [0.0, 0.05])
def test_estimator(aer: Any, device_name: str, precision: float) -> None:
    """Noisy values are Aer's within `stds`, which include the noise of the precision."""
    model = model_of(aer)
    estimator = EstimatorV2(device=device_name, noise_model=model, trajectories=1500, seed=6)
    pub = (ansatz(), [[one] for one in observables()], ANGLES)
    result = estimator.run([pub], precision=precision).result()[0]
    assert result.metadata["trajectories"] == 1500
    assert result.data.evs.shape == result.data.stds.shape == (3, 3)
    for k, angles in enumerate(ANGLES):
        state = aers_matrix(aer, ansatz().assign_parameters(angles), model)
        wanted = np.array([state.expectation_value(one).real for one in observables()])
        assert (np.abs(result.data.evs[:, k] - wanted) <= 5 * result.data.stds[:, k]).all()
    assert (result.data.stds >= precision).all()
    assert result.data.stds.max() <= np.hypot(precision, 1.5 / np.sqrt(1500))
    if precision:
        plain = estimator.run([pub]).result()[0].data.stds
        np.testing.assert_allclose(result.data.stds, np.hypot(plain, precision))


@pytest.mark.parametrize("trajectories", [None, 1500])
def test_estimator_after_measurements(aer: Any, trajectories: int | None) -> None:
    """Measurements and resets in the middle, with noise, leave the average state of the definition."""
    model, circuit = model_of(aer), QuantumCircuit(3, 2)
    circuit.compose(ansatz().assign_parameters(ANGLES[0]), inplace=True)
    circuit.measure(0, 0)
    circuit.reset(2)
    circuit.cx(0, 2)
    circuit.h(0)
    estimator = EstimatorV2(device="cpu", noise_model=model, seed=7, trajectories=trajectories)
    data = estimator.run([(circuit, observables())]).result()[0].data
    state = DensityMatrix(exact(circuit, model))
    wanted = np.array([state.expectation_value(one).real for one in observables()])
    assert (np.abs(data.evs - wanted) <= 5 * data.stds + 1e-9).all()


def test_bindings_that_are_translated_apart(aer: Any) -> None:
    """Where an operation needs its numbers, noise and readout errors are there."""
    model = model_of(aer)
    circuit = QuantumCircuit(2, 2)
    circuit.ry(A, 0)
    circuit.append(PauliEvolutionGate(SparsePauliOp("XY"), time=0.4).power(2), [0, 1])
    circuit.append(StatePreparation([0.6, 0.8]), [1])
    circuit.cx(0, 1)
    circuit.measure([0, 1], [0, 1])
    angles = np.array([0.4, 1.9])
    data = SamplerV2(device="cpu", noise_model=model, seed=8).run([(circuit, angles)], shots=SHOTS).result()[0].data
    for k, angle in enumerate(angles):
        bound = circuit.assign_parameters([angle])
        ideal = exact(bound, model).diagonal().real  # what measurements do stands in front of them
        read = np.array([[0.95, 0.05], [0.1, 0.9]]), np.array([[0.8, 0.2], [0.3, 0.7]])
        wanted = ideal @ np.kron(read[1], read[0])
        counts = data.c[k].get_int_counts()
        found = np.array([counts.get(value, 0) for value in range(4)]) / SHOTS
        assert (np.abs(found - wanted) <= 5 * np.sqrt(wanted * (1 - wanted) / SHOTS)).all()


def test_the_engines_own_noise_model() -> None:
    """The engine's noise model acts on its gates and qubits in a primitive, and misreads its bits."""
    model = NoiseModel().with_error("ry", noise.bit_flip(0.25)).with_misreading([[1, 0], [0.5, 0.5]], 1)
    circuit = QuantumCircuit(2)
    circuit.ry(A, 1)
    estimator = EstimatorV2(device="cpu", noise_model=model, trajectories=2000, seed=1)
    data = estimator.run([(circuit, ["ZI", "IZ"], [np.pi])]).result()[0].data
    assert abs(data.evs[0] + 0.5) <= 5 * data.stds[0]
    assert data.stds[0] == pytest.approx(np.sqrt(0.75 / 2000), rel=0.05)
    assert data.evs[1] == pytest.approx(1)
    circuit.measure_all()
    counts = SamplerV2(device="cpu", noise_model=model, seed=1).run([(circuit, [np.pi])], shots=SHOTS).result()[0].data
    ones = counts.meas.get_counts()["10"] / SHOTS
    assert abs(ones - 0.375) <= 5 * np.sqrt(0.375 * 0.625 / SHOTS)


def test_noise_keeps_a_pub_one_batch(aer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A noisy circuit with parameters runs as one batch of all bindings."""
    from qsim_ex import Simulator

    counts = []
    run_batch = Simulator.run_batch

    def spy(self: Simulator, circuit: Any, bindings: Any, **how: Any) -> Any:
        counts.append(bindings.count)
        return run_batch(self, circuit, bindings, **how)

    monkeypatch.setattr(Simulator, "run_batch", spy)
    SamplerV2(device="cpu", noise_model=model_of(aer)).run([(dynamic(), ANGLES)], shots=10).result()
    EstimatorV2(device="cpu", noise_model=model_of(aer), trajectories=10).run([(ansatz(), "ZZZ", ANGLES)]).result()
    assert counts == [3, 3]


@pytest.mark.parametrize("kind", [SamplerV2, EstimatorV2])
def test_what_is_no_noise_model(kind: Any) -> None:
    """An object that is no noise model is refused at once."""
    with pytest.raises(errors.OptionError, match=r"expected noise_model as a NoiseModel .* got 'loud'"):
        kind(noise_model="loud")


def test_backend_with_bindings_and_lists(aer: Any) -> None:
    """With noise, each binding and circuit of a job has its distribution, its single run's counts, and its metadata."""
    model = model_of(aer)
    backend = QsimExBackend(device="cpu", noise_model=model)
    other = QuantumCircuit(3, 5)
    other.h(0)
    other.measure(0, 4)
    binds = [{A: ANGLES[:, 0], B: ANGLES[:, 1]}, {}]
    result = backend.run([dynamic(), other], parameter_binds=binds, shots=SHOTS, seed_simulator=9).result()
    counts = result.get_counts()
    for k, angles in enumerate(ANGLES):
        found = {key.replace(" ", ""): count for key, count in counts[k].items()}
        assert_alike(found, by_aer(aer, dynamic().assign_parameters(angles), model))
    assert_alike(counts[3], by_aer(aer, other, model))
    assert result.results[3].metadata["way"] == "exact density matrix"  # which measures at the end alone
    for one in result.results[:3]:
        assert one.metadata["trajectories"] == SHOTS
        assert 0 < one.metadata["states"] <= 3 * SHOTS
    alone = backend.run(dynamic().assign_parameters(ANGLES[0]), shots=SHOTS, seed_simulator=9).result()
    assert alone.get_counts() == counts[0]
    assert alone.results[0].metadata["trajectories"] == SHOTS


# --- states that are prepared on the way ----------------------------------------------------------------------------


def test_initialize_on_the_way(aer: Any) -> None:
    """Qubits that are initialised again have the new state, and the others keep theirs."""
    circuit = QuantumCircuit(3, 3)
    circuit.compose(ansatz().assign_parameters(ANGLES[0]), inplace=True)
    circuit.initialize(random_statevector(4, seed=1), [2, 0])
    circuit.cx(0, 1)
    circuit.initialize("1", [0])
    circuit.h(0)
    assert exact(circuit, None) == pytest.approx(DensityMatrix(circuit).data, abs=1e-10)
    circuit.measure([0, 1, 2], [0, 1, 2])
    assert translate(circuit).num_clbits == 3
    result = QsimExBackend(device="cpu").run(circuit, shots=SHOTS, seed_simulator=2).result()
    assert_alike(result.get_counts(), by_aer(aer, circuit, None))


def test_preparation_after_noise_alone() -> None:
    """A gate that prepares a state is a gate where nothing but noise has acted before."""
    model = NoiseModel().with_error("id", noise.bit_flip(0.3))
    circuit = QuantumCircuit(1)
    circuit.id(0)
    circuit.append(StatePreparation([0.6, 0.8]), [0])
    turned = 0.7 * np.outer([0.6, 0.8], [0.6, 0.8])
    column = np.array([-0.8, 0.6])  # what the gate makes of |1>, up to its phase
    np.testing.assert_allclose(exact(circuit, model), turned + 0.3 * np.outer(column, column), atol=1e-10)
