"""Conditions on measured keys as expressions of the engine: for every value what Cirq's own condition says."""

from __future__ import annotations

import itertools
from typing import Any

import cirq
import numpy as np
import pytest
import sympy

from qsim_ex import CircuitBuilder, errors
from qsim_ex.circuit.classical import Token, evaluate
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_cirq.translation.conditions import condition_of
from qsim_ex_cirq.translation.measurements import PendingMeasurements

a, b = sympy.symbols("a b")
x = sympy.IndexedBase("a")
FORMULAS: dict[str, Any] = {
    "a key": a,
    "equal": sympy.Eq(a, 5),
    "not equal": sympy.Ne(a, b),
    "a sum": a + b > 6,
    "a difference": a - b > 1,
    "a negative bound": b - a >= -2,
    "a product": a * b <= 6,
    "a power": a**2 < b**3,
    "a polynomial": (a - 3) * (b - 1) < 2 * a - 4,
    "fractions": a / 2 + b / 3 > sympy.Rational(7, 3),
    "a decimal": a * 1.5 >= b + 2,
    "a remainder": sympy.Eq(sympy.Mod(a, 3), 1),
    "a remainder of what is negative": sympy.Eq(sympy.Mod(a - 2 * b, 4), 3),
    "logic": sympy.And(sympy.Or(a > 3, sympy.Eq(b, 2)), sympy.Not(sympy.Eq(a, 6))),
    "exclusive or": sympy.Xor(x[0], x[2]),
    "one digit": x[1],
    "the last digit": sympy.Eq(x[-1], 1),
    "implies": sympy.Implies(a > 2, b > 1),
    "if then else": sympy.ITE(a > 2, b > 1, sympy.Eq(b, 0)),
    "always": sympy.Eq(sympy.Mod(a, 1), 0),
    "a function without a rule": sympy.Abs(a - b) > 1,
}
CONDITIONS: dict[str, cirq.Condition] = {
    **{name: cirq.SympyCondition(expr) for name, expr in FORMULAS.items()},
    "key": cirq.KeyCondition(cirq.MeasurementKey("a")),
    "mask": cirq.BitMaskKeyCondition("a", bitmask=5),
    "masked and equal": cirq.BitMaskKeyCondition.create_equal_mask("a", 6),
    "masked and another": cirq.BitMaskKeyCondition.create_not_equal_mask("a", 6),
    "a target that is too large": cirq.BitMaskKeyCondition("a", target_value=9, equal_target=True),
}


def pending(widths: dict[str, int], inverted: int) -> PendingMeasurements:
    """Measurements of keys of some widths on qubits side by side; the first ones are inverted."""
    builder = CircuitBuilder(sum(widths.values()), sum(widths.values()))
    found, first = PendingMeasurements(builder), 0
    for key, width in widths.items():
        gate = cirq.MeasurementGate(width, key, invert_mask=(True,) * inverted)
        found.read(gate, tuple(range(first, first + width)))
        first += width
    return found


@pytest.mark.parametrize("inverted", [0, 2])
@pytest.mark.parametrize("name", CONDITIONS)
def test_every_value_is_as_in_cirq(name: str, inverted: int) -> None:
    """For each value of two keys, of three qubits and of two, a condition holds exactly where Cirq's own does."""
    condition, measured = CONDITIONS[name], pending({"a": 3, "b": 2}, inverted)
    expression = condition_of(condition, measured)
    keys = [measured.now(key, -1) for key in ("a", "b")]
    for digits in itertools.product((0, 1), repeat=5):
        store = cirq.ClassicalDataDictionaryStore()
        store.record_measurement(cirq.MeasurementKey("a"), digits[:3], cirq.LineQubit.range(3))
        store.record_measurement(cirq.MeasurementKey("b"), digits[3:], cirq.LineQubit.range(2))
        bits: dict[int, int] = {}
        for key, part in zip(keys, (digits[:3], digits[3:]), strict=True):
            assert key is not None
            bits.update(zip(key.clbits, np.bitwise_xor(part, np.array(key.invert, dtype=int)).tolist(), strict=True))
        row = np.array([[bits.get(clbit, 0) for clbit in range(16)]], dtype=np.uint8)
        lowered = expression.lowered(_columns)
        assert bool(evaluate(lowered, row)[0]) == condition.resolve(store), digits


def _columns(token: Token) -> tuple[int, ...]:
    columns: tuple[int, ...] = token.value
    return columns


WIDE = {
    "a key": (cirq.KeyCondition(cirq.MeasurementKey("a")), lambda value, _: value > 0),
    "equal": (cirq.SympyCondition(sympy.Eq(a, 5)), lambda value, _: value == 5),
    "a sum": (cirq.SympyCondition(a + 2 * b > 3 << 13), lambda one, other: one + 2 * other > 3 << 13),
    "a product": (cirq.SympyCondition(a * b - a > b**2), lambda one, other: one * other - one > other**2),
    "a mask": (cirq.BitMaskKeyCondition("a", bitmask=3 << 12), lambda value, _: value & 3 << 12 != 0),
}


@pytest.mark.parametrize("name", WIDE)
def test_conditions_on_many_bits(name: str) -> None:
    """A condition on keys of 14 qubits each holds where it should, and takes no table of 2^28 values."""
    condition, holds = WIDE[name]
    qubits, target = cirq.LineQubit.range(14), cirq.LineQubit(14)
    circuit = cirq.Circuit(
        cirq.H.on_each(qubits[:4]),
        cirq.X.on_each(qubits[10:]),
        cirq.measure(*qubits, key="a"),
        cirq.H.on_each(qubits[:3]),
        cirq.measure(*qubits, key="b"),
        cirq.X(target).with_classical_controls(condition),
        cirq.measure(target, key="end"),
    )
    records = QsimExSimulator(device="cpu", seed=2).run(circuit, repetitions=100).records
    one, other = (np.array(records[key][:, 0], dtype=object) @ [1 << k for k in range(13, -1, -1)] for key in "ab")
    assert records["end"][:, 0, 0].tolist() == [int(holds(*pair)) for pair in zip(one, other, strict=True)]


def test_gates_and_loops_under_wide_conditions() -> None:
    """Gates between measurements, and the end of a loop, may depend on many bits."""
    qubits = cirq.LineQubit.range(12)
    throw = cirq.FrozenCircuit(cirq.ry(2.6).on_each(qubits), cirq.measure(*qubits, key="a"))
    loop = cirq.CircuitOperation(
        throw, use_repetition_ids=False, repeat_until=cirq.SympyCondition(a > (1 << 12) - (1 << 11) - 1)
    )
    records = QsimExSimulator(device="cpu", seed=2).run(cirq.Circuit(loop), repetitions=50).records["a"]
    rounds = 1 + records[:, :, 0].argmax(axis=1)
    assert (records[np.arange(50), rounds - 1, 0] == 1).all()


def test_a_function_without_a_rule_on_many_bits_is_refused() -> None:
    """What the engine cannot write down is named, with what it can."""
    qubits = cirq.LineQubit.range(12)
    circuit = cirq.Circuit(
        cirq.measure(*qubits, key="a"), cirq.X(qubits[0]).with_classical_controls(sympy.Abs(a - 7) > 2)
    )
    with pytest.raises(errors.NotSupported, match="got Abs on 12"):
        QsimExSimulator(device="cpu").simulate(circuit)


def test_a_digit_that_is_not_there() -> None:
    """An index past the qubits of a key is named."""
    circuit = cirq.Circuit(cirq.measure(cirq.q(0), key="a"), cirq.X(cirq.q(1)).with_classical_controls(x[2]))
    with pytest.raises(errors.MeasurementError, match="index from 0 to 0 into a measured key, got 2"):
        QsimExSimulator(device="cpu").simulate(circuit)
