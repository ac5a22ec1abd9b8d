"""Which inner products tell all derivatives of a unitary matrix, given the classes of its entries.

A unitary V has dV = V·D with an anti-Hermitian D, so that of Σ y l† only the anti-Hermitian part K counts, and
Re⟨Vl|dV|y⟩ = Re tr(D K). Where entries are real or imaginary alone, so are those of D, and 0 on the diagonal: a
rotation needs one real sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from qsim_ex.circuit.ops import Entry


class Component(IntEnum):
    """The real and the imaginary part of an entry of K."""

    REAL = 0
    IMAG = 1


class InnerProduct(NamedTuple):
    """A part of an entry of K, at or above the diagonal."""

    row: int
    column: int
    part: Component


_PLAIN = {Entry.ONE: 0, Entry.MINUS_ONE: 0, Entry.REAL: 0, Entry.IMAG: 1}


@lru_cache(maxsize=1024)
def products(classes: tuple[Entry, ...]) -> tuple[InnerProduct, ...]:
    """Return the products for a unitary matrix whose entries have these classes, in C order."""
    size = int(len(classes) ** 0.5)
    rows = [classes[k * size : k * size + size] for k in range(size)]
    found: list[InnerProduct] = []
    left = set(range(size))
    while left:
        turned = _turned(rows, min(left))
        left -= turned.keys()
        known = all(number >= 0 for number in turned.values())
        for column, number in sorted(turned.items()):
            if not known:
                found.append(InnerProduct(column, column, Component.IMAG))
            for other in sorted(turned):
                if other > column and not known:
                    found += [InnerProduct(column, other, part) for part in Component]
                elif other > column:
                    found.append(InnerProduct(column, other, Component(number ^ turned[other])))
    return tuple(found)


def _turned(rows: Sequence[Sequence[Entry]], first: int) -> dict[int, int]:
    """Return the columns that share rows with one, and whether each is i times a real one: 0 or 1, −1 if unknown."""
    columns, of_rows = {first: 0}, dict[int, int]()
    known, waiting = True, [first]
    while waiting:
        column = waiting.pop()
        for number, row in enumerate(rows):
            for other, _ in _filled(row) if row[column] != Entry.ZERO else ():
                known &= row[other] in _PLAIN and row[column] in _PLAIN
                own = _PLAIN.get(row[column], 0) ^ columns[column]
                known &= of_rows.setdefault(number, own) == own
                turned = _PLAIN.get(row[other], 0) ^ own
                if other not in columns:
                    columns[other] = turned
                    waiting.append(other)
                known &= columns[other] == turned
    return columns if known else dict.fromkeys(columns, -1)


def _filled(row: Sequence[Entry]) -> Iterator[tuple[int, Entry]]:
    return ((column, entry) for column, entry in enumerate(row) if entry != Entry.ZERO)
