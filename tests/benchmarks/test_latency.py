"""The benchmark of small circuits measures what it says."""

import numpy as np
import pytest

from benchmarks import latency
from benchmarks.dense import simulate
from benchmarks.families import structure_of


def test_a_seed_changes_angles_alone() -> None:
    """Two repetitions share one structure and differ in their angles."""
    first, second = latency.circuit(1), latency.circuit(2)
    assert len(first) == latency.GATES
    assert structure_of(first) == structure_of(second)
    assert first != second


@pytest.mark.parametrize("framework", ["qiskit", "cirq"])
def test_both_frameworks_get_the_circuit(framework: str) -> None:
    """The framework's own circuit has the probabilities of the definition."""
    pytest.importorskip(framework)
    words = latency.for_qiskit if framework == "qiskit" else latency.for_cirq
    made = words(latency.circuit(3))
    wanted = np.abs(simulate(latency.circuit(3), latency.QUBITS)) ** 2
    if framework == "qiskit":
        from qiskit.quantum_info import Statevector

        found = Statevector(made.remove_final_measurements(inplace=False)).probabilities()
    else:
        import cirq

        found = np.abs(cirq.final_state_vector(made[:-1], dtype=np.complex128)) ** 2
        found = found.reshape((2,) * latency.QUBITS).transpose().reshape(-1)  # Cirq's first qubit is most significant
    assert found == pytest.approx(wanted, abs=1e-9)


def test_parts_name_every_part() -> None:
    """Every part of a warm run has its time, and its first parts together take less than the whole."""
    found = latency.parts("qft", 5, "cpu")["us"]
    assert all(value >= 0 for value in found.values())
    assert found["look up"] + found["bind"] < found["done"]
