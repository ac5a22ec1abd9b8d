"""Our own primitives against Qiskit's reference primitives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from qiskit.circuit import (
    AnnotatedOperation,
    ClassicalRegister,
    Parameter,
    ParameterVector,
    PowerModifier,
    QuantumCircuit,
    QuantumRegister,
)
from qiskit.circuit import library as lib
from qiskit.primitives import StatevectorEstimator, StatevectorSampler
from qiskit.quantum_info import Operator, Pauli, SparsePauliOp, Statevector, random_pauli_list
from scipy.optimize import minimize

from qsim_ex import Simulator, reference, thresholds
from qsim_ex.execution.prepare import plan_of
from qsim_ex.frameworks import ParameterColumns, ParameterSweep, ParameterSweepBuilder
from qsim_ex.program.divide import program_of
from qsim_ex_provider import EstimatorV2, QsimExBackend, SamplerV2, save_statevector
from qsim_ex_provider.translation.circuits import translate_sweep

# Qiskit's own exponential of an evolution gate makes SciPy complain.
pytestmark = pytest.mark.filterwarnings("ignore:spsolve is more efficient", "ignore:splu converted")

A, B = Parameter("a"), Parameter("b")
ANGLES = ParameterVector("θ", 3)

EXPRESSIONS = [
    A,
    B,
    2 * A - B / 3 + 0.5,
    A * B,
    A**2,
    A.sin() + B.cos(),
    (A * A).exp().log(),
    A.arctan() - B.tan(),
    (A / 9).arcsin() * (B / 9).arccos(),
    abs(A) + B.sign() + A.conjugate(),
    1 / (A + 7),
    A - A + 0.25,
    ANGLES[0] + 2 * ANGLES[2],
    0.75,
]


def random_circuit(rng: np.random.Generator, qubits: int = 3, gates: int = 12) -> QuantumCircuit:
    """Gates of all kinds whose parameters are expressions."""
    circuit = QuantumCircuit(qubits)
    inner = QuantumCircuit(2, name="inner")
    inner.rzx(A - 1, 0, 1)
    inner.global_phase = B
    time = lib.PauliEvolutionGate(SparsePauliOp(["XYI", "ZZZ", "III"], [0.5, -1.0, 0.25]), time=A)
    kinds: list[tuple[int, int, Any]] = [
        (1, 1, lib.RXGate),
        (1, 1, lib.RZGate),
        (1, 3, lib.UGate),
        (1, 2, lib.U2Gate),
        (2, 1, lib.RZZGate),
        (2, 1, lib.RXXGate),
        (2, 1, lib.CRYGate),
        (2, 1, lib.CPhaseGate),
        (2, 4, lib.CUGate),
        (2, 0, lib.CXGate),
        (1, 0, lib.HGate),
        (2, 1, lambda p: lib.RXGate(p).control(1, ctrl_state=0, annotated=False)),
        (2, 3, lambda *p: lib.UGate(*p).control(1, annotated=True)),
        (3, 1, lambda p: lib.RZGate(p).control(2, annotated=False)),
        (2, 0, inner.to_gate),
        (3, 0, lambda: time),
        (0, 1, lib.GlobalPhaseGate),
    ]
    for _ in range(gates):
        width, parameters, kind = kinds[rng.integers(len(kinds))]
        chosen = [EXPRESSIONS[k] for k in rng.integers(len(EXPRESSIONS), size=parameters)]
        circuit.append(kind(*chosen), rng.permutation(qubits)[:width].tolist())
    circuit.global_phase = A * B
    return circuit


def sweeps_of(circuit: QuantumCircuit, values: NDArray[np.float64]) -> Sequence[ParameterSweep]:
    """A circuit translated for all values of its parameters, one binding for each row."""
    columns = {parameter.name: values[:, k] for k, parameter in enumerate(circuit.parameters)}
    return translate_sweep(circuit, ParameterColumns(columns, len(values))).sweeps


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_each_binding_is_the_bound_circuit(seed: int) -> None:
    """The circuit of binding k is what translating the circuit with numbers k gives, and all share one structure."""
    rng = np.random.default_rng(seed)
    circuit = random_circuit(rng)
    values = rng.uniform(-3, 3, (4, circuit.num_parameters))
    (found,) = sweeps_of(circuit, values)
    made = [found.circuit(k) for k in range(4)]
    assert len({id(one.structure) for one in made}) == 1
    for one, row in zip(made, values, strict=True):
        wanted = Statevector(circuit.assign_parameters(row)).data
        np.testing.assert_allclose(reference.simulate(one), wanted, atol=1e-11)


def test_every_expression_is_a_function_of_arrays() -> None:
    """Each kind of expression gives the number that Qiskit's own binding gives."""
    values = np.array([[0.3, -0.7, 1.0, 0.0, -2.0], [-2.5, 1.5, -0.1, 3.0, 0.9]])
    for expression in EXPRESSIONS:
        circuit = QuantumCircuit(1)
        circuit.rx(expression, 0)
        (found,) = sweeps_of(circuit, values[:, : circuit.num_parameters])
        made = [found.circuit(k) for k in range(2)]
        for one, row in zip(made, values, strict=True):
            bound = circuit.assign_parameters(row[: circuit.num_parameters])
            np.testing.assert_allclose(reference.simulate(one), Statevector(bound).data, atol=1e-14)


def test_numbers_of_many_bindings_are_made_in_pieces() -> None:
    """Bindings do not depend on where the pieces begin."""
    circuit = random_circuit(np.random.default_rng(3))
    values = np.random.default_rng(4).uniform(-3, 3, (7, circuit.num_parameters))
    (found,) = sweeps_of(circuit, values)
    kept = found.bindings()
    with thresholds.instead(kept_bytes=0, entries_at_once=1):
        bindings = found.bindings()
    np.testing.assert_array_equal(bindings.operands(0, 7), kept.operands(0, 7))
    pieces = [bindings.operands(begin, end) for begin, end in ((0, 2), (2, 3), (3, 7))]
    np.testing.assert_array_equal(bindings.operands(0, 7), np.concatenate(pieces))
    np.testing.assert_array_equal(bindings.operands(5, 6), found.circuit(5).operands)


def test_an_operation_that_needs_its_numbers() -> None:
    """Where a parametrised operation becomes a matrix, each binding is translated for itself, and is right."""
    circuit = QuantumCircuit(1)
    circuit.h(0)
    circuit.append(AnnotatedOperation(lib.UGate(A, B, 0.3), PowerModifier(0.5)), [0])
    values = np.array([[0.4, 1.0], [-1.0, 2.0]])
    found = sweeps_of(circuit, values)
    assert [one.count for one in found] == [1, 1]
    for one, row in zip(found, values, strict=True):
        matrix = Operator(lib.UGate(*row, 0.3).power(0.5)).data
        np.testing.assert_allclose(reference.simulate(one.template), matrix @ np.full(2, np.sqrt(0.5)), atol=1e-12)


def test_a_broken_rule_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in a rule for a gate without parameters is raised; the circuit is not translated binding by binding."""

    def broken(*_: Any) -> None:
        raise TypeError("broken")

    monkeypatch.setattr(ParameterSweepBuilder, "diagonal", broken)
    circuit = QuantumCircuit(2)
    circuit.ry(A, 0)
    circuit.append(lib.DiagonalGate([1, 1j]), [1])
    with pytest.raises(TypeError, match="broken"):
        sweeps_of(circuit, np.array([[0.3], [0.4]]))


def test_a_global_phase_that_needs_its_numbers() -> None:
    """A formula that NumPy cannot compute gives each binding the global phase of the bound circuit."""
    circuit = QuantumCircuit(1, global_phase=Parameter("sin").sin())
    values = [0.3, 1.2]
    result = QsimExBackend(device="cpu").run(save_statevector(circuit), parameter_binds=[{"sin": values}]).result()
    for k, value in enumerate(values):
        assert result.results[k].header["global_phase"] == pytest.approx(np.sin(value))
        np.testing.assert_allclose(result.get_statevector(k).data, [np.exp(1j * np.sin(value)), 0], atol=1e-12)


SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((), ()),
    ((3,), ()),
    ((), (4,)),
    ((2, 1), (3,)),
    ((3,), (2, 1)),
    ((2, 3), (2, 3)),
    ((1,), (2, 1, 3)),
    ((0,), (1,)),
]
"""Shapes of observables and of parameter values."""


def random_observables(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Sums of Pauli strings with real coefficients, and bare strings."""
    array = np.empty(shape, dtype=object)
    for at in np.ndindex(*shape):
        terms = random_pauli_list(3, int(rng.integers(1, 6)), seed=int(rng.integers(1 << 30)), phase=False)
        array[at] = SparsePauliOp(terms, rng.normal(size=len(terms)))
    return array if shape else array[()]


@pytest.mark.parametrize(("observables", "values"), SHAPES)
def test_estimator_agrees(device_name: str, observables: tuple[int, ...], values: tuple[int, ...]) -> None:
    """Exact values of random PUBs are those of Qiskit's own estimator within 1e-10, however they are broadcast."""
    rng = np.random.default_rng(len(observables) * 10 + len(values))
    circuit = random_circuit(rng)
    pub = (circuit, random_observables(rng, observables), rng.uniform(-3, 3, (*values, circuit.num_parameters)))
    ours = EstimatorV2(device=device_name).run([pub]).result()[0]
    theirs = StatevectorEstimator().run([pub]).result()[0]
    assert ours.data.evs.shape == theirs.data.evs.shape == np.broadcast_shapes(observables, values)
    np.testing.assert_allclose(ours.data.evs, theirs.data.evs, atol=1e-10)
    assert not ours.data.stds.any()


def test_estimator_over_several_pubs(device_name: str) -> None:
    """Values of parameters by name, circuits without parameters, letters of projectors; the metadata say where."""
    circuit = random_circuit(np.random.default_rng(8))
    named = {p.name: np.linspace(0, 1, 3) + k for k, p in enumerate(circuit.parameters)}
    bell = QuantumCircuit(2, metadata={"kind": "bell"})
    bell.h(0)
    bell.cx(0, 1)
    bell.measure_all()
    pubs = [(circuit, Pauli("XYZ"), named), (bell, ["ZZ", "XX", "0I", "r1"])]
    result = EstimatorV2(device=device_name).run(pubs).result()
    wanted = StatevectorEstimator().run(pubs[:1]).result()[0].data.evs
    np.testing.assert_allclose(result[0].data.evs, wanted, atol=1e-10)
    np.testing.assert_allclose(result[1].data.evs, [1, 1, 0.5, 0.25], atol=1e-12)
    about = result[1].metadata
    assert about["circuit_metadata"] == {"kind": "bell"}
    assert (about["precision"], about["placement"]) == ("double", "single")
    assert device_name in about["device"].lower() or device_name == "gpu"
    assert about["seconds"] > 0


def test_estimator_in_single_precision_and_divided() -> None:
    """The engine's options reach the engine: complex64 is off by its rounding, a divided state is right."""
    circuit = random_circuit(np.random.default_rng(9))
    values = np.random.default_rng(1).uniform(-3, 3, (2, circuit.num_parameters))
    pub = (circuit, "XYZ", values)
    wanted = StatevectorEstimator().run([pub]).result()[0].data.evs
    single = EstimatorV2(device="CPU", precision="single").run([pub]).result()[0]
    np.testing.assert_allclose(single.data.evs, wanted, atol=1e-5)
    assert single.metadata["precision"] == "single"
    divided = EstimatorV2(device="cpu", virtual_peers=2).run([pub]).result()[0]
    np.testing.assert_allclose(divided.data.evs, wanted, atol=1e-10)
    assert divided.metadata["placement"] == "peers"


def test_precision_is_the_deviation_of_the_noise() -> None:
    """With a precision, values scatter about the exact ones with that standard deviation, the same for one seed."""
    circuit = QuantumCircuit(1)
    circuit.ry(A, 0)
    values = np.linspace(-3, 3, 2000)
    estimator = EstimatorV2(device="cpu", seed=3)
    first = estimator.run([(circuit, "Z", values)], precision=0.1).result()[0]
    again = estimator.run([(circuit, "Z", values, 0.1)]).result()[0]
    np.testing.assert_array_equal(first.data.evs, again.data.evs)
    off = first.data.evs - np.cos(values)
    assert abs(off.std() - 0.1) < 0.01
    assert abs(off.mean()) < 0.012
    assert np.all(first.data.stds == 0.1)
    assert first.metadata["target_precision"] == 0.1
    other = EstimatorV2(device="cpu", seed=4, default_precision=0.1).run([(circuit, "Z", values)]).result()[0]
    assert not np.array_equal(other.data.evs, first.data.evs)


def registers_circuit() -> QuantumCircuit:
    """Three registers of 2, 9 and 1 bits, one bit of which nothing is measured into, and a bit of none."""
    circuit = QuantumCircuit(
        QuantumRegister(4, "q"),
        ClassicalRegister(2, "left"),
        ClassicalRegister(9, "wide"),
        ClassicalRegister(1, "last"),
    )
    circuit.ry(A, 0)
    circuit.cx(0, 1)
    circuit.rx(B, 2)
    circuit.x(3)
    circuit.measure([0, 1, 2, 3], [1, 2, 10, 11])
    return circuit


def test_sampler_agrees(device_name: str) -> None:
    """Registers of a PUB hold what Qiskit's sampler finds: the same outcomes, with frequencies close together."""
    circuit, shots = registers_circuit(), 4000
    values = np.array([[[0.0, np.pi], [np.pi, 0.0], [1.0, 2.0]], [[0.5, 0.1], [2.0, 3.0], [1.5, 1.5]]])
    ours = SamplerV2(device=device_name, seed=1).run([(circuit, values, shots)]).result()[0]
    theirs = StatevectorSampler(seed=2).run([(circuit, values, shots)]).result()[0]
    assert list(ours.data) == list(theirs.data) == ["left", "wide", "last"]
    assert ours.data.shape == theirs.data.shape == (2, 3)
    joined, wanted = ours.join_data(), theirs.join_data()
    assert joined.array.shape == wanted.array.shape
    for at in np.ndindex(2, 3):
        found, exact = joined.get_counts(at), wanted.get_counts(at)
        for key in {*found, *exact}:
            assert abs(found.get(key, 0) - exact.get(key, 0)) < 6 * np.sqrt(shots / 2)
    assert ours.data.left.get_counts((0, 1)) == {"10": shots}
    assert ours.data.wide.get_counts((0, 0)) == {"100000000": shots}
    assert ours.data.last.get_counts() == {"1": 6 * shots}
    assert ours.metadata["shots"] == shots


def test_sampler_seeds() -> None:
    """One seed gives the same shots, whatever the pieces; bindings and PUBs have seeds of their own."""
    circuit = registers_circuit()
    pubs = [(circuit, np.full((5, 2), 1.1)), (circuit, [1.1, 1.1])]
    results = [SamplerV2(device="cpu", seed=seed).run(pubs, shots=64).result() for seed in (7, 7, 8, None)]
    bits = [[pub.join_data().array for pub in result] for result in results]
    for one, two in zip(bits[0], bits[1], strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(bits[0][0], bits[2][0])
    assert not np.array_equal(bits[0][0], bits[3][0])
    rows = [*bits[0][0], bits[0][1]]
    assert len({row.tobytes() for row in rows}) == 6
    fresh = results[3].metadata["seed"]
    again = SamplerV2(device="cpu", seed=fresh).run(pubs, shots=64).result()
    np.testing.assert_array_equal(again[0].join_data().array, bits[3][0])


def test_shots_are_taken_apart_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers do not depend on how many bindings are taken apart at a time."""
    pub = (registers_circuit(), np.random.default_rng(1).uniform(-3, 3, (5, 2)))
    whole = SamplerV2(device="cpu", seed=7).run([pub], shots=10).result()[0].join_data()
    monkeypatch.setattr("qsim_ex_provider.primitives.sampler.CHUNK_BYTES", 2 * 10 * 12)
    assert SamplerV2(device="cpu", seed=7).run([pub], shots=10).result()[0].join_data() == whole


def test_vqe_plans_once(device_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An optimiser finds the ground state over the estimator; after the first call nothing is planned again.

    Nor is anything encoded or compiled for the device, nor the circuit ever translated with numbers bound to it.
    """
    hamiltonian = SparsePauliOp(["ZZI", "IZZ", "XII", "IXI", "IIX"], [-1.0, -1.0, -0.7, -0.7, -0.7])
    ansatz = lib.efficient_su2(3, ["ry"], entanglement="linear", reps=2)
    estimator = EstimatorV2(device=device_name)

    def energy(angles: NDArray[np.float64]) -> float:
        return float(estimator.run([(ansatz, hamiltonian, angles)]).result()[0].data.evs)

    start = np.random.default_rng(5).uniform(-0.5, 0.5, ansatz.num_parameters)
    first = energy(start)
    planned = plan_of.cache_info().misses, program_of.cache_info().misses

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("translated with numbers, or prepared again")

    monkeypatch.setattr("qsim_ex_provider.translation.circuits.translate_noisy", refuse)
    monkeypatch.setattr("qsim_ex.devices.cpu.device.EncodedSweeps", refuse)
    found = minimize(energy, start, method="L-BFGS-B", options={"maxiter": 60})
    assert planned == (plan_of.cache_info().misses, program_of.cache_info().misses)
    exact = np.linalg.eigvalsh(hamiltonian.to_matrix())[0]
    assert found.fun < first
    assert found.fun == pytest.approx(exact, abs=0.02)


def spied(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """A list that notes bindings and observables of each batch."""
    asked: list[tuple[int, int]] = []
    run_batch = Simulator.run_batch

    def noted(simulator: Simulator, circuit: Any, bindings: Any, **how: Any) -> Any:
        asked.append((bindings.count, len(how.get("observables", ()))))
        return run_batch(simulator, circuit, bindings, **how)

    monkeypatch.setattr(Simulator, "run_batch", noted)
    return asked


def test_a_pub_is_one_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """All bindings of a PUB are sampled in one batch, and asked in one for observables, equal ones once."""
    asked = spied(monkeypatch)
    circuit = lib.efficient_su2(3, reps=1)
    values = np.random.default_rng(2).uniform(-3, 3, (4, 5, circuit.num_parameters))
    EstimatorV2(device="cpu").run([(circuit, ["XYZ", "ZZI", "XYZ", "IIX", "ZZI"], values)]).result()
    measured = circuit.measure_all(inplace=False)
    SamplerV2(device="cpu").run([(measured, values), (measured, values[0])], shots=5).result()
    assert asked == [(20, 3), (20, 0), (5, 0)]


@pytest.mark.parametrize("count", [3, 30])
def test_bindings_with_observables_of_their_own(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Where each binding is asked for another observable, values are right, and few are computed in vain."""
    asked = spied(monkeypatch)
    rng = np.random.default_rng(count)
    circuit = random_circuit(rng)
    pub = (circuit, random_observables(rng, (count,)), rng.uniform(-3, 3, (count, circuit.num_parameters)))
    ours = EstimatorV2(device="cpu").run([pub]).result()[0].data.evs
    np.testing.assert_allclose(ours, StatevectorEstimator().run([pub]).result()[0].data.evs, atol=1e-10)
    assert sum(bindings for bindings, _ in asked) == count
    assert sum(bindings * observables for bindings, observables in asked) <= 4 * count


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), shape=st.sampled_from([(2, 3), (3, 1), (1, 4), (3,), ()]))
def test_random_pubs_agree(seed: int, shape: tuple[int, ...]) -> None:
    """Values of random PUBs, some observables and some rows of values equal, are those of Qiskit's estimator."""
    rng = np.random.default_rng(seed)
    circuit = random_circuit(rng, gates=6)
    some = random_observables(rng, (2,))
    observables = np.empty((3, 1), dtype=object)
    observables[:, 0] = some[rng.integers(2, size=3)]
    rows = rng.uniform(-3, 3, (2, circuit.num_parameters))[rng.integers(2, size=shape)]
    pub = (circuit, observables if len(shape) < 2 else observables[: shape[0] if shape[0] > 1 else 3], rows)
    ours = EstimatorV2(device="cpu").run([pub]).result()[0].data.evs
    np.testing.assert_allclose(ours, StatevectorEstimator().run([pub]).result()[0].data.evs, atol=1e-10)


def test_values_that_are_left_to_chance() -> None:
    """A value of a circuit that measures on its way is a mean over trajectories, with its standard error in `stds`."""
    circuit = QuantumCircuit(1, 1)
    circuit.h(0)
    circuit.measure(0, 0)
    circuit.ry(A, 0)
    angles = np.array([0.0, 1.0])
    estimator = EstimatorV2(device="cpu", trajectories=400, seed=2)
    data = estimator.run([(circuit, [["Z"], ["X"]], angles)]).result()[0].data
    # After the measurement Z is ±1 with mean 0; turned by the angle a, it leaves ±cos a for Z and ±sin a for X.
    wanted = np.array([np.abs(np.cos(angles)), np.abs(np.sin(angles))]) / np.sqrt(400)
    np.testing.assert_allclose(data.stds, wanted, rtol=0.05, atol=1e-12)
    assert np.all(np.abs(data.evs) <= 5 * wanted + 1e-12)
    noisy = estimator.run([(circuit, [["Z"], ["X"]], angles)], precision=0.2).result()[0]
    np.testing.assert_allclose(noisy.data.stds, np.hypot(data.stds, 0.2))
    assert noisy.metadata["trajectories"] == 400


def test_saved_states_of_a_pub_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A circuit that saves states is a PUB as any other; nobody could read the states, so none are saved."""
    circuit = QuantumCircuit(1)
    circuit.ry(A, 0)
    save_statevector(circuit)
    circuit.measure_all()
    saved = []
    run_batch = Simulator.run_batch
    monkeypatch.setattr(Simulator, "run_batch", lambda *a, **k: saved.append(found := run_batch(*a, **k)) or found)
    values = [[0.0], [np.pi]]
    assert EstimatorV2(device="cpu").run([(circuit, "Z", values)]).result()[0].data.evs.tolist() == [1, -1]
    counts = SamplerV2(device="cpu").run([(circuit, values)], shots=3).result()[0].data.meas.get_counts()
    assert counts == {"0": 3, "1": 3}
    assert [found.saved for found in saved] == [{}, {}]


def test_a_sweep_is_planned_once() -> None:
    """All bindings of a PUB, sampled, take at most one plan."""
    circuit = lib.efficient_su2(4, reps=3)
    circuit.measure_all()
    planned = plan_of.cache_info().misses
    values = np.random.default_rng(2).uniform(-3, 3, (20, circuit.num_parameters))
    SamplerV2(device="cpu").run([(circuit, values)], shots=5).result()
    assert plan_of.cache_info().misses <= planned + 1


def test_sampler_and_backend() -> None:
    """A circuit without chance gives the same counts as the backend does, over all registers."""
    circuit = registers_circuit().assign_parameters([np.pi, 0.0])
    ours = SamplerV2(device="cpu").run([circuit], shots=9).result()[0].join_data().get_counts()
    backend = QsimExBackend(device="cpu").run(circuit, shots=9).result().get_counts()
    assert ours == {key.replace(" ", ""): count for key, count in backend.items()}


def test_an_observable_that_was_changed_is_read_again() -> None:
    """The same object with other coefficients, strings or phases has other values."""
    circuit, estimator = QuantumCircuit(1), EstimatorV2(device="cpu")
    circuit.h(0)
    observable = SparsePauliOp(["X"], [1.0])

    def value() -> float:
        return float(estimator.run([(circuit, observable)]).result()[0].data.evs)

    assert value() == pytest.approx(1.0)
    assert value() == pytest.approx(1.0)
    observable.coeffs = np.array([0.25])
    assert value() == pytest.approx(0.25)
    observable.coeffs[0] = 0.75
    assert value() == pytest.approx(0.75)
    observable.paulis.z = [[True]]
    observable.paulis.x = [[False]]
    assert value() == pytest.approx(0.0)


@pytest.mark.parametrize("alone", [False, True])
def test_values_by_vector(alone: bool) -> None:
    """A vector of parameters names its elements' values in both primitives, beside other parameters or alone."""
    circuit = QuantumCircuit(3)
    for qubit in (2, 0, 1):
        circuit.ry(ANGLES[qubit], qubit)
    values: dict[Any, Any] = {ANGLES: [0.0, np.pi, 0.0]}
    if not alone:
        circuit.x(0)
        circuit.rx(A, 0)
        values[A] = np.pi
    assert EstimatorV2(device="cpu").run([(circuit, "IZI", values)]).result()[0].data.evs == pytest.approx(-1)
    circuit.measure_all()
    assert SamplerV2(device="cpu").run([(circuit, values)], shots=5).result()[0].data.meas.get_counts() == {"010": 5}
