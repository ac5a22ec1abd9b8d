"""Gates placed on wires: a row of the gate table on its arguments, as operations, and the places of their numbers.

Placed gates are cached, since circuits repeat themselves. Each operation of a circuit has its place in one flat array,
which is filled at the end: the numbers of all gates of a row are computed together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.circuit import ONE_AT
from qsim_ex.circuit.gate import Gate
from qsim_ex.circuit.gates import GATES, WHOLE_UNDER_CONTROLS, unknown
from qsim_ex.circuit.ops import ALWAYS, Op, Pattern, When
from qsim_ex.circuit.quarters import written
from qsim_ex.errors import WireError

Wires = tuple[int, ...]
PlacedFactor = tuple[Wires, Wires, When, Pattern]
"""An operation without its numbers: what it mixes, what it reads, when it applies, and its pattern."""


@dataclass(frozen=True, eq=False, slots=True)
class PlacedRow:
    """What gates of a row of the gate table have in common, on whatever wires they are.

    name: of the row. qubits, parameters: how many it takes. of_factors: whether the gates are
    the row's factors, each with parameters of its own. shared: whether all gates of the row in a circuit have the same
    operands, since they have no parameters. size: how many operands a gate has. leaves_phase: whether a gate's last
    operation is a global phase, which has one of them.
    """

    name: str
    qubits: int
    parameters: int
    of_factors: bool
    shared: bool
    size: int
    leaves_phase: bool


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
        return cls(_placed_row(row.name, of_factors, size, not ops[-1].acts_on), tuple(ops), wires)

    @property
    def without_phase(self) -> tuple[Op, ...]:
        """The operations without the global phase that the gate leaves, if it does."""
        return self.ops[:-1] if self.row.leaves_phase else self.ops

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
def _placed_row(name: str, of_factors: bool, size: int, phase: bool) -> PlacedRow:
    row = GATES[name]
    return PlacedRow(name, row.qubits, len(row.parameters), of_factors, not row.parameters, size, phase and of_factors)


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


def _factor(name: str, wires: Wires, controls: Wires, values: int) -> PlacedFactor:
    """Place one operation of a gate."""
    row = GATES[name]
    bits = [1 << wire for wire in wires]
    when = sum([bits[a] for a in row.when])
    control = sum([1 << wire for wire in controls])
    value = sum([1 << wire for k, wire in enumerate(controls) if values >> k & 1])
    reads = tuple([sum([bits[a] for a in range(row.qubits) if m >> a & 1]) for m in row.reads])
    return tuple([wires[a] for a in row.mixes]), reads, When(when | control, when | value), row.pattern


Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]


@dataclass(eq=False, slots=True)
class Alike:
    """Gates of one row: the place of each one's first operand, and its parameters."""

    offsets: list[int] = field(default_factory=list)
    parameters: list[Sequence[object]] = field(default_factory=list)


class OperandBuilder:
    """Gives operations their places in the array of operands, and fills it. Attributes:

    size: how many operands there are so far, with the constants 0 and 1. shared: the place of the operands of each row
    whose gates have them in common. whole, factored: by the row of the gate table, the gates with operands of their
    own; they are one operation each, or one for each of the row's factors.
    """

    def __init__(self) -> None:
        self.size = 2
        self.shared: dict[str, int] = {}
        self._literal: list[tuple[int, Complex]] = []
        self._alike: dict[int, tuple[Complex, list[int], list[int]]] = {}  # by the identity of the array
        self._numbered: list[tuple[PlacedRow, NDArray[np.int64], Floats]] = []
        self.whole: defaultdict[str, Alike] = defaultdict(Alike)
        self.factored: defaultdict[str, Alike] = defaultdict(Alike)

    def literal(self, entries: Complex) -> int:
        """Take a place for some entries, and return it."""
        offset = self.size
        self.size += entries.size
        self._literal.append((offset, entries))
        return offset

    def row_of(self, entries: Complex, row: int) -> int:
        """Take a place for one row of an array [count, size], and return it; rows of one array are written together."""
        offset = self.size
        self.size += entries.shape[1]
        offsets, rows = self.alike(entries)
        offsets.append(offset)
        rows.append(row)
        return offset

    def alike(self, entries: Complex) -> tuple[list[int], list[int]]:
        """Return the places that rows of an array [count, size] have so far, and which rows these are, to append to."""
        known = self._alike.get(id(entries))
        if known is None:
            known = self._alike[id(entries)] = (entries, [], [])
        return known[1:]

    def rows_of(self, row: PlacedRow, offsets: NDArray[np.int64], parameters: Floats) -> None:
        """Take the parameters [count, parameters] of many gates of a row, whose operands begin at some places.

        A global phase that they leave has none.
        """
        self._numbered.append((row, offsets, parameters))

    def constant(self, row: PlacedRow, at: int | None = None) -> int:
        """Return the place of the operands of a row without parameters; at: the place, if it was taken already."""
        found = self.shared.get(row.name)
        if found is None:
            entries = _constants(row)
            if at is None:
                found = self.literal(entries)
            else:
                found = at
                self._literal.append((at, entries))
            self.shared[row.name] = found
        return found

    def shared_ops(self, gate: PlacedGate) -> tuple[Op, ...]:
        """Return the operations of a gate whose operands are the same for all gates of its row."""
        offset, new, made = self.constant(gate.row), tuple.__new__, []
        for mixes, reads, when, of, operand, name, unitary in gate.ops:
            made.append(new(Op, (mixes, reads, when, of, offset + operand, name, unitary)))
        return tuple(made)

    def operands(self) -> Complex:
        """Return all operands so far, complex128 [1, size], read only."""
        operands = np.zeros((1, self.size), dtype=np.complex128)
        operands[0, ONE_AT] = 1
        for offset, entries in self._literal:
            operands[0, offset : offset + entries.size] = entries.reshape(-1)
        for array, offsets, numbers in self._alike.values():
            width, first = array.shape[1], offsets[0]
            if offsets[-1] - first == (len(offsets) - 1) * width:  # one behind the other
                operands[0, first : offsets[-1] + width] = array[numbers].reshape(-1)
            else:
                operands[0, np.add.outer(offsets, np.arange(width))] = array[numbers]
        for name, (places, parameters) in self._by_row().items():
            for k, column in enumerate(GATES[name].matrix(*parameters.T)):
                operands[0, places + k] = column
        operands.setflags(write=False)
        return operands

    def _by_row(self) -> dict[str, tuple[NDArray[np.intp], Floats]]:
        """Return places and parameters [count, parameters] by the row that computes the entries.

        Gates that are factors of others are computed together with those that are not.
        """
        found: dict[str, list[tuple[NDArray[np.intp], Floats]]] = {}
        many = [(row.name, row.of_factors, row.leaves_phase, at, given) for row, at, given in self._numbered]
        for name, of_factors, leaves_phase, place, parameters in [*many, *self._listed()]:
            of_gates = [*operations_of(name, parameters, of_factors)]
            for row, given in of_gates[:-1] if leaves_phase else of_gates:
                found.setdefault(row, []).append((place, given))
                place = place + len(GATES[row].pattern)
        return {
            name: (np.concatenate([p for p, _ in of]), np.concatenate([g for _, g in of])) for name, of in found.items()
        }

    def _listed(self) -> Iterator[tuple[str, bool, bool, NDArray[np.intp], Floats]]:
        """Yield the gates of `whole` and `factored`, which leave no phase."""
        for of, of_factors in ((self.whole, False), (self.factored, True)):
            for name, alike in of.items():
                yield name, of_factors, False, np.array(alike.offsets, dtype=np.intp), self._given(alike.parameters)

    def _given(self, rows: list[Sequence[object]]) -> Floats:
        """Return the parameters of some gates, float64 [count, parameters]."""
        return np.fromiter(chain.from_iterable(rows), dtype=np.float64).reshape(len(rows), -1)


@lru_cache(maxsize=256)
def _constants(row: PlacedRow) -> Complex:
    """Return the entries of a row without parameters, those of its operations one after another; read only."""
    rows = operations_of(row.name, np.empty((1, 0)), row.of_factors)
    found = np.concatenate([GATES[of].entries(given)[0] if given.size else GATES[of].constants for of, given in rows])
    found.setflags(write=False)
    return found


def operations_of(name: str, parameters: Floats, of_factors: bool) -> Iterator[tuple[str, Floats]]:
    """Yield the rows whose entries gates have one after the other, and their parameters [count, parameters]."""
    factors = GATES[name].factors
    if not of_factors or factors is None:
        yield name, parameters
        return
    for factor in factors(*parameters.T):
        given = np.empty((len(parameters), len(factor.parameters)))
        for k, column in enumerate(factor.parameters):
            given[:, k] = column
        yield factor.name, given
