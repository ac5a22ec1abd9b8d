"""One test for each thing that may be asked of ``cirq.Simulator``, by its name, with Cirq's simulators as oracles."""

from __future__ import annotations

import tracemalloc
from typing import Any

import cirq
import duet
import numpy as np
import pytest
import sympy
from numpy.typing import NDArray

import qsim_ex
from qsim_ex_cirq import QsimExSimulator, translate

A, B, C = Q = cirq.LineQubit.range(3)
S, T = sympy.symbols("s t")
EXACT = cirq.Simulator(dtype=np.complex128)
PARTLY = cirq.Circuit(cirq.ry(0.9)(A), cirq.CNOT(A, B), cirq.rx(0.4)(C), cirq.CZ(B, C) ** 0.3, cirq.H(C))
SAMPLED = PARTLY + cirq.measure(A, B, key="ab") + cirq.measure(C, key="c")
TURNED = cirq.Circuit(cirq.X(A) ** T, cirq.CNOT(A, B))
POINTS = [{"t": 0.0}, {"t": 1.0}]


@pytest.fixture
def simulator() -> QsimExSimulator:
    """A simulator in double precision with a seed."""
    return QsimExSimulator(dtype=np.complex128, seed=7, device="cpu")


def state_of(circuit: cirq.Circuit, **how: Any) -> NDArray[np.complex128]:
    """The final state by Cirq's simulator."""
    return np.asarray(EXACT.simulate(circuit, **how).final_state_vector)


def as_frequent(ours: cirq.Result, oracle: Any, circuit: cirq.Circuit) -> bool:
    """Whether all records together are as frequent as those of an oracle, to five standard deviations."""
    theirs = oracle.run(circuit, repetitions=ours.repetitions)
    found, wanted = (
        np.unique(
            np.concatenate([one.records[key].reshape(one.repetitions, -1) for key in sorted(one.records)], axis=1),
            axis=0,
            return_counts=True,
        )
        for one in (ours, theirs)
    )
    counts = {tuple(row): [count, 0] for row, count in zip(found[0].tolist(), found[1].tolist(), strict=True)}
    for row, count in zip(wanted[0].tolist(), wanted[1].tolist(), strict=True):
        counts.setdefault(tuple(row), [0, 0])[1] = count
    return all(abs(a - b) < 5 * np.sqrt(a + b + 1) for a, b in counts.values())


# --- the class and its methods ------------------------------------------------------------------------------------


def test_constructor() -> None:
    """dtype, noise, seed and split_untangled_states mean what they mean in Cirq; the engine's options come along."""
    made = QsimExSimulator(
        dtype=np.complex128, noise=cirq.X, seed=1, split_untangled_states=False, device="cpu", threads=1
    )
    result = made.simulate(cirq.Circuit(cirq.I(A)))
    assert result.final_state_vector.dtype == np.complex128
    assert np.abs(result.final_state_vector) == pytest.approx([0, 1])


@pytest.mark.parametrize(
    "kind",
    [
        cirq.Sampler,
        cirq.SimulatesSamples,
        cirq.SimulatesAmplitudes,
        cirq.SimulatesFinalState,
        cirq.SimulatesIntermediateState,
        cirq.SimulatesIntermediateStateVector,
        cirq.SimulatesExpectationValues,
        cirq.SimulatorBase,
    ],
)
def test_isinstance(simulator: QsimExSimulator, kind: type) -> None:
    """It is of every abstract class that ``cirq.Simulator`` is of."""
    assert isinstance(EXACT, kind)
    assert isinstance(simulator, kind)


def test_run(simulator: QsimExSimulator) -> None:
    """Records have Cirq's keys and shapes and are as frequent."""
    result = simulator.run(SAMPLED, repetitions=2000)
    assert {key: value.shape for key, value in result.records.items()} == {"ab": (2000, 1, 2), "c": (2000, 1, 1)}
    assert as_frequent(result, EXACT, SAMPLED)


def test_run_of_no_repetitions(simulator: QsimExSimulator) -> None:
    """`repetitions=0` gives an empty record for each key."""
    records = simulator.run(SAMPLED, repetitions=0).records
    assert {key: value.shape for key, value in records.items()} == {"ab": (0, 1, 2), "c": (0, 1, 1)}


def test_bits_are_signed(simulator: QsimExSimulator) -> None:
    """1 − 2·bits is 1 or −1, as with Cirq's bits, and not 255."""
    bits = simulator.run(cirq.Circuit(cirq.X(A), cirq.measure(A, key="m"))).measurements["m"]
    assert (1 - 2 * bits).tolist() == [[-1]]


def test_run_sweep_and_run_sweep_iter(simulator: QsimExSimulator) -> None:
    """One result for each set of parameters, which it names."""
    circuit = TURNED + cirq.measure(A, B, key="m")
    for results in (simulator.run_sweep(circuit, POINTS, 5), list(simulator.run_sweep_iter(circuit, POINTS, 5))):
        assert [one.params for one in results] == [cirq.ParamResolver(point) for point in POINTS]
        assert [one.histogram(key="m") for one in results] == [{0: 5}, {3: 5}]


def test_run_batch(simulator: QsimExSimulator) -> None:
    """Circuits, sweeps and repetitions are paired as in Cirq."""
    circuits = [TURNED + cirq.measure(A, B, key="m"), cirq.Circuit(cirq.X(C), cirq.measure(C, key="m"))]
    ours = simulator.run_batch(circuits, [POINTS, None], [2, 3])
    assert ours == EXACT.run_batch(circuits, [POINTS, None], [2, 3])


def test_run_async(simulator: QsimExSimulator) -> None:
    """`run_async`, `run_sweep_async` and `run_batch_async` return what can be awaited."""
    circuit = cirq.Circuit(cirq.X(A), cirq.measure(A, key="m"))
    assert duet.run(simulator.run_async, circuit, repetitions=2) == simulator.run(circuit, repetitions=2)
    assert len(duet.run(simulator.run_sweep_async, circuit, POINTS, 2)) == 2
    assert len(duet.run(simulator.run_batch_async, [circuit, circuit])) == 2


def test_sample(simulator: QsimExSimulator) -> None:
    """A data frame with parameters and keys as columns."""
    circuit = TURNED + cirq.measure(A, B, key="m")
    frame = simulator.sample(circuit, repetitions=2, params=POINTS)
    assert frame.equals(EXACT.sample(circuit, repetitions=2, params=POINTS))
    for params in (
        cirq.Linspace("t", 0, 1, 2),
        [cirq.Points("t", [1]), POINTS[0], cirq.Linspace("t", 0, 1, 2)],
        {"t": 1},
    ):
        frame = simulator.sample(circuit, repetitions=3, params=params)
        assert frame.equals(EXACT.sample(circuit, repetitions=3, params=params))
    with pytest.raises(ValueError, match="Inconsistent sweep parameters"):
        simulator.sample(circuit, params=[{"t": 0}, {"s": 1}])


def test_points_of_a_sample_run_together(simulator: QsimExSimulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of points is one sweep, where Cirq runs one after the other."""
    sweeps = []
    run_sweep = simulator.run_sweep
    monkeypatch.setattr(simulator, "run_sweep", lambda *args, **how: sweeps.append(1) or run_sweep(*args, **how))
    simulator.sample(TURNED + cirq.measure(A, key="m"), params=POINTS)
    assert sweeps == [1]


def test_sample_expectation_values(simulator: QsimExSimulator) -> None:
    """Means over samples, in the basis of the observable."""
    ((mean,),) = simulator.sample_expectation_values(cirq.Circuit(cirq.H(A)), cirq.X(A), num_samples=20)
    assert mean == pytest.approx(1)


def test_simulate(simulator: QsimExSimulator) -> None:
    """The final state, as an array, in Dirac notation, and as the density matrix of some qubits."""
    ours, theirs = simulator.simulate(PARTLY), EXACT.simulate(PARTLY)
    assert ours.final_state_vector == pytest.approx(theirs.final_state_vector, abs=1e-12)
    assert ours.qubit_map == theirs.qubit_map
    assert ours.dirac_notation(3) == theirs.dirac_notation(3)
    assert ours.density_matrix_of([B]) == pytest.approx(theirs.density_matrix_of([B]), abs=1e-12)
    assert ours.bloch_vector_of(A) == pytest.approx(theirs.bloch_vector_of(A), abs=1e-6)


def test_final_states_compare_equal(simulator: QsimExSimulator) -> None:
    """Results of one circuit are equal, and equal to Cirq's where all amplitudes are."""
    circuit = cirq.Circuit(cirq.X(A), cirq.measure(A, key="m"))
    other = QsimExSimulator(dtype=np.complex128, device="cpu")
    assert simulator.simulate(circuit) == other.simulate(circuit)
    assert simulator.simulate(circuit) != other.simulate(circuit + cirq.X(A))
    assert simulator.run(circuit, repetitions=3) == EXACT.run(circuit, repetitions=3)


def test_exponents_that_are_whole_numbers_are_exact(simulator: QsimExSimulator) -> None:
    """A symbol that is 1 turns X^t into X, without an amplitude of 6e-17."""
    for point in POINTS:
        ours = simulator.simulate(TURNED, point).final_state_vector
        assert np.array_equal(ours, np.eye(4)[3 * int(point["t"])])


def test_simulate_sweep_and_simulate_sweep_iter(simulator: QsimExSimulator) -> None:
    """One final state for each set of parameters."""
    for results in (simulator.simulate_sweep(TURNED, POINTS), list(simulator.simulate_sweep_iter(TURNED, POINTS))):
        for one, point in zip(results, POINTS, strict=True):
            assert one.final_state_vector == pytest.approx(state_of(TURNED, param_resolver=point), abs=1e-12)


def test_simulate_moment_steps(simulator: QsimExSimulator) -> None:
    """Steps are read, sampled and measured."""
    pairs = zip(simulator.simulate_moment_steps(PARTLY), EXACT.simulate_moment_steps(PARTLY), strict=True)
    for ours, theirs in pairs:
        assert ours.state_vector(copy=True) == pytest.approx(theirs.state_vector(copy=True), abs=1e-12)
        assert ours.sample([A, C], repetitions=3).shape == (3, 2)
    *_, last = simulator.simulate_moment_steps(SAMPLED)
    assert set(last.measurements) == {"ab", "c"}


def test_compute_amplitudes(simulator: QsimExSimulator) -> None:
    """Amplitudes of basis values, and of all points of a sweep."""
    assert simulator.compute_amplitudes(PARTLY, [1, 6]) == pytest.approx(state_of(PARTLY)[[1, 6]], abs=1e-12)
    found = simulator.compute_amplitudes_sweep(TURNED, [0, 3], POINTS)
    assert np.array(found) == pytest.approx(np.eye(2), abs=1e-12)


def test_simulate_expectation_values(simulator: QsimExSimulator) -> None:
    """Exact values of Pauli strings and sums."""
    asked: list[Any] = [cirq.Z(A) * cirq.Z(B), 0.5 * cirq.X(C) + cirq.Y(A)]
    found = simulator.simulate_expectation_values(PARTLY, asked)
    assert found == pytest.approx(EXACT.simulate_expectation_values(PARTLY, asked), abs=1e-6)


def test_sample_from_amplitudes(simulator: QsimExSimulator) -> None:
    """Values are as frequent as their probabilities."""
    counts = simulator.sample_from_amplitudes(PARTLY, {}, seed=3, repetitions=200)
    probabilities = np.abs(state_of(PARTLY)) ** 2
    for value, probability in enumerate(probabilities):
        assert abs(counts.get(value, 0) - 200 * probability) < 5 * np.sqrt(200 * probability + 1)


# --- what circuits may hold ---------------------------------------------------------------------------------------

HALVES = np.array([[0.8, 0.2], [0.1, 0.9]])
FLIP = cirq.MixedUnitaryChannel([(0.7, np.eye(2)), (0.3, np.array([[0, 1], [1, 0]]))], key="flip")
AFTER_A = [cirq.ry(1.1)(A), cirq.measure(A, key="a")]
SEEN = cirq.measure(B, C, key="end")
CIRCUITS: dict[str, list[Any]] = {
    "repeated keys": [cirq.H(A), cirq.measure(A, key="k"), cirq.X(A), cirq.measure(A, key="k")],
    "invert_mask": [cirq.ry(0.5)(A), cirq.measure(A, B, key="k", invert_mask=(True,))],
    "confusion_map": [cirq.ry(0.5)(A), cirq.measure(A, key="k", confusion_map={(0,): HALVES})],
    "Pauli measurements": [
        *PARTLY.all_operations(),
        cirq.PauliMeasurementGate([cirq.X, cirq.Z], key="xz")(A, B),
        cirq.measure(*Q, key="end"),
    ],
    "classical controls by keys": [AFTER_A, cirq.X(B).with_classical_controls("a"), SEEN],
    "classical controls by an index": [
        AFTER_A,
        cirq.X(A),
        cirq.measure(A, key="a"),
        cirq.X(B).with_classical_controls(cirq.KeyCondition(cirq.MeasurementKey("a"), index=0)),
        SEEN,
    ],
    "classical controls by sympy": [
        AFTER_A,
        cirq.ry(0.4)(C),
        cirq.measure(C, B, key="c"),
        cirq.X(B).with_classical_controls(sympy.Symbol("c") > 2 * sympy.Symbol("a")),
        SEEN,
    ],
    "classical controls by a bit mask": [
        cirq.ry(1.0)(A),
        cirq.ry(1.4)(B),
        cirq.measure(A, B, key="ab"),
        cirq.X(C).with_classical_controls(cirq.BitMaskKeyCondition("ab", bitmask=2, target_value=2, equal_target=True)),
        SEEN,
    ],
    "CircuitOperation with repetitions and maps": [
        cirq.CircuitOperation(
            cirq.FrozenCircuit(cirq.ry(sympy.Symbol("angle"))(A), cirq.measure(A, key="m")),
            repetitions=2,
            use_repetition_ids=True,
            qubit_map={A: B},
            measurement_key_map={"m": "n"},
            param_resolver={"angle": 0.6},
        ),
        SEEN,
    ],
    "CircuitOperation with scoped controls": [
        cirq.CircuitOperation(
            cirq.FrozenCircuit(
                cirq.ry(1.1)(A), cirq.measure(A, key="m"), cirq.X(B).with_classical_controls("m"), cirq.reset(A)
            ),
            repetitions=3,
            use_repetition_ids=True,
        ),
        SEEN,
    ],
    "resets": [*PARTLY.all_operations(), cirq.reset(A), cirq.CNOT(B, A), cirq.measure(*Q, key="end")],
    "channels": [
        *PARTLY.all_operations(),
        cirq.amplitude_damp(0.4)(A),
        cirq.depolarize(0.2)(B),
        cirq.measure(*Q, key="end"),
    ],
    "channels with keys": [cirq.ry(0.4)(A), FLIP(A), cirq.X(B).with_classical_controls("flip"), SEEN],
    "gates with probability": [cirq.X(B).with_probability(0.3), SEEN],
    "measurements on the way": [AFTER_A, cirq.CNOT(A, B), cirq.ry(0.3)(A), cirq.measure(*Q, key="end")],
}


@pytest.mark.parametrize("name", CIRCUITS)
def test_run_with(simulator: QsimExSimulator, name: str) -> None:
    """Records are as frequent as those of Cirq's own simulator."""
    circuit = cirq.Circuit(CIRCUITS[name])
    assert as_frequent(simulator.run(circuit, repetitions=300), cirq.Simulator(seed=3), circuit)


@pytest.mark.parametrize("name", CIRCUITS)
def test_simulate_with(simulator: QsimExSimulator, name: str) -> None:
    """The state is one of those that Cirq's own simulator may end in with the same records."""
    circuit = cirq.Circuit(CIRCUITS[name])
    ours = simulator.simulate(circuit, qubit_order=Q)
    for _ in range(2000):
        theirs = EXACT.simulate(circuit, qubit_order=Q)
        same = all(np.array_equal(theirs.measurements[key], value) for key, value in ours.measurements.items())
        if same and abs(np.vdot(theirs.final_state_vector, ours.final_state_vector)) > 1 - 1e-6:
            return
    pytest.fail(f"no such end in 2,000: {ours.measurements}, {ours.final_state_vector}")


def test_run_with_repeat_until(simulator: QsimExSimulator) -> None:
    """Every round of a loop has a record, with zeros behind the rounds of shorter repetitions, as in Cirq."""
    loop = cirq.CircuitOperation(
        cirq.FrozenCircuit(cirq.ry(1.1)(A), cirq.measure(A, B, key="m")),
        use_repetition_ids=False,
        repeat_until=cirq.KeyCondition(cirq.MeasurementKey("m")),
    )
    circuit = cirq.Circuit(cirq.measure(A, C, key="m", invert_mask=(True, True)), loop, cirq.measure(C, B, key="m"))
    ours, theirs = (one.run(circuit, repetitions=300).records["m"] for one in (simulator, cirq.Simulator(seed=3)))
    assert ours.dtype == theirs.dtype
    for records in (ours, theirs):
        rounds = records[:, 1:, 0].argmax(axis=1) + 1
        assert records.shape == (300, rounds.max() + 2, 2)
        assert (records[:, 0] == 1).all()
        assert (records[:, 1:].sum(axis=(1, 2)) == 1).all()
    assert abs(ours[:, 1].mean() - theirs[:, 1].mean()) < 5 / np.sqrt(300)


def test_classical_controls_on_more_than_ten_bits(simulator: QsimExSimulator) -> None:
    """Controls by keys, masks and sympy on twelve qubits hold where they do in Cirq."""
    qubits, value = cirq.LineQubit.range(12), 0b100000000110
    bits = [cirq.X(q) for k, q in enumerate(qubits) if value >> (11 - k) & 1]
    a, b = sympy.symbols("a b")
    controls: list[tuple[Any, bool]] = [
        ("a", True),
        (sympy.Eq(a, value), True),
        (sympy.Eq(a, value + 1), False),
        (a * b > value * value, False),
        (a + b >= 2 * value, True),
        (cirq.BitMaskKeyCondition("a", bitmask=6, target_value=6, equal_target=True), True),
        (cirq.BitMaskKeyCondition("a", bitmask=1 << 10), False),
    ]
    for control, holds in controls:
        circuit = cirq.Circuit(
            bits,
            cirq.measure(*qubits, key="a"),
            cirq.measure(*qubits, key="b"),
            cirq.X(qubits[1]).with_classical_controls(control),
            cirq.measure(qubits[1], key="end"),
        )
        for one in (simulator, cirq.Simulator()):
            assert one.run(circuit).measurements["end"].tolist() == [[holds]], control


def test_simulate_with_repeat_until(simulator: QsimExSimulator) -> None:
    """Loops that a measurement ends, one in the other, end in the state and with the record that they wait for."""
    inner = cirq.CircuitOperation(
        cirq.FrozenCircuit(cirq.H(A), cirq.measure(A, key="in")),
        use_repetition_ids=False,
        repeat_until=cirq.SympyCondition(sympy.Eq(sympy.Symbol("in"), 1)),
    )
    outer = cirq.CircuitOperation(
        cirq.FrozenCircuit(inner, cirq.H(B), cirq.CNOT(A, B), cirq.measure(B, key="out")),
        use_repetition_ids=False,
        repeat_until=cirq.KeyCondition(cirq.MeasurementKey("out")),
    )
    circuit = cirq.Circuit(cirq.ry(T)(C), outer.with_tags("loop"))
    for result, angle in zip(simulator.simulate_sweep(circuit, [{"t": 0.3}, {"t": 0.8}]), (0.3, 0.8), strict=True):
        assert (result.measurements["in"], result.measurements["out"]) == ([1], [1])
        expected = np.kron([0, 0, 0, 1], [np.cos(angle / 2), np.sin(angle / 2)])
        assert abs(np.vdot(expected, result.final_state_vector)) == pytest.approx(1)
        assert result.qsim_ex["device"] == "cpu"


def test_decompositions_with_ancillas(simulator: QsimExSimulator) -> None:
    """A gate whose decomposition borrows and measures a qubit runs and simulates."""

    class Borrows(cirq.Gate):
        def _num_qubits_(self) -> int:
            return 1

        def _decompose_(self, qubits: Any) -> Any:
            borrowed = cirq.NamedQubit("borrowed")
            yield cirq.CNOT(qubits[0], borrowed)
            yield cirq.measure(borrowed, key="b")

    circuit = cirq.Circuit(cirq.H(A), Borrows()(A), cirq.measure(A, key="a"))
    found = simulator.run(circuit, repetitions=50).measurements
    assert np.array_equal(found["a"], found["b"])
    result = simulator.simulate(circuit)
    assert np.abs(result.final_state_vector) == pytest.approx(np.eye(2)[result.measurements["b"][0]])


def test_noise_models() -> None:
    """A model's channels act where Cirq's simulator has them."""
    model = cirq.ConstantQubitNoiseModel(cirq.amplitude_damp(0.2))
    found = QsimExSimulator(noise=model, seed=1, device="cpu").run(SAMPLED, repetitions=300)
    assert as_frequent(found, cirq.Simulator(noise=model, seed=2), SAMPLED)


@pytest.mark.parametrize(
    "initial",
    [
        0,
        6,
        [1, 0, 1],
        np.arange(1, 9) / np.sqrt(204),
        np.arange(1, 9).reshape(2, 2, 2) / np.sqrt(204),
        cirq.KET_PLUS(A) * cirq.KET_ONE(B) * cirq.KET_IMAG(C),
        cirq.quantum_state(np.arange(1, 9) / np.sqrt(204), (2, 2, 2)),
        EXACT.simulate(PARTLY)._final_simulator_state,
    ],
    ids=lambda one: type(one).__name__,
)
def test_initial_state(simulator: QsimExSimulator, initial: Any) -> None:
    """Numbers, digits, vectors, tensors, products, quantum states and states of simulators, at once and in steps."""
    wanted = state_of(
        PARTLY, initial_state=initial.copy() if isinstance(initial, cirq.SimulationStateBase) else initial
    )
    assert simulator.simulate(PARTLY, initial_state=initial).final_state_vector == pytest.approx(wanted, abs=1e-6)
    *_, step = simulator.simulate_moment_steps(PARTLY, initial_state=initial)
    assert step.state_vector() == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("order", [[C, A, B], cirq.QubitOrder.sorted_by(lambda qubit: -qubit.x), [A, B, C, cirq.q(9)]])
def test_qubit_order(simulator: QsimExSimulator, order: Any) -> None:
    """Lists and orders of Cirq's, with idle qubits."""
    found = simulator.simulate(PARTLY, qubit_order=order).final_state_vector
    assert found == pytest.approx(state_of(PARTLY, qubit_order=order), abs=1e-12)


def test_qubits_that_are_no_line(simulator: QsimExSimulator) -> None:
    """Grid qubits, names and a class of the user's, in Cirq's order."""

    class Mine(cirq.Qid):
        def _comparison_key(self) -> str:
            return "mine"

        @property
        def dimension(self) -> int:
            return 2

    on = [cirq.GridQubit(3, 4), cirq.NamedQubit("a name"), Mine()]
    circuit = PARTLY.transform_qubits(dict(zip(Q, on, strict=True)))
    assert simulator.simulate(circuit).final_state_vector == pytest.approx(state_of(circuit), abs=1e-12)


def test_big_endian(simulator: QsimExSimulator) -> None:
    """The first qubit is the most significant bit of amplitudes and of histograms."""
    circuit = cirq.Circuit(cirq.X(A), cirq.I(B), cirq.I(C))
    assert np.argmax(np.abs(simulator.simulate(circuit).final_state_vector)) == 4
    assert simulator.run(circuit + cirq.measure(*Q, key="m")).histogram(key="m") == {4: 1}


def test_matrix_gates_on_more_than_6_qubits(simulator: QsimExSimulator) -> None:
    """A random matrix on 8 qubits acts as it is."""
    matrix = cirq.testing.random_unitary(256, random_state=1)
    circuit = cirq.Circuit(cirq.MatrixGate(matrix).on(*cirq.LineQubit.range(8)))
    assert simulator.simulate(circuit).final_state_vector == pytest.approx(matrix[:, 0], abs=1e-10)


def test_one_dimensional_final_state_without_a_second_copy() -> None:
    """`simulate_into_1d_array` of 18 qubits takes less memory than two states."""
    qubits = cirq.LineQubit.range(18)
    circuit = cirq.Circuit(cirq.H.on_each(*qubits), cirq.CZ(qubits[0], qubits[17]))
    simulator = QsimExSimulator(device="cpu")
    simulator.simulate_into_1d_array(circuit)
    tracemalloc.start()
    _, vector, _ = simulator.simulate_into_1d_array(circuit)
    assert tracemalloc.get_traced_memory()[1] < 1.5 * vector.nbytes
    tracemalloc.stop()
    assert vector.shape == (1 << 18,)


def test_a_sweep_is_one_plan_and_one_batch(simulator: QsimExSimulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty points are one run of the engine, of one structure."""
    runs = []
    batch = qsim_ex.Simulator.run_batch
    monkeypatch.setattr(
        qsim_ex.Simulator, "run_batch", lambda *given, **how: runs.append(given[2].count) or batch(*given, **how)
    )
    simulator.run_sweep(TURNED + cirq.measure(A, key="m"), cirq.Linspace("t", 0, 1, 20), repetitions=3)
    assert runs == [20]
    structures = {translate(TURNED, {"t": t}).circuit.structure for t in (0.0, 0.3, 1.0)}
    assert len(structures) == 1


def test_errors_that_programs_for_cirq_catch(simulator: QsimExSimulator) -> None:
    """Classes and words of Cirq's errors are those of ours too."""

    class Opaque(cirq.testing.SingleQubitGate):
        pass

    with pytest.raises(TypeError, match="unitary"):
        simulator.run(cirq.Circuit(Opaque()(A), cirq.measure(A)))
    with pytest.raises(ValueError, match="Circuit contains ops whose symbols were not specified"):
        simulator.simulate(TURNED)
    with pytest.raises(ValueError, match="Measurement key k missing when testing classical control"):
        simulator.simulate(cirq.Circuit(cirq.X(A).with_classical_controls("k")))
