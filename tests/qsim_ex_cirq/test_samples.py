"""Samples: keys, instances, masks, confusion, seeds, and the frequencies that the state asks for."""

from __future__ import annotations

import cirq
import numpy as np
import pytest
import sympy

from qsim_ex.errors import ShotsError
from qsim_ex_cirq import QsimExSimulator

A, B, C = cirq.LineQubit.range(3)


def chi_square(counts, probabilities):
    """Return χ² per degree of freedom."""
    counts, expected = np.asarray(counts), np.asarray(probabilities) * np.sum(counts)
    kept = expected > 0
    assert not counts[~kept].any(), "a value of probability zero was found"
    return float(((counts - expected)[kept] ** 2 / expected[kept]).sum() / max(kept.sum() - 1, 1))


def test_records_have_cirqs_shape_and_dtype(simulator):
    """Each key has an array [repetitions, instances, qubits] of signed integers, of which 1 − 2·bits is a sign."""
    circuit = cirq.Circuit(cirq.X(B), cirq.measure(A, B, key="two"), cirq.measure(C, key="one"))
    circuit += [cirq.measure(B, key="again"), cirq.measure(A, key="again")]
    result = simulator.run(circuit, repetitions=5)
    assert {key: value.shape for key, value in result.records.items()} == {
        "two": (5, 1, 2),
        "one": (5, 1, 1),
        "again": (5, 2, 1),
    }
    assert all(value.dtype == np.int8 for value in result.records.values())
    np.testing.assert_array_equal(1 - 2 * result.records["two"][:, 0], [[1, -1]] * 5)
    np.testing.assert_array_equal(result.records["two"][:, 0], [[0, 1]] * 5)
    np.testing.assert_array_equal(result.records["again"][:, :, 0], [[1, 0]] * 5)
    assert result == cirq.Simulator().run(circuit, repetitions=5)


def test_keys_of_repeated_subcircuits(simulator):
    """Keys inside of repeated subcircuits carry the path that Cirq gives them."""
    inner = cirq.FrozenCircuit(cirq.measure(A, key="m"))
    circuit = cirq.Circuit(cirq.X(A), cirq.CircuitOperation(inner, repetitions=2, use_repetition_ids=True))
    circuit += cirq.CircuitOperation(inner).with_measurement_key_mapping({"m": "k"})
    ours, cirqs = (s.run(circuit, repetitions=3) for s in (simulator, cirq.Simulator()))
    assert list(ours.records) == list(cirqs.records) == ["0:m", "1:m", "k"]
    assert ours == cirqs


def test_frequencies(simulator):
    """Twenty thousand shots of five qubits in a scrambled key have the frequencies that the state asks for."""
    qubits = cirq.LineQubit.range(5)
    circuit = cirq.testing.random_circuit(qubits, 12, 0.9, random_state=4) + [cirq.H(q) ** 0.7 for q in qubits]
    key = [qubits[k] for k in (3, 0, 4, 1)]
    result = simulator.run(circuit + cirq.measure(*key, key="m"), repetitions=20_000)
    psi = cirq.final_state_vector(circuit, qubit_order=[*key, qubits[2]], dtype=np.complex128)
    probabilities = (np.abs(psi.reshape(16, 2)) ** 2).sum(axis=1)
    histogram = result.histogram(key="m")
    assert chi_square([histogram[value] for value in range(16)], probabilities) < 2


def test_invert_mask_and_confusion(simulator):
    """A result is confused with the probabilities that were given, and then inverted, as Cirq documents it."""
    confusion = {(1, 2): np.array([[0.7, 0.1, 0.1, 0.1], [0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 0, 0.2, 0.8]])}
    measure = cirq.measure(A, B, C, key="m", invert_mask=(False, True), confusion_map=confusion)
    result = simulator.run(cirq.Circuit(cirq.X(A), cirq.X(B), measure), repetitions=8_000)
    # A, B, C are 1, 1, 0; the pair (B, C) = 10 is read as 00 or 10, and then B is inverted.
    histogram = result.histogram(key="m")
    assert set(histogram) == {0b110, 0b100}
    assert chi_square([histogram[0b110], histogram[0b100]], [0.5, 0.5]) < 6


def test_pauli_measurements(simulator):
    """The stabilisers of a GHZ state are measured with certainty, an operator that anticommutes is not."""
    ghz = cirq.Circuit(cirq.H(A), cirq.CNOT(A, B), cirq.CNOT(B, C))
    for letters, sign in (("XXX", 1), ("XYY", -1), ("ZZI", 1)):
        string = cirq.DensePauliString(letters).on(A, B, C)
        result = simulator.run(ghz + cirq.measure_single_paulistring(string, key="p"), repetitions=20)
        assert (result.measurements["p"] == (1 - sign) // 2).all()
    result = simulator.run(ghz + cirq.measure_paulistring_terms(cirq.X(A) * cirq.Y(B)), repetitions=400)
    assert 150 < result.measurements["q(0)"].sum() < 250


def test_same_seed_same_shots(make, dtype):
    """Simulators with equal seeds give equal runs in their order; a second run and another seed differ."""
    circuit = cirq.Circuit(cirq.H.on_each(A, B, C), cirq.measure(A, B, C, key="m"))
    first, second, other = (make(dtype=dtype, seed=seed) for seed in (7, 7, 8))
    runs = [first.run(circuit, repetitions=100) for _ in range(2)]
    assert runs == [second.run(circuit, repetitions=100) for _ in range(2)]
    assert runs[0] != runs[1]
    assert runs[0] != other.run(circuit, repetitions=100)
    states = [s.simulate(circuit).measurements["m"].tolist() for s in (first, second) for _ in range(1)]
    assert states[0] == states[1]


def test_seeds_of_every_kind(make):
    """A seed may be a number, a random state, or nothing, as in Cirq."""
    circuit = cirq.Circuit(cirq.H.on_each(A, B, C), cirq.measure(A, B, C, key="m"))
    for random in (np.random.RandomState, np.random.default_rng):
        one, two = (make(seed=random(5)).run(circuit, repetitions=50) for _ in range(2))
        assert one == two
    fresh = [make(seed=None).run(circuit, repetitions=50) for _ in range(2)]
    assert fresh[0] != fresh[1]


def test_precision_does_not_change_small_samples(make):
    """Both precisions draw the same shots where no probability lies within rounding of a branch."""
    circuit = cirq.Circuit(cirq.H(A), cirq.CNOT(A, B), cirq.ry(0.3)(C), cirq.measure(A, B, C, key="m"))
    single, double = (make(dtype=d, seed=3).run(circuit, repetitions=300) for d in (np.complex64, np.complex128))
    assert single == double


def test_sweep_of_runs(simulator):
    """Each point of a sweep is sampled with its own numbers and carries its parameters."""
    t = sympy.Symbol("t")
    circuit = cirq.Circuit(cirq.X(A) ** t, cirq.CNOT(A, B) ** t, cirq.measure(A, B, key="m"))
    results = simulator.run_sweep(circuit, cirq.Points("t", [0, 1, 2]), repetitions=4)
    assert [r.params.value_of("t") for r in results] == [0, 1, 2]
    assert [set(r.data["m"]) for r in results] == [{0}, {3}, {0}]
    assert len({r.qsim_ex["plan"]["key"] for r in results}) == 1


@pytest.mark.parametrize("repetitions", [1, 3])
def test_more_than_63_bits_of_keys(simulator, repetitions):
    """Many keys that read the same qubits over and over are all filled."""
    circuit = cirq.Circuit(cirq.X(A), [cirq.measure(A, B, key=f"k{k}") for k in range(70)])
    result = simulator.run(circuit, repetitions=repetitions)
    assert all((result.measurements[f"k{k}"] == [1, 0]).all() for k in range(70))


def test_no_repetitions_give_empty_records() -> None:
    """Of 0 repetitions each key has a record of the right shape, in every method that samples, as in Cirq."""
    a, b = cirq.LineQubit.range(2)
    circuit = cirq.Circuit(cirq.X(a), cirq.measure(a, key="m"), cirq.measure(a, key="m"), cirq.measure(a, b, key="n"))
    simulator = QsimExSimulator(device="cpu")
    for result in (
        simulator.run(circuit, repetitions=0),
        simulator.run_sweep(circuit, cirq.Points("s", [1, 2]), repetitions=0)[1],
        simulator.run_batch([circuit, circuit], repetitions=[5, 0])[1][0],
    ):
        assert result.repetitions == 0
        assert result.records["m"].shape == (0, 2, 1)
        assert result.records["n"].shape == (0, 1, 2)
    with pytest.raises(ShotsError, match="whole number"):
        simulator.run(circuit, repetitions=False)
