"""The definition for density matrices is that of Qiskit and of Cirq, and small errors are seen."""

from __future__ import annotations

import cirq
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from qiskit.circuit import QuantumCircuit
from qiskit.quantum_info import DensityMatrix, Kraus
from support import saves_by_definition
from support.strategies import circuits, random_unitary

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise import channels as noise

Array = NDArray[np.complex128]


def random_kraus(count: int, size: int, seed: int) -> Array:
    """Kraus matrices without zeros: the blocks of an isometry."""
    return random_unitary(count * size, seed)[:, :size].reshape(count, size, size)


@settings(max_examples=50, deadline=None)
@given(circuit=circuits(max_qubits=5, max_gates=10))
def test_without_chance_it_is_the_state(circuit: Circuit) -> None:
    """Without chance the density matrix is |ψ><ψ|, for every operation."""
    psi = reference.simulate(circuit)
    assert reference.density_matrix(circuit) == pytest.approx(np.outer(psi, psi.conj()), abs=1e-12)


def in_qiskit(strength: float = 0.2) -> tuple[Circuit, QuantumCircuit]:
    """A circuit with everything that is left to chance, in the engine's words and in Qiskit's."""
    one, two = random_kraus(3, 2, 7), random_kraus(4, 4, 8)
    damping = noise.amplitude_damping(strength)
    vector = random_unitary(4, 3)[0]
    ours = CircuitBuilder(3, 3).initialize(vector, [2, 0]).gate("ry", [1], 0.4).channel(two, [2, 0])
    ours.gate("cx", [0, 1]).channel(damping, [1]).reset([0]).gate("h", [0]).channel(one, [2]).gate("cx", [1, 2])
    theirs = QuantumCircuit(3)
    theirs.prepare_state(vector.tolist(), [2, 0])
    theirs.ry(0.4, 1)
    theirs.append(Kraus([*two]), [2, 0])
    theirs.cx(0, 1)
    theirs.append(Kraus([*damping]), [1])
    theirs.reset(0)
    theirs.h(0)
    theirs.append(Kraus([*one]), [2])
    theirs.cx(1, 2)
    return ours.build(), theirs


def test_as_in_qiskit() -> None:
    """Channels, resets and initial states do what Qiskit's do, on the same wires."""
    ours, theirs = in_qiskit()
    assert reference.density_matrix(ours) == pytest.approx(DensityMatrix(theirs).data, abs=1e-12)


def test_one_percent_is_seen() -> None:
    """A channel whose strength is off by one part in a hundred differs visibly."""
    wanted = DensityMatrix(in_qiskit()[1]).data
    wrong = reference.density_matrix(in_qiskit(0.2 * 1.01)[0])
    assert np.abs(wrong - wanted).max() > 1e-4


def test_as_in_cirq() -> None:
    """A measurement in the middle, a reset and channels do what Cirq's do."""
    two = random_kraus(3, 4, 5)
    a, b, c = cirq.LineQubit.range(3)  # wires 2, 1, 0
    theirs = cirq.Circuit(
        cirq.H(a),
        cirq.CNOT(a, b),
        cirq.ry(0.3).on(c),
        cirq.KrausChannel([*two]).on(a, c),
        cirq.phase_damp(1.0).on(b),  # a measurement that nobody looks at
        cirq.H(b),
        cirq.depolarize(0.2, 2).on(b, c),
        cirq.ResetChannel().on(a),
    )
    ours = CircuitBuilder(3, 1).gate("h", [2]).gate("cx", [2, 1]).gate("ry", [0], 0.3).channel(two, [0, 2])
    ours.measure([1], [0]).gate("h", [1]).channel(noise.uniform_pauli(0.2, 2), [0, 1]).reset([2])
    found = reference.density_matrix(ours.build())
    wanted = cirq.DensityMatrixSimulator(dtype=np.complex128).simulate(theirs).final_density_matrix
    assert found == pytest.approx(wanted, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 999), count=st.integers(2, 5))
def test_a_density_matrix_stays_one(seed: int, count: int) -> None:
    """A density matrix keeps trace 1 and stays Hermitian and positive."""
    builder = CircuitBuilder(3, 1).channel(random_kraus(count, 4, seed), [1, 2]).gate("cx", [1, 0])
    circuit = builder.reset([1]).measure([0], [0]).channel(random_kraus(2, 2, seed), [0]).save().build()
    half = random_unitary(8, seed + 1) * np.linspace(0, 1, 8)
    found = reference.density_matrix(circuit, half @ half.conj().T / np.linalg.norm(half) ** 2)
    assert np.trace(found) == pytest.approx(1)
    assert found == pytest.approx(found.conj().T)
    assert np.linalg.eigvalsh(found).min() > -1e-12


def test_a_state_that_is_set() -> None:
    """A state that is set takes the place of the one before, for each value of the classical bits."""
    builder = CircuitBuilder(2, 1).gate("h", [0]).measure([0], [0])
    made = builder.set_statevector([0, 0.6, 0.8j, 0], [1, 0]).build()
    psi = np.array([0, 0.8j, 0.6, 0])
    found = reference.by_bits(made)
    assert sorted(found) == [0, 1]
    for rho in found.values():
        np.testing.assert_allclose(rho, 0.5 * np.outer(psi, psi.conj()), atol=1e-12)
    set_last = CircuitBuilder(2).gate("h", [0]).set_statevector([0, 0.6, 0.8j, 0]).gate("x", [0]).build()
    np.testing.assert_allclose(reference.simulate(set_last), [0.6, 0, 0, 0.8j], atol=1e-12)


def test_ways_of_a_circuit() -> None:
    """The ways to a save add up to the density matrix there, for each value of the classical bits."""
    builder = CircuitBuilder(2, 1).gate("ry", [0], 0.8).gate("cx", [0, 1]).measure([0], [0]).reset([1])
    made = builder.gate("h", [1]).channel(noise.amplitude_damping(0.3), [1]).save("here").build()
    exact = reference.by_bits(made)
    ways = saves_by_definition.ways_to(made, "here")
    assert len(ways) == 4
    for bits, rho in exact.items():
        total = sum(way.probability * np.outer(way.psi, way.psi.conj()) for way in ways if way.bits == bits)
        np.testing.assert_allclose(total, rho, atol=1e-12)
