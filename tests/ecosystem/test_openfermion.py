"""openfermion: circuits of fermions run on the simulator, and energies are those of its matrices."""

from __future__ import annotations

from typing import Any

import cirq
import numpy as np
import openfermion as of
import pytest
from openfermion.circuits import simulate_trotter
from scipy.sparse.linalg import expm_multiply


def hubbard() -> Any:
    """The Hubbard model on two sites, four qubits."""
    return of.hamiltonians.fermi_hubbard(1, 2, 1.0, 4.0, periodic=False)


def test_energies_are_those_of_the_matrix(cirq_simulator: Any) -> None:
    """The mean of a Hamiltonian in a random state, by Pauli strings and by the sparse matrix."""
    qubits = cirq.LineQubit.range(4)
    circuit = cirq.testing.random_circuit(qubits, 20, 0.8, random_state=1)
    operator = of.jordan_wigner(hubbard())
    observable = of.transforms.qubit_operator_to_pauli_sum(operator, qubits)
    simulator = cirq_simulator(dtype=np.complex128)
    (energy,) = simulator.simulate_expectation_values(circuit, observable, qubit_order=qubits)
    state = simulator.simulate(circuit, qubit_order=qubits).final_state_vector
    assert energy == pytest.approx(of.expectation(of.get_sparse_operator(operator, 4), state).real, abs=1e-6)


def test_a_ground_state_is_prepared(cirq_simulator: Any) -> None:
    """The circuit for the ground state of a quadratic Hamiltonian prepares it."""
    quadratic = of.get_quadratic_hamiltonian(of.hamiltonians.mean_field_dwave(2, 1, 1.0, 0.3))
    qubits = cirq.LineQubit.range(quadratic.n_qubits)
    circuit = cirq.Circuit(of.circuits.prepare_gaussian_state(qubits, quadratic))
    state = cirq_simulator(dtype=np.complex128).simulate(circuit, qubit_order=qubits).final_state_vector
    energy = of.expectation(of.get_sparse_operator(quadratic), state).real
    assert energy == pytest.approx(quadratic.ground_energy(), abs=1e-9)


def test_a_trotter_step_evolves(cirq_simulator: Any) -> None:
    """Many steps of the evolution of a plane-wave Hamiltonian end near the state that the exponential gives."""
    hamiltonian = of.get_diagonal_coulomb_hamiltonian(hubbard())
    qubits, time = cirq.LineQubit.range(4), 0.5
    start = cirq.testing.random_superposition(16, random_state=5)
    circuit = cirq.Circuit(simulate_trotter(qubits, hamiltonian, time, n_steps=8, order=1))
    found = cirq_simulator(dtype=np.complex128).simulate(circuit, qubit_order=qubits, initial_state=start)
    exact = expm_multiply(-1j * time * of.get_sparse_operator(hamiltonian), start)
    assert abs(np.vdot(exact, found.final_state_vector)) > 0.99
