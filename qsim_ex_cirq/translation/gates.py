"""How each of Cirq's gates is written in the gate table: one rule per class of gate, found by its exact type.

Most rules are built here, once, from the column `cirq` of the gate table; `rules` has those of the other gates.

Rules never ask whether a number happens to be special, with one exception: a gate that was written without a
symbol and has a row of its own (``cirq.X``, ``cirq.S``) takes that row. A gate whose exponent came from a symbol
takes the row of the power, so that every point of a sweep has one structure. `global_shift` cannot be a symbol
and is structure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, assert_never

import cirq
import numpy as np

from qsim_ex import CircuitBuilder
from qsim_ex.errors import InvalidInput
from qsim_ex.frameworks import GATES, Attributes, Gate, GateCase, GateClass, NeedsNumbers, OnePower, OneShift, Powers
from qsim_ex_cirq.translation import rules
from qsim_ex_cirq.translation.matrices import MatrixGates
from qsim_ex_cirq.translation.place import TOLERANCE, Place, ToNumber, number
from qsim_ex_cirq.translation.rules import Rule

__all__ = [
    "RULES",
    "TOLERANCE",
    "Columns",
    "FromAttributes",
    "NeedsNumbers",
    "Place",
    "Power",
    "always",
    "number",
    "rule_of",
]


Row = tuple[str, tuple[Any, ...]]
"""The name of a row of the gate table, and its parameters."""


class ShiftedRow(NamedTuple):
    """The row for the powers that have one shift; its parameters are `scales` times the exponent."""

    row: str
    scales: tuple[float, ...]

    def parameters(self, exponent: Any) -> tuple[Any, ...]:
        """Return the parameters of the row."""
        return tuple([scale * exponent for scale in self.scales])


@dataclass(frozen=True)
class Power:
    """The rule of a class of powers: a gate to the power t, times e^{iπts} for the shift s.

    power: the row for any power, with the parameters t and s. fixed: rows for single exponents. shifted: rows for
    single shifts. controls: how many of the gate's first qubits are controls, under which `power` and `shifted` act;
    a shift is a phase of the whole gate and stands outside of them.
    """

    power: str
    fixed: Mapping[float, str]
    shifted: Mapping[float, ShiftedRow]
    controls: int = 0

    def row(self, gate: Any, literal: bool, number: ToNumber) -> Row | None:
        """Return the row of the gate table that a gate is on all of its wires, and the parameters; None without one."""
        t, s = number(gate.exponent), gate.global_shift
        if literal and s == 0 and t in self.fixed:
            return self.fixed[t], ()
        if self.controls and s:
            return None
        own = self.shifted.get(s)
        name, parameters = (self.power, (t, s)) if own is None else (own.row, own.parameters(t))
        if self.controls:
            name = "c" * self.controls + name
        return (name, parameters) if name in GATES else None

    def cases(self) -> GateClass:
        """Return what `row` finds, for gates that were written without a symbol."""
        controls = "c" * self.controls
        # Under controls a shift is a phase that stands outside of them, so that the gate is no row.
        shifted = {s: own for s, own in self.shifted.items() if not (self.controls and s)}
        found = [GateCase(t, 0, row, ()) for t, row in self.fixed.items()]
        found += [GateCase(None, s, _known(controls + own.row), own.scales) for s, own in shifted.items()]
        found.append(GateCase(None, 0 if self.controls else None, _known(controls + self.power)))
        return GateClass(("exponent", "global_shift"), tuple(found))

    def __call__(self, gate: Any, place: Place) -> None:
        """Append the gate."""
        t, s = place.number(gate.exponent), gate.global_shift
        if place.literal and s == 0 and t in self.fixed:
            place.row(self.fixed[t])
            return
        if self.controls:
            if s:
                place.phase(np.pi * t * s)
                s = 0
            place = place.split(self.controls)
        own = self.shifted.get(s)
        if own is None:
            place.row(self.power, t, s)
        else:
            place.row(own.row, *own.parameters(t))


@dataclass(frozen=True)
class FromAttributes:
    """The rule of a class whose gates are all the row `of`; `names` are the attributes that are its parameters."""

    of: str
    names: tuple[str, ...]

    def row(self, gate: object, literal: bool, number: ToNumber) -> Row:  # noqa: ARG002
        """Return the row of the gate table and its parameters."""
        return self.of, tuple([number(getattr(gate, name)) for name in self.names])

    def cases(self) -> GateClass:
        """Return what `row` finds."""
        return GateClass(self.names, (GateCase(None, None, self.of),))

    def __call__(self, gate: object, place: Place) -> None:
        """Append the gate."""
        name, parameters = self.row(gate, place.literal, place.number)
        place.row(name, *parameters)


def _known(name: str) -> str | None:
    return name if name in GATES else None


def rules_of(rows: Iterable[Gate]) -> dict[str, Rule]:
    """Return the rules of all classes that the rows name, by the names; all rows of a class make one rule."""
    found: dict[str, Rule] = {}
    fixed: dict[str, dict[float, str]] = defaultdict(dict)
    shifted: dict[str, dict[float, ShiftedRow]] = defaultdict(dict)
    powers: dict[str, tuple[Gate, Powers]] = {}
    for row in rows:
        for gates in row.cirq:
            match gates:
                case Attributes(kind, names):
                    assert kind not in found
                    found[kind] = FromAttributes(row.name, names)
                case OnePower(kind, exponent):
                    assert exponent not in fixed[kind]
                    fixed[kind][exponent] = row.name
                case OneShift(kind, shift, scales):
                    assert shift not in shifted[kind]
                    shifted[kind][shift] = ShiftedRow(row.name, scales)
                case Powers():
                    powers[row.name] = row, gates
                case _:
                    assert_never(gates)
    for row, gates in powers.values():
        base, bare = powers[row.of or row.name]  # without the controls
        rule = Power(base.name, fixed[gates.kind], shifted[bare.kind], row.controls)
        found |= dict.fromkeys((gates.kind, *gates.also), rule)
    return found


def _by_class(named: Mapping[str, Rule]) -> dict[type, Rule]:
    """Return the rules by class. A name is that of a class or of a gate; older versions of Cirq lack some names."""
    offered = {getattr(cirq, name): rule for name, rule in named.items() if hasattr(cirq, name)}
    return {one if isinstance(one, type) else type(one): rule for one, rule in offered.items()}


RULES: dict[type, Rule] = _by_class(rules_of(GATES.values())) | rules.RULES
"""The rules by the exact class of a gate."""


_ROWS = (Power, FromAttributes)
"""The rules of gates that are a row of the gate table; a union would be made anew for each question."""


def rule_of(gate: object) -> Rule | None:
    """Return the rule of a gate, or None; all arithmetic gates, whose classes are the users' own, share one."""
    rule = RULES.get(type(gate))
    return rules.arithmetic if rule is None and isinstance(gate, cirq.ArithmeticGate) else rule


# --- operations as columns, so that many gates are appended at a time -------------------------------------------------


def always(op: cirq.Operation) -> bool:  # noqa: ARG001
    """Return True: the rule of circuits without symbols, all of whose gates were written with numbers."""
    return True


class Columns:
    """Some operations, column by column.

    rows: of each operation its row of the gate table; None for an operation that is none, or that must be looked at by
    itself. gates: the gate of each operation; None for one that is no gate alone. wires: of each operation that has a
    row. count: of all operations. others: the places of those that have no row. matrix_gates: those among the gates;
    matrices: of these, by their places. numbered: the operations, each with its moment's number. literal: whether one
    was written without a symbol. number: makes of a gate's parameter what the builder takes.
    """

    def __init__(
        self,
        numbered: Sequence[tuple[int, cirq.Operation]],
        wire_of: Mapping[cirq.Qid, int],
        literal: Callable[[cirq.Operation], bool],
        number: ToNumber,
    ) -> None:
        self._numbered, self._literal = numbered, literal
        operations = [op for _, op in numbered]
        self.count = len(operations)
        self.gates = gates = [op.gate if isinstance(op, cirq.GateOperation) else None for op in operations]
        self.rows: list[Row | None] = _rows(
            gates, None if literal is always else list(map(literal, operations)), number
        )
        self.matrix_gates = MatrixGates(dict(enumerate(gates)))
        self.matrices = self.matrix_gates.checked
        at = wire_of.__getitem__
        try:
            self.wires = [  # most gates have one or two wires, for which no loop is needed
                (at(on[0]),) if len(on) == 1 else (at(on[0]), at(on[1])) if len(on) == 2 else tuple(map(at, on))
                for on in [op.qubits for op in operations]
            ]
        except KeyError:  # noise on a qubit that the circuit does not have
            self.rows, self.wires, self.matrices = [None] * len(operations), [], {}
        self.others = [place for place, row in enumerate(self.rows) if row is None]

    def operation(self, place: int) -> tuple[int, cirq.Operation]:
        """Return an operation and the number of its moment."""
        return self._numbered[place]

    def is_literal(self, place: int) -> bool:
        """Return whether an operation was written without a symbol."""
        return self._literal(self._numbered[place][1])

    def append(self, builder: CircuitBuilder, begin: int, end: int) -> set[int]:
        """Append some gates that follow one another and have rows, and return their wires; raises `InvalidInput`."""
        rows = [row for row in self.rows[begin:end] if row is not None]
        wires = self.wires[begin:end]
        builder.gates([name for name, _ in rows], wires, [given for _, given in rows])
        return set(chain.from_iterable(wires))


def _rows(gates: Sequence[object], literal: list[bool] | None, number: ToNumber) -> list[Row | None]:
    """Return the row of each gate; literal: of each gate whether it was written without a symbol, None for all."""
    # By the identity of a gate, which is asked for its row once; the list keeps all gates.
    if literal is None:
        found = {key: _row(gate, True, number) for key, gate in {id(gate): gate for gate in gates}.items()}
        return [found[id(gate)] for gate in gates]
    known = {(id(gate), how): gate for gate, how in zip(gates, literal, strict=True)}
    rows = {key: _row(gate, key[1], number) for key, gate in known.items()}
    return [rows[id(gate), how] for gate, how in zip(gates, literal, strict=True)]


def _row(gate: object, literal: bool, number: ToNumber) -> Row | None:
    rule = RULES.get(type(gate))
    if not isinstance(rule, _ROWS):
        return None
    try:
        return rule.row(gate, literal, number)
    except (InvalidInput, NeedsNumbers):  # which is raised again, with the place, where the operation comes by itself
        return None
