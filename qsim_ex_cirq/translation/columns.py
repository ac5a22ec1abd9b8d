"""Operations of a Cirq circuit as columns: those that are rows of the gate table are appended many at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cirq

from qsim_ex.errors import InvalidInput
from qsim_ex.frameworks import NeedsNumbers, unitary_matrices
from qsim_ex_cirq.translation.gates import RULES, TOLERANCE, FromAttributes, Power

Row = tuple[str, tuple[Any, ...]]
"""The name of a row of the gate table, and its parameters."""


def always(op: cirq.Operation) -> bool:  # noqa: ARG001
    """Return True: the rule of circuits without symbols, all of whose gates were written with numbers."""
    return True


class Columns:
    """Some operations, column by column.

    rows: of each operation its row of the gate table; None for an operation that is none, or that must be looked at by
    itself. wires: of each operation that has a row. others: the places of the operations that have none. matrices: of
    matrix gates, by their places.
    literal: whether an operation was written without a symbol. number: makes of a gate's parameter what the builder
    takes.
    """

    def __init__(
        self,
        operations: Sequence[cirq.Operation],
        wire_of: Mapping[cirq.Qid, int],
        literal: Callable[[cirq.Operation], bool],
        number: Callable[[Any], Any],
    ) -> None:
        gates = [op.gate if isinstance(op, cirq.GateOperation) else None for op in operations]
        self.rows = _rows(gates, None if literal is always else list(map(literal, operations)), number)
        matrices = {k: gate._unitary_() for k, gate in enumerate(gates) if type(gate) is cirq.MatrixGate}
        at = wire_of.__getitem__
        try:
            self.wires = [  # most gates have one or two wires, for which no loop is needed
                (at(on[0]),) if len(on) == 1 else (at(on[0]), at(on[1])) if len(on) == 2 else tuple(map(at, on))
                for on in [op.qubits for op in operations]
            ]
        except KeyError:  # noise on a qubit that the circuit does not have
            self.rows, self.wires, matrices = [None] * len(operations), [], {}
        self.others = [place for place, row in enumerate(self.rows) if row is None]
        checked = unitary_matrices(list(matrices.values()), TOLERANCE) if len(matrices) > 1 else []
        self.matrices = {k: one for k, one in zip(matrices, checked, strict=False) if one is not None}

    def gates(self, begin: int, end: int) -> tuple[list[str], list[tuple[int, ...]], list[tuple[Any, ...]]]:
        """Return names, wires and parameters of some operations that follow one another and have rows."""
        rows = [row for row in self.rows[begin:end] if row is not None]
        return [name for name, _ in rows], self.wires[begin:end], [given for _, given in rows]


def _rows(gates: Sequence[Any], literal: list[bool] | None, number: Callable[[Any], Any]) -> list[Row | None]:
    """Return the row of each gate; literal: of each gate whether it was written without a symbol, None for all."""
    # By the identity of a gate, which is asked for its row once; the list keeps all gates.
    if literal is None:
        found = {key: _row(gate, True, number) for key, gate in {id(gate): gate for gate in gates}.items()}
        return [found[id(gate)] for gate in gates]
    known = {(id(gate), how): gate for gate, how in zip(gates, literal, strict=True)}
    rows = {key: _row(gate, key[1], number) for key, gate in known.items()}
    return [rows[id(gate), how] for gate, how in zip(gates, literal, strict=True)]


def _row(gate: Any, literal: bool, number: Callable[[Any], Any]) -> Row | None:
    rule = RULES.get(type(gate))
    if not isinstance(rule, Power | FromAttributes):
        return None
    try:
        return rule.row(gate, literal, number)
    except (InvalidInput, NeedsNumbers):  # which is raised again, with the place, where the operation comes by itself
        return None
