"""What an instruction of Qiskit holds, by value: matrices, evolutions, definitions, and gates that are controlled.

An instruction of Qiskit's own classes does what its attributes say, and so do those that it holds. A class of a user's
own has no value, since its definition may depend on anything, nor have objects of other kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from qiskit.circuit import (
    Barrier,
    ControlledGate,
    Delay,
    Instruction,
    Measure,
    Parameter,
    ParameterExpression,
    ParameterVectorElement,
    QuantumCircuit,
    Reset,
)
from qiskit.circuit.library import IGate, PauliEvolutionGate, UnitaryGate

from qsim_ex.frameworks import later
from qsim_ex_provider.translation.paulis import evolution_by_value
from qsim_ex_provider.translation.place import Wires

if TYPE_CHECKING:
    from qsim_ex_provider.translation import library
else:
    library = later("qsim_ex_provider.translation.library")

COMPARED = frozenset({float, int, Parameter, ParameterExpression, ParameterVectorElement})
"""Parameters of gates that are compared: numbers exactly, formulas as Qiskit does."""

_PLAIN = frozenset({Barrier, Delay, IGate, Measure, Reset})

PLAIN = {**{kind: kind for kind in _PLAIN}, **{type(kind()): kind for kind in (IGate, Measure, Reset)}}
"""Of instructions of which nothing but their qubits and classical bits matters where there is no noise, the class of
those of a class: those of a singleton are of a private one."""

_VALUES = COMPARED | {bool, complex, str, bytes, type, type(None)}
"""What is its own value within an instruction."""

_OF_QISKIT = "qiskit.circuit."
"""How the modules begin of whose classes all that instances hold is in their attributes."""

_DEEPEST = 16
"""The most definitions within one another that are read."""

Contents = tuple[object, ...]
"""An instruction by value."""


class Reading(NamedTuple):
    """All that the translation of a circuit depends on.

    others: of each instruction that is no standard gate its place, its class, its wires, its classical bits, and its
    contents.
    """

    num_qubits: int
    num_clbits: int
    phase: Any
    gates: tuple[object, ...]
    others: list[tuple[int, type, Wires, Wires, Contents]]


class _NoValue(Exception):
    """Raised where something cannot be compared."""


class Held:
    """Reads what the instructions of a circuit hold, each object once.

    read: reads a definition, and what that holds in turn; None if definitions are not to be read.
    """

    def __init__(self, read: Callable[[QuantumCircuit, Held], Reading | None] | None) -> None:
        self._read, self._depth = read, 0
        self._known: dict[int, tuple[object, Contents]] = {}  # by the identity of an object, which is kept alive

    def by(self, operation: Any) -> Contents | None:
        """Return an instruction by value; None if it has none, or if that is in definitions that are not to be read."""
        try:
            if type(operation) is UnitaryGate:
                return _array(operation.params[0])
            if type(operation) is PauliEvolutionGate and type(operation.params[0]) in COMPARED:
                return evolution_by_value(operation)
            return None if self._read is None else self._object(operation)
        except (_NoValue, RecursionError):  # the latter of objects that hold themselves
            return None

    def _object(self, of: Any) -> Contents:
        """Return an object of Qiskit by its attributes."""
        known = self._known.get(id(of))
        if known is None:
            known = self._known[id(of)] = of, self._attributes(of)
        return known[1]

    def _attributes(self, of: Any) -> Contents:
        if isinstance(of, Instruction) and not of.mutable:  # the one of its class that has no parameters
            return (of.base_class,)
        kind, held = type(of), getattr(of, "__dict__", None)
        if held is None or not str(kind.__module__).startswith(_OF_QISKIT):
            raise _NoValue
        if isinstance(of, ControlledGate) and library.is_its_base(of):  # nobody asks for its definition
            held = held | {"_definition": None}
        return kind, *held, *map(self._value, held.values())

    def _value(self, of: Any) -> object:
        """Return something that an instruction holds by value."""
        kind = type(of)
        if kind in _VALUES:
            return of
        if kind is list or kind is tuple:  # a state to prepare has as many numbers as amplitudes
            return tuple(of) if set(map(type, of)) <= _VALUES else tuple(map(self._value, of))
        if kind is np.ndarray:
            return _array(of)
        if isinstance(of, np.number):
            return of.item()
        return self._definition(of) if kind is QuantumCircuit else self._object(of)

    def _definition(self, of: QuantumCircuit) -> Reading:
        if self._depth == _DEEPEST or self._read is None:
            raise _NoValue
        self._depth += 1
        found = self._read(of, self)
        self._depth -= 1
        if found is None:
            raise _NoValue
        return found


def _array(of: Any) -> Contents:
    if of.dtype.hasobject:
        raise _NoValue
    return of.shape, of.dtype, of.tobytes()
