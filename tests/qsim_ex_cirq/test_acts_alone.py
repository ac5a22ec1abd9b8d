"""Operations that have `_act_on_` alone: what they are is known when they have acted on a state, as in Cirq."""

from __future__ import annotations

from typing import Any

import cirq
import numpy as np
import pytest
import sympy

from qsim_ex.errors import UnknownInstruction
from qsim_ex_cirq import QsimExDensityMatrixSimulator, QsimExSimulator

A, B = cirq.LineQubit.range(2)


class Turns(cirq.Gate):
    """X to a power, which it says to nobody but a state."""

    def __init__(self, power: Any) -> None:
        self.power = power

    def _num_qubits_(self) -> int:
        return 1

    def _is_parameterized_(self) -> bool:
        return cirq.is_parameterized(self.power)

    def _parameter_names_(self) -> Any:
        return cirq.parameter_names(self.power)

    def _resolve_parameters_(self, resolver: cirq.ParamResolver, recursive: bool) -> Turns:
        return Turns(cirq.resolve_parameters(self.power, resolver, recursive))

    def _act_on_(self, sim_state: cirq.SimulationStateBase[Any], qubits: Any) -> bool:
        cirq.act_on(cirq.X**self.power, sim_state, qubits)
        return True


class Writes(cirq.Gate):
    """X by its own hand, on the tensor of a state; other states go on with what Cirq tries next."""

    def _num_qubits_(self) -> int:
        return 1

    def _act_on_(self, sim_state: Any, qubits: Any) -> bool:
        if not isinstance(sim_state, cirq.StateVectorSimulationState):
            return NotImplemented
        (axis,) = sim_state.get_axes(qubits)
        sim_state.target_tensor[:] = np.flip(sim_state.target_tensor, axis).copy()
        return True


T = sympy.Symbol("t")
CIRCUIT = cirq.Circuit(cirq.ry(0.4)(A), cirq.CX(A, B), Turns(T)(B), Writes()(A), cirq.S(A), cirq.CX(B, A))
SWEEP = cirq.Linspace("t", 0.2, 0.8, 3)
THEIRS = cirq.Simulator(dtype=np.complex128, split_untangled_states=False)


@pytest.fixture
def simulator() -> QsimExSimulator:
    """A simulator with which rounding is small."""
    return QsimExSimulator(dtype=np.complex128, seed=3, device="cpu")


def test_final_states_are_those_of_cirq(simulator: QsimExSimulator) -> None:
    """For each point of a sweep, which may be read once only, in any order of qubits, from any state."""
    for order, initial in (([A, B], 0), ([B, A], 2), ([A, B], np.array([0.6, 0, 0.8j, 0]))):
        how: dict[str, Any] = {"qubit_order": order, "initial_state": initial}
        found = simulator.simulate_sweep(CIRCUIT, iter(list(SWEEP)), **how)
        for one, wanted in zip(found, THEIRS.simulate_sweep(CIRCUIT, SWEEP, **how), strict=True):
            np.testing.assert_allclose(one.final_state_vector, wanted.final_state_vector, atol=1e-12)
            assert one.params == wanted.params


def test_values_and_amplitudes_are_those_of_cirq(simulator: QsimExSimulator) -> None:
    """Expectation values and amplitudes are of the same states."""
    sums = [cirq.Z(A) * cirq.Z(B), 0.5 * cirq.X(A) + cirq.Y(B)]
    np.testing.assert_allclose(
        simulator.simulate_expectation_values_sweep(CIRCUIT, sums, SWEEP),
        THEIRS.simulate_expectation_values_sweep(CIRCUIT, sums, SWEEP),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        simulator.compute_amplitudes_sweep(CIRCUIT, [3, 1], SWEEP),
        THEIRS.compute_amplitudes_sweep(CIRCUIT, [3, 1], SWEEP),
        atol=1e-12,
    )


def test_samples_depend_on_what_was_measured(simulator: QsimExSimulator) -> None:
    """Each repetition is one of its own, in sweeps, batches and single runs, under conditions, too."""
    measured = cirq.Circuit(cirq.H(A), cirq.measure(A, key="a"), Turns(T)(B).with_classical_controls("a"))
    circuit = measured + cirq.measure(B, key="b")
    points = [{"t": 1}, {"t": 0}]
    swept = simulator.run_sweep(circuit, points, repetitions=40)
    batch = simulator.run_batch([circuit, circuit], points, repetitions=40)
    for point, results in zip(points, zip(swept, (one for (one,) in batch), strict=True), strict=True):
        for result in (*results, simulator.run(circuit, point, repetitions=40)):
            assert result.params == cirq.ParamResolver(point)
            a, b = result.measurements["a"], result.measurements["b"]
            assert 0 < a.sum() < 40
            np.testing.assert_array_equal(b, a * point["t"])


def test_noise_acts_between_moments() -> None:
    """A noise model is there in samples and in states."""
    circuit = cirq.Circuit(Turns(1.0)(A), cirq.measure(A, key="a"))
    noisy = QsimExSimulator(noise=cirq.bit_flip(1.0), device="cpu")
    assert not noisy.run(circuit[:1] + circuit[1:], repetitions=5).measurements["a"].any()
    assert abs(noisy.simulate(circuit[:1]).final_state_vector[0]) == pytest.approx(1)


def test_density_matrices_are_acted_on() -> None:
    """States, and samples, which Cirq's code draws from them."""
    simulator = QsimExDensityMatrixSimulator(device="cpu", seed=1)
    circuit = cirq.Circuit(cirq.H(A), cirq.CX(A, B), cirq.depolarize(0.1)(B), Turns(1.0)(A))
    np.testing.assert_allclose(
        simulator.simulate(circuit).final_density_matrix,
        cirq.DensityMatrixSimulator().simulate(circuit).final_density_matrix,
        atol=1e-6,
    )
    (result,) = simulator.run_sweep(cirq.Circuit(Turns(1.0)(A), cirq.measure(A, key="a")), None, repetitions=5)
    assert result.measurements["a"].all()
    with pytest.raises(UnknownInstruction, match="with _act_on_ alone"):
        simulator.run_batch([cirq.Circuit(Turns(1.0)(A), cirq.measure(A, key="a"))])


def test_what_needs_the_whole_circuit_says_so(simulator: QsimExSimulator) -> None:
    """A plan of what nobody knows is refused, as is an operation that does not act on the state it is given."""
    with pytest.raises(UnknownInstruction, match="with _act_on_ alone, which acts on a state in simulate, run"):
        simulator.explain(CIRCUIT, {"t": 1})
    with pytest.raises(TypeError, match="doesn't support"):
        QsimExDensityMatrixSimulator(device="cpu").simulate(cirq.Circuit(Writes()(A)))
