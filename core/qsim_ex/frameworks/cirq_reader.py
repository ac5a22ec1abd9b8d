"""The gates of a circuit of Cirq, read by native code from its operations: core/native/readers/cirq.cpp.

A gate is read in 0.2 µs. The adapter says which classes there are and what their gates are, so nothing here imports
Cirq. Only public attributes are read.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from qsim_ex.circuit.gates import GATES
from qsim_ex.frameworks.read_gates import ReadGates, ReadRows
from qsim_ex.kernels.interrupts import uninterrupted
from qsim_ex.native.library import address, function

_ITSELF = -1

_MOST_NUMBERS = 5
"""The most attributes of a gate; native code has room for as many."""


class GateCase(NamedTuple):
    """Some gates of a class: those with this exponent and this shift, its first two attributes; None is any.

    row: of the gate table; None for gates that Python has to look at. scales: the row's parameters are these numbers
    times the exponent; None if they are the attributes themselves.
    """

    exponent: float | None
    shift: float | None
    row: str | None
    scales: tuple[float, ...] | None = None


class GateClass(NamedTuple):
    """What the gates of a class of Cirq are: the first case that fits. attributes: the names of those with numbers."""

    attributes: tuple[str, ...]
    cases: tuple[GateCase, ...]


class CirqReader:
    """Reads operations. operations: the classes of those that are a gate on qubits. gates: the classes of gates."""

    def __init__(self, operations: Sequence[type], gates: Mapping[type, GateClass]) -> None:
        self._kept = operations, gates  # classes and names, whose addresses native code has
        names = list(dict.fromkeys(case.row for of in gates.values() for case in of.cases if case.row is not None))
        self._rows = ReadRows(names)
        number_of = {name: number for number, name in enumerate(names)}
        self._types = np.array([id(kind) for kind in operations], dtype=np.int64)
        self._wires = np.array([GATES[name].qubits for name in names], dtype=np.int64)
        rules, cases = [], list[list[float]]()
        for kind, of in gates.items():
            assert len(of.attributes) <= _MOST_NUMBERS
            attributes = [*map(id, map(sys.intern, of.attributes)), *[0] * _MOST_NUMBERS][:_MOST_NUMBERS]
            rules.append([id(kind), len(of.attributes), *attributes, len(cases), len(cases) + len(of.cases)])
            for exponent, shift, row, scales in of.cases:
                wanted = [np.nan if number is None else number for number in (exponent, shift)]
                number = -1 if row is None else number_of[row]
                given = [_ITSELF, 0, 0] if scales is None else [len(scales), *scales, 0, 0][:3]
                cases.append([*wanted, number, *given])
        self._rules, self._cases = np.array(rules, dtype=np.int64), np.array(cases, dtype=np.float64)

    def read(self, operations: list[Any]) -> tuple[ReadGates, list[Any]] | None:
        """Return the gates among some operations, and the distinct qubits of all; a wire is a place among these.

        None if there are too many qubits: then Python has to look at the operations.
        """
        qubits: list[Any] = []
        rules = address(self._rules), len(self._rules), address(self._cases), address(self._wires)
        given = operations, len(operations), address(self._types), len(self._types), "gate", "qubits", *rules, qubits
        with uninterrupted():  # native code takes any error of a gate's property for one that it cannot read
            gates = ReadGates.read(self._rows, len(operations), lambda out: function("cirq_gates")(*given, out))
        return None if gates is None else (gates, qubits)
