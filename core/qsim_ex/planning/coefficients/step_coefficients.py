"""The numbers of each step of a compiled plan, as a CPU takes them: core/native/planner/coefficients/bind.cpp.

Native code runs the coefficient program as the planner has it, without the lists of places that `Coefficients` has.
Products stand in the places of their right factors, and operands stay where they are: a brick circuit of a million
gates makes 5 million numbers, where the buffer of `Bound` would have 42 million.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.phases import roots
from qsim_ex.native.library import REFUSED, address, function, refusal, unchecked
from qsim_ex.planning.cancellation import check_cancelled
from qsim_ex.steps.compiled import PlanArrays

Complex = NDArray[np.complex128]


class StepCoefficients:
    """A packed array [count] for each step of a compiled plan. They are made while they are iterated."""

    def __init__(self, arrays: PlanArrays, operands: Complex) -> None:
        self._arrays = arrays
        self._operands = np.ascontiguousarray(operands, dtype=np.complex128)
        self._made: Complex | None = None

    def __len__(self) -> int:
        return len(self._arrays.steps)

    def __iter__(self) -> Iterator[Complex]:
        arrays = self._arrays
        nothing_made = arrays.size == arrays.num_operands
        if nothing_made and len(arrays.packed) <= thresholds.now.packed_by_numpy:
            return _parts(self._operands.take(arrays.packed), arrays.packed_ends)
        at = address(self._operands)  # once, since it takes a microsecond
        if self._made is None:
            self._made = self._filled(at)
        return self._packed(at, self._made)

    def _filled(self, operands: int) -> Complex:
        """Return all numbers that are no operands, given the address of these."""
        arrays = self._arrays
        made = np.empty(arrays.size - arrays.num_operands, dtype=np.complex128)
        if not made.size:
            return made
        given = arrays.owner.handle, operands, address(made), _roots()
        fill, at = unchecked("plan_fill"), 0
        while left := fill(*given, at, thresholds.now.coefficients_at_once):
            if left == REFUSED:
                raise refusal(fill)
            at += thresholds.now.coefficients_at_once
            check_cancelled()
        return made

    def _packed(self, operands: int, made: Complex) -> Iterator[Complex]:
        ends = self._arrays.packed_ends
        at = address(made) if made.size else 0
        pack, given = function("plan_pack"), (self._arrays.owner.handle, operands, at)
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
def _roots() -> int:
    return address(roots())
