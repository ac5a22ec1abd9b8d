"""qiskit-addon-cutting: circuits cut into pieces give the expectation values of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit.circuit.library import efficient_su2
from qiskit.primitives import BackendSamplerV2
from qiskit.quantum_info import SparsePauliOp, Statevector
from qiskit_addon_cutting import (
    cut_wires,
    expand_observables,
    generate_cutting_experiments,
    partition_problem,
    reconstruct_expectation_values,
)
from qiskit_addon_cutting.instructions import CutWire

SEED = 7
SHOTS = 20_000
OBSERVABLE = SparsePauliOp(["ZZII", "IZZI", "IIZZ", "XIXI", "ZIZZ"], [1.0, 0.5, -1.0, 0.7, 0.3])


def ansatz() -> Any:
    """Return a circuit of four qubits with numbers."""
    circuit = efficient_su2(4, entanglement="linear", reps=1)
    return circuit.assign_parameters(np.linspace(0.3, 1.6, circuit.num_parameters))


def reconstructed(problem: Any, sampler: Any) -> float:
    """Return the value that the subexperiments of a partitioned problem give together."""
    experiments, coefficients = generate_cutting_experiments(
        problem.subcircuits, problem.subobservables, num_samples=np.inf
    )
    found = {label: sampler.run(pieces, shots=SHOTS).result() for label, pieces in experiments.items()}
    terms = reconstruct_expectation_values(found, coefficients, problem.subobservables)
    return float(np.dot(terms, OBSERVABLE.coeffs.real))


def test_cut_gates_give_the_value_of_the_whole_circuit(simulators: Any) -> None:
    """Two halves of two qubits, each sampled by itself, give the value of four qubits."""
    problem = partition_problem(ansatz(), partition_labels="AABB", observables=OBSERVABLE.paulis)
    assert {one.num_qubits for one in problem.subcircuits.values()} == {2}
    exact = Statevector(ansatz()).expectation_value(OBSERVABLE).real
    assert reconstructed(problem, simulators.sampler(seed=SEED)) == pytest.approx(exact, abs=0.08)


def test_cut_wires_give_the_value_of_the_whole_circuit(simulators: Any) -> None:
    """A wire that is cut ends in mid-circuit measurements in one piece and begins in states in the other."""
    layer, marked = efficient_su2(4, entanglement="linear", reps=1), ansatz().copy_empty_like()
    angles = np.linspace(0.3, 1.6, layer.num_parameters)
    for place, item in enumerate(layer.assign_parameters(angles).decompose().data):
        if place == 9:  # the first CX, which joins qubits 0 and 1, has been
            marked.append(CutWire(), [1])
        marked.append(item)
    cut = cut_wires(marked)
    problem = partition_problem(cut, observables=expand_observables(OBSERVABLE.paulis, marked, cut))
    assert sorted(one.num_qubits for one in problem.subcircuits.values()) == [2, 3]
    exact = Statevector(ansatz()).expectation_value(OBSERVABLE).real
    assert reconstructed(problem, simulators.sampler(seed=SEED)) == pytest.approx(exact, abs=0.15)


def test_the_pieces_run_on_the_backend_too(simulators: Any) -> None:
    """Qiskit's BackendSamplerV2 on the backend gives the same value as the sampler, within shot noise."""
    problem = partition_problem(ansatz(), partition_labels="AABB", observables=OBSERVABLE.paulis)
    sampler = BackendSamplerV2(backend=simulators.backend(), options={"seed_simulator": SEED})
    exact = Statevector(ansatz()).expectation_value(OBSERVABLE).real
    assert reconstructed(problem, sampler) == pytest.approx(exact, abs=0.08)
