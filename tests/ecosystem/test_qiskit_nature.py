"""qiskit-nature: energies of molecules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pyscf import fci, gto, scf
from qiskit_algorithms import VQE
from qiskit_algorithms.optimizers import SLSQP
from qiskit_nature.second_q.algorithms import QEOM, GroundStateEigensolver
from qiskit_nature.second_q.algorithms.excited_states_solvers.qeom import EvaluationRule
from qiskit_nature.second_q.circuit.library import UCCSD, HartreeFock
from qiskit_nature.second_q.drivers import PySCFDriver
from qiskit_nature.second_q.mappers import JordanWignerMapper, ParityMapper

HYDROGEN = "H 0 0 0; H 0 0 0.735"


def exact_energies(count: int) -> np.ndarray:
    """Return the lowest energies of the hydrogen molecule, from PySCF's full configuration interaction."""
    molecule = gto.M(atom=HYDROGEN, basis="sto-3g", verbose=0)
    found = fci.FCI(scf.RHF(molecule).run()).kernel(nroots=count)[0]
    return np.atleast_1d(found)


def solver(estimator: Any, problem: Any, mapper: Any) -> GroundStateEigensolver:
    """Return a solver that varies coupled-cluster amplitudes from the Hartree-Fock state."""
    shape = problem.num_spatial_orbitals, problem.num_particles, mapper
    ansatz = UCCSD(*shape, initial_state=HartreeFock(*shape))
    vqe = VQE(estimator, ansatz, SLSQP(), initial_point=np.zeros(ansatz.num_parameters))
    return GroundStateEigensolver(mapper, vqe)


@pytest.mark.parametrize("mapped", ["jordan_wigner", "parity"])
def test_coupled_cluster_finds_the_energy_of_hydrogen(simulators: Any, mapped: str) -> None:
    """VQE with UCCSD reaches the full-CI energy to within a micro-hartree, on four qubits and on two."""
    problem = PySCFDriver(atom=HYDROGEN, basis="sto3g").run()
    mapper = JordanWignerMapper() if mapped == "jordan_wigner" else ParityMapper(num_particles=problem.num_particles)
    found = solver(simulators.estimator(), problem, mapper).solve(problem)
    assert found.total_energies[0] == pytest.approx(exact_energies(1)[0], abs=1e-6)
    assert found.num_particles[0] == pytest.approx(2, abs=1e-6)


def test_the_equation_of_motion_finds_excited_states(simulators: Any) -> None:
    """The equation of motion finds the singlet energies of hydrogen that full CI has."""
    problem, estimator = PySCFDriver(atom=HYDROGEN, basis="sto3g").run(), simulators.estimator()
    motion = QEOM(solver(estimator, problem, JordanWignerMapper()), estimator, "sd", EvaluationRule.ALL)
    found = np.sort(motion.solve(problem).total_energies)
    exact = exact_energies(4)
    assert found[0] == pytest.approx(exact[0], abs=1e-5)
    assert found[-1] == pytest.approx(exact[-1], abs=1e-4)
