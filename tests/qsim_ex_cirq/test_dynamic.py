"""Circuits with measurements in the middle and resets agree with their definition, with ``cirq.Simulator``, and with
``cirq.DensityMatrixSimulator``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
from support.cirq_records import Record, assert_from, distribution

from qsim_ex import errors
from qsim_ex.circuit.ops import Measure
from qsim_ex_cirq import QsimExSimulator, translate

A, B, C = cirq.LineQubit.range(3)
T = sympy.Symbol("t")
SHOTS = 2000


def spread(shift: float = 0.0) -> list[cirq.Operation]:
    """Gates that tell the qubits apart and entangle them."""
    turns = [cirq.ry(0.5 + shift + k).on(q) for k, q in enumerate((A, B, C))]
    return [*turns, cirq.CNOT(A, B), cirq.CZ(B, C) ** 0.7, cirq.X(C) ** 0.3]


def parity(key: str) -> list[cirq.Operation]:
    """The parity of A and B, read on C, which is reset for the next time."""
    return [cirq.CNOT(A, C), cirq.CNOT(B, C), cirq.measure(C, key=key), cirq.reset(C)]


STATE = np.array([0.6, 0.48j, 0, 0.64])
CONFUSED = {(0,): np.array([[0.9, 0.1], [0.3, 0.7]])}
CIRCUITS: dict[str, list[Any]] = {
    "two bases": [spread(), cirq.measure(A, key="z"), cirq.H(A), cirq.measure(A, key="x")],
    "one key again and again": [
        spread(), cirq.measure(A, B, key="m"), spread(1), cirq.measure(C, A, key="m"), spread(2),
        cirq.measure(B, C, key="m"),
    ],
    "twice with nothing between": [spread(), cirq.measure(A, B, key="m"), cirq.measure(B, A, key="m"), spread(1),
                                   cirq.measure(A, B, key="m")],
    "inverted and confused": [
        spread(), cirq.measure(A, B, key="m", invert_mask=(True,), confusion_map=CONFUSED), cirq.H(A),
        cirq.measure(A, B, key="m", invert_mask=(False, True)),
    ],
    "syndromes": [
        cirq.ry(0.7)(A), cirq.H(B), parity("s"), cirq.X(A) ** 0.4, parity("s"), parity("s"), cirq.measure(A, B),
    ],
    "repeated subcircuit": [
        cirq.ry(0.7)(A), cirq.H(B),
        cirq.CircuitOperation(
            cirq.FrozenCircuit(parity("s"), cirq.X(A) ** 0.3), repetitions=3, use_repetition_ids=False,
        ),
        cirq.measure(A, key="end"),
    ],
    "subcircuit with ids": [
        spread(), cirq.CircuitOperation(cirq.FrozenCircuit(cirq.H(A), cirq.measure(A, key="m")), repetitions=2,
                                        use_repetition_ids=True),
    ],
    "measured controls": [spread(), cirq.measure(A, key="a"), cirq.CNOT(A, C), cirq.Z(A), cirq.measure(C, key="c")],
    "Pauli product in the middle": [
        spread(), cirq.PauliMeasurementGate([cirq.X, cirq.Y], key="p").on(A, B), spread(1), cirq.measure(A, B, C),
    ],
    "Pauli products that overlap": [
        spread(),
        cirq.PauliMeasurementGate(cirq.DensePauliString("XX", coefficient=-1), key="p").on(A, B),
        cirq.PauliMeasurementGate([cirq.Z, cirq.Z], key="p").on(B, A),
        cirq.PauliMeasurementGate([cirq.Y, cirq.Z], key="p").on(B, C),
    ],
    "Pauli, then its own basis": [
        spread(), cirq.PauliMeasurementGate([cirq.X], key="p").on(A), cirq.measure(A, key="m"),
        cirq.measure(B, key="m"),
    ],
    "resets": [
        spread(), cirq.reset(A), spread(1), cirq.reset(B), cirq.reset(B), cirq.CNOT(B, C), cirq.measure(A, B, C),
    ],
    "prepared again": [
        spread(), cirq.StatePreparationChannel(STATE).on(C, A), cirq.CNOT(A, B), cirq.measure(A, B, C, key="m"),
    ],
    "measured before anything": [cirq.measure(A, key="m"), cirq.H(A), cirq.measure(A, key="m")],
    "noise between": [
        spread(), cirq.amplitude_damp(0.4).on(A), cirq.measure(A, key="m"), cirq.depolarize(0.3).on(B), spread(1),
        cirq.amplitude_damp(0.3).on(A), cirq.measure(A, B, key="n"),
    ],
}  # fmt: skip


@cache
def exact(name: str) -> dict[Record, float]:
    """The probability of all that a circuit may record."""
    return distribution(cirq.Circuit(CIRCUITS[name]), [A, B, C])


@pytest.mark.parametrize("name", CIRCUITS)
def test_records(simulator: QsimExSimulator, name: str) -> None:
    """All records together have the shapes and the distribution of the definition."""
    assert_from(simulator.run(cirq.Circuit(CIRCUITS[name]), repetitions=SHOTS), exact(name))


@pytest.mark.parametrize("name", CIRCUITS)
def test_the_definition_is_cirqs(name: str) -> None:
    """Cirq's own simulator records what the definition says, with these shapes."""
    assert_from(cirq.Simulator(seed=3).run(cirq.Circuit(CIRCUITS[name]), repetitions=150), exact(name))


@cache
def random_circuit(seed: int) -> tuple[cirq.Circuit, dict[Record, float]]:
    """Measurements, resets and noise at random places between random gates, and the probabilities of all records."""
    random = np.random.default_rng(seed)
    extra: list[Any] = [cirq.measure, cirq.reset, cirq.amplitude_damp(0.3).on, cirq.depolarize(0.2).on]
    circuit = cirq.Circuit()
    for k in range(5):
        circuit += cirq.testing.random_circuit([A, B, C], 2, 0.8, random_state=10 * seed + k)
        qubit, choice = [A, B, C][random.integers(3)], random.integers(4)
        circuit += cirq.measure(qubit, key="m") if choice == 0 else extra[choice](qubit)
    circuit += cirq.measure(A, key="m"), cirq.measure(B, C, key="end")
    return circuit, distribution(circuit, [A, B, C])


@pytest.mark.parametrize("seed", range(4))
def test_random_circuits(make: Any, seed: int) -> None:
    """Measurements, resets and noise at random places give records of the distribution of the definition."""
    circuit, wanted = random_circuit(seed)
    assert_from(make(seed=seed).run(circuit, repetitions=SHOTS), wanted)


def test_a_planted_error_is_seen(simulator: QsimExSimulator) -> None:
    """A circuit that differs by 0.2 in one angle before the second measurement is found."""
    first, second = (
        cirq.Circuit(spread(), cirq.measure(A, key="m"), cirq.ry(0.7 + more).on(A), cirq.measure(A, key="m"))
        for more in (0, 0.2)
    )
    wanted = distribution(first, [A, B, C])
    assert_from(simulator.run(first, repetitions=SHOTS), wanted)
    with pytest.raises(AssertionError):
        assert_from(simulator.run(second, repetitions=SHOTS), wanted)


def test_the_end_stays_cheap() -> None:
    """Measurements at the end, of Pauli products too, stand at the end, so that shots share a state."""
    circuit = cirq.Circuit(
        spread(),
        cirq.measure(B, key="m"),
        cirq.measure(B, C, key="n"),
        cirq.PauliMeasurementGate([cirq.X], key="p").on(A),
    )
    found = translate(circuit, sampled=True)
    (measure,) = [i for i in found.circuit.instructions if isinstance(i, Measure)]
    assert measure == found.circuit.instructions[-1] == Measure((0, 1, 2), (0, 1, 2))
    assert not found.is_random
    assert translate(circuit).is_random  # to turn the state back
    again = translate(circuit + cirq.H(B) + cirq.measure(B, key="m"), sampled=True)
    assert [i.clbits for i in again.circuit.instructions if isinstance(i, Measure)] == [(3,), (0, 1, 2)]
    assert [one.clbits for one in again.measurements] == [(2,), (3,), (3, 0), (1,)]


def test_sweeps_and_batches(make: Any) -> None:
    """Points of a sweep have seeds of their own, and the records of single runs."""
    circuit = cirq.Circuit(cirq.ry(T)(A), cirq.measure(A, key="m"), cirq.H(A), cirq.CX(A, B), cirq.measure(A, key="m"))
    sweep = cirq.Linspace("t", 0, 3, 4)
    together = make(seed=5).run_sweep(circuit, sweep, repetitions=300)
    alone = make(seed=5)
    for result in together:
        assert result == alone.run(circuit, result.params, repetitions=300)
    both = make(seed=5).run_batch([circuit], [sweep], repetitions=300)
    assert both[0] == together
    for result in together:
        assert (
            abs(result.records["m"][:, 0, 0].mean() - np.sin(result.params.value_of(T) / 2) ** 2) < 5 * 0.5 / 300**0.5
        )


# --- states ---------------------------------------------------------------------------------------------------------


def density_of(circuit: cirq.Circuit, noise: Any = None, initial: Any = 0) -> Any:
    """The density matrix by Cirq; what is measured and forgotten loses its phase."""
    forgotten = circuit.map_operations(
        lambda op: [cirq.phase_flip(0.5).on(q) for q in op.qubits] if cirq.is_measurement(op) else op
    )
    exact = cirq.DensityMatrixSimulator(noise=noise, dtype=np.complex128)
    return exact.simulate(forgotten, qubit_order=[A, B, C], initial_state=initial).final_density_matrix


TRAJECTORIES: dict[str, list[Any]] = {
    "two bases": [spread(), cirq.measure(A, key="z"), cirq.H(A), cirq.measure(A, C, key="x", invert_mask=(True,))],
    "syndromes": [parity("s"), cirq.X(A) ** 0.4, parity("t"), cirq.H(B), cirq.measure(B, key="b")],
    "Pauli products": [
        spread(),
        cirq.PauliMeasurementGate(cirq.DensePauliString("XX", coefficient=-1), key="p").on(A, B),
        spread(1),
        cirq.PauliMeasurementGate([cirq.Y, cirq.Z], key="q").on(B, C),
    ],
    "only at the end, a Pauli product": [
        spread(), cirq.PauliMeasurementGate([cirq.Y, cirq.Z], key="q").on(B, C), cirq.measure(A, key="a"),
    ],
    "controls": [spread(1), cirq.measure(A, key="a"), cirq.CNOT(A, B), cirq.Z(A)],
}  # fmt: skip


def followed(circuit: cirq.Circuit, found: dict[str, Any], state: Any) -> Any:
    """The normalised state after a circuit whose measurements found this; what is reset was measured before."""
    known: dict[cirq.Qid, int] = {}
    for op in circuit.all_operations():
        match op.gate:
            case cirq.MeasurementGate() as gate:
                bits = [bit ^ flip for bit, flip in zip(found[gate.key], gate.full_invert_mask(), strict=True)]
                known.update(zip(op.qubits, bits, strict=True))
                projections = [np.diag([1 - bit, bit]) for bit in bits]
                state = applied(cirq.kron(*projections), op.qubits, state)
            case cirq.PauliMeasurementGate() as gate:
                product = cirq.unitary(gate.observable())
                state = applied(
                    (np.eye(len(product)) + (-1) ** int(found[gate.key][0]) * product) / 2, op.qubits, state
                )
            case cirq.ResetChannel():
                flip = known[op.qubits[0]]
                state = applied([[1 - flip, flip], [0, 0]], op.qubits, state)
            case _:
                state = applied(cirq.unitary(op), op.qubits, state)
    return state / np.linalg.norm(state)


def applied(matrix: Any, qubits: Any, state: Any) -> Any:
    """A matrix on some of the qubits A, B, C, on a state [8]."""
    axes = [qubit.x for qubit in qubits]
    return cirq.targeted_left_multiply(
        np.asarray(matrix, dtype=np.complex128).reshape((2,) * 2 * len(axes)), state.reshape(2, 2, 2), axes
    ).reshape(8)


@pytest.mark.parametrize("initial", [0, 0b110, "vector"])
@pytest.mark.parametrize("name", [name for name in TRAJECTORIES if name != "syndromes"])
def test_states_agree_with_what_was_measured(simulator: QsimExSimulator, dtype: Any, name: str, initial: Any) -> None:
    """The state of a trajectory is the one that its measurements leave, whatever state it began in."""
    circuit = cirq.Circuit(TRAJECTORIES[name])
    begin = np.eye(8, dtype=np.complex128)[initial if isinstance(initial, int) else 0]
    if initial == "vector":
        initial = begin = cirq.testing.random_superposition(8, random_state=1)
    seen = set()
    for _ in range(12):
        result = simulator.simulate(circuit, qubit_order=[A, B, C], initial_state=initial)
        wanted = followed(circuit, result.measurements, begin)
        assert abs(np.vdot(wanted, result.final_state_vector)) == pytest.approx(1, abs=1e-5)
        assert result.final_state_vector.dtype == dtype
        seen.add(tuple(bit for key in sorted(result.measurements) for bit in result.measurements[key].tolist()))
    assert len(seen) > 1


def test_states_after_syndromes(simulator: QsimExSimulator) -> None:
    """Ancillas that are read, reset and read again leave the others in the state of the definition."""
    circuit = cirq.Circuit(TRAJECTORIES["syndromes"])
    begin = np.kron(cirq.testing.random_superposition(4, random_state=2), [1, 0]).astype(np.complex128)
    for result in simulator.simulate_sweep(circuit, [{}] * 10, qubit_order=[A, B, C], initial_state=begin):
        wanted = followed(circuit, result.measurements, begin)
        assert abs(np.vdot(wanted, result.final_state_vector)) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("noise", [None, cirq.amplitude_damp(0.2)], ids=["ideal", "noisy"])
@pytest.mark.parametrize("vector", [False, True], ids=["from zero", "from a vector"])
def test_mean_of_trajectories(make: Any, noise: Any, vector: bool) -> None:
    """The mean over the states of many trajectories is Cirq's density matrix."""
    circuit = cirq.Circuit(spread(), cirq.measure(A, key="m"), cirq.H(A), cirq.reset(B), spread(1), cirq.measure(C))
    initial = cirq.testing.random_superposition(8, random_state=4).astype(np.complex64) if vector else 0
    count, order = 800, [A, B, C]
    results = make(seed=8, noise=noise).simulate_sweep(circuit, [{}] * count, qubit_order=order, initial_state=initial)
    found = sum(np.outer(r.final_state_vector, r.final_state_vector.conj()) for r in results) / count
    wanted = density_of(circuit, noise, initial)
    assert np.abs(found - wanted).max() < 5 * 0.5 / np.sqrt(count)


def test_keys_hold_the_last_value(simulator: QsimExSimulator) -> None:
    """A key that is measured again in the middle has the last value."""
    circuit = cirq.Circuit(cirq.X(A), cirq.measure(A, key="m"), cirq.X(A), cirq.measure(A, key="m"), cirq.H(A))
    result = simulator.simulate(circuit)
    assert result.measurements["m"].tolist() == [0]
    assert simulator.run(circuit).records["m"].tolist() == [[[1], [0]]]
    np.testing.assert_allclose(np.abs(result.final_state_vector) ** 2, [0.5, 0.5], atol=1e-6)


def test_states_are_the_seeds(make: Any) -> None:
    """A state of a sweep is the one that the seed gives alone, with the same measurement."""
    circuit = cirq.Circuit(cirq.ry(T)(A), cirq.measure(A, key="m"), cirq.H(A), cirq.CX(A, B), cirq.measure(B, key="n"))
    alone = make(seed=5)
    for result in make(seed=5).simulate_sweep(circuit, cirq.Linspace("t", 0, 3, 5)):
        again = alone.simulate(circuit, result.params)
        assert str(again.measurements) == str(result.measurements)
        np.testing.assert_allclose(again.final_state_vector, result.final_state_vector, atol=1e-6)


def test_preparation_from_a_basis_state(simulator: QsimExSimulator) -> None:
    """Preparing qubits from any initial basis state gives the state that Cirq gives."""
    circuit = cirq.Circuit(cirq.StatePreparationChannel(STATE).on(C, A), cirq.CNOT(A, B))
    for initial in (0b010, 0b100):
        found = simulator.simulate(circuit, qubit_order=[A, B, C], initial_state=initial).final_state_vector
        wanted = cirq.Simulator().simulate(circuit, qubit_order=[A, B, C], initial_state=initial).final_state_vector
        assert abs(np.vdot(found, wanted)) == pytest.approx(1, abs=1e-5)


def test_a_bad_initial_vector(simulator: QsimExSimulator) -> None:
    """A vector that is not normalised is refused where a circuit goes on after a measurement."""
    circuit = cirq.Circuit(cirq.measure(A), cirq.H(A))
    with pytest.raises(errors.StateError, match="of norm 1, got"):
        simulator.simulate(circuit, initial_state=np.array([1, 1], dtype=np.complex64))


# --- values ---------------------------------------------------------------------------------------------------------

OBSERVABLES = [cirq.Z(A), cirq.X(A) * cirq.X(B) + 0.5 * cirq.Z(C), cirq.Y(B) * cirq.Z(C) - 2]


def assert_means(simulator: QsimExSimulator, circuit: cirq.Circuit, density: Any, **how: Any) -> list[float]:
    """The values lie within five standard errors of those of a density matrix; returns the standard errors."""
    (found,) = simulator.simulate_expectation_estimates_sweep(circuit, OBSERVABLES, qubit_order=[A, B, C], **how)
    qubit_map = {A: 0, B: 1, C: 2}
    for value, error, observable in zip(found.values, found.errors, OBSERVABLES, strict=True):
        wanted = cirq.PauliSum.wrap(observable).expectation_from_density_matrix(density, qubit_map).real
        assert abs(value - wanted) <= 5 * error + 1e-5
        assert error < 0.1
    assert found.trajectories == 700
    return found.errors


@pytest.mark.parametrize("noise", [None, cirq.amplitude_damp(0.2), cirq.depolarize(0.1)], ids=str)
@pytest.mark.parametrize("vector", [False, True], ids=["from zero", "from a vector"])
def test_values(make: Any, noise: Any, vector: bool) -> None:
    """Expectation values are those of the density matrix within their errors."""
    initial = cirq.testing.random_superposition(8, random_state=4) if vector else 0
    circuit = cirq.Circuit(spread(), cirq.measure(A, B, key="m"), cirq.H(A), cirq.reset(C), spread(1))
    density = density_of(circuit, noise, initial)
    simulator = make(seed=8, noise=noise, trajectories=700, dtype=np.complex128)
    assert max(assert_means(simulator, circuit, density, initial_state=initial)) > 1e-3
    values = make(seed=8, noise=noise, trajectories=700).simulate_expectation_values(
        circuit, OBSERVABLES, qubit_order=[A, B, C], initial_state=initial
    )
    assert all(isinstance(value, float) for value in values)


@pytest.mark.parametrize("noise", [None, cirq.amplitude_damp(0.2)], ids=str)
def test_values_after_permitted_measurements(make: Any, noise: Any) -> None:
    """Permitted measurements at the end disturb a mean as the density matrix says."""
    circuit = cirq.Circuit(spread(), cirq.measure(A, key="m"), cirq.H(A), spread(1), cirq.measure(A), cirq.measure(C))
    simulator = make(seed=8, noise=noise, trajectories=700)
    with pytest.raises(errors.MeasurementError, match="permit_terminal_measurements"):
        simulator.simulate_expectation_values(circuit, OBSERVABLES)
    assert_means(simulator, circuit, density_of(circuit, noise), permit_terminal_measurements=True)


def test_exact_values_have_no_errors(make: Any, simulator: QsimExSimulator) -> None:
    """Exact values have no errors and no trajectories, for each point of a sweep separately; of few wires all are."""
    circuit = cirq.Circuit(cirq.ry(T)(A), cirq.X(B).with_probability(T))
    asked = circuit, [cirq.Z(A), cirq.Z(B)], cirq.Points("t", [1.0, 0.5])
    exact = simulator.simulate_expectation_estimates_sweep(*asked)
    assert [(one.trajectories, one.errors) for one in exact] == [(None, [0, 0])] * 2
    np.testing.assert_allclose([one.values for one in exact], [[np.cos(1), -1], [np.cos(0.5), 0]], atol=1e-6)
    found = make(trajectories=1000).simulate_expectation_estimates_sweep(*asked)
    assert [one.trajectories for one in found] == [None, 1000]
    assert found[0].errors == [0, 0]
    np.testing.assert_allclose(found[0].values, [np.cos(1), -1], atol=1e-6)
    assert found[1].errors[0] == pytest.approx(0, abs=1e-4)
    assert found[1].errors[1] == pytest.approx(1 / np.sqrt(1000), rel=0.05)
    (alone,) = simulator.simulate_expectation_estimates_sweep(cirq.Circuit(cirq.H(A)), 2 * cirq.X(A))
    assert (alone.errors, alone.trajectories) == ([0], None)
    assert alone.values == pytest.approx([2])


@pytest.mark.parametrize("trajectories", [0, 1.5, "many"])
def test_bad_numbers_of_trajectories(trajectories: Any) -> None:
    """An impossible number of trajectories is refused."""
    with pytest.raises(errors.ShotsError):
        QsimExSimulator(trajectories=trajectories)
