"""Numbers for many circuits of one structure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex.errors import CircuitError

Operands = NDArray[np.complex128]


@dataclass(frozen=True, eq=False, slots=True)
class Bindings:
    """The operands of `count` circuits that share a structure, made on demand.

    operands: a function of (begin, end) that returns the operands of the bindings from `begin` up to `end`, complex128
        [end − begin, total], laid out as in `Circuit.operands`.
    """

    count: int
    operands: Callable[[int, int], Operands]

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
