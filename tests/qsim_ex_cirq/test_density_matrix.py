"""`QsimExDensityMatrixSimulator` gives what ``cirq.DensityMatrixSimulator`` gives, from the engine."""

from __future__ import annotations

from collections.abc import Iterator

import cirq
import numpy as np
import pytest
import sympy
from support.cirq_records import assert_from, distribution

from qsim_ex.errors import MeasurementError, NotSupported, OptionError, StateError
from qsim_ex_cirq import QsimExDensityMatrixSimulator, QsimExSimulator

Q = cirq.LineQubit.range(4)
DOUBLE = {"dtype": np.complex128}
CHANNELS = (
    cirq.amplitude_damp(0.2),
    cirq.asymmetric_depolarize(0.1, 0.05, 0.2),
    cirq.bit_flip(0.3),
    cirq.depolarize(0.25),
    cirq.generalized_amplitude_damp(0.3, 0.4),
    cirq.phase_damp(0.3),
    cirq.phase_flip(0.2),
    cirq.reset(cirq.LineQubit(0)).gate,
    cirq.KrausChannel([np.diag([1, 0.6]), np.array([[0, 0.8], [0, 0]])]),
    cirq.MixedUnitaryChannel([(0.5, cirq.unitary(cirq.X)), (0.5, cirq.unitary(cirq.H))]),
)


def ours(**given: object) -> QsimExDensityMatrixSimulator:
    """Our simulator on the CPU."""
    return QsimExDensityMatrixSimulator(device="cpu", **given)


def drawn(seed: int) -> cirq.Circuit:
    """Random gates and one channel of each kind."""
    circuit = cirq.testing.random_circuit(Q, 8, 0.8, random_state=seed)
    rng = np.random.default_rng(seed)
    for channel in CHANNELS:
        circuit.append([cirq.ry(float(rng.uniform(0, 3)))(Q[rng.integers(4)]), channel.on(Q[int(rng.integers(4))])])
    return circuit + cirq.depolarize(0.1, 2).on(Q[0], Q[2]) + cirq.CNOT(Q[2], Q[1])


@pytest.mark.parametrize("seed", range(4))
def test_the_final_density_matrix_is_cirqs(seed: int) -> None:
    """All channels of Cirq among random gates: within 1e-10 in double precision."""
    circuit = drawn(seed)
    expected = cirq.DensityMatrixSimulator(**DOUBLE).simulate(circuit, qubit_order=Q).final_density_matrix
    result = ours(**DOUBLE).simulate(circuit, qubit_order=Q)
    assert np.abs(result.final_density_matrix - expected).max() < 1e-10
    assert result.final_density_matrix.dtype == np.complex128
    assert result.qsim_ex["method"] == "density_matrix"


def test_a_noise_model_acts_as_in_cirq() -> None:
    """Noise after every moment, and noise that is virtual, are those of Cirq's simulator."""
    circuit = cirq.testing.random_circuit(Q, 6, 0.8, random_state=3)
    for noise in (cirq.depolarize(0.05), cirq.ConstantQubitNoiseModel(cirq.phase_damp(0.1))):
        found, expected = (
            one(noise=noise, **DOUBLE).simulate(circuit, qubit_order=Q).final_density_matrix
            for one in (ours, cirq.DensityMatrixSimulator)
        )
        assert np.abs(found - expected).max() < 1e-10


def test_noise_behind_a_measurement_changes_no_shot() -> None:
    """A model's damping before a measurement changes shots, as with ``cirq.Simulator``; that behind it does not."""
    circuit = cirq.Circuit(cirq.X(Q[0]), cirq.measure(Q[0], key="m"))
    noise = cirq.ConstantQubitNoiseModel(cirq.amplitude_damp(0.3))
    shares = [
        one.run(circuit, repetitions=4000).measurements["m"].mean()
        for one in (ours(noise=noise, seed=1), cirq.Simulator(noise=noise, seed=1))
    ]
    assert np.abs(np.array(shares) - 0.7).max() < 5 * np.sqrt(0.21 / 4000)


@pytest.mark.parametrize(
    "initial",
    [
        5,
        np.arange(1, 17) / np.linalg.norm(np.arange(1, 17)),
        np.diag(np.arange(1, 17) / 136).astype(np.complex128),
        cirq.KET_PLUS(Q[0]) * cirq.KET_ONE(Q[1]) * cirq.KET_IMAG(Q[2]) * cirq.KET_ZERO(Q[3]),
    ],
    ids=["value", "amplitudes", "matrix", "product"],
)
def test_initial_states_are_cirqs(initial: object) -> None:
    """A basis value, amplitudes, a density matrix, and a product state."""
    circuit = drawn(2)
    theirs = initial.state_vector() if isinstance(initial, cirq.ProductState) else initial
    expected = cirq.DensityMatrixSimulator(**DOUBLE).simulate(circuit, qubit_order=Q, initial_state=theirs)
    found = ours(**DOUBLE).simulate(circuit, qubit_order=Q, initial_state=initial)
    assert np.abs(found.final_density_matrix - expected.final_density_matrix).max() < 1e-10


def test_steps_can_be_read_sampled_and_set() -> None:
    """Every moment's state is Cirq's; what is written to a step is what follows goes on from."""
    circuit = drawn(1)
    both = zip(
        ours(**DOUBLE).simulate_moment_steps(circuit, qubit_order=Q),
        cirq.DensityMatrixSimulator(**DOUBLE).simulate_moment_steps(circuit, qubit_order=Q),
        strict=True,
    )
    for step, expected in both:
        assert np.abs(step.density_matrix() - expected.density_matrix()).max() < 1e-10
        assert step.sample([Q[0], Q[3]], repetitions=5).shape == (5, 2)
    steps: Iterator[cirq.DensityMatrixStepResult] = ours(split_untangled_states=False).simulate_moment_steps(
        cirq.Circuit(cirq.X(Q[0]), cirq.X(Q[0]))
    )
    next(steps)._merged_sim_state.target_tensor[...] = np.diag([1, 0])
    assert np.allclose(next(steps).density_matrix(), np.diag([0, 1]))


def test_measurements_collapse_in_simulate() -> None:
    """The state is that of the outcomes that were found, and conditions read them."""
    circuit = cirq.Circuit(
        cirq.H(Q[0]), cirq.measure(Q[0], key="m"), cirq.X(Q[1]).with_classical_controls("m"), cirq.H(Q[0])
    )
    found = {int(result.measurements["m"][0]) for result in (_checked(circuit, seed) for seed in range(8))}
    assert found == {0, 1}


def _checked(circuit: cirq.Circuit, seed: int) -> cirq.DensityMatrixTrialResult:
    result = ours(seed=seed, **DOUBLE).simulate(circuit, qubit_order=Q[:2])
    bit = int(result.measurements["m"][0])
    minus = np.array([[1, (-1) ** bit], [(-1) ** bit, 1]]) / 2
    assert np.abs(result.final_density_matrix - np.kron(minus, np.diag([1 - bit, bit]))).max() < 1e-12
    return result


def test_samples_have_the_distribution_of_the_definition() -> None:
    """Measurements on the way, conditions, noise and confused bits: frequencies within five deviations, Cirq's too."""
    circuit = cirq.Circuit(
        cirq.ry(1.0)(Q[0]),
        cirq.measure(Q[0], key="a", confusion_map={(0,): np.array([[0.9, 0.1], [0.2, 0.8]])}),
        cirq.ry(0.7)(Q[0]),
        cirq.X(Q[1]).with_classical_controls("a"),
        cirq.depolarize(0.2)(Q[1]),
        cirq.measure(Q[0], Q[1], key="b", invert_mask=(True,)),
    )
    wanted = distribution(circuit, Q[:2])
    assert_from(ours(seed=5).run(circuit, repetitions=4000), wanted)
    assert_from(cirq.DensityMatrixSimulator(seed=5).run(circuit, repetitions=200), wanted)


def test_sweeps_and_expectation_values() -> None:
    """Each point of a sweep has Cirq's values, which are exact."""
    turn = sympy.Symbol("t")
    circuit = cirq.Circuit(cirq.rx(turn)(Q[0]), cirq.CNOT(Q[0], Q[1]), cirq.amplitude_damp(0.3)(Q[1]))
    observables = [cirq.Z(Q[1]), cirq.X(Q[0]) * cirq.Y(Q[1]) * 2 + 0.5 * cirq.Z(Q[0])]
    points = cirq.Linspace("t", 0, 3, 4)
    found, expected = (
        one(**DOUBLE).simulate_expectation_values_sweep(circuit, observables, points)
        for one in (ours, cirq.DensityMatrixSimulator)
    )
    assert np.abs(np.array(found) - np.array(expected)).max() < 1e-12
    finals = ours(**DOUBLE).simulate_sweep(circuit, points)
    assert [result.params["t"] for result in finals] == [0.0, 1.0, 2.0, 3.0]
    with pytest.raises(MeasurementError, match="permit_terminal_measurements"):
        ours().simulate_expectation_values(circuit + cirq.measure(Q[0]), cirq.Z(Q[1]), param_resolver={"t": 1})


def test_qubits_that_nothing_joins_have_states_of_their_own() -> None:
    """40 qubits that stay apart are simulated one by one, until somebody asks for one matrix of all."""
    circuit = cirq.Circuit(cirq.X(qubit) for qubit in cirq.LineQubit.range(40))
    steps = list(ours().simulate_moment_steps(circuit + cirq.measure(cirq.LineQubit(3), key="m")))
    assert list(steps[-1].measurements["m"]) == [1]
    assert steps[-1].sample(cirq.LineQubit.range(40), repetitions=2).all()


def test_what_is_refused() -> None:
    """States that are none, options that are the class's own, and amplitudes of a mixed state."""
    with pytest.raises(StateError, match="out of range"):
        ours().simulate(cirq.Circuit(cirq.X(Q[0])), initial_state=2)
    for option in ({"method": "statevector"}, {"checkpoint": "run"}, {"nothing": 1}):
        with pytest.raises(OptionError):
            QsimExDensityMatrixSimulator(**option)
    noisy = QsimExSimulator(method="density_matrix", device="cpu", noise=cirq.depolarize(0.1))
    with pytest.raises(NotSupported, match="save the density matrix"):
        noisy.simulate(cirq.Circuit(cirq.H(Q[0])))


def test_a_simulator_shows_its_options() -> None:
    """`repr` names what is not a default."""
    assert (
        repr(ours(dtype=np.complex128)) == "QsimExDensityMatrixSimulator(dtype='complex128', noise=None, device='cpu')"
    )


@pytest.mark.parametrize("name", ["method", "trajectories", "checkpoint", "checkpoint_every"])
def test_options_without_a_meaning_are_refused(name: str) -> None:
    """An option that says nothing about a density matrix is refused by its name."""
    with pytest.raises(OptionError, match=f"expected no {name} for"):
        QsimExDensityMatrixSimulator(**{name: 10})


def test_decompositions_may_borrow_qubits() -> None:
    """An operation that acts on qubits of its own is taken with them, and they are |0⟩ afterwards."""

    class Borrows(cirq.Gate):
        def _num_qubits_(self) -> int:
            return 1

        def _decompose_(self, qubits: tuple[cirq.Qid, ...]) -> Iterator[cirq.Operation]:
            own = cirq.NamedQubit("own")
            yield cirq.CNOT(qubits[0], own)
            yield cirq.Z(own)
            yield cirq.CNOT(qubits[0], own)
            yield cirq.ResetChannel()(own)

    circuit = cirq.Circuit(cirq.H(Q[0]), cirq.bit_flip(0.2)(Q[1]), Borrows()(Q[0]), cirq.ry(0.4)(Q[1]))
    expected = cirq.Circuit(cirq.H(Q[0]), cirq.bit_flip(0.2)(Q[1]), cirq.Z(Q[0]), cirq.ry(0.4)(Q[1]))
    found = ours(**DOUBLE).simulate(circuit, qubit_order=Q[:2]).final_density_matrix
    theirs = cirq.DensityMatrixSimulator(**DOUBLE).simulate(expected, qubit_order=Q[:2]).final_density_matrix
    np.testing.assert_allclose(found, theirs, atol=1e-10)


def test_records_of_rounds_are_those_of_trajectories() -> None:
    """`repeat_until` keeps the bits of every round, in shots that are drawn from exact branches too."""
    body = cirq.FrozenCircuit(cirq.X(Q[0]) ** 0.4, cirq.depolarize(0.1)(Q[0]), cirq.measure(Q[0], key="m"))
    key = cirq.KeyCondition(cirq.MeasurementKey("m"))
    circuit = cirq.Circuit(cirq.CircuitOperation(body, use_repetition_ids=False, repeat_until=key))
    shots = 4000
    exact = ours(seed=4).run(circuit, repetitions=shots).records["m"][:, :, 0]
    drawn = QsimExSimulator(seed=5).run(circuit, repetitions=shots).records["m"][:, :, 0]
    for records in (exact, drawn):
        assert np.all(records.sum(axis=1) == 1)  # a one ends the loop, and zeros come before it
    lengths = [np.bincount(np.argmax(records, axis=1), minlength=40)[:6] / shots for records in (exact, drawn)]
    assert np.abs(lengths[0] - lengths[1]).max() < 5 * np.sqrt(0.5 / shots)


def test_a_loop_until_a_measurement_has_cirqs_distribution() -> None:
    """`repeat_until` with noise: what is measured behind the loop follows from all of its branches."""
    body = cirq.FrozenCircuit(
        cirq.X(Q[0]) ** 0.4, cirq.depolarize(0.1)(Q[0]), cirq.Y(Q[1]) ** 0.15, cirq.measure(Q[0], key="m")
    )
    until = cirq.CircuitOperation(
        body, use_repetition_ids=False, repeat_until=cirq.KeyCondition(cirq.MeasurementKey("m"))
    )
    circuit = cirq.Circuit(until, cirq.measure(Q[1], key="z"))
    p, angle = 1 - np.cos(0.2 * np.pi) ** 2, 0.15 * np.pi
    expected, left, off = 0.0, 1.0, 0.1 * 2 / 3  # a failed round leaves |0⟩
    p = p * (1 - off) + (1 - p) * off
    for rounds in range(1, 200):
        expected, left = expected + left * p * np.sin(rounds * angle / 2) ** 2, left * (1 - p)
    ones = ours(seed=4).run(circuit, repetitions=4000).records["z"].sum()
    assert abs(ones - 4000 * expected) < 5 * np.sqrt(4000 * expected)
