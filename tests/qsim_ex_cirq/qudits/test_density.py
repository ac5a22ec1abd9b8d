"""Density matrices of qudits against ``cirq.DensityMatrixSimulator``."""

from __future__ import annotations

from typing import Any

import cirq
import numpy as np
import pytest

from qsim_ex_cirq import QsimExDensityMatrixSimulator
from tools.fuzz.qudit_programs import Channel, isometry

EXACT = cirq.DensityMatrixSimulator(dtype=np.complex128)
A, B, C = cirq.LineQid.for_qid_shape((3, 2, 4))
NOISY = cirq.Circuit(
    cirq.MatrixGate(isometry(1, 6, 1)[0], qid_shape=(3, 2))(A, B),
    Channel((3,), 3, 2)(A),
    cirq.H(B),
    cirq.amplitude_damp(0.2)(B),
    cirq.ControlledOperation([A], cirq.XPowGate(dimension=4)(C) ** 0.7, [(0, 2)]),
    Channel((4,), 2, 3, mixed=True)(C),
    cirq.reset(A),
    cirq.ControlledOperation([C], cirq.XPowGate(dimension=3)(A), [3]),
)


def ours(**how: Any) -> QsimExDensityMatrixSimulator:
    """The simulator on the CPU in double precision."""
    return QsimExDensityMatrixSimulator(dtype=np.complex128, device="cpu", **how)


@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("initial", [0, 17, "mixed"])
def test_final_density_matrices(split: bool, initial: Any) -> None:
    """The final matrix and those after each moment are Cirq's, from values and from mixed states."""
    if initial == "mixed":
        states = isometry(1, 24, 5)[0]
        initial = 0.3 * np.outer(states[0], states[0].conj()) + 0.7 * np.outer(states[1], states[1].conj())
    given: dict[str, Any] = {"initial_state": initial}
    simulator = ours(split_untangled_states=split)
    wanted = EXACT.simulate(NOISY, **given).final_density_matrix
    assert simulator.simulate(NOISY, **given).final_density_matrix == pytest.approx(wanted, abs=1e-7)
    theirs = EXACT.simulate_moment_steps(NOISY, **given)
    for step, other in zip(simulator.simulate_moment_steps(NOISY, **given), theirs, strict=True):
        assert step.density_matrix() == pytest.approx(other.density_matrix(), abs=1e-7)
        assert step._merged_sim_state.qid_shape == (3, 2, 4)


def test_order_of_qids() -> None:
    """The matrix is in the order that was asked for."""
    order = [C, A, B]
    wanted = EXACT.simulate(NOISY, qubit_order=order, initial_state=5).final_density_matrix
    assert ours().simulate(NOISY, qubit_order=order, initial_state=5).final_density_matrix == pytest.approx(
        wanted, abs=1e-7
    )


def test_measured_digits_project() -> None:
    """A measurement finds a digit, and the matrix afterwards is that of its level."""
    circuit = cirq.Circuit(NOISY, cirq.measure(C, A, key="k"))
    for seed in range(4):
        result = ours(seed=seed).simulate(circuit)
        found = result.measurements["k"].tolist()
        weights = np.einsum("abcabc->ca", result.final_density_matrix.reshape((3, 2, 4) * 2)).real
        assert weights[tuple(found)] == pytest.approx(1)


def test_values_of_qubits_beside_qudits() -> None:
    """Pauli operators on qubits have the mean that the reduced matrix has."""
    rho = EXACT.simulate(NOISY).final_density_matrix.reshape((3, 2, 4) * 2)
    reduced = np.einsum("abcadc->bd", rho)
    wanted = [np.trace(reduced @ cirq.unitary(one)).real for one in (cirq.Z, cirq.X)]
    assert ours().simulate_expectation_values(NOISY, [cirq.Z(B), cirq.X(B)]) == pytest.approx(wanted, abs=1e-7)
