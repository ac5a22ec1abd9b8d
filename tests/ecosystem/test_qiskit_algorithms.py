"""qiskit-algorithms: eigenvalues, phases, searches and time evolution on the primitives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit.library import efficient_su2
from qiskit.quantum_info import SparsePauliOp, Statevector
from qiskit_algorithms import (
    QAOA,
    VQE,
    AmplificationProblem,
    Grover,
    NumPyMinimumEigensolver,
    PhaseEstimation,
    TimeEvolutionProblem,
    TrotterQRTE,
)
from qiskit_algorithms.gradients import ParamShiftEstimatorGradient
from qiskit_algorithms.optimizers import COBYLA, SLSQP
from qiskit_algorithms.state_fidelities import ComputeUncompute
from qiskit_algorithms.utils import algorithm_globals

SEED = 7
H2 = SparsePauliOp.from_list(
    [("II", -1.052373245), ("IZ", 0.397937425), ("ZI", -0.397937425), ("ZZ", -0.011280104), ("XX", 0.180931200)]
)
"""The electrons of molecular hydrogen at 0.735 Å on two qubits, in hartree."""


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Seed the package's own random numbers."""
    algorithm_globals.random_seed = SEED


def test_vqe_finds_the_energy_of_hydrogen(simulators: Any) -> None:
    """VQE with gradients reaches the lowest eigenvalue to within a micro-hartree."""
    estimator, ansatz = simulators.estimator(), efficient_su2(2, reps=1)
    start = np.random.default_rng(SEED).uniform(-1, 1, ansatz.num_parameters)
    gradient = ParamShiftEstimatorGradient(estimator)
    vqe = VQE(estimator, ansatz, SLSQP(maxiter=200, ftol=1e-9), gradient=gradient, initial_point=start)
    energy = vqe.compute_minimum_eigenvalue(H2).eigenvalue.real
    assert energy == pytest.approx(NumPyMinimumEigensolver().compute_minimum_eigenvalue(H2).eigenvalue, abs=1e-6)


def test_qaoa_cuts_a_ring(simulators: Any) -> None:
    """The likeliest bits of QAOA colour a ring of six in turn, which cuts all of its edges."""
    n = 6
    ring = SparsePauliOp.from_sparse_list([("ZZ", [k, (k + 1) % n], 1.0) for k in range(n)], n)
    qaoa = QAOA(simulators.sampler(seed=SEED), COBYLA(maxiter=60), reps=2, initial_point=[0.4, 0.4, 0.4, 0.4])
    assert qaoa.compute_minimum_eigenvalue(ring).best_measurement["bitstring"] in ("010101", "101010")


def test_phase_estimation_reads_a_phase(simulators: Any) -> None:
    """Six bits of the phase 2π·11/64 are read without error."""
    unitary, excited = QuantumCircuit(1), QuantumCircuit(1)
    unitary.p(2 * np.pi * 11 / 64, 0)
    excited.x(0)
    assert PhaseEstimation(6, simulators.sampler(seed=SEED)).estimate(unitary, excited).phase == 11 / 64


def test_grover_finds_a_marked_state(simulators: Any) -> None:
    """Two iterations find one marked state of eight with probability sin²(5 asin(1/√8))."""
    oracle = QuantumCircuit(3)
    oracle.x(1)
    oracle.ccz(0, 1, 2)
    oracle.x(1)
    problem = AmplificationProblem(oracle, is_good_state=["101"])
    result = Grover(iterations=2, sampler=simulators.sampler(seed=SEED)).amplify(problem)
    assert result.oracle_evaluation
    assert result.top_measurement == "101"
    assert result.max_probability == pytest.approx(np.sin(5 * np.arcsin(8**-0.5)) ** 2, abs=0.05)


def test_a_spin_chain_evolves(simulators: Any) -> None:
    """The magnetisation that Trotter steps give is that of the exact evolution to within their error."""
    chain = SparsePauliOp.from_list([("ZZI", 1.0), ("IZZ", 1.0), ("XII", 0.7), ("IXI", 0.7), ("IIX", 0.7)])
    zs = SparsePauliOp(["IIZ", "IZI", "ZII"]) / 3
    problem = TimeEvolutionProblem(chain, 0.8, QuantumCircuit(3), aux_operators=[zs])
    solved = TrotterQRTE(num_timesteps=40, estimator=simulators.estimator()).evolve(problem)
    values, vectors = np.linalg.eigh(chain.to_matrix())
    exact = vectors @ (np.exp(-0.8j * values) * vectors.conj().T[:, 0])
    assert solved.aux_ops_evaluated[0][0] == pytest.approx(Statevector(exact).expectation_value(zs).real, abs=0.01)


def test_a_fidelity_is_the_overlap(simulators: Any) -> None:
    """Compute-uncompute gives |<a|b>|² of two states within 5 standard deviations."""
    states = [efficient_su2(3, reps=1).assign_parameters(np.linspace(0, top, 12)) for top in (1.0, 1.3)]
    found = ComputeUncompute(simulators.sampler(seed=SEED), shots=20_000).run(*([one] for one in states)).result()
    exact = abs(Statevector(states[0]).inner(Statevector(states[1]))) ** 2
    assert found.fidelities[0] == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 20_000))
