"""Circuits: structure and numbers kept apart.

Every adapter translates into a `Circuit`. Its instructions hold no numbers: the entries of all matrices are stored in
one flat array, `operands`, and an `Op` holds the offset of its own. Two circuits that differ in angles alone have equal
instructions, so they share one plan and one set of compiled kernels.

`builder.CircuitBuilder` makes them: it places rows of the gate table on wires (`PlacedGate`) and collects their numbers
(`OperandBuilder`), which are computed at the end, for all gates of a row together. `Remembered` keeps circuits made of
a framework's.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit import check
from qsim_ex.circuit.gate import Gate
from qsim_ex.circuit.gates import GATES, WHOLE_UNDER_CONTROLS
from qsim_ex.circuit.ops import ALWAYS, Instruction, Op, Pattern, Permutation, When
from qsim_ex.circuit.quarters import written
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.errors import UnknownInstruction, WireError, nearest

ZERO_AT, ONE_AT = 0, 1
"""The places of the constants 0 and 1 in every operand array."""


@dataclass(frozen=True, eq=False)
class Circuit:
    """Instructions on `num_qubits` wires and `num_clbits` classical bits, and the numbers that they refer to.

    operands: complex128 [batch or 1, total], read only; entries 0 and 1 are the constants 0 and 1.
    structure: everything except the numbers; the same object for circuits that differ in numbers alone.
    """

    num_qubits: int
    num_clbits: int
    instructions: tuple[Instruction, ...]
    operands: NDArray[np.complex128]
    structure: Structure = field(init=False, repr=False)

    def __post_init__(self) -> None:
        structure = structure_of(self.num_qubits, self.num_clbits, self.instructions)
        object.__setattr__(self, "structure", structure)
        object.__setattr__(self, "instructions", structure.instructions)  # one tuple for all of them

    @classmethod
    def of_structure(cls, structure: Structure, operands: NDArray[np.complex128]) -> Circuit:
        """Return the circuit of a known structure, without hashing its instructions again."""
        made = cls.__new__(cls)
        num_qubits, num_clbits = structure.num_qubits, structure.num_clbits
        known = {"num_qubits": num_qubits, "num_clbits": num_clbits, "instructions": structure.instructions}
        made.__dict__.update(known, operands=operands, structure=structure)
        return made

    def __repr__(self) -> str:
        return (
            f"Circuit({self.num_qubits} wires, {self.num_clbits} classical bits, {len(self.instructions)} instructions)"
        )

    @property
    def key(self) -> str:
        """A short digest of the structure that is the same in every process."""
        return self.structure.key

    @property
    def num_gates(self) -> int:
        """The number of operations and permutations."""
        return sum(isinstance(i, Op | Permutation) for i in self.instructions)


# --- gates on wires --------------------------------------------------------------------------------------------------

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
    numbers = check.wires((*wires, *controls), num_qubits, name)
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


# --- numbers ---------------------------------------------------------------------------------------------------------

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
        self._numbered: list[tuple[str, bool, NDArray[np.int64], Floats]] = []
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

    def rows_of(self, row: str, of_factors: bool, offsets: NDArray[np.int64], parameters: Floats) -> None:
        """Take the parameters [count, parameters] of many gates of a row, whose operands begin at some places."""
        self._numbered.append((row, of_factors, offsets, parameters))

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
            entries = GATES[name].entries(parameters)
            operands[0, np.add.outer(places, np.arange(entries.shape[1]))] = entries
        operands.setflags(write=False)
        return operands

    def _by_row(self) -> dict[str, tuple[NDArray[np.intp], Floats]]:
        """Return places and parameters [count, parameters] by the row that computes the entries.

        Gates that are factors of others are computed together with those that are not.
        """
        found: dict[str, list[tuple[NDArray[np.intp], Floats]]] = {}
        for name, of_factors, place, parameters in [*self._numbered, *self._listed()]:
            for row, given in operations_of(name, parameters, of_factors):
                found.setdefault(row, []).append((place, given))
                place = place + len(GATES[row].pattern)
        return {
            name: (np.concatenate([p for p, _ in of]), np.concatenate([g for _, g in of])) for name, of in found.items()
        }

    def _listed(self) -> Iterator[tuple[str, bool, NDArray[np.intp], Floats]]:
        """Yield the gates of `whole` and `factored` as `rows_of` takes them."""
        for of, of_factors in ((self.whole, False), (self.factored, True)):
            for name, alike in of.items():
                yield name, of_factors, np.array(alike.offsets, dtype=np.intp), self._given(alike.parameters)

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


# --- circuits that were made of a framework's ------------------------------------------------------------------------

MOST = 200_000
"""So many instructions are kept in all, of the circuits that were used last; one takes some 500 bytes."""


class _Entry(NamedTuple):
    """What was made of an object, what it was made from, and how many instructions that has."""

    of: weakref.ref[Any]
    made_from: Any
    made: Any
    size: int


class Remembered:
    """What was made of some objects, by their identity; an object that ends is forgotten, and none is kept alive.

    most: the most instructions of all objects together.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = self._room = most
        self._entries: dict[tuple[int, Hashable], _Entry] = {}  # in the order in which they were used
        thresholds.depends(self)

    def get(self, of: object, how: Hashable, made_from: object) -> Any:
        """Return what was made of an object from an equal reading of it; None if there is nothing.

        how: further arguments on which it depends.
        """
        key = id(of), how
        known = self._entries.get(key)
        if known is None or known.of() is not of or known.made_from != made_from:
            return None
        if self._entries.pop(key, None) is not None:  # another thread may have removed it
            self._entries[key] = known
        return known.made

    def put(self, of: object, how: Hashable, made_from: object, made: object, size: int) -> None:
        """Remember what was made of an object; what was used longest ago makes room."""
        key = id(of), how
        self._entries.pop(key, None)
        if size > self._most:
            return
        self._entries[key] = _Entry(weakref.ref(of, lambda _: self._entries.pop(key, None)), made_from, made, size)
        self._room -= size
        if self._room < 0:  # else there is room, however many objects have ended since all were counted
            while (total := sum(entry.size for entry in list(self._entries.values()))) > self._most:
                self._entries.pop(next(iter(list(self._entries)), key), None)
            self._room = self._most - total

    def cache_clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._room = self._most

    def __len__(self) -> int:
        """Return of how many objects something is remembered."""
        return len(self._entries)
