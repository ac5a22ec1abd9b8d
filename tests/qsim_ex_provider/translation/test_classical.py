"""Classical expressions of the Qiskit that is installed, and of older ones."""

import runpy
from enum import IntEnum

import pytest
from qiskit.circuit.classical import expr

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
