"""The derivatives with respect to a sweep's packed numbers, made of the sums of its written kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Entry
from qsim_ex.kernels.cuda.adjoint.write.structure import Part, Product

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_CONSTANTS = {Entry.ZERO: -3, Entry.ONE: -2, Entry.MINUS_ONE: -1}
"""The places, from the end, of what entries without a number are."""


class MatrixSums(NamedTuple):
    """A matrix: of each entry its number, or -1, and its class; its products, and the first one's sum."""

    entries: tuple[tuple[int, Entry], ...]
    products: tuple[Product, ...]
    first: int


class TableSums(NamedTuple):
    """A table of 2^reads factors: its first number, and its first sum, of a sum for each mask of signs."""

    at: int
    reads: int
    first: int


class _Matrices(NamedTuple):
    """Matrices of one size: the numbers of their entries, and of which sums, times what, the entries of K are sums."""

    entries: Places
    to: Places
    sums: Places
    factors: Complex


@dataclass(frozen=True, eq=False)
class Derivatives:
    """How derivatives follow from sums.

    count: the packed numbers. phases: numbers that are factors, and their sums, int [2, phases].
    """

    count: int
    phases: Places
    matrices: tuple[_Matrices, ...]
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

    def __call__(self, sums: Floats, numbers: Complex) -> Complex:
        """Return derivatives with respect to the numbers v of one row, complex128 [count].

        A factor v has dv = i·v·dφ, and a matrix V has dV = V·D; see `write.structure`.
        """
        found = np.zeros(self.count + len(_CONSTANTS), dtype=np.complex128)
        factors, of_factors = self.phases
        np.add.at(found, factors, -1j * numbers[factors] * sums[of_factors])
        for at, reads, first in self.tables:
            size = 1 << reads
            entries = np.arange(size)
            signs = 1 - 2.0 * (np.bitwise_count(entries[:, None] & entries) & 1)
            here = slice(at, at + size)
            found[here] -= 1j * numbers[here] * (signs @ sums[first : first + size]) / size
        known = np.concatenate([numbers, [0, 1, -1]])
        for one in self.matrices:
            k = np.zeros(one.entries.size, dtype=np.complex128)
            np.add.at(k, one.to, one.factors * sums[one.sums])
            np.add.at(found, one.entries, -known[one.entries] @ k.reshape(one.entries.shape))
        return found[: self.count]


def _group(matrices: Sequence[MatrixSums]) -> _Matrices:
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
            elif part is Part.IMAG:
                to += [(at, one.first + k, 0.5j), (mirrored, one.first + k, 0.5j)]
            else:
                to += [(at, one.first + k, 0.5), (mirrored, one.first + k, -0.5)]
    places, sums, factors = zip(*to, strict=True) if to else ((), (), ())
    shape = len(matrices), size, size
    return _Matrices(
        np.array(entries, dtype=np.int64).reshape(shape),
        np.array(places, dtype=np.int64),
        np.array(sums, dtype=np.int64),
        np.array(factors, dtype=np.complex128),
    )
