"""From the work of a sweep to its phases: items, tables of commuting diagonals, slots for numbers."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, Entry, Pattern, When
from qsim_ex.planning import patterns
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.work import NOTHING, Work, bits_of_mask
from qsim_ex.steps.step import NUMBERED, Diagonal, Item, Mix, Phase, Rename, Slot, Sweep

Places = NDArray[np.int64]

_TABLE_COST = 5.0
"""The cost of a table in multiply-adds per amplitude: a complex product and a lookup."""

_NUMBERED = frozenset(int(e) for e in NUMBERED)


class Packer:
    """The layout of the numbers and tables of one sweep; tables are behind all numbers, so their slots are set last."""

    def __init__(self) -> None:
        self.numbers: list[Places] = []
        self.tables: list[Places] = []
        self.num_numbers = 0
        self.num_tables = 0

    def slot(self, of: Pattern, source: Places, reads: tuple[int, ...]) -> Slot:
        """Reserve room for an item's numbers; a table's slot counts from the first table until `finish`."""
        if reads:
            at, self.num_tables = self.num_tables, self.num_tables + source.size
            self.tables.append(source)
            return Slot(at, int(source.size))
        places = source[list(_numbered(of))]
        at, self.num_numbers = self.num_numbers, self.num_numbers + places.size
        self.numbers.append(places)
        return Slot(at, int(places.size))

    def finish(self, tile: int, phases: list[tuple[int, list[Item]]]) -> tuple[Sweep, Places]:
        """Return the sweep, and the places of its packed array."""
        made = tuple(Phase(bits_of_mask(near), tuple(self._shifted(i) for i in items)) for near, items in phases)
        sweep = Sweep(bits_of_mask(tile), made, self.num_numbers, self.num_tables)
        parts = [*self.numbers, *self.tables]
        return sweep, np.concatenate(parts) if parts else NOTHING

    def _shifted(self, item: Item) -> Item:
        if isinstance(item, Mix | Diagonal) and item.reads:
            return replace(item, slot=Slot(item.slot.at + self.num_numbers, item.slot.count))
        return item


@lru_cache(maxsize=4096)
def _numbered(of: Pattern) -> tuple[int, ...]:
    return tuple(k for k, entry in enumerate(of) if entry in _NUMBERED)


def items_of(
    work: list[Work], held: list[Work], packer: Packer, program: NumberProgram, table: int, *, last: bool
) -> tuple[list[Item], list[Work]]:
    """Return the work of a phase as items, with diagonals as late as possible, so that many merge into one table.

    `held` are diagonals that earlier phases passed on. Also returns the diagonals that this phase passes on; with
    `last` there are none.
    """
    items: list[Item] = []
    waiting = list(held)
    for piece in work:
        if piece.kind == "diagonal":
            waiting.append(piece)
            continue
        due = [d for d in waiting if d.touch & piece.mix]
        if due:
            made, rest = _tables(due, [d for d in waiting if not d.touch & piece.mix], packer, program, table)
            items += made
            waiting = rest
        items.append(_dense_item(piece, packer))
    if last:
        made, waiting = _tables(waiting, [], packer, program, table)
        items += made
    return items, waiting


def _dense_item(piece: Work, packer: Packer) -> Item:
    if piece.kind == "rename":
        return Rename(piece.bits, piece.when, piece.to, piece.label)
    slot = packer.slot(piece.pattern, piece.source, piece.reads)
    return Mix(piece.bits, piece.reads, piece.when, piece.pattern, slot, piece.label)


class _Group:
    """Diagonals that share one table; its index bits are parities that span all their parities over GF(2)."""

    def __init__(self, first: Work) -> None:
        self.members = [first]
        self.basis: list[int] = []
        self._reduced: dict[int, tuple[int, int]] = {}  # leading bit -> (reduced mask, the basis masks it is a sum of)
        for mask in first.parities:
            self._add(mask)

    def combination(self, mask: int) -> tuple[int, int]:
        """Return the part of a parity outside the span, and the set of basis parities whose sum is the rest."""
        made = 0
        while mask:
            lead = mask.bit_length()
            if lead not in self._reduced:
                # Lower leading bits may still be reducible, but they can't remove this one: it is new.
                return mask, made
            other, how = self._reduced[lead]
            mask ^= other
            made ^= how
        return 0, made

    def _add(self, mask: int) -> None:
        rest, made = self.combination(mask)
        if rest:
            self._reduced[rest.bit_length()] = (rest, made ^ (1 << len(self.basis)))
            self.basis.append(mask)

    def spans(self, piece: Work) -> bool:
        """Return whether the parities that index the table already determine a diagonal."""
        return not any(self.combination(mask)[0] for mask in piece.parities)

    def take(self, piece: Work, limit: int) -> bool:
        """Add a diagonal if the table stays within `limit` parities."""
        before = len(self.basis)
        for mask in piece.parities:
            self._add(mask)
        if len(self.basis) > limit:
            while len(self.basis) > before:
                self.basis.pop()
                self._reduced.popitem()  # the last that was put in, as in `basis`
            return False
        self.members.append(piece)
        return True


def _tables(
    due: list[Work], optional: list[Work], packer: Packer, program: NumberProgram, limit: int
) -> tuple[list[Item], list[Work]]:
    """Merge diagonals that are due into as few tables as fit; optional ones are added to groups that are tables anyway.

    An optional diagonal joins a single one only if it depends on nothing else. (Filling tables reduced QAOA at 24 wires
    from 76 tables to 36; filling up single diagonals too made the random grid a tenth slower.)
    Returns the items and the optional diagonals that did not join.
    """
    groups: list[_Group] = []
    for piece in due:
        if not any(group.take(piece, limit) for group in groups):
            groups.append(_Group(piece))

    def joins(piece: Work) -> bool:
        return any((len(group.members) > 1 or group.spans(piece)) and group.take(piece, limit) for group in groups)

    rest = [piece for piece in optional if not joins(piece)]
    return [item for group in groups for item in _diagonal_items(group, packer, program)], rest


def _diagonal_items(group: _Group, packer: Packer, program: NumberProgram) -> list[Item]:
    separate = len(group.members) == 1 or sum(map(_alone, group.members)) <= _TABLE_COST
    if separate:
        return [
            Diagonal(d.reads, d.when, d.pattern, packer.slot(d.pattern, d.source, d.reads), d.label)
            for d in group.members
        ]
    columns, factors, classes = [], [], []
    for piece in group.members:
        coordinates = tuple([group.combination(mask)[1] for mask in piece.parities])
        share = _share(piece.pattern, coordinates, len(piece.reads), _condition(piece.when), len(group.basis))
        classes.append(share.classes)
        columns.append(share.columns)
        factors.append(piece.source[share.factors])
    of = patterns.elementwise(tuple(classes))
    reads = tuple(group.basis)
    incidence = np.concatenate(columns).T.astype(np.float64)
    slot = packer.slot(of, program.fold(incidence, np.concatenate(factors)), reads)
    return [Diagonal(reads, ALWAYS, of, slot, f"{len(group.members)} phases")]


def _alone(piece: Work) -> float:
    """Return the multiply-adds per amplitude of a diagonal outside a table."""
    return patterns.diagonal_work(piece.pattern) * 0.5 ** piece.when.mask.bit_count()


@lru_cache(maxsize=4096)
def _condition(when: When) -> int:
    """Return the values of a condition's bits, packed in the order of `Work.parities`."""
    return sum((when.value >> bit & 1) << k for k, bit in enumerate(bits_of_mask(when.mask)))


class _Share(NamedTuple):
    """The contribution of a diagonal to a table.

    classes: the class of its factor for each entry of the table. factors: which of its entries are not 1. columns: bool
    [factors, entries], the entries of the table that contain each factor.
    """

    classes: Pattern
    factors: Places
    columns: NDArray[np.bool_]


@lru_cache(maxsize=4096)
def _share(of: Pattern, coordinates: tuple[int, ...], num_reads: int, wanted: int, num_basis: int) -> _Share:
    """Return the share of a diagonal whose parities are the sums `coordinates` of the table's parities.

    wanted: the result of `_condition`.
    """
    index = np.arange(1 << num_basis, dtype=np.int64)
    values = [np.bitwise_count(index & c).astype(np.int64) & 1 for c in coordinates]
    block = np.zeros_like(index)
    for k in range(num_reads):
        block |= values[k] << k
    for k, value in enumerate(values[num_reads:]):
        block[value != (wanted >> k & 1)] = len(of)  # where the condition fails the factor is 1
    known = np.frombuffer(of + bytes([Entry.ONE]), dtype=np.uint8)
    factors = np.flatnonzero(known != Entry.ONE)
    return _Share(known[block].tobytes(), factors, block == factors[:, None])
