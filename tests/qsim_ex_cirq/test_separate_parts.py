"""Circuits of Cirq in separate parts: samples, values and amplitudes of more qubits than a state can have."""

from __future__ import annotations

import cirq
import numpy as np
import pytest

from qsim_ex.errors import OutOfMemory
from qsim_ex_cirq import QsimExSimulator

QUBITS = cirq.LineQubit.range(60)
PAIRS = cirq.Circuit([[cirq.H(a), cirq.CNOT(a, b)] for a, b in zip(QUBITS[:30], QUBITS[30:], strict=True)])


@pytest.fixture
def simulator() -> QsimExSimulator:
    """A simulator on the CPU, in double precision."""
    return QsimExSimulator(device="cpu", dtype=np.complex128)


def test_samples(simulator: QsimExSimulator) -> None:
    """Both qubits of each pair give the same bit."""
    bits = simulator.run(PAIRS + cirq.measure(*QUBITS, key="m"), repetitions=200).measurements["m"]
    assert np.array_equal(bits[:, :30], bits[:, 30:])
    assert len(np.unique(bits, axis=0)) > 190


def test_expectation_values(simulator: QsimExSimulator) -> None:
    """A Pauli string over several pairs has the product of their values."""
    strings = [cirq.Z(QUBITS[0]) * cirq.Z(QUBITS[30]) * cirq.X(QUBITS[7]) * cirq.X(QUBITS[37]), cirq.Z(QUBITS[0])]
    assert np.allclose(simulator.simulate_expectation_values(PAIRS, strings), [1, 0], rtol=0, atol=1e-12)


def test_amplitudes(simulator: QsimExSimulator) -> None:
    """An amplitude is the product of the parts' amplitudes, with the phase of idle qubits."""
    values = [0, 1, (1 << 60) - 1]
    assert np.allclose(simulator.compute_amplitudes(PAIRS, values), np.array([1, 0, 1]) / 2**15, rtol=1e-12, atol=0)
    few = cirq.Circuit(cirq.H(QUBITS[0]), cirq.rz(0.7)(QUBITS[1]), cirq.CZ(QUBITS[0], QUBITS[1]), cirq.Y(QUBITS[2]))
    found = simulator.compute_amplitudes(few, range(8))
    assert np.allclose(found, cirq.Simulator(dtype=np.complex128).compute_amplitudes(few, range(8)), atol=1e-12)


def test_a_joint_state_vector_says_what_it_needs(simulator: QsimExSimulator) -> None:
    """The final state of all qubits is an error with its sum."""
    with pytest.raises(OutOfMemory, match=r"60 wires.* EiB"):
        simulator.simulate(PAIRS)


def test_a_chain_of_teleportations(simulator: QsimExSimulator) -> None:
    """A state that is teleported over 61 qubits, three of which live at a time, arrives at the last one."""
    qubits = cirq.LineQubit.range(61)
    circuit = cirq.Circuit(cirq.ry(1.1)(qubits[0]))
    for k in range(0, 60, 2):
        source, near, far = qubits[k : k + 3]
        circuit += [cirq.H(near), cirq.CNOT(near, far), cirq.CNOT(source, near), cirq.H(source)]
        circuit += [cirq.measure(source, key=f"z{k}"), cirq.measure(near, key=f"x{k}")]
        circuit += [cirq.X(far).with_classical_controls(f"x{k}"), cirq.Z(far).with_classical_controls(f"z{k}")]
    circuit += [cirq.ry(-1.1)(qubits[60]), cirq.measure(qubits[60], key="m")]
    found = simulator.run(circuit, repetitions=500).measurements
    assert not found["m"].any()
    assert abs(np.mean([found[f"x{k}"] for k in range(0, 60, 2)]) - 0.5) < 5 * np.sqrt(0.25 / 15_000)


def test_untangled_states_that_are_not_split() -> None:
    """Without splitting, all qubits are one state, which is too large here; `separate` itself has the last word."""
    measured = PAIRS + cirq.measure(*QUBITS, key="m")
    with pytest.raises(OutOfMemory):
        QsimExSimulator(device="cpu", split_untangled_states=False).run(measured)
    QsimExSimulator(device="cpu", split_untangled_states=False, separate=True).run(measured)
