"""Numbers for many circuits of one structure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex import thresholds
from qsim_ex.errors import CircuitError

Operands = NDArray[np.complex128]


@dataclass(frozen=True, eq=False, slots=True)
class Bindings:
    """The operands of `count` circuits that share a structure, made on demand.

    operands: a function of (begin, end) that returns the operands of the bindings from `begin` up to `end`, complex128
        [end − begin, total], laid out as in `Circuit.operands`.
    made_of: yields bytes that tell these operands from others of the same template, where that takes less time than to
        make them all; None if they are told apart by themselves.
    """

    count: int
    operands: Callable[[int, int], Operands]
    made_of: Callable[[], Iterator[bytes]] | None = None

    def told_apart(self) -> Iterator[bytes]:
        """Yield bytes that tell these bindings from others of the same template."""
        if self.made_of is not None:
            yield from self.made_of()
            return
        for begin, end in thresholds.pieces(self.count, thresholds.now.bindings_at_once):
            yield np.ascontiguousarray(self.operands(begin, end)).tobytes()

    @classmethod
    def of(cls, operands: ArrayLike) -> Bindings:
        """Return the bindings whose operands are an array [bindings, total]; raises `CircuitError`."""
        array: NDArray[Any] = np.asarray(operands)
        if array.ndim != 2:
            raise CircuitError(
                f"expected operands of shape [bindings, total], got shape {array.shape}; pass one row for each binding."
            )
        known = np.ascontiguousarray(array, dtype=np.complex128)
        return cls(len(known), lambda begin, end: known[begin:end])
