"""Circuits written by others: the algorithms of MQT Bench against their gates in Qiskit's words."""

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
LIMITS = {"grover": 10, "qwalk": 12}
"""Gates by the hundred thousand above these widths."""

NAMES = sorted(set(get_available_benchmark_names()) - DYNAMIC - TOO_LARGE)


def state_of(flat: QuantumCircuit) -> np.ndarray:
    """The state of gates u and cx by definition, in a tenth of the time that `Statevector` takes for thousands.

    Matrices of a qubit wait and are multiplied until a cx comes.
    """
    psi = np.zeros(1 << flat.num_qubits, dtype=np.complex128)
    psi[0] = 1
    waiting: dict[int, np.ndarray] = {}
    for one in flat.data:
        wires = [flat.find_bit(qubit).index for qubit in one.qubits]
        match one.name:
            case "u":
                waiting[wires[0]] = one.matrix @ waiting.get(wires[0], np.eye(2))
            case "cx":
                for wire in wires:
                    turn(psi, wire, waiting.pop(wire, np.eye(2)))
                lower, upper = sorted(wires)
                fours = psi.reshape(-1, 2, 1 << upper - lower - 1, 2, 1 << lower)
                where_0 = fours[:, 1, :, 0] if wires[0] == upper else fours[:, 0, :, 1]
                where_1 = fours[:, 1, :, 1]
                where_0[...], where_1[...] = where_1.copy(), where_0.copy()
            case name:
                assert name == "barrier", name
    for wire, matrix in waiting.items():
        turn(psi, wire, matrix)
    return psi * np.exp(1j * float(flat.global_phase))


def turn(psi: np.ndarray, wire: int, matrix: np.ndarray) -> None:
    """Apply a matrix [2, 2] to a qubit in place; one that is diagonal moves nothing."""
    pairs = psi.reshape(-1, 2, 1 << wire)
    low, high = pairs[:, 0], pairs[:, 1]
    (a, b), (c, d) = matrix
    if b == c == 0:
        for part, factor in ((low, a), (high, d)):
            if factor != 1:
                part *= factor
    else:
        pairs[:, 0], pairs[:, 1] = a * low + b * high, c * low + d * high


@cache
def algorithm(name: str, num_qubits: int) -> tuple[QuantumCircuit, Any, int] | None:
    """A circuit without its measurements, its state, and its size in plain gates of Qiskit; None if there is none."""
    if num_qubits > LIMITS.get(name, 16):
        return None
    try:
        circuit = get_benchmark(name, BenchmarkLevel.ALG, num_qubits)
    except ValueError:  # an algorithm of even widths only, for example
        return None
    circuit.remove_final_measurements()
    circuit = circuit.assign_parameters(np.linspace(0.1, 3, circuit.num_parameters))
    flat = transpile(circuit, basis_gates=["u", "cx"], optimization_level=0)
    return circuit, state_of(flat), flat.size()


@pytest.mark.parametrize("name", ["qft", "ae", "randomcircuit"])
def test_the_definition_is_qiskits(name: str) -> None:
    """The states that are compared with are those of Qiskit's own simulation, made without plain gates."""
    found = algorithm(name, 6)
    assert found
    circuit, state, _ = found
    assert np.abs(Statevector(circuit).data - state).max() < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_algorithms_at_every_width(name: str, device_name: str) -> None:
    """Each algorithm on 3 to 16 qubits has Qiskit's state in one precision or the other, without a transpiler."""
    cases = [(num_qubits, case) for num_qubits in range(3, 17) if (case := algorithm(name, num_qubits))]
    assert cases, f"{name} has none of these widths"
    for half, precision in enumerate(("single", "double")):
        backend = QsimExBackend(device=device_name, precision=precision)
        for num_qubits, (circuit, wanted, gates) in cases[half::2]:
            found = backend.run(save_statevector(circuit.copy())).result().get_statevector().data
            limit = 1e-12 if precision == "double" else 1e-6 + 3e-8 * gates
            assert np.linalg.norm(found - wanted) <= limit * np.linalg.norm(wanted), f"{name}, {num_qubits} qubits"
