"""Tests of what is read of gates that hold others, so that their circuits are not translated again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qiskit.circuit import AnnotatedOperation, Gate, InverseModifier, PowerModifier, QuantumCircuit
from qiskit.circuit.library import MCXGate, RYGate

from qsim_ex import Circuit, thresholds
from qsim_ex.frameworks import Remembered
from qsim_ex_provider.translation import circuits
from qsim_ex_provider.translation.circuits import translate


def is_alike(one: Circuit, other: Circuit) -> bool:
    """Return whether two circuits have the same instructions and numbers."""
    return one.structure is other.structure and bool((one.operands == other.operands).all())


class _Mine(Gate):
    """A gate whose definition depends on what it does not hold."""

    turned = 0.3

    def _define(self) -> None:
        self.definition = QuantumCircuit(1)
        self.definition.ry(_Mine.turned, 0)


def nested() -> QuantumCircuit:
    """Return a circuit with gates that are defined by circuits, in one another, and under controls."""
    inner = QuantumCircuit(2, name="inner")
    inner.ry(0.3, 0)
    inner.append(MCXGate(1), [0, 1])
    outer = QuantumCircuit(2, name="outer")
    outer.append(inner.to_gate(), [0, 1])
    outer.h(1)
    circuit = QuantumCircuit(4)
    circuit.append(outer.to_gate(), [0, 2])
    circuit.append(RYGate(0.2).control(2, annotated=False), [0, 1, 3])
    circuit.append(MCXGate(3), [0, 1, 2, 3])
    circuit.append(outer.to_gate().control(1, annotated=False), [3, 1, 0])
    circuit.append(AnnotatedOperation(inner.to_gate(), [InverseModifier()]), [1, 2])
    return circuit


def _operation(circuit: QuantumCircuit, place: int) -> Any:
    """Return the operation at a place, which may be changed in place."""
    return circuit.data[place].operation


def _inside(gate: Any) -> Any:
    """Return the first gate of a gate's definition."""
    return gate.definition.data[0].operation


NESTED_CHANGES: dict[str, Callable[[QuantumCircuit], Any]] = {
    "definition": lambda circuit: _operation(circuit, 0).definition.x(0),
    "definition's phase": lambda circuit: setattr(_operation(circuit, 0).definition, "global_phase", 0.1),
    "definition's definition": lambda circuit: _inside(_operation(circuit, 0)).definition.s(1),
    "angle of what is controlled": lambda circuit: _operation(circuit, 1).base_gate.params.__setitem__(0, 0.4),
    "state of controls": lambda circuit: setattr(_operation(circuit, 2), "ctrl_state", 5),
    "definition of what is controlled": lambda circuit: _operation(circuit, 3).base_gate.definition.z(0),
    "definition of what is inverted": lambda circuit: _operation(circuit, 4).base_op.definition.z(0),
    "modifier": lambda circuit: _operation(circuit, 4).modifiers.append(PowerModifier(2)),
    "wires": lambda circuit: circuit.data.__setitem__(0, circuit.data[0].replace(qubits=circuit.qubits[1:3])),
}


@pytest.mark.parametrize("change", NESTED_CHANGES)
@pytest.mark.parametrize("fewest", [0, 1 << 30])
def test_gates_that_hold_gates(change: str, fewest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A circuit of gates with definitions is not translated a third time, and anew after a change of what they hold."""
    with thresholds.instead(native_instructions=fewest):
        circuit = nested()
        translate(circuit)
        before = translate(circuit)
        assert translate(circuit) is before
        NESTED_CHANGES[change](circuit)
        after = translate(circuit)
        monkeypatch.setattr(circuits, "known_translations", Remembered())
        assert is_alike(after, translate(circuit))
        assert not is_alike(after, before)


def test_classes_of_a_users_own() -> None:
    """A gate of a user's own class is translated anew each time, since its definition may depend on anything."""
    circuit = QuantumCircuit(1)
    circuit.append(_Mine("mine", 1, []), [0])
    for turned in (0.3, 0.5, 0.7):
        _Mine.turned, circuit.data[0].operation.definition = turned, None
        assert translate(circuit).operands[0, 2] == np.cos(turned / 2)


def test_a_gate_that_holds_itself() -> None:
    """A gate with itself among its attributes is translated each time, and to the same."""
    circuit = nested()
    circuit.data[0].operation.of = circuit.data[0].operation
    assert is_alike(translate(circuit), translate(circuit))
    assert is_alike(translate(circuit), translate(nested()))
