"""Cirq's classical controls: operations that depend on measured keys."""

from __future__ import annotations

from collections.abc import Callable

import cirq
import numpy as np
import pytest
import sympy
from support.cirq_records import assert_from, distribution

from qsim_ex import errors
from qsim_ex_cirq import QsimExSimulator

A, B, C, D = cirq.LineQubit.range(4)
a, b = sympy.symbols("a b")


def records(circuit: cirq.Circuit, repetitions: int = 200, seed: int = 5) -> dict[str, np.ndarray]:
    """All records of a run by this simulator."""
    return dict(QsimExSimulator(device="cpu", seed=seed).run(circuit, repetitions=repetitions).records)


def controlled(control: Callable[[cirq.Operation], cirq.Operation]) -> cirq.Circuit:
    """Two random qubits measured under keys, twice under one of them, and X on another qubit under a control."""
    return cirq.Circuit(
        [cirq.H(q) for q in (A, B, C)],
        cirq.measure(A, key="a"),
        cirq.measure(B, C, key="b", invert_mask=(True,)),
        cirq.H(A),
        cirq.measure(A, key="a"),
        control(cirq.X(D)),
        cirq.measure(D, key="d"),
    )


def number(bits: np.ndarray) -> int:
    """The bits of a record, the first one most significant."""
    return int("".join(map(str, bits)), 2)


CONTROLS: dict[str, tuple[Callable[[cirq.Operation], cirq.Operation], Callable[[np.ndarray, np.ndarray], bool]]] = {
    "key": (lambda op: op.with_classical_controls("b"), lambda _, b: number(b[0]) > 0),
    "last instance": (lambda op: op.with_classical_controls("a"), lambda a, _: a[1, 0] == 1),
    "first instance": (
        lambda op: op.with_classical_controls(cirq.KeyCondition(cirq.MeasurementKey("a"), index=0)),
        lambda a, _: a[0, 0] == 1,
    ),
    "sympy": (lambda op: op.with_classical_controls(sympy.Eq(b, 2)), lambda _, b: number(b[0]) == 2),
    "two keys": (lambda op: op.with_classical_controls(a + b > 2), lambda a, b: a[1, 0] + number(b[0]) > 2),
    "both": (
        lambda op: op.with_classical_controls("a", sympy.Eq(b, 1)),
        lambda a, b: a[1, 0] == 1 and number(b[0]) == 1,
    ),
    "mask": (
        lambda op: op.with_classical_controls(cirq.BitMaskKeyCondition("b", bitmask=2)),
        lambda _, b: number(b[0]) & 2 != 0,
    ),
}


@pytest.mark.parametrize("name", sorted(CONTROLS))
def test_controls(name: str) -> None:
    """An operation is applied exactly where its control holds, for the instance of the key that is meant."""
    control, holds = CONTROLS[name]
    found = records(controlled(control))
    wanted = [holds(one, other) for one, other in zip(found["a"], found["b"], strict=True)]
    assert found["d"][:, 0, 0].tolist() == [int(value) for value in wanted]
    assert 0 < sum(wanted) < len(wanted)


def test_teleportation() -> None:
    """The state that was sent arrives."""
    sent = cirq.PhasedXZGate(x_exponent=0.3, z_exponent=0.7, axis_phase_exponent=0.2)
    circuit = cirq.Circuit(
        sent(A),
        cirq.H(B),
        cirq.CX(B, C),
        cirq.CX(A, B),
        cirq.H(A),
        cirq.measure(A, key="z"),
        cirq.measure(B, key="x"),
        cirq.X(C).with_classical_controls("x"),
        cirq.Z(C).with_classical_controls("z"),
        cirq.inverse(sent)(C),
        cirq.measure(C, key="c"),
    )
    found = records(circuit)
    assert not found["c"].any()
    assert 0 < found["x"].sum() < 200
    result = QsimExSimulator(device="cpu", seed=2, dtype=np.complex128).simulate(circuit)
    assert result.measurements["c"] == [0]
    x, z = int(result.measurements["x"][0]), int(result.measurements["z"][0])
    assert abs(result.final_state_vector[4 * z + 2 * x]) == pytest.approx(1)


def test_like_cirq() -> None:
    """A circuit with controls has the distribution of the definition, as that of cirq.Simulator has."""
    circuit = cirq.Circuit(
        cirq.Ry(rads=1.1)(A),
        cirq.measure(A, key="a"),
        cirq.Ry(rads=0.4)(B).with_classical_controls("a"),
        cirq.CX(A, B),
        cirq.measure(B, key="b"),
        cirq.CX(A, C).with_classical_controls("b"),
        cirq.H(C).with_classical_controls(sympy.Eq(a, 0)),
        cirq.measure(A, B, C, key="end"),
    )
    wanted = distribution(circuit, [A, B, C])
    assert_from(QsimExSimulator(device="cpu", seed=1).run(circuit, repetitions=4000), wanted)
    assert_from(cirq.Simulator(seed=1).run(circuit, repetitions=300), wanted)


def test_a_channel_under_a_control() -> None:
    """A channel acts exactly where its control holds."""
    circuit = cirq.Circuit(
        cirq.H(A),
        cirq.measure(A, key="a"),
        cirq.bit_flip(0.5)(B).with_classical_controls("a"),
        cirq.measure(B, key="b"),
    )
    found = records(circuit)
    assert not found["b"][found["a"] == 0].any()
    assert 0 < found["b"].sum() < found["a"].sum()


def test_a_control_on_a_key_that_comes_later_is_refused() -> None:
    """A control looks at keys that were measured before it."""
    with pytest.raises(errors.MeasurementError, match="measure it before what it controls"):
        records(cirq.Circuit(cirq.X(B).with_classical_controls("a"), cirq.measure(A, key="a")))
