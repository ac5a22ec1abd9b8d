"""`bind`: the execution of a plan's coefficient program on the operands of one circuit, or of many circuits at once.

This is all that a variational loop does on the host for each point, so native code does it: one buffer, places as flat
arrays, every instruction writing its results to their final places. The operations of a row of a batch and their order
do not depend on the other rows.

For the steps of one compiled plan native code runs the program as the planner has it (`StepCoefficients`), without the
lists of places that `Coefficients` has. Products stand in the places of their right factors, and operands stay where
they are: a brick circuit of a million gates makes 5 million numbers, where the buffer of `Bound` has 42 million.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.rotations import roots
from qsim_ex.native.library import REFUSED, address, check_cancelled, function, refusal, unchecked
from qsim_ex.steps.coefficients import Bound, Coefficients, Euler, Fold, MakeTables, Product
from qsim_ex.steps.compiled import NativeCoefficients
from qsim_ex.steps.plan import Plan
from qsim_ex.steps.plan_arrays import EULER, FOLD, KIND, PRODUCT, PlanArrays

Complex = NDArray[np.complex128]


def bind(plan: Plan, operands: Complex) -> Bound:
    """Run a plan's coefficient program on operands [1, total]; return a packed array [count] for each of `plan.steps`.

    The circuit may have more operands than the plan, which may be of a part of the circuit.
    """
    return fill(plan.coefficients, operands[0])


def fill(numbers: Coefficients, operands: Complex) -> Bound:
    """Run a coefficient program on operands [total]; the buffer and its tables are made when they are asked for."""
    if isinstance(numbers, NativeCoefficients) and numbers.arrays is not None:
        return StepCoefficients(numbers, numbers.arrays, operands)
    binder = _binder(numbers)
    return Bound(numbers, lambda: binder(operands), binder.tables, operands)


def fill_batch(numbers: Coefficients, operands: Complex) -> Bound:
    """Run a coefficient program on operands [rows, total], all rows at once; each row equals the result of `fill`.

    Operands that are alike for all rows may be one row, [1, total].
    """
    binder = _binder(numbers)
    return Bound(numbers, lambda: binder.batch(operands), binder.tables_of_rows, operands)


class StepCoefficients(Bound):
    """A packed array [count] for each step of a compiled plan, made while they are iterated.

    A coefficient buffer is made for those who ask for one, and then the packed arrays are taken from it.
    """

    __slots__ = ("_arrays", "_filled")

    def __init__(self, numbers: Coefficients, arrays: PlanArrays, operands: Complex) -> None:
        self.numbers = numbers
        self.operands = np.ascontiguousarray(operands, dtype=np.complex128)
        self._make = lambda: _binder(numbers)(operands)
        self._fold = lambda buffer: _binder(numbers).whole(buffer)
        self._given = None
        self._arrays = arrays
        self._filled: Complex | None = None

    def packed(self, arrays: PlanArrays) -> Complex | None:
        """Return the packed numbers of all steps of a plan, one behind the other, for the caller to change."""
        if arrays is not self._arrays or len(arrays.packed) > thresholds.now.packed_at_once:
            return None
        assert self.operands is not None
        if arrays.size == arrays.num_operands:
            return self.operands.take(arrays.packed)
        at = address(self.operands)
        made, out = _filled(arrays, at), np.empty(len(arrays.packed), dtype=np.complex128)
        function("plan_pack")(arrays.owner.handle, at, address(made), 0, len(out), address(out))
        return out

    def __len__(self) -> int:
        return len(self._arrays.steps)

    def __iter__(self) -> Iterator[Complex]:
        if self._given is not None:
            return super().__iter__()
        arrays, operands = self._arrays, self.operands
        assert operands is not None
        nothing_made = arrays.size == arrays.num_operands
        if nothing_made and len(arrays.packed) <= thresholds.now.packed_by_numpy:
            return _parts(operands.take(arrays.packed), arrays.packed_ends)
        at = address(operands)  # once, since it takes a microsecond
        if self._filled is None:
            self._filled = _filled(arrays, at)
        return _packed(arrays, at, self._filled)


def _filled(arrays: PlanArrays, operands: int) -> Complex:
    """Return all numbers of a plan that are no operands, given the address of these."""
    made = np.empty(arrays.size - arrays.num_operands, dtype=np.complex128)
    if not made.size:
        return made
    given = arrays.owner.handle, operands, address(made), _roots()[0]
    fill, at = unchecked("plan_fill"), 0
    while left := fill(*given, at, thresholds.now.coefficients_at_once):
        if left == REFUSED:
            raise refusal(fill)
        at += thresholds.now.coefficients_at_once
        check_cancelled()
    return made


def _packed(arrays: PlanArrays, operands: int, made: Complex) -> Iterator[Complex]:
    """Yield the packed numbers of each step, given the address of the operands and all other numbers."""
    ends, at = arrays.packed_ends, address(made) if made.size else 0
    pack, given = function("plan_pack"), (arrays.owner.handle, operands, at)
    begin = step = 0
    while step < len(ends):
        last = max(step + 1, bisect_right(ends, begin + thresholds.now.packed_at_once, step))
        some = np.empty(ends[last - 1] - begin, dtype=np.complex128)
        pack(*given, begin, ends[last - 1], address(some))
        yield from _parts(some, [end - begin for end in ends[step:last]])
        begin, step = ends[last - 1], last


def _parts(numbers: Complex, ends: Sequence[int]) -> Iterator[Complex]:
    """Return the parts of an array that end at these places."""
    return iter([numbers[begin:end] for begin, end in pairwise([0, *ends])])


@lru_cache(maxsize=1)
def _roots() -> tuple[int, Complex]:
    """Return the address of the roots of unity, and these: threads that begin together may have made others, too."""
    kept = roots()
    return address(kept), kept


@lru_cache(maxsize=256)
def _binder(numbers: Coefficients) -> _Binder:
    return _Binder(numbers)


class _Binder:
    """A coefficient program as flat arrays, which core/native/planner/coefficients/bind.cpp runs."""

    def __init__(self, numbers: Coefficients) -> None:
        self._num_operands = numbers.num_operands
        self._program = program_arrays(numbers)
        rows = self._program.rows
        self._size = numbers.num_operands + self._program.size
        self._work = bool(len(rows)) and bool((rows[:, KIND] != FOLD).any())
        self._folds = bool(len(rows)) and bool((rows[:, KIND] == FOLD).any())

    def __call__(self, operands: Complex) -> Complex:
        """Return the coefficient buffer without tables."""
        buffer = np.empty(self._size, dtype=np.complex128)
        buffer[: self._num_operands] = operands[: self._num_operands]
        if self._work:
            self._run(buffer[None], tables=False)
        return buffer

    @property
    def tables(self) -> MakeTables | None:
        """The function that adds the tables to a buffer, None if there are none."""
        return self.whole if self._folds else None

    @property
    def tables_of_rows(self) -> MakeTables | None:
        """The function that adds the tables to the buffers of rows, None if there are none."""
        return self._whole_rows if self._folds else None

    def batch(self, operands: Complex) -> Complex:
        """Return buffers [rows, total] without tables for operands [rows, total]; the operands if no work is needed."""
        if not self._work:
            return operands[:, : self._num_operands]
        buffer = np.empty((len(operands), self._size), dtype=np.complex128)
        buffer[:, : self._num_operands] = operands[:, : self._num_operands]
        self._run(buffer, tables=False)
        return buffer

    def whole(self, buffer: Complex) -> Complex:
        """Return the buffer with its tables, made in place."""
        self._run(buffer[None], tables=True)
        return buffer

    def _whole_rows(self, given: Complex) -> Complex:
        """Return the buffers of all rows with their tables; in place where there is room."""
        buffer, known = given, given.shape[1]
        if known < self._size:
            buffer = np.empty((len(given), self._size), dtype=np.complex128)
            buffer[:, :known] = given
        self._run(buffer, tables=True)
        return buffer

    def _run(self, buffers: Complex, *, tables: bool) -> None:
        """Run the part of the program that is tables, or all else, on the buffers [rows, total], which are changed."""
        rows, places, incidence, _ = self._program
        given = address(rows), len(rows), address(places), address(incidence), self._num_operands
        bind, first, stride, table = unchecked("plan_bind"), address(buffers), buffers.strides[0], _roots()[0]
        for row in range(len(buffers)):
            if bind(*given, first + row * stride, table, tables) == REFUSED:
                raise refusal(bind)


class ProgramArrays(NamedTuple):
    """A coefficient program as arrays, for native code.

    The struct Instruction of core/native/planner/coefficients/program.hpp has the columns of a row.

    size: how many numbers the program appends.
    """

    rows: NDArray[np.int64]
    places: NDArray[np.uint32]
    incidence: NDArray[np.uint64]
    size: int


def program_arrays(numbers: Coefficients) -> ProgramArrays:
    """Return a coefficient program as arrays: those of its plan, if native code made it."""
    if isinstance(numbers, NativeCoefficients) and numbers.arrays is not None:
        listed = numbers.arrays.listed
        return ProgramArrays(listed.program, listed.places, listed.incidence, _appended(listed.program))
    rows, places, incidence = [], [np.zeros(0, dtype=np.uint32)], [np.zeros(0, dtype=np.uint64)]
    at = bits = 0
    for row in numbers.program:
        match row:
            case Product(left, right):
                count, blocks, size, columns = right.shape
                rows.append([PRODUCT, count, blocks, size, columns, 0, 0, at, 0])
                new = [left, right]
            case Euler(matrices, imaginary):
                rows.append([EULER, len(matrices), imaginary, 0, 0, 0, 0, at, 0])
                new = [matrices]
            case Fold(table, factors):
                count, entries, num_factors = table.shape
                rows.append([FOLD, count, 0, 0, 0, entries, num_factors, at, bits])
                padded = np.zeros((count, entries, -(-num_factors // 64) * 64), dtype=np.uint8)
                padded[..., :num_factors] = table != 0
                incidence.append(np.packbits(padded, axis=-1, bitorder="little").reshape(-1).view(np.uint64))
                bits += incidence[-1].size
                new = [factors]
            case _:
                assert_never(row)
        places += [part.reshape(-1).astype(np.uint32) for part in new]
        at += sum(part.size for part in new)
    found = np.array(rows, dtype=np.int64).reshape(-1, 9)
    return ProgramArrays(found, np.concatenate(places), np.concatenate(incidence), _appended(found))


def _appended(rows: NDArray[np.int64]) -> int:
    """Return how many numbers instructions append."""
    kind, count, blocks, size, columns, entries = rows[:, :6].T
    each = np.where(kind == PRODUCT, blocks * size * columns, np.where(kind == EULER, 7, entries))
    return int((count * each).sum())
