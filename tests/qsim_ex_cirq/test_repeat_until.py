"""`repeat_until`: the records of every round, in the shapes of Cirq, and what conditions see of them."""

from __future__ import annotations

import cirq
import numpy as np
import pytest
import sympy

from qsim_ex import errors
from qsim_ex_cirq import QsimExSimulator

A, B, C = cirq.LineQubit.range(3)
KEY = cirq.KeyCondition(cirq.MeasurementKey("a"))
SHOTS = 2000


def until(condition: cirq.Condition, *body: cirq.Operation) -> cirq.CircuitOperation:
    """A subcircuit that is repeated until a condition holds."""
    return cirq.CircuitOperation(cirq.FrozenCircuit(*body), use_repetition_ids=False, repeat_until=condition)


def ours(circuit: cirq.Circuit, repetitions: int = SHOTS) -> cirq.Result:
    """A run by this simulator."""
    return QsimExSimulator(device="cpu", seed=5).run(circuit, repetitions=repetitions)


FLIP = cirq.MixedUnitaryChannel(((0.5, np.eye(2)), (0.3, cirq.unitary(cirq.X)), (0.2, cirq.unitary(cirq.Y))), key="a")
CERTAIN = {
    "two rounds": cirq.Circuit(
        until(cirq.SympyCondition(sympy.Eq(sympy.Symbol("a"), 0)), cirq.X(A), cirq.measure(A, key="a"))
    ),
    "before and after": cirq.Circuit(
        cirq.X(B),
        cirq.measure(B, key="a"),
        until(cirq.SympyCondition(sympy.Eq(sympy.Symbol("a"), 0)), cirq.X(A), cirq.measure(A, key="a")),
        cirq.measure(B, key="a", invert_mask=(True,)),
        cirq.measure(B, C, key="b"),
    ),
    "another key": cirq.Circuit(
        cirq.measure(A, key="a"),
        until(cirq.SympyCondition(sympy.Eq(*sympy.symbols("a b"))), cirq.X(B), cirq.measure(B, key="b")),
    ),
    "inverted, two qubits, two loops": cirq.Circuit(
        [
            until(
                cirq.SympyCondition(sympy.Eq(sympy.Symbol("a"), 2)),
                cirq.X(A),
                cirq.CX(A, B),
                cirq.measure(A, B, key="a", invert_mask=(True, True)),
            )
            for _ in range(2)
        ]
    ),
    "a condition that sees the last round": cirq.Circuit(
        cirq.measure(C, key="a"),
        until(
            cirq.SympyCondition(sympy.Eq(sympy.Symbol("b"), 3)),
            cirq.X(A).with_classical_controls(sympy.Eq(sympy.Symbol("a"), 0)),
            cirq.measure(A, key="a"),
            cirq.X(B).with_classical_controls("a"),
            cirq.measure(A, B, key="b"),
        ),
        cirq.X(C).with_classical_controls(cirq.KeyCondition(cirq.MeasurementKey("a"), index=0)),
        cirq.measure(C, key="c"),
    ),
}


@pytest.mark.parametrize("name", CERTAIN)
def test_records_of_certain_rounds_are_those_of_cirq(name: str) -> None:
    """Where rounds are certain, all records are equal to those of Cirq, in shape and order."""
    found, expected = ours(CERTAIN[name], 3).records, cirq.Simulator().run(CERTAIN[name], repetitions=3).records
    assert set(found) == set(expected)
    for key, records in expected.items():
        np.testing.assert_array_equal(found[key], records)


@pytest.mark.parametrize("repetitions", [1, SHOTS])
def test_repetitions_of_fewer_rounds_end_in_zeros(repetitions: int) -> None:
    """The shape is that of the longest repetition; a repetition has its rounds, then 0."""
    records = ours(cirq.Circuit(until(KEY, cirq.Y(A) ** 0.3, cirq.measure(A, key="a"))), repetitions).records["a"]
    assert records.dtype == np.uint8
    rounds = 1 + records[..., 0].argmax(axis=1)
    assert records.shape == (repetitions, rounds.max(), 1)
    assert (records.sum(axis=1) == 1).all()
    if repetitions > 1:
        assert len(set(rounds.tolist())) > 3


def test_rounds_are_as_many_as_in_cirq() -> None:
    """The rounds of two loops in one another are distributed as those of Cirq's simulator."""
    inner = until(KEY, cirq.X(A) ** 0.4, cirq.measure(A, key="a"))
    condition = cirq.SympyCondition(sympy.Symbol("b") > 1)
    circuit = cirq.Circuit(until(condition, inner, cirq.X(A), cirq.H(B), cirq.H(C), cirq.measure(B, C, key="b")))
    theirs = cirq.Simulator(seed=1).run(circuit, repetitions=400)
    found = ours(circuit, 400)
    for key in ("a", "b"):
        means = [result.records[key].sum(axis=(1, 2)).mean() for result in (found, theirs)]
        assert abs(means[0] - means[1]) < 5 * 2 / np.sqrt(400), key
    inner_rounds = found.records["a"].sum(axis=(1, 2))  # every inner loop ends with one 1
    for shot in range(400):
        last = found.records["b"][shot] @ [2, 1]
        assert inner_rounds[shot] == 1 + (last > 1).argmax()


def test_a_channel_with_a_key_in_a_loop() -> None:
    """The choices of a channel with a key stand in a row, [repetitions, 1, rounds]."""
    found = ours(cirq.Circuit(until(KEY, FLIP(A)))).records["a"]
    assert found.shape[:2] == (SHOTS, 1)
    rows = found[:, 0]
    rounds = 1 + (rows > 0).argmax(axis=1)
    assert (rows[np.arange(SHOTS), rounds - 1] > 0).all()
    assert ((rows > 0).sum(axis=1) == 1).all()
    assert abs((rows.max(axis=1) == 2).mean() - 0.4) < 5 * np.sqrt(0.24 / SHOTS)


def test_a_subcircuit_ends_in_the_state_of_its_last_round() -> None:
    """What a loop leaves is there after it: CX acts in the last round alone, in which `a` is 1."""
    loop = until(KEY, cirq.H(A), cirq.CX(A, B), cirq.measure(A, key="a"))
    assert not ours(cirq.Circuit(cirq.X(B), loop, cirq.measure(B, key="b"))).records["b"].any()


def test_sweeps_and_noise() -> None:
    """Each point of a sweep has the records of its own rounds; noise acts in every one of them."""
    circuit = cirq.Circuit(until(KEY, cirq.X(A) ** sympy.Symbol("t"), cirq.measure(A, key="a")))
    sure, never = QsimExSimulator(device="cpu", seed=1).run_sweep(circuit, cirq.Points("t", [1.0, 0.5]), repetitions=50)
    assert sure.records["a"].shape == (50, 1, 1)
    assert never.records["a"].shape[1] > 1
    noisy = QsimExSimulator(device="cpu", seed=1, noise=cirq.ConstantQubitNoiseModel(cirq.bit_flip(0.5)))
    after = cirq.Circuit(until(KEY, cirq.X(A) ** 0.5, cirq.measure(A, key="a")), cirq.measure(A, key="end"))
    assert 0 < noisy.run(after, repetitions=100).records["end"].mean() < 1


def test_simulate_ends_with_the_last_round() -> None:
    """`simulate` follows one state, and its measurements are those of the last round, as in Cirq."""
    circuit = cirq.Circuit(until(KEY, cirq.H(A), cirq.measure(A, key="a")))
    result = QsimExSimulator(device="cpu", seed=3).simulate(circuit)
    assert result.measurements["a"].tolist() == [1]
    assert abs(abs(result.final_state_vector[1]) - 1) < 1e-6


def test_a_loop_that_does_not_end() -> None:
    """A loop whose condition never holds is an error that says how often it went round."""
    circuit = cirq.Circuit(until(KEY, cirq.measure(A, key="a")))
    with pytest.raises(errors.LoopError, match="max_loop_rounds=20 rounds, got 3 shots"):
        QsimExSimulator(device="cpu", max_loop_rounds=20).run(circuit, repetitions=3)


def test_a_record_of_some_round_is_refused() -> None:
    """A condition on a record that may be of any round is refused; use the last one."""
    second = cirq.KeyCondition(cirq.MeasurementKey("a"), index=1)
    circuit = cirq.Circuit(
        until(KEY, cirq.H(A), cirq.measure(A, key="a")), cirq.X(B).with_classical_controls(second), cirq.measure(B)
    )
    with pytest.raises(errors.NotSupported, match="got index 1; use index -1"):
        ours(circuit)
