"""Classical expressions of the Qiskit that is installed, and of older ones."""

import runpy
from enum import IntEnum

import pytest
from qiskit import ClassicalRegister, QuantumCircuit
from qiskit.circuit import Duration
from qiskit.circuit.classical import expr, types

from qsim_ex_provider import QsimExBackend
from qsim_ex_provider.translation import classical


def test_every_operation_of_qiskit_has_a_name() -> None:
    """No operation of expressions is missing in the tables."""
    assert set(classical.BINARY) == set(expr.Binary.Op)
    assert set(classical.UNARY) == set(expr.Unary.Op)


def test_a_qiskit_with_fewer_operations_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables have the operations that there are: Qiskit 2.3 has no negation."""
    older = IntEnum("older", {"BIT_NOT": 1, "LOGIC_NOT": 2})
    monkeypatch.setattr(expr.Unary, "Op", older)
    made = runpy.run_path(classical.__file__)
    assert made["UNARY"] == {older["BIT_NOT"]: "invert", older["LOGIC_NOT"]: "not"}


@pytest.mark.parametrize(
    ("long", "short", "ratio"),
    [
        (Duration.us(1), Duration.ns(100), 10),
        (Duration.ms(1.1), Duration.us(1.1), 1000),
        (Duration.s(3), Duration.ms(1), 3000),
        (Duration.dt(30), Duration.dt(10), 3),
    ],
)
def test_durations_are_as_exact_as_they_are_written(long: Duration, short: Duration, ratio: int) -> None:
    """The ratio of two durations in different units is the whole number that it is, and equal ones are equal."""
    circuit = QuantumCircuit(ClassicalRegister(16, "ratio"), ClassicalRegister(1, "equal"))
    circuit.store(circuit.cregs[0], expr.cast(expr.div(long, short), types.Uint(16)))
    circuit.store(circuit.clbits[16], expr.equal(long, expr.mul(short, ratio)))
    counts = QsimExBackend(device="cpu").run(circuit, shots=1).result().get_counts()
    assert counts == {f"1 {ratio:016b}": 1}
