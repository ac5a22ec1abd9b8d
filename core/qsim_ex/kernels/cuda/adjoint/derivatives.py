"""The derivatives with respect to a sweep's packed numbers, made of the sums of its written kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.derivatives import add_at
from qsim_ex.circuit.ops import Entry
from qsim_ex.kernels.cuda.adjoint.write.structure import Component, InnerProduct

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_CONSTANTS = {Entry.ZERO: -3, Entry.ONE: -2, Entry.MINUS_ONE: -1}
"""The places, from the end, of what entries without a number are."""


class MatrixSums(NamedTuple):
    """A matrix: of each entry its number, or -1, and its class; its products, and the first one's sum."""

    entries: tuple[tuple[int, Entry], ...]
    products: tuple[InnerProduct, ...]
    first: int


class TableSums(NamedTuple):
    """A table of 2^reads factors: its first number, and its first sum, of a sum for each mask of signs."""

    at: int
    reads: int
    first: int


class _MatrixGroup(NamedTuple):
    """Matrices of one size: the numbers of their entries, and of which sums, times what, the entries of K are sums."""

    entries: Places
    to: Places
    sums: Places
    factors: Complex

    def moved(self, begin: int, first: int) -> Self:
        """Return the same for numbers and sums that begin elsewhere."""
        entries = np.where(self.entries < 0, self.entries, self.entries + begin)
        return self._replace(entries=entries, sums=self.sums + first)


@dataclass(frozen=True, eq=False)
class Derivatives:
    """How derivatives follow from sums.

    count: the packed numbers. phases: numbers that are factors, and their sums, int [2, phases].
    """

    count: int
    phases: Places
    matrices: tuple[_MatrixGroup, ...]
    tables: tuple[TableSums, ...]

    @classmethod
    def of(
        cls,
        count: int,
        phases: Sequence[tuple[int, int]],
        matrices: Sequence[MatrixSums],
        tables: Sequence[TableSums],
    ) -> Self:
        """Return the same as arrays."""
        sizes = sorted({len(one.entries) for one in matrices})
        grouped = tuple(_group([one for one in matrices if len(one.entries) == size]) for size in sizes)
        return cls(count, np.array(phases, dtype=np.int64).reshape(-1, 2).T, grouped, tuple(tables))

    @classmethod
    def joined(cls, parts: Sequence[tuple[Self, int, int]]) -> Self:
        """Return those of several kernels, each with where its numbers and its sums begin among those of all."""
        count = max([begin + one.count for one, begin, _ in parts], default=0)
        phases = [one.phases + np.array([[begin], [first]]) for one, begin, first in parts]
        tables = [
            TableSums(table.at + begin, table.reads, table.first + first)
            for one, begin, first in parts
            for table in one.tables
        ]
        moved = [matrices.moved(begin, first) for one, begin, first in parts for matrices in one.matrices]
        sizes = sorted({matrices.entries.shape[1] for matrices in moved})
        grouped = tuple(_joined([one for one in moved if one.entries.shape[1] == size]) for size in sizes)
        return cls(count, np.concatenate([np.zeros((2, 0), dtype=np.int64), *phases], axis=1), grouped, tuple(tables))

    @cached_property
    def _entries(self) -> list[tuple[Places, Places]]:
        """Of tables of one size the numbers of their entries, and their sums, each int [tables, 2^reads]."""
        found = []
        for reads in sorted({table.reads for table in self.tables}):
            some = [(table.at, table.first) for table in self.tables if table.reads == reads]
            begins = np.array(some, dtype=np.int64).T[:, :, None] + np.arange(1 << reads)
            found.append((begins[0], begins[1]))
        return found

    def __call__(self, sums: Floats, numbers: Complex) -> Complex:
        """Return derivatives with respect to the numbers v of one row, complex128 [count].

        A factor v has dv = i·v·dφ, and a matrix V has dV = V·D; see `write.structure`.
        """
        found = np.zeros(self.count + len(_CONSTANTS), dtype=np.complex128)
        factors, of_factors = self.phases
        parts = [(factors, -1j * numbers[factors] * sums[of_factors])]
        for entries, of_entries in self._entries:
            own = sums[of_entries] @ _signs(entries.shape[1]) / entries.shape[1]
            parts.append((entries.ravel(), (-1j * numbers[entries] * own).ravel()))
        known = np.concatenate([numbers, [0, 1, -1]])
        for one in self.matrices:
            k = np.zeros(one.entries.size, dtype=np.complex128)
            if one.to.size:
                add_at(k, one.to, one.factors * sums[one.sums])
            parts.append(
                (one.entries.ravel() % len(found), -(known[one.entries] @ k.reshape(one.entries.shape)).ravel())
            )
        places, values = (np.concatenate(some) for some in zip(*parts, strict=True))
        if places.size:
            add_at(found, places, values)
        return found[: self.count]


@lru_cache(maxsize=8)
def _signs(size: int) -> Floats:
    """Return the signs of a table's entries in its sums, which are those of a Walsh–Hadamard transform."""
    entries = np.arange(size)
    signs: Floats = 1 - 2.0 * (np.bitwise_count(entries[:, None] & entries) & 1)
    return signs


def _group(matrices: Sequence[MatrixSums]) -> _MatrixGroup:
    """Return matrices of one size as arrays."""
    size = int(len(matrices[0].entries) ** 0.5)
    entries = [[number if number >= 0 else _CONSTANTS[entry] for number, entry in one.entries] for one in matrices]
    to: list[tuple[int, int, complex]] = []
    for which, one in enumerate(matrices):
        begin = which * size * size
        for k, (row, column, part) in enumerate(one.products):
            at, mirrored = begin + row * size + column, begin + column * size + row
            if row == column:
                to.append((at, one.first + k, 1j))
            elif part is Component.IMAG:
                to += [(at, one.first + k, 0.5j), (mirrored, one.first + k, 0.5j)]
            else:
                to += [(at, one.first + k, 0.5), (mirrored, one.first + k, -0.5)]
    places, sums, factors = zip(*to, strict=True) if to else ((), (), ())
    shape = len(matrices), size, size
    return _MatrixGroup(
        np.array(entries, dtype=np.int64).reshape(shape),
        np.array(places, dtype=np.int64),
        np.array(sums, dtype=np.int64),
        np.array(factors, dtype=np.complex128),
    )


def _joined(matrices: Sequence[_MatrixGroup]) -> _MatrixGroup:
    """Return matrices of one size, group after group."""
    begins = np.cumsum([0, *[one.entries.size for one in matrices]])
    return _MatrixGroup(
        np.concatenate([one.entries for one in matrices]),
        np.concatenate([one.to + begin for one, begin in zip(matrices, begins, strict=False)]),
        np.concatenate([one.sums for one in matrices]),
        np.concatenate([one.factors for one in matrices]),
    )
