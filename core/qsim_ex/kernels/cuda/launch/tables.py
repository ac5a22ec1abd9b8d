"""The numbers that sweeps read from a GPU's memory: tables of phases, made there from their few factors.

A table of ten parities has 1024 entries and some forty factors. Made on the host and sent, the tables of a QFT of 20
qubits took 120 of the 290 µs of a run; one small kernel makes them from factors that are its argument.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import ONE_AT
from qsim_ex.kernels.cuda.fixed import fixed
from qsim_ex.kernels.cuda.launch.device_coefficients import DeviceCoefficientProgram, sent
from qsim_ex.kernels.cuda.runtime import Array, ByValue, Runtime
from qsim_ex.precision import BY_REAL
from qsim_ex.steps.coefficients import Bound, Coefficients, Fold

Places = NDArray[np.int64]
Words = NDArray[np.uint32]

NOTHING = np.zeros(0, dtype=np.int64)

BY_VALUE = (("numbers_few", 448), ("numbers_some", 1280), ("numbers_many", 4000))
"""Kernels that take this many real numbers by value, see fixed_kernels/numbers.cu."""

_OTHER_ARGUMENTS = 64

PIECE = 32 << 20
"""The bytes of the numbers of rows that are sent at a time."""


class TableRecipe:
    """The way to make numbers at some positions of a plan's coefficient buffer on the device.

    take: positions in ``[re 0, im 0, re 1, … of the coefficient buffer, 0, 1, −1]``, see `packing`.
    """

    def __init__(self, take: Places, numbers: Coefficients, real: type) -> None:
        tables_at, size = numbers.tables_at(), numbers.size()
        self._real, self._precision = real, BY_REAL[np.dtype(real)]
        self.count = len(take)
        constant, table = take >= 2 * size, (take >= 2 * tables_at) & (take < 2 * size)
        direct, which = _distinct(take[~constant & ~table], 2 * tables_at)
        wanted, entry_of = _distinct((take[table] >> 1) - tables_at, size - tables_at)
        factors, records, begins = _records(numbers, wanted, self.count)
        self.take = np.concatenate([np.stack([2 * factors, 2 * factors + 1], axis=1).ravel(), direct])
        words = np.zeros(self.count, dtype=np.uint32)
        words[~constant & ~table] = (2 * len(factors) + which) << 2
        words[table] = begins[entry_of] << 2 | 1 + (take[table] & 1)
        words[constant] = (take[constant] - 2 * size) << 2 | 3
        self._words = np.concatenate([words, records])
        self._on_device: Array = None
        self._takes: Array = None
        self._numbers = numbers
        self._program: DeviceCoefficientProgram | None = None

    def make(self, runtime: Runtime, view: NDArray[np.float64]) -> Array:
        """Make the numbers on the device, in its precision; view: the coefficient buffer without tables, as reals."""
        if self._on_device is None:
            self._on_device = runtime.upload(self._words)
        out = runtime.empty(self.count, self._real)
        name, given = self._given(runtime, view)
        fixed.over(runtime, name, self._precision, self.count, self._on_device, out, self.count, given)
        return out

    def make_rows(self, runtime: Runtime, numbers: Bound) -> Array:
        """Make the numbers for every row of a batch, one row behind the other.

        Rows are sent whole, since selecting numbers takes the host longer, and in pieces, so that little memory is
        page-locked.
        """
        if self._on_device is None:
            self._on_device = runtime.upload(self._words)
        if self._takes is None:
            self._takes = runtime.upload(self.take.astype(np.uint32))
        if self._program is None:
            self._program = DeviceCoefficientProgram(self._numbers)
        known = numbers.given if numbers.operands is None else numbers.operands
        out = runtime.empty(len(known) * self.count, self._real)
        pieces = -(-self.count // fixed.THREADS)
        most = max(1, PIECE // max(known[:1].nbytes, 1))
        for first in range(0, len(known), most):
            part = known[first : first + most]
            made = sent(runtime, part) if numbers.operands is None else self._program(runtime, part)
            places = self._on_device, self._takes, out[first * self.count :], self.count
            shape = made.width, made.others, np.uint32(made.known), np.uint32(pieces)
            blocks, threads = len(part) * pieces, fixed.THREADS
            name, numbers_at = "numbers_rows", (made.given, made.made)
            fixed.launch(runtime, name, self._precision, blocks, threads, *places, *numbers_at, *shape)
        return out

    def by_value(self, room: int) -> tuple[str, int] | None:
        """Return the kernel that takes all input by value, and its number of reals; None if the input is too large.

        room: the bytes that a kernel may take.
        """
        for name, most in BY_VALUE:
            if len(self.take) <= most and 8 * most + _OTHER_ARGUMENTS <= room:
                return name, most
        return None

    def _given(self, runtime: Runtime, view: NDArray[np.float64]) -> tuple[str, ByValue | Array]:
        """Return the input numbers, and the kernel that takes them in this form."""
        found = self.by_value(runtime.room)
        if found is None:
            return "numbers", runtime.upload(view.take(self.take))
        name, most = found
        values = np.empty(most)
        view.take(self.take, out=values[: len(self.take)], mode="clip")
        return name, ByValue(values)


class HostEntries:
    """Entries of tables that the host needs, since small tables are given to kernels by value.

    places: the entries' places in the coefficient buffer, ascending.
    """

    def __init__(self, places: Places, numbers: Coefficients) -> None:
        self._places = places
        lists: list[Places] = []
        for fold, tables, rows in _chosen(numbers, places - numbers.tables_at()) if len(places) else ():
            factors = fold.factors[tables]
            lists += [np.append(own[row], ONE_AT) for own, row in zip(factors, rows, strict=True)]
        self._factors = np.concatenate([NOTHING, *lists])
        self._begins = np.cumsum([0, *map(len, lists)])[:-1]

    def make(self, buffer: NDArray[np.complex128]) -> None:
        """Write the entries into the coefficient buffer."""
        if len(self._places):
            buffer[self._places] = np.multiply.reduceat(buffer.take(self._factors), self._begins)

    def of_rows(self, given: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Return the entries for every row of a batch, [rows, places], from the input of the tables."""
        if not len(self._places):
            return np.zeros((len(given), 0), dtype=np.complex128)
        return np.asarray(np.multiply.reduceat(given.take(self._factors, axis=1), self._begins, axis=1))


def _records(numbers: Coefficients, wanted: Places, before: int) -> tuple[Places, Words, Places]:
    """Return the factors of all tables; a record for each wanted entry; and the records' places, behind `before` words.

    wanted: numbers of entries, counted from the first table, ascending.
    """
    factors, parts, begins = [NOTHING], [np.zeros(0, dtype=np.uint32)], [NOTHING]
    first, at = 0, before
    for fold, tables, rows in _chosen(numbers, wanted):
        count = fold.factors.shape[1]
        record = np.zeros((len(rows), 2 + -(-count // 32)), dtype="<u4")
        record[:, 0], record[:, 1] = first + count * tables, count
        record.view(np.uint8)[:, 8 : 8 + -(-count // 8)] = np.packbits(rows, axis=1, bitorder="little")
        begins.append(at + record.shape[1] * np.arange(len(record)))
        parts.append(record.ravel())
        factors.append(fold.factors.ravel())
        first, at = first + fold.factors.size, at + record.size
    return np.concatenate(factors), np.concatenate(parts), np.concatenate(begins)


def _distinct(values: Places, end: int) -> tuple[Places, Places]:
    """Return the distinct values of numbers below `end`, ascending, and the index of each; faster than sorting."""
    there = np.zeros(end, dtype=np.bool_)
    there[values] = True
    distinct = np.flatnonzero(there)
    number = np.empty(end, dtype=np.int64)
    number[distinct] = np.arange(len(distinct))
    return distinct, number[values]


def _chosen(numbers: Coefficients, wanted: Places) -> Iterator[tuple[Fold, Places, NDArray[np.bool_]]]:
    """Yield for the tables of each fold the wanted entries that are theirs, and their factors, [entries, factors].

    wanted: numbers of entries, counted from the first table, ascending.
    """
    first = 0
    for fold in numbers.program:
        if isinstance(fold, Fold):
            tables, entries, factors = fold.incidence.shape
            low, high = wanted.searchsorted((first, first + tables * entries))
            inside = wanted[low:high] - first
            yield fold, inside // entries, fold.incidence.reshape(-1, factors)[inside] != 0
            first += tables * entries
