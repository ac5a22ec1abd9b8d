"""Circuits written by others: the algorithms of MQT Bench against Qiskit's own simulation."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from mqt.bench import BenchmarkLevel, get_benchmark
from mqt.bench.benchmarks import get_available_benchmark_names
from qiskit import QuantumCircuit, transpile
from qiskit.quantum_info import Statevector

from qsim_ex_provider import QsimExBackend, save_statevector

DYNAMIC = {"dynamic_qft", "ghz_dynamic", "iqpe", "seven_qubit_steane_code"}
"""Algorithms that measure in the middle."""

TOO_LARGE = {"shor", "shors_nine_qubit_code"}
LIMITS = {"grover": 12, "qwalk": 14}
"""Gates by the hundred thousand above these widths."""

NAMES = sorted(set(get_available_benchmark_names()) - DYNAMIC - TOO_LARGE)


@cache
def algorithm(name: str, num_qubits: int) -> tuple[QuantumCircuit, Any, int] | None:
    """A circuit without its measurements, its state by Qiskit, and its size in plain gates; None if there is none."""
    if num_qubits > LIMITS.get(name, 16):
        return None
    try:
        circuit = get_benchmark(name, BenchmarkLevel.ALG, num_qubits)
    except ValueError:  # an algorithm of even widths only, for example
        return None
    circuit.remove_final_measurements()
    circuit = circuit.assign_parameters(np.linspace(0.1, 3, circuit.num_parameters))
    flat = transpile(circuit, basis_gates=["u", "cx"], optimization_level=0)
    return circuit, Statevector(flat).data, flat.size()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_algorithms_at_every_width(name: str, each_backend: QsimExBackend) -> None:
    """The state of each algorithm on 3 to 16 qubits is Qiskit's, without transpiling it first."""
    cases = [(num_qubits, case) for num_qubits in range(3, 17) if (case := algorithm(name, num_qubits))]
    assert cases, f"{name} has none of these widths"
    for num_qubits, (circuit, wanted, gates) in cases:
        found = each_backend.run(save_statevector(circuit.copy())).result().get_statevector().data
        limit = 1e-12 if each_backend.options.precision == "double" else 1e-6 + 3e-8 * gates
        assert np.linalg.norm(found - wanted) <= limit * np.linalg.norm(wanted), f"{name}, {num_qubits} qubits"
