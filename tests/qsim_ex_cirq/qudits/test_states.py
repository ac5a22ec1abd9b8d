"""States of qudits against ``cirq.Simulator``: final ones, sweeps, initial states, steps, amplitudes, values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cirq
import numpy as np
import pytest
import sympy

from qsim_ex_cirq import QsimExSimulator, translate
from tools.fuzz.qudit_programs import isometry

EXACT = cirq.Simulator(dtype=np.complex128)
A, B, C = cirq.LineQid.for_qid_shape((3, 2, 5))
X3, Z3 = cirq.XPowGate(dimension=3), cirq.ZPowGate(dimension=3)
T = sympy.Symbol("t")


def unitary(seed: int, *qids: cirq.Qid) -> cirq.Operation:
    """A random matrix on some qids."""
    shape = cirq.qid_shape(qids)
    return cirq.MatrixGate(isometry(1, int(np.prod(shape)), seed)[0], qid_shape=shape).on(*qids)


class Borrows(cirq.Gate):
    """Turns a qid of 5 levels by way of a qutrit of its own."""

    def _qid_shape_(self) -> tuple[int, ...]:
        return (5,)

    def _decompose_(self, qubits: Any) -> cirq.OP_TREE:
        own = cirq.NamedQid("own", 3)
        moved = cirq.ControlledOperation(qubits, X3(own), [(1, 4)])
        return [moved, (Z3**0.4)(own), moved, moved]


PARTS: dict[str, list[cirq.Operation]] = {
    "shifts and clocks": [X3(A), (Z3**0.3)(A), (X3**1.7)(A), cirq.XPowGate(dimension=5)(C) ** 3],
    "matrices on several": [unitary(1, A, C), unitary(2, C, B), unitary(3, B, A), unitary(4, A, B, C)],
    "qubits among them": [cirq.H(B), unitary(1, A, B), cirq.X(B) ** 0.3, cirq.rz(0.7)(B), unitary(5, B, C)],
    "controls by levels": [
        unitary(1, A),
        unitary(2, C),
        cirq.ControlledOperation([A, C], cirq.Y(B) ** 0.4, [(0, 2), (1, 3, 4)]),
        cirq.ControlledOperation([B], unitary(3, A), [1]),
        cirq.ControlledOperation([A, B], unitary(4, C), [(0, 1, 2), 0]),
        cirq.ControlledOperation([A, B], (Z3**0.5)(cirq.LineQid(7, 3)), cirq.SumOfProducts([[2, 0], [0, 1]])),
    ],
    "subcircuits": [
        unitary(1, A, C),
        cirq.CircuitOperation(cirq.FrozenCircuit(unitary(2, A), unitary(3, A, B)), repetitions=3),
    ],
    "a qutrit of a decomposition": [unitary(1, C), Borrows()(C), unitary(2, C)],
    "one level": [unitary(1, A), cirq.MatrixGate(np.array([[1j]]), qid_shape=(1,))(cirq.LineQid(9, 1)), cirq.X(B)],
}


@pytest.mark.parametrize("part", PARTS)
def test_final_states(simulator: QsimExSimulator, close: Callable[..., None], part: str) -> None:
    """Final states and those after each moment are Cirq's, in the order of the qids, whatever this is."""
    circuit = cirq.Circuit(PARTS[part])
    for order in (cirq.QubitOrder.DEFAULT, sorted(circuit.all_qubits())[::-1]):
        expected = EXACT.simulate(circuit, qubit_order=order)
        result = simulator.simulate(circuit, qubit_order=order)
        close(result.final_state_vector, expected.final_state_vector)
        assert cirq.qid_shape(result) == cirq.qid_shape(expected)
    theirs = EXACT.simulate_moment_steps(circuit)
    for step, wanted in zip(simulator.simulate_moment_steps(circuit), theirs, strict=True):
        close(step.state_vector(), wanted.state_vector())


def test_steps_are_read_written_and_sampled(simulator: QsimExSimulator, close: Callable[..., None]) -> None:
    """A state may be written between moments, samples are digits, and a projection leaves the level that was found."""
    circuit = cirq.Circuit(unitary(1, A, B), cirq.measure(A, key="a"), unitary(2, A, B, C), unitary(3, C))
    steps = simulator.simulate_moment_steps(circuit)
    next(steps)
    step = next(steps)
    weights = np.abs(step.state_vector().reshape(3, 2, 5)).sum(axis=(1, 2))
    assert np.flatnonzero(weights > 1e-4).tolist() == [step.measurements["a"][0]]
    for number, step in enumerate(steps):
        if number == 0:
            step._merged_sim_state.target_tensor[...] = np.eye(30)[7].reshape(3, 2, 5)
    wanted = EXACT.simulate(cirq.Circuit(unitary(3, C)), qubit_order=[A, B, C], initial_state=7).final_state_vector
    close(step.state_vector(), wanted)
    drawn = step.sample([C, A], repetitions=2000)
    assert drawn.shape == (2000, 2)
    assert set(drawn[:, 1].tolist()) == {0}
    shares = np.bincount(drawn[:, 0], minlength=5) / 2000
    assert shares == pytest.approx(np.abs(wanted.reshape(6, 5)[1]) ** 2, abs=0.06)


@pytest.mark.parametrize(
    "initial",
    [23, (2, 1, 4), isometry(1, 30, 1)[0][0], isometry(1, 30, 2)[0][0].reshape(3, 2, 5), "result"],
    ids=["value", "digits", "amplitudes", "tensor", "result"],
)
def test_initial_states(simulator: QsimExSimulator, close: Callable[..., None], initial: Any) -> None:
    """An initial state is a value, a digit for each qid, amplitudes in the qids' basis, or an earlier result's."""
    circuit = cirq.Circuit(unitary(1, A, C), cirq.H(B), unitary(2, B, C))
    if isinstance(initial, str):
        before = [one.simulate(circuit[:1], qubit_order=[A, B, C]) for one in (simulator, EXACT)]
        found = simulator.simulate(circuit, initial_state=before[0]._final_simulator_state)
        close(found.final_state_vector, EXACT.simulate(circuit, initial_state=before[1].state_vector()).state_vector())
        return
    wanted = EXACT.simulate(circuit, initial_state=initial).final_state_vector
    close(simulator.simulate(circuit, initial_state=initial).final_state_vector, wanted, gates=300)
    assert simulator.simulate_into_1d_array(circuit, initial_state=initial)[1] == pytest.approx(wanted, abs=1e-4)


def test_sweeps_and_amplitudes(simulator: QsimExSimulator, close: Callable[..., None]) -> None:
    """Points of a sweep have Cirq's states and amplitudes, with symbols in gates of qubits and of qudits."""
    circuit = cirq.Circuit(
        unitary(1, A, B), cirq.X(B) ** T, (X3**T)(A), cirq.ControlledOperation([A], cirq.Z(B) ** T, [2])
    )
    points = cirq.Linspace("t", 0, 1, 3)
    wanted = [one.final_state_vector for one in EXACT.simulate_sweep(circuit, points)]
    for result, state in zip(simulator.simulate_sweep(circuit, points), wanted, strict=True):
        close(result.final_state_vector, state)
    found = simulator.compute_amplitudes_sweep(circuit, [5, 0, 3], points)
    assert np.array(found) == pytest.approx(np.array(wanted)[:, [5, 0, 3]], abs=1e-5)


def test_points_of_a_sweep_over_qubits_share_a_structure() -> None:
    """Symbols in gates of qubits are columns of one translation, also beside qudits."""
    from qsim_ex_cirq.translation.sweep import translate_sweep

    circuit = cirq.Circuit(unitary(1, A, B), cirq.X(B) ** T)
    (one,) = translate_sweep(circuit, [cirq.ParamResolver({"t": k / 5}) for k in range(4)])
    assert one.sweep.count == 4


BESIDE = cirq.Circuit(unitary(1, A, B), (cirq.X**T)(B), unitary(2, A, C))
OBSERVED = cirq.Z(B) + 0.5 * cirq.Y(B)


def mean_beside(t: float) -> float:
    """The mean of `OBSERVED` after `BESIDE`, by its reduced state."""
    psi = EXACT.simulate(BESIDE, {"t": t}).final_state_vector.reshape(3, 2, 5)
    matrix = cirq.unitary(cirq.Z) + 0.5 * cirq.unitary(cirq.Y)
    return float(np.einsum("abc,bd,adc->", psi.conj(), matrix, psi).real)


def test_values_of_qubits_beside_qudits(simulator: QsimExSimulator) -> None:
    """Pauli operators on qubits have the mean that the reduced state has."""
    found = simulator.simulate_expectation_values(BESIDE, OBSERVED, {"t": 0.3})
    assert found == pytest.approx([mean_beside(0.3)], abs=1e-5)


def test_gradients_of_qubits_beside_qudits() -> None:
    """Derivatives of means with respect to symbols of qubits' gates are their slopes."""
    simulator = QsimExSimulator(dtype=np.complex128, device="cpu")
    found = simulator.simulate_expectation_values_and_gradients(BESIDE, OBSERVED, {"t": 0.3})
    slope = (mean_beside(0.3 + 1e-5) - mean_beside(0.3 - 1e-5)) / 2e-5
    assert found.gradients[0, 0, 0] == pytest.approx(slope, abs=1e-4)


def test_the_engines_state_has_the_wires_of_the_qids(simulator: QsimExSimulator) -> None:
    """`state` has ⌈log₂ d⌉ wires for a qid of d levels, the last qid's lowest, and nothing in unused values."""
    circuit = cirq.Circuit(unitary(1, A, B, C))
    with simulator.state(circuit) as state:
        assert state.num_wires == 2 + 1 + 3
        tensor = np.asarray(state.to_numpy()).reshape(4, 2, 8)
    wanted = EXACT.simulate(circuit).final_state_vector.reshape(3, 2, 5)
    assert tensor[:3, :, :5] == pytest.approx(wanted, abs=1e-5)
    tensor[:3, :, :5] = 0
    assert not tensor.any()


def test_results_in_words_and_numbers(simulator: QsimExSimulator) -> None:
    """Dirac notation, Bloch vectors and density matrices of results are those of Cirq's results."""
    circuit = cirq.Circuit(X3(A), cirq.H(B), cirq.XPowGate(dimension=5)(C) ** 4)
    found, wanted = simulator.simulate(circuit), EXACT.simulate(circuit)
    assert found.dirac_notation() == wanted.dirac_notation() == "0.71|104⟩ + 0.71|114⟩"
    assert str(found) == str(cirq.Simulator(split_untangled_states=False).simulate(circuit))
    assert found.density_matrix_of([A, C]) == pytest.approx(wanted.density_matrix_of([A, C]), abs=1e-5)


def test_qubit_circuits_do_not_load_the_code_of_qudits() -> None:
    """Circuits of qubits are translated by the translator for them, whatever was translated before."""
    assert translate(cirq.Circuit(X3(A))).levels is not None
    assert translate(cirq.Circuit(cirq.X(B))).levels is None
