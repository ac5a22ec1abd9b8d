"""Circuits of Qiskit that go on after a measurement have the right distributions."""

from __future__ import annotations

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit.random import random_circuit
from qiskit.quantum_info import DensityMatrix, Operator

from qsim_ex_provider import QsimExBackend

BACKEND = QsimExBackend(device="cpu")


def counts_of(circuit: QuantumCircuit, shots: int, seed: int = 5) -> dict[str, int]:
    """Counts by this backend."""
    counts: dict[str, int] = BACKEND.run(circuit, shots=shots, seed_simulator=seed).result().get_counts()
    return counts


def distribution(circuit: QuantumCircuit) -> dict[str, float]:
    """The probability of each value of the classical bits: density matrices of all outcomes, gate by gate."""
    ways = {"0" * circuit.num_clbits: DensityMatrix.from_label("0" * circuit.num_qubits)}
    for one in circuit.data:
        on = [circuit.find_bit(qubit).index for qubit in one.qubits]
        match one.name:
            case "measure":
                place = circuit.num_clbits - 1 - circuit.find_bit(one.clbits[0]).index
                later: dict[str, DensityMatrix] = {}
                for bits, rho in ways.items():
                    for bit in (0, 1):
                        written = f"{bits[:place]}{bit}{bits[place + 1 :]}"
                        part = rho.evolve(Operator(np.diag([1 - bit, bit])), on)
                        later[written] = later[written] + part if written in later else part
                ways = later
            case "reset":
                ways = {bits: rho.reset(on) for bits, rho in ways.items()}
            case _:
                ways = {bits: rho.evolve(Operator(one.operation), on) for bits, rho in ways.items()}
    return {bits: weight for bits, rho in ways.items() if (weight := float(rho.trace().real)) > 1e-12}


def test_syndromes_are_read_without_harm() -> None:
    """A parity that is measured again and again on one ancilla, reset in between, keeps its value."""
    circuit = QuantumCircuit(3, 6)
    circuit.h(0)
    circuit.cx(0, 1)
    for turn in range(4):
        circuit.cx(0, 2)
        circuit.cx(1, 2)
        circuit.measure(2, turn)
        circuit.reset(2)
        circuit.x(1)
    circuit.measure([0, 1], [4, 5])
    found = counts_of(circuit, 2000)
    assert set(found) == {"001010", "111010"}
    assert abs(found["001010"] - 1000) < 150


def test_a_bit_holds_what_was_measured_last() -> None:
    """A classical bit that is written twice has the last value."""
    circuit = QuantumCircuit(2, 1)
    circuit.h(0)
    circuit.measure(0, 0)
    circuit.h(0)
    circuit.x(1)
    circuit.measure(1, 0)
    assert counts_of(circuit, 100) == {"1": 100}


def test_memory_and_seeds() -> None:
    """A seed fixes the shots of a dynamic circuit and their order in the memory."""
    circuit = QuantumCircuit(1, 2)
    circuit.h(0)
    circuit.measure(0, 0)
    circuit.h(0)
    circuit.measure(0, 1)
    runs = [BACKEND.run(circuit, shots=50, seed_simulator=s, memory=True).result().get_memory() for s in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("seed", range(2))
def test_random_circuits_with_measurements_and_resets(seed: int) -> None:
    """Bits are distributed as Qiskit's matrices say; its own simulator runs shot by shot, hundreds of times as long."""
    rng = np.random.default_rng(seed)
    circuit = QuantumCircuit(3, 4)
    for clbit in range(3):
        circuit.compose(random_circuit(3, 2, max_operands=2, seed=seed * 10 + clbit), inplace=True)
        wire = int(rng.integers(3))
        circuit.measure(wire, clbit)
        if rng.random() < 0.5:
            circuit.reset(wire)
    circuit.compose(random_circuit(3, 2, max_operands=2, seed=seed), inplace=True)
    circuit.measure(int(rng.integers(3)), 3)
    shots, wanted, found = 4000, distribution(circuit), counts_of(circuit, 4000)
    assert len(wanted) > 3
    assert set(found) <= set(wanted)
    for key, share in wanted.items():
        assert abs(found.get(key, 0) - shots * share) < 5 * np.sqrt(shots * share + 1), key


def test_initialize_in_the_middle() -> None:
    """Initialising a used qubit gives it the new state and leaves the others' distribution."""
    circuit = QuantumCircuit(2, 2)
    circuit.h(0)
    circuit.cx(0, 1)
    circuit.initialize([0.6, 0.8], 0)
    circuit.measure([0, 1], [0, 1])
    found = counts_of(circuit, 10_000)
    for key, p in {"00": 0.18, "01": 0.32, "10": 0.18, "11": 0.32}.items():
        assert abs(found[key] - 10_000 * p) < 5 * np.sqrt(10_000 * p)


def test_a_chain_of_teleportations() -> None:
    """A state that is teleported over 61 qubits, three of which live at a time, arrives at the last one."""
    circuit = QuantumCircuit(61, 61)
    circuit.ry(1.1, 0)
    for source in range(0, 60, 2):
        near, far = source + 1, source + 2
        circuit.h(near)
        circuit.cx(near, far)
        circuit.cx(source, near)
        circuit.h(source)
        circuit.measure([source, near], [source, near])
        with circuit.if_test((circuit.clbits[near], 1)):
            circuit.x(far)
        with circuit.if_test((circuit.clbits[source], 1)):
            circuit.z(far)
    circuit.ry(-1.1, 60)
    circuit.measure(60, 60)
    result = BACKEND.run(circuit, shots=500, seed_simulator=5, memory=True).result()
    bits = np.array([[int(bit) for bit in reversed(shot)] for shot in result.get_memory()])
    assert not bits[:, 60].any()
    assert abs(bits[:, :60].mean() - 0.5) < 5 * np.sqrt(0.25 / 30_000)
