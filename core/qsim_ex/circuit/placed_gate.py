"""Gates placed on wires: a row of the gate table on its arguments, as operations without numbers.

They are cached, since circuits repeat themselves; `operands` gives them their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from qsim_ex.circuit import check
from qsim_ex.circuit.gate import Gate
from qsim_ex.circuit.gates import GATES, WHOLE_UNDER_CONTROLS
from qsim_ex.circuit.ops import ALWAYS, Op, Pattern, When
from qsim_ex.circuit.quarters import written
from qsim_ex.errors import UnknownInstruction, WireError, nearest

Wires = tuple[int, ...]
PlacedFactor = tuple[Wires, Wires, When, Pattern]
"""An operation without its numbers: what it mixes, what it reads, when it applies, and its pattern."""


@dataclass(frozen=True, eq=False, slots=True)
class PlacedRow:
    """What gates of a row of the gate table have in common, on whatever wires they are.

    name: of the row. qubits, parameters: how many it takes. of_factors: whether the gates are
    the row's factors, each with parameters of its own. shared: whether all gates of the row in a circuit have the same
    operands, since they have no parameters. size: how many operands a gate has.
    """

    name: str
    qubits: int
    parameters: int
    of_factors: bool
    shared: bool
    size: int


@dataclass(frozen=True, eq=False, slots=True)
class PlacedGate:
    """A row of the gate table on some wires, under some controls.

    ops: the operations that it becomes, one or those of the row's factors, with operands counted from 0. wires: all
    that it acts on.
    """

    row: PlacedRow
    ops: tuple[Op, ...]
    wires: Wires

    @classmethod
    def of(cls, row: Gate, wires: Wires, factors: tuple[PlacedFactor, ...], *, of_factors: bool) -> PlacedGate:
        """Return a row of the gate table as these operations."""
        ops, size = [], 0
        for mixes, reads, when, of in factors:
            ops.append(Op(mixes, reads, when, of, size, written(row.name)))
            size += len(of)
        return cls(_placed_row(row.name, of_factors, size), tuple(ops), wires)

    def on(self, wires: Wires) -> PlacedGate:
        """Return a gate on wires 0, 1, … as the same gate on other wires, which were checked."""
        masks, new, ops = [0], tuple.__new__, []
        for wire in wires:
            masks += [mask | 1 << wire for mask in masks]
        for mixes, reads, (mask, value), of, operand, name, unitary in self.ops:
            when = new(When, (masks[mask], masks[value])) if mask else ALWAYS
            on = tuple([wires[argument] for argument in mixes])
            ops.append(new(Op, (on, tuple([masks[read] for read in reads]), when, of, operand, name, unitary)))
        return PlacedGate(self.row, tuple(ops), wires)


@lru_cache(maxsize=256)
def _placed_row(name: str, of_factors: bool, size: int) -> PlacedRow:
    row = GATES[name]
    return PlacedRow(name, row.qubits, len(row.parameters), of_factors, not row.parameters, size)


@lru_cache(maxsize=65536)
def placed_gate(
    name: str, wires: Wires, num_qubits: int, controls: Wires = (), control_values: int = -1, whole: bool = False
) -> PlacedGate:
    """Place a row of the gate table on wires; cached, since circuits repeat themselves.

    whole: as one operation, even if the row has factors.
    Raises `UnknownInstruction` and `WireError`.
    """
    row = GATES.get(name)
    if row is None:
        raise unknown(name)
    if len(wires) != row.qubits:
        raise WireError(
            f"gate {name!r}: expected {row.qubits} wires, got {len(wires)}: {wires}; pass one wire for each argument."
        )
    numbers = (*wires, *controls)
    plain = {int}.issuperset(map(type, numbers)) and len({*numbers}) == len(numbers)
    if not (plain and all(map(range(num_qubits).__contains__, numbers))):  # NumPy's integers become Python's
        numbers = check.wires(numbers, num_qubits, name)
    if not (controls or whole):
        return on_arguments(row).on(numbers)
    return _placed(row, numbers[: row.qubits], numbers[row.qubits :], control_values, whole)


@lru_cache(maxsize=256)
def on_arguments(row: Gate) -> PlacedGate:
    """Return a row of the gate table on wires 0, 1, …, from which it is on other wires fastest."""
    return _placed(row, tuple(range(row.qubits)))


def _placed(row: Gate, wires: Wires, controls: Wires = (), control_values: int = -1, whole: bool = False) -> PlacedGate:
    """Return what `placed_gate` does for checked wires, from the columns of a row."""
    one = _factor(row.name, wires, controls, control_values)
    if whole or row.factors is None or (controls and row.name in WHOLE_UNDER_CONTROLS):
        return PlacedGate.of(row, (*wires, *controls), (one,), of_factors=False)
    # The gate's own controls are its first wires, and each of its factors has them too.
    own, acting = wires[: row.controls], wires[row.controls :]
    values = control_values << row.controls | (1 << row.controls) - 1
    names = [factor.name for factor in row.factors(*[0.0] * len(row.parameters))]
    placed = [_factor(of, acting if GATES[of].qubits else (), own + controls, values) for of in names]
    return PlacedGate.of(row, (*wires, *controls), tuple(placed), of_factors=True)


def unknown(name: str) -> UnknownInstruction:
    """Return the error of a name that is in no row of the gate table."""
    written = str(name).lower()
    meant = _OTHER_NAMES.get(written, written)
    like = f" Did you mean {meant!r}?" if meant in GATES else nearest(written, GATES)
    return UnknownInstruction(
        f"expected a gate of the gate table, got {name!r}; take one of the table, or append a matrix.{like}"
    )


_OTHER_NAMES = {
    "cnot": "cx",
    "toffoli": "ccx",
    "fredkin": "cswap",
    "hadamard": "h",
    "not": "x",
    "phase": "p",
    "cphase": "cp",
    "identity": "id",
    "i": "id",
    "u1": "p",
    "cu1": "cp",
    "u3": "u",
}
"""Names of gates elsewhere, and those of the table."""


def _factor(name: str, wires: Wires, controls: Wires, values: int) -> PlacedFactor:
    """Place one operation of a gate."""
    row = GATES[name]
    bits = [1 << wire for wire in wires]
    when = sum([bits[a] for a in row.when])
    control = sum([1 << wire for wire in controls])
    value = sum([1 << wire for k, wire in enumerate(controls) if values >> k & 1])
    reads = tuple([sum([bits[a] for a in range(row.qubits) if m >> a & 1]) for m in row.reads])
    return tuple([wires[a] for a in row.mixes]), reads, When(when | control, when | value), row.pattern
