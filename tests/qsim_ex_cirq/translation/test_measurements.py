"""Confusion maps and invert masks: what is read, what conditions see, and what the next reading sees."""

from __future__ import annotations

from functools import cache

import cirq
import numpy as np
import pytest
from support.cirq_records import Record, assert_from, distribution

from qsim_ex import errors
from qsim_ex_cirq import QsimExSimulator, translate

A, B, C = cirq.LineQubit.range(3)
BAD = np.array([[0.7, 0.3], [0.1, 0.9]])
WORSE = np.array([[0.4, 0.6], [0.25, 0.75]])
PAIR = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.5, 0, 0.5, 0], [0, 0.3, 0.2, 0.5]])
SHOTS = 2_000

CIRCUITS: dict[str, list[cirq.Operation]] = {
    "a condition": [
        cirq.ry(1.1)(A),
        cirq.measure(A, key="a", confusion_map={(0,): BAD}),
        cirq.X(B).with_classical_controls("a"),
        cirq.measure(A, B, key="end"),
    ],
    "a condition on what is inverted too": [
        cirq.ry(1.1)(A),
        cirq.measure(A, key="a", invert_mask=(True,), confusion_map={(0,): BAD}),
        cirq.ry(0.7)(B).with_classical_controls("a"),
        cirq.measure(A, B, key="end"),
    ],
    "a condition on two that are confused together": [
        cirq.ry(1.1)(A),
        cirq.CX(A, B),
        cirq.ry(0.4)(B),
        cirq.measure(A, B, key="a", invert_mask=(False, True), confusion_map={(1, 0): PAIR}),
        cirq.X(C).with_classical_controls("a"),
        cirq.measure(C, key="end"),
    ],
    "read twice": [
        cirq.ry(1.1)(A),
        cirq.measure(A, key="a", confusion_map={(0,): BAD}),
        cirq.measure(A, key="b", confusion_map={(0,): WORSE}),
        cirq.measure(A, key="c"),
    ],
    "confused together, and one of them goes on": [
        cirq.ry(1.1)(A),
        cirq.CX(A, B),
        cirq.measure(A, B, key="a", confusion_map={(0, 1): PAIR}),
        cirq.ry(0.7)(A),
        cirq.measure(A, key="b"),
    ],
    "rightly first": [
        cirq.ry(1.1)(A),
        cirq.measure(A, B, key="a"),
        cirq.measure(B, A, key="b", confusion_map={(1, 0): PAIR}),
        cirq.X(A).with_classical_controls("b"),
        cirq.measure(A, B, key="c"),
    ],
}


def frequencies(result: cirq.Result) -> dict[str, int]:
    """How often all keys together were found at some values."""
    keys = sorted(result.records)
    rows = np.concatenate([result.records[key].reshape(len(result.records[key]), -1) for key in keys], axis=1)
    values, counts = np.unique(rows, axis=0, return_counts=True)
    return {"".join(map(str, row)): int(count) for row, count in zip(values.tolist(), counts.tolist(), strict=True)}


def alike(one: dict[str, int], other: dict[str, int]) -> bool:
    """Whether two samples may be of one distribution: χ² of both, at most five standard deviations above its mean."""
    share = sum(one.values()) / sum(other.values())
    pairs = [(one.get(value, 0), other.get(value, 0) * share) for value in one | other]
    spread = sum((a - b) ** 2 / (a + b * share) for a, b in pairs)
    return bool(spread < len(pairs) + 5 * np.sqrt(2 * len(pairs)))


@cache
def exact(name: str) -> dict[Record, float]:
    """The probability of all that a circuit may record."""
    return distribution(cirq.Circuit(CIRCUITS[name]), [A, B, C])


@pytest.mark.parametrize("name", CIRCUITS)
def test_records(name: str) -> None:
    """Records and everything that follows on them have the distribution of the definition."""
    simulator = QsimExSimulator(device="cpu", seed=5)
    assert_from(simulator.run(cirq.Circuit(CIRCUITS[name]), repetitions=SHOTS), exact(name))


@pytest.mark.parametrize("number", range(len(CIRCUITS)))
def test_the_definition_is_cirqs(number: int) -> None:
    """Cirq's own simulators, in turn, record what the definition says."""
    oracle = (cirq.Simulator, cirq.DensityMatrixSimulator)[number % 2](seed=3)
    name, circuit = list(CIRCUITS.items())[number]
    assert_from(oracle.run(cirq.Circuit(circuit), repetitions=150), exact(name))


@pytest.mark.parametrize("name", CIRCUITS)
def test_one_trajectory_is_confused_alike(name: str) -> None:
    """The records of `simulate` are distributed as those of `run`."""
    circuit = cirq.Circuit(CIRCUITS[name])
    simulator = QsimExSimulator(device="cpu", seed=5)
    repeats = 400
    wanted = frequencies(simulator.run(circuit, repetitions=SHOTS))
    states = simulator.simulate_sweep(circuit, [{}] * repeats)
    found: dict[str, int] = {}
    for one in states:
        value = "".join(str(bit) for key in sorted(one.measurements) for bit in one.measurements[key])
        found[value] = found.get(value, 0) + 1
    assert alike(found, wanted)


def test_a_map_is_the_engines_readout_error() -> None:
    """A confusion map becomes a readout error of the engine on its key's bits, the last qubit lowest."""
    made = translate(cirq.Circuit(cirq.measure(A, B, C, key="m", confusion_map={(0, 2): PAIR})))
    (error,) = made.readout
    assert error.clbits == (made.measurements[0].clbits[2], made.measurements[0].clbits[0])
    assert np.array_equal(error.matrix, PAIR)


def test_a_qubit_in_two_groups_is_refused() -> None:
    """Two matrices of one key that share a qubit have no order, so they are refused."""
    circuit = cirq.Circuit(cirq.measure(A, B, key="m", confusion_map={(0, 1): PAIR, (1,): BAD}))
    with pytest.raises(errors.NoiseError, match="'m' has qubit 1 in"):
        QsimExSimulator().run(circuit)
