"""A condition looks at the bit that was read, misread or not, as on Aer's noisy machines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit.circuit import QuantumCircuit

from qsim_ex.circuit.noise.model import NoiseModel
from qsim_ex_provider import QsimExBackend

SHOTS = 40_000
READ = [[0.9, 0.1], [0.25, 0.75]]


def fed_forward(*, again: bool = False) -> QuantumCircuit:
    """A bit in superposition is read, and its wire or another one is turned where it reads 1."""
    circuit = QuantumCircuit(2, 3)
    circuit.ry(1.1, 0)
    circuit.measure(0, 0)
    with circuit.if_test((circuit.clbits[0], 1)):
        circuit.x(1)
    if again:  # the same bit is written a second time, and looked at again
        circuit.measure(1, 0)
        with circuit.if_test((circuit.clbits[0], 1)):
            circuit.ry(0.7, 1)
    circuit.measure(1, 1)
    circuit.measure(0, 2)
    return circuit


def exact(*, again: bool) -> np.ndarray:
    """The probability of each value of the three bits, by going through what is true and what is read."""
    found = np.zeros(8)
    one, read = np.sin(1.1 / 2) ** 2, np.array(READ)
    for true in (0, 1):
        for first in (0, 1):
            p, q1 = (one if true else 1 - one) * read[true, first], first
            later = [(first, 1.0, np.eye(2)[q1])] if not again else [
                (second, read[q1, second], np.eye(2)[q1] if not second else _turned(q1)) for second in (0, 1)
            ]  # fmt: skip
            for c0, weight, populations in later:
                for q1_found in (0, 1):
                    for c1 in (0, 1):
                        for c2 in (0, 1):
                            chance = p * weight * populations[q1_found] * read[q1_found, c1] * read[true, c2]
                            found[c0 | c1 << 1 | c2 << 2] += chance
    return found


def _turned(value: int) -> np.ndarray:
    """The populations of |value⟩ after RY(0.7)."""
    other = np.sin(0.7 / 2) ** 2
    return np.array([1 - other, other]) if value == 0 else np.array([other, 1 - other])


def frequencies(backend: Any, circuit: QuantumCircuit, seed: int = 5) -> np.ndarray:
    """How often each value of the bits was found, as a fraction of all shots."""
    counts = backend.run(circuit, shots=SHOTS, seed_simulator=seed).result().get_counts()
    found = np.zeros(8)
    for key, count in counts.items():
        found[int(key, 2)] = count
    return found / SHOTS


def assert_as(found: np.ndarray, wanted: np.ndarray) -> None:
    """Compare frequencies with probabilities, by their spread."""
    spread = np.sqrt((wanted * (1 - wanted) + 1 / SHOTS) / SHOTS)
    assert (np.abs(found - wanted) / spread).max() < 5


@pytest.mark.parametrize("again", [False, True])
def test_conditions_see_what_is_read(again: bool) -> None:
    """Shots have the exact joint distribution of bits that are misread before conditions look at them."""
    backend = QsimExBackend(device="cpu", noise_model=NoiseModel().with_misreading(READ))
    assert_as(frequencies(backend, fed_forward(again=again)), exact(again=again))


@pytest.mark.parametrize("again", [False, True])
def test_aer_gives_the_same_shots(again: bool) -> None:
    """Aer's frequencies for the same noise model are those of the same distribution."""
    aer = pytest.importorskip("qiskit_aer")
    from qiskit_aer.noise import NoiseModel as AerNoiseModel
    from qiskit_aer.noise import ReadoutError

    model = AerNoiseModel()
    model.add_all_qubit_readout_error(ReadoutError(READ))
    wanted = frequencies(aer.AerSimulator(noise_model=model), fed_forward(again=again))
    found = frequencies(QsimExBackend(device="cpu", noise_model=model), fed_forward(again=again))
    assert_as(wanted, exact(again=again))
    assert_as(found, exact(again=again))


def test_where_states_lie_changes_no_shot() -> None:
    """Readings are keyed by seed and shot, so the same shots are read alike in one piece and in several."""
    model, circuit = NoiseModel().with_misreading(READ), fed_forward(again=True)
    runs = [
        QsimExBackend(device="cpu", noise_model=model, memory=True, **where)
        .run(circuit, shots=300, seed_simulator=3)
        .result()
        .get_memory()
        for where in ({}, {"virtual_peers": 2})
    ]
    assert runs[0] == runs[1]
