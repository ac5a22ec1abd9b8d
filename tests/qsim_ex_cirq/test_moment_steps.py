"""`simulate_moment_steps`: the state after each moment, read, sampled, written, and gone on from."""

from __future__ import annotations

from typing import Any

import cirq
import numpy as np
import pytest
import sympy

from qsim_ex_cirq import QsimExDensityMatrixSimulator, QsimExSimulator

A, B, C = cirq.LineQubit.range(3)
GATES = cirq.testing.random_circuit(5, 12, 0.7, random_state=7)


@pytest.fixture(params=[np.complex64, np.complex128])
def simulator(request: pytest.FixtureRequest) -> QsimExSimulator:
    """A simulator in each precision."""
    return QsimExSimulator(dtype=request.param, seed=1, device="cpu")


def test_it_is_a_simulator_of_intermediate_states(simulator: QsimExSimulator) -> None:
    """What asks for Cirq's interface finds it."""
    assert isinstance(simulator, cirq.SimulatesIntermediateState)
    assert isinstance(simulator, cirq.SimulatesIntermediateStateVector)


def test_every_state_is_that_of_cirq(simulator: QsimExSimulator) -> None:
    """After each moment the amplitudes are those of Cirq's simulator, read at every step or at some only."""
    expected = [
        step.state_vector(copy=True) for step in cirq.Simulator(dtype=np.complex128).simulate_moment_steps(GATES)
    ]
    for often in (1, 5):
        for number, step in enumerate(simulator.simulate_moment_steps(GATES)):
            if number % often == 0 or number == len(GATES) - 1:
                np.testing.assert_allclose(step.state_vector(), expected[number], atol=1e-5)


def test_moments_are_kept_for_each_order_of_qubits(simulator: QsimExSimulator) -> None:
    """A circuit that comes again, in another order or with a moment that is shared, has the states of Cirq's."""
    layer = cirq.Moment(cirq.ry(0.3)(A), cirq.ISWAP(B, C))
    for circuit in (cirq.Circuit(layer, cirq.Moment(cirq.X(C)), layer), cirq.Circuit(cirq.Moment(cirq.H(B)), layer)):
        for order in ([A, B, C], [C, A, B], [A, B, C]):
            ours = [step.state_vector(copy=True) for step in simulator.simulate_moment_steps(circuit, None, order)]
            theirs = cirq.Simulator(dtype=np.complex128).simulate_moment_steps(circuit, None, order)
            for found, step in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(found, step.state_vector(), atol=1e-6)


def test_parameters_order_and_initial_state(simulator: QsimExSimulator) -> None:
    """Resolver, qubit order and initial state mean what they mean in Cirq."""
    circuit = cirq.Circuit(cirq.X(A) ** sympy.Symbol("t"), cirq.CNOT(A, B))
    given: dict[str, Any] = {"param_resolver": {"t": 0.3}, "qubit_order": [C, B, A], "initial_state": 0b101}
    ours = list(simulator.simulate_moment_steps(circuit, **given))[-1].state_vector()
    theirs = list(cirq.Simulator(dtype=np.complex128).simulate_moment_steps(circuit, **given))[-1].state_vector()
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_formulas_without_symbols_are_numbers() -> None:
    """A subcircuit whose symbol is replaced by π/4 is that of the number, with state vectors and density matrices."""
    symbol = sympy.Symbol("a")
    inner = cirq.FrozenCircuit(cirq.rx(symbol)(A), cirq.CNOT(A, B))
    circuit, plain = (
        cirq.Circuit(cirq.CircuitOperation(inner, param_resolver={"a": value})) for value in (sympy.pi / 4, np.pi / 4)
    )
    expected = cirq.Simulator(dtype=np.complex128).simulate(plain).final_state_vector
    *_, step = QsimExSimulator(dtype=np.complex128).simulate_moment_steps(circuit)
    assert np.abs(step.state_vector() - expected).max() < 1e-14
    density = QsimExDensityMatrixSimulator(dtype=np.complex128).simulate(circuit).final_density_matrix
    assert np.abs(density - np.outer(expected, expected.conj())).max() < 1e-14


def test_an_empty_circuit_has_one_step(simulator: QsimExSimulator) -> None:
    """As in Cirq, with the initial state."""
    (step,) = simulator.simulate_moment_steps(cirq.Circuit(), qubit_order=[A, B], initial_state=2)
    assert np.argmax(np.abs(step.state_vector())) == 2


def test_steps_are_sampled(simulator: QsimExSimulator) -> None:
    """Samples of a step follow its state, which stays; one seed gives the same samples."""
    circuit = cirq.Circuit(cirq.X(A), cirq.H(B), cirq.CNOT(B, C))
    for number, step in enumerate(simulator.simulate_moment_steps(circuit)):
        found = step.sample([C, B, A], repetitions=200, seed=3)
        assert found.shape == (200, 3)
        assert np.array_equal(found, step.sample([C, B, A], repetitions=200, seed=3))
        assert found[:, 2].all()
        if number == 1:
            assert np.array_equal(found[:, 0], found[:, 1])
            assert 60 < found[:, 0].sum() < 140
    assert step.sample([], repetitions=4).shape == (4, 0)
    measured = step.sample_measurement_ops([cirq.measure(A, B, key="m", invert_mask=(True,))], repetitions=7)
    assert not measured["m"][:, 0].any()


def test_measurements_and_what_depends_on_them(simulator: QsimExSimulator) -> None:
    """Outcomes stand in the step, later gates under conditions act on them, and the state is collapsed."""
    circuit = cirq.Circuit(
        cirq.H(A), cirq.measure(A, key="m"), cirq.X(B).with_classical_controls("m"), cirq.measure(B, key="n")
    )
    seen = set()
    for _ in range(20):
        steps = list(simulator.simulate_moment_steps(circuit))
        (value,) = steps[-1].measurements["m"]
        assert steps[-1].measurements["n"] == [value]
        assert abs(abs(steps[-1].state_vector()[3 * value]) - 1) < 1e-6
        seen.add(value)
    assert seen == {0, 1}


def test_loops_until_a_measurement_says_so(simulator: QsimExSimulator) -> None:
    """A circuit operation with `repeat_until` ends with the outcome that it waits for."""
    body = cirq.FrozenCircuit(cirq.H(A), cirq.measure(A, key="m"))
    loop = cirq.CircuitOperation(
        body, use_repetition_ids=False, repeat_until=cirq.KeyCondition(cirq.MeasurementKey("m"))
    )
    (step,) = simulator.simulate_moment_steps(cirq.Circuit(loop))
    assert abs(abs(step.state_vector()[1]) - 1) < 1e-6


def test_noise_is_a_trajectory(simulator: QsimExSimulator) -> None:
    """Mixtures and general channels choose a matrix with its probability, resets end in |0⟩; norms stay 1."""
    damped = cirq.Circuit(cirq.H(A), cirq.amplitude_damp(0.36)(A), cirq.bit_flip(0.5)(B))
    excited, flipped, count = 0.0, 0.0, 400
    for _ in range(count):
        state = list(simulator.simulate_moment_steps(damped, qubit_order=[A, B]))[-1].state_vector(copy=True)
        assert abs(np.linalg.norm(state) - 1) < 1e-5
        excited += float(np.sum(np.abs(state[2:]) ** 2)) / count
        flipped += float(np.sum(np.abs(state[1::2]) ** 2)) / count
    assert abs(excited - 0.32) < 0.06
    assert abs(flipped - 0.5) < 0.1
    (*_, step) = simulator.simulate_moment_steps(cirq.Circuit(cirq.H(A), cirq.reset(A)))
    assert abs(abs(step.state_vector()[0]) - 1) < 1e-6


def test_a_channel_with_a_key_writes_down_its_choice(simulator: QsimExSimulator) -> None:
    """The number of the chosen matrix stands under the key, and a condition sees it."""
    flip = cirq.MixedUnitaryChannel(((0.5, np.eye(2)), (0.5, cirq.unitary(cirq.X))), key="k").on(A)
    circuit = cirq.Circuit(flip, cirq.X(B).with_classical_controls("k"))
    for _ in range(10):
        step = list(simulator.simulate_moment_steps(circuit))[-1]
        assert np.argmax(np.abs(step.state_vector())) in (0, 3)


def test_a_noise_model_acts_between_moments() -> None:
    """The simulator's noise is there, as in `simulate`."""
    noisy = QsimExSimulator(noise=cirq.bit_flip(1.0), device="cpu")
    states = [step.state_vector(copy=True) for step in noisy.simulate_moment_steps(cirq.Circuit(cirq.X(A)))]
    assert abs(abs(states[-1][0]) - 1) < 1e-6


def test_what_is_written_into_the_state_is_the_state(simulator: QsimExSimulator) -> None:
    """A gate of a user's own that edits `target_tensor` is seen by later gates."""

    class Flips(cirq.Gate):
        def _num_qubits_(self) -> int:
            return 1

        def _act_on_(self, sim_state: Any, qubits: Any) -> bool:
            (axis,) = sim_state.get_axes(qubits)
            sim_state.target_tensor[:] = np.flip(sim_state.target_tensor, axis).copy()
            return True

    circuit = cirq.Circuit(cirq.X(A), Flips().on(B), cirq.X(A))
    assert np.argmax(np.abs(list(simulator.simulate_moment_steps(circuit))[-1].state_vector())) == 1


def test_an_array_that_is_no_copy_is_read_only(simulator: QsimExSimulator) -> None:
    """A state that is written to by mistake is an error, and not a wrong result later."""
    for step in simulator.simulate_moment_steps(GATES):
        with pytest.raises(ValueError, match="read-only"):
            step.state_vector()[0] = 1
        step.state_vector(copy=True)[0] = 1


def test_decompositions_may_borrow_qubits(simulator: QsimExSimulator) -> None:
    """A gate whose decomposition needs ancillas gets them, and gives them back."""

    class Borrows(cirq.Gate):
        def _num_qubits_(self) -> int:
            return 1

        def _has_unitary_(self) -> bool:
            return False

        def _decompose_with_context_(self, qubits: Any, context: cirq.DecompositionContext) -> Any:
            (ancilla,) = context.qubit_manager.qalloc(1)
            yield cirq.CNOT(qubits[0], ancilla)
            yield cirq.Z(ancilla)
            yield cirq.CNOT(qubits[0], ancilla)
            context.qubit_manager.qfree([ancilla])

    circuit = cirq.Circuit(cirq.H(A), Borrows().on(A), cirq.H(A))
    (*_, step) = simulator.simulate_moment_steps(circuit)
    assert abs(abs(step.state_vector()[1]) - 1) < 1e-6


def test_states_are_copied_joined_and_divided(simulator: QsimExSimulator) -> None:
    """What Cirq's simulation states can do, those of the engine can."""
    (*_, step) = simulator.simulate_moment_steps(cirq.Circuit(cirq.X(A), cirq.H(B)))
    state = step._simulator_state()
    other = state.copy()
    cirq.act_on(cirq.X(A), other)
    assert np.argmax(np.abs(other.target_tensor).reshape(-1)) in (0, 1)
    assert np.argmax(np.abs(state.target_tensor).reshape(-1)) in (2, 3)
    turned = state.transpose_to_qubit_order([B, A])
    np.testing.assert_allclose(turned.target_tensor, state.target_tensor.T, atol=1e-7)
    first, rest = state.factor([A])
    assert first.qubits == (A,)
    assert np.argmax(np.abs(first.target_tensor)) == 1
    assert rest.kronecker_product(first).qubits == (B, A)


def test_gates_go_on_after_qubits_were_borrowed(simulator: QsimExSimulator) -> None:
    """Gates before, in and after a moment in which a measured decomposition borrows a qubit act on their own qubits."""

    class Borrows(cirq.Gate):
        def _num_qubits_(self) -> int:
            return 1

        def _decompose_(self, qubits: Any) -> Any:
            yield cirq.CNOT(qubits[0], C)
            yield cirq.measure(C, key="c")
            yield cirq.reset(C)

    circuit = cirq.Circuit(
        cirq.Moment(cirq.X(A), cirq.ry(0.4)(B)),
        cirq.Moment(Borrows()(A), cirq.ry(0.3)(B)),
        cirq.Moment(cirq.ry(0.2)(B), cirq.X(A)),
    )
    *_, step = simulator.simulate_moment_steps(circuit, qubit_order=[A, B])
    assert step.measurements["c"] == [1]
    np.testing.assert_allclose(step.state_vector(), [np.cos(0.45), np.sin(0.45), 0, 0], atol=1e-6)
