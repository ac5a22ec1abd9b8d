"""qiskit-addon-sqd: samples of a circuit choose the configurations in which a molecule is diagonalised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pyscf import ao2mo, fci, gto, scf
from qiskit import QuantumCircuit
from qiskit.circuit.library import XXPlusYYGate
from qiskit_addon_sqd.fermion import diagonalize_fermionic_hamiltonian
from qiskit_aer.noise import NoiseModel, ReadoutError

SEED = 7
ORBITALS, ELECTRONS = 4, (2, 2)


@pytest.fixture(scope="module")
def chain() -> tuple[np.ndarray, np.ndarray, float]:
    """Four hydrogen atoms in a row: integrals of one and two electrons, and the exact energy of the electrons."""
    molecule = gto.M(atom=[("H", (0, 0, 1.0 * k)) for k in range(ORBITALS)], basis="sto-3g", verbose=0)
    orbitals = scf.RHF(molecule).run().mo_coeff
    one = orbitals.T @ scf.hf.get_hcore(molecule) @ orbitals
    two = ao2mo.restore(1, ao2mo.kernel(molecule, orbitals), ORBITALS)
    return one, two, fci.direct_spin1.kernel(one, two, ORBITALS, ELECTRONS)[0]


def moved_electrons() -> QuantumCircuit:
    """Return a circuit that fills the lowest orbitals and rotates electrons of either spin into the others."""
    circuit = QuantumCircuit(2 * ORBITALS)
    for spin in (0, ORBITALS):
        circuit.x([spin, spin + 1])
        for turn, (a, b) in enumerate([(1, 2), (0, 1), (2, 3), (1, 2)]):
            circuit.append(XXPlusYYGate(0.9 + 0.2 * turn), [spin + a, spin + b])
    for orbital in range(ORBITALS):
        circuit.cp(0.4, orbital, ORBITALS + orbital)
    circuit.measure_all()
    return circuit


def energy(chain: Any, samples: Any) -> float:
    """Return the energy that the samples lead to."""
    one, two, _ = chain
    return diagonalize_fermionic_hamiltonian(
        one,
        two,
        samples,
        samples_per_batch=60,
        norb=ORBITALS,
        nelec=ELECTRONS,
        num_batches=2,
        max_iterations=5,
        seed=SEED,
    ).energy


def test_sampled_configurations_hold_the_ground_state(simulators: Any, chain: Any) -> None:
    """The diagonalisation in what the circuit samples reaches the exact energy to a milli-hartree."""
    data = simulators.sampler(seed=SEED).run([moved_electrons()], shots=4000).result()[0].data
    electrons = data.meas.bitcount()
    assert np.all(electrons == sum(ELECTRONS))  # the gates keep their number
    assert energy(chain, data.meas) == pytest.approx(chain[2], abs=1e-3)


def test_configurations_that_were_misread_are_recovered(simulators: Any, chain: Any) -> None:
    """With 3 % readout errors the recovery of configurations still leads to the exact energy."""
    model = NoiseModel()
    model.add_all_qubit_readout_error(ReadoutError([[0.97, 0.03], [0.03, 0.97]]))
    job = simulators.backend(noise_model=model).run(moved_electrons(), shots=4000, memory=True, seed_simulator=SEED)
    samples = np.array([[bit == "1" for bit in shot] for shot in job.result().get_memory()])
    wrong = np.mean(samples.sum(axis=1) != sum(ELECTRONS))
    assert wrong == pytest.approx(1 - 0.97**8, abs=0.06)
    assert energy(chain, samples) == pytest.approx(chain[2], abs=1e-3)
