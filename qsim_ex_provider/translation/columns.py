"""The instructions of a circuit of Qiskit, column by column, read in Python; `native_columns` reads them faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any

from qiskit.circuit import CircuitInstruction, QuantumCircuit, Qubit

from qsim_ex import CircuitBuilder
from qsim_ex.frameworks import GATES, Measured
from qsim_ex_provider.translation.place import ToNumber, Wires

Row = tuple[str, bool]

ROWS = {row.qiskit: (row.name, bool(row.parameters)) for row in GATES.values() if row.qiskit}
"""Rows of the gate table by Qiskit's name, and whether they take parameters."""

_NO_PARAMETERS: Sequence[Any] = ()
_name, _qubits, _label = attrgetter("name"), attrgetter("qubits"), attrgetter("label")


class Columns:
    """The instructions of a circuit, column by column.

    names: Qiskit's. wires: of each instruction. rows: of each standard gate its row in the gate table and whether it
    takes parameters; None for every other instruction. parameters: of each standard gate, as Qiskit has them.
    others: the places of the instructions that are no standard gates. measured: nothing, since measurements are among
    these. count: of all instructions. operations: those of instructions that were asked for. contents: what is equal
    for two circuits with equal gates.
    """

    def __init__(self, circuit: QuantumCircuit, wire_of: Mapping[Qubit, int]) -> None:
        self.instructions: list[CircuitInstruction] = circuit.data[:]
        self.names = list(map(_name, self.instructions))
        # A gate of a user's own may bear a standard gate's name, hence the second question.
        self.rows: list[Row | None] = [
            row if row is not None and one.is_standard_gate() else None
            for row, one in zip(map(ROWS.get, self.names), self.instructions, strict=True)
        ]
        at = wire_of.__getitem__
        self.wires: list[Wires] = [  # most gates have one or two wires, for which no loop is needed
            (at(on[0]),) if len(on) == 1 else (at(on[0]), at(on[1])) if len(on) == 2 else tuple(map(at, on))
            for on in map(_qubits, self.instructions)
        ]
        self.parameters: list[Sequence[Any]] = [
            one.params if row is not None and row[1] else _NO_PARAMETERS
            for row, one in zip(self.rows, self.instructions, strict=True)
        ]
        self.others = [place for place, row in enumerate(self.rows) if row is None]
        self.count = len(self.instructions)
        self.measured: dict[int, Measured] = {}
        self.operations: dict[int, Any] = {}
        self.contents = self.rows, self.wires, self.parameters

    @cached_property
    def labels(self) -> list[str | None]:
        """The label of each instruction, by which noise is found."""
        return list(map(_label, self.instructions))

    def gates(
        self, begin: int, end: int, number: ToNumber | None
    ) -> tuple[list[str], list[Wires], list[Sequence[Any]]]:
        """Return rows, wires and parameters of some standard gates that follow one another, as the builder takes them.

        number: makes of a parameter what the builder takes; None where all are numbers.
        """
        parameters = self.parameters[begin:end]
        if number is not None:
            parameters = [list(map(number, given)) if given else given for given in parameters]
        return [row[0] for row in self.rows[begin:end] if row is not None], self.wires[begin:end], parameters

    def append(self, builder: CircuitBuilder, begin: int, end: int, number: ToNumber | None) -> set[int]:
        """Append some standard gates that follow one another, and return their wires; number: see `gates`."""
        names, wires, parameters = self.gates(begin, end, number)
        builder.gates(names, wires, parameters)
        return set(chain.from_iterable(wires))


def columns_of(circuit: QuantumCircuit, wires: Sequence[int] | None = None) -> Columns:
    """Return the instructions of a circuit; wires: of its qubits, their numbers if None."""
    numbers = range(circuit.num_qubits) if wires is None else wires
    return Columns(circuit, dict(zip(circuit.qubits, numbers, strict=True)))
