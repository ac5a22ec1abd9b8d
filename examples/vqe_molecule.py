"""The ground state of the hydrogen molecule with a variational circuit and Qiskit's estimator.

The energy is minimised at several distances of the two atoms and compared with the lowest eigenvalue. With
qiskit-nature and PySCF the Hamiltonians are computed for every distance; without them the one at 0.735 Å is used,
which is written below.

    python examples/vqe_molecule.py                              # 2 s
    python examples/vqe_molecule.py --small                      # one distance, a loose tolerance: 1 s
    python examples/vqe_molecule.py --distances 0.5 0.735 1.2    # with qiskit-nature and PySCF: 4 s

Times are seconds of processor time on two cores; it was not measured on a GPU.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from qiskit.circuit import QuantumCircuit
from qiskit.circuit.library import efficient_su2
from qiskit.quantum_info import SparsePauliOp
from scipy.optimize import minimize

from qsim_ex_provider import EstimatorV2

EQUILIBRIUM = 0.735
HYDROGEN = SparsePauliOp.from_list(
    [
        ("II", -1.052373245772859),
        ("IZ", 0.39793742484318045),
        ("ZI", -0.39793742484318045),
        ("ZZ", -0.01128010425623538),
        ("XX", 0.18093119978423156),
    ]
)
"""H2 at 0.735 Å in the basis STO-3G, with the parity mapping and two symmetries used: electronic energy in hartree."""
REPULSION = 0.7199689944489797
"""The energy of the two nuclei at this distance."""


def hamiltonian(distance: float) -> tuple[SparsePauliOp, float]:
    """Return the electronic Hamiltonian at a distance in Å, and the repulsion of the nuclei."""
    try:
        from qiskit_nature.second_q.drivers import PySCFDriver
        from qiskit_nature.second_q.mappers import ParityMapper

        problem: Any = PySCFDriver(atom=f"H 0 0 0; H 0 0 {distance}", basis="sto3g").run()
    except Exception as error:  # qiskit-nature has an error of its own for a missing PySCF
        if not isinstance(error, ImportError) and "pyscf" not in str(error).lower():
            raise
        if distance != EQUILIBRIUM:
            raise SystemExit("other distances need qiskit-nature and PySCF; pip install qiskit-nature pyscf") from None
        return HYDROGEN, REPULSION
    mapped = ParityMapper(num_particles=problem.num_particles).map(problem.hamiltonian.second_q_op())
    return mapped, problem.nuclear_repulsion_energy


def lowest(operator: SparsePauliOp, ansatz: QuantumCircuit, steps: int) -> float:
    """Return the lowest mean of an operator that an optimiser finds.

    Each step asks for the value and its gradient together: the angles, and each of them moved by π/2 and by −π/2.
    """
    count, estimator = ansatz.num_parameters, EstimatorV2()
    moves = np.pi / 2 * np.concatenate([np.zeros((1, count)), np.eye(count), -np.eye(count)])

    def value_and_gradient(angles: np.ndarray) -> tuple[float, np.ndarray]:
        values = estimator.run([(ansatz, operator, angles + moves)]).result()[0].data.evs
        return values[0], (values[1 : count + 1] - values[count + 1 :]) / 2

    start = np.random.default_rng(3).uniform(-0.3, 0.3, count)
    return float(minimize(value_and_gradient, start, jac=True, method="BFGS", options={"maxiter": steps}).fun)


def main() -> None:
    """Minimise the energy and compare it with the exact one."""
    parser = argparse.ArgumentParser(description="the ground state of hydrogen")
    parser.add_argument("--small", action="store_true", help="one distance, few steps")
    parser.add_argument("--distances", type=float, nargs="+", default=[EQUILIBRIUM], metavar="Å")
    given = parser.parse_args()
    for distance in given.distances:
        operator, repulsion = hamiltonian(distance)
        exact = float(np.linalg.eigvalsh(operator.to_matrix())[0])
        ansatz = efficient_su2(operator.num_qubits, reps=1, su2_gates=["ry"])
        found = lowest(operator, ansatz, 30 if given.small else 200)
        print(f"{distance} Å: {found + repulsion:.6f} hartree, exact {exact + repulsion:.6f}")
        assert -1e-9 <= found - exact < (1e-3 if given.small else 1e-5)


if __name__ == "__main__":
    main()
