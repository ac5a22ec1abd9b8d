"""Circuits that are translated again: a circuit that is unchanged is read, and compared, and not translated twice.

A `QuantumCircuit` may be changed at any time. All that a translation depends on is read each time, in columns; that is
a part of its work. Circuits with instructions whose contents cannot be compared, such as control flow and gates of a
user's own, are always translated.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from qiskit.circuit import Barrier, Delay, Measure, Parameter, ParameterVectorElement, QuantumCircuit, Reset
from qiskit.circuit.library import IGate, UnitaryGate

from qsim_ex import Circuit
from qsim_ex.frameworks import ParameterColumns, ParameterSweep, Remembered, SweptGate
from qsim_ex_provider.translation.columns import Columns, Row
from qsim_ex_provider.translation.place import Wires

_PLAIN = frozenset({Barrier, Delay, IGate, Measure, Reset})
"""Instructions of which nothing but their qubits and classical bits matters where there is no noise."""

_COMPARED = frozenset({float, int, Parameter, ParameterVectorElement})
"""Parameters of gates that are compared exactly."""

known = Remembered()
"""The translations of circuits."""


class Reading(NamedTuple):
    """All that the translation of a circuit depends on.

    others: of each instruction that is no standard gate its class, its classical bits, and its matrix.
    """

    num_qubits: int
    num_clbits: int
    phase: Any
    rows: list[Row | None]
    wires: list[Wires]
    parameters: list[Any]
    others: list[tuple[type, Wires, bytes]]


def reading_of(circuit: QuantumCircuit, columns: Columns) -> Reading | None:
    """Return all that a circuit's translation depends on; None if something in it cannot be compared."""
    others = []
    clbit_of = {bit: k for k, bit in enumerate(circuit.clbits)}
    for place in columns.others:
        operation = columns.instructions[place].operation
        kind, matrix = getattr(operation, "base_class", object), b""  # a singleton's own class is a private one
        if kind is UnitaryGate and operation.params[0].dtype == np.complex128:
            matrix = operation.params[0].tobytes()
        elif kind not in _PLAIN:
            return None
        others.append((kind, tuple([clbit_of[bit] for bit in columns.instructions[place].clbits]), matrix))
    if not _COMPARED.issuperset(map(type, chain([circuit.global_phase], chain.from_iterable(columns.parameters)))):
        return None
    sizes = circuit.num_qubits, circuit.num_clbits
    return Reading(*sizes, circuit.global_phase, columns.rows, columns.wires, columns.parameters, others)


class NamedSweep(NamedTuple):
    """A sweep without values: parameters of swept gates are numbers, or the names of the circuit's parameters."""

    template: Circuit
    gates: list[tuple[SweptGate, list[list[Any]]]]

    @classmethod
    def of(cls, sweep: ParameterSweep, columns: ParameterColumns) -> NamedSweep | None:
        """Return a sweep without its values; None if some of them are not those of one parameter."""
        names = {id(column): name for name, column in columns.columns.items()}
        if len(names) < len(columns.columns):  # two parameters have the same array
            return None
        gates = []
        for gate in sweep.swept:
            named = [[names.get(id(p)) if isinstance(p, np.ndarray) else p for p in given] for given in gate.parameters]
            if any(None in given for given in named):
                return None
            gates.append((gate, named))
        return cls(sweep.template, gates)

    def sweep(self, columns: ParameterColumns) -> ParameterSweep | None:
        """Return the sweep with other values; None if one is not finite, for which a translation has the words."""
        values = columns.columns
        if not all(np.isfinite(column).all() for column in values.values()):
            return None
        swept = [
            SweptGate(
                gate.row,
                gate.offsets,
                [[values[p] if isinstance(p, str) else p for p in given] for given in named],
                gate.of_factors,
            )
            for gate, named in self.gates
        ]
        return ParameterSweep(self.template, columns.count, tuple(swept))
