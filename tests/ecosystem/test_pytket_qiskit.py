"""pytket-qiskit: pytket compiles a circuit, Qiskit's side runs it here, and the result goes back to pytket."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pytket import Circuit, OpType
from pytket.architecture import Architecture
from pytket.extensions.qiskit import qiskit_to_tk, tk_to_qiskit
from pytket.extensions.qiskit.result_convert import qiskit_result_to_backendresult
from pytket.passes import AutoRebase, DefaultMappingPass, FullPeepholeOptimise, SequencePass
from pytket.pauli import Pauli, QubitPauliString
from pytket.utils import append_pauli_measurement
from qiskit.circuit.library import efficient_su2
from qiskit.quantum_info import SparsePauliOp, Statevector

SEED = 7
SHOTS = 20_000


@pytest.fixture
def run(simulators: Any) -> Any:
    """Run a circuit of pytket on the backend and return pytket's result."""
    backend = simulators.backend()

    def run(circuit: Circuit) -> Any:
        job = backend.run(tk_to_qiskit(circuit), shots=SHOTS, seed_simulator=SEED)
        return next(iter(qiskit_result_to_backendresult(job.result())))

    return run


def test_a_compiled_circuit_keeps_its_counts(run: Any) -> None:
    """A GHZ state, routed on a line and in the gates of a device, is all 0 or all 1."""
    circuit = Circuit(4, 4)
    circuit.H(0)
    for qubit in (3, 1, 2):
        circuit.CX(0, qubit)
    circuit.measure_all()
    line = Architecture([(0, 1), (1, 2), (2, 3)])
    rebase = AutoRebase({OpType.CX, OpType.Rz, OpType.SX, OpType.X})
    SequencePass([FullPeepholeOptimise(), DefaultMappingPass(line), rebase]).apply(circuit)
    counts = run(circuit).get_counts()
    assert set(counts) == {(0, 0, 0, 0), (1, 1, 1, 1)}
    assert counts[0, 0, 0, 0] / SHOTS == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(SHOTS))


def test_expectation_values_of_pauli_strings(run: Any) -> None:
    """Values of a circuit that pytket took from Qiskit and optimised are those of the circuit's state vector."""
    given = efficient_su2(3, reps=1).assign_parameters(np.linspace(0.2, 1.7, 12))
    exact = Statevector(given)
    for label in ("ZZI", "XIX", "IYY"):
        circuit = qiskit_to_tk(given.decompose())
        FullPeepholeOptimise().apply(circuit)
        string = QubitPauliString(circuit.qubits, [getattr(Pauli, letter) for letter in reversed(label)])
        append_pauli_measurement(string, circuit)
        AutoRebase({OpType.CX, OpType.TK1}).apply(circuit)
        found = sum((-1) ** sum(bits) * count for bits, count in run(circuit).get_counts().items()) / SHOTS
        assert found == pytest.approx(exact.expectation_value(SparsePauliOp(label)).real, abs=5 / np.sqrt(SHOTS))


def test_conditional_gates(run: Any) -> None:
    """Teleportation: what the sender measures corrects the receiver's qubit, so that it has the sent state."""
    circuit = Circuit(3, 3)
    circuit.Ry(0.4, 0)
    circuit.H(1).CX(1, 2).CX(0, 1).H(0)
    circuit.Measure(0, 0).Measure(1, 1)
    circuit.X(2, condition_bits=[1], condition_value=1)
    circuit.Z(2, condition_bits=[0], condition_value=1)
    circuit.Measure(2, 2)
    excited = sum(count for bits, count in run(circuit).get_counts().items() if bits[2]) / SHOTS
    assert excited == pytest.approx(np.sin(0.2 * np.pi) ** 2, abs=5 * 0.5 / np.sqrt(SHOTS))
