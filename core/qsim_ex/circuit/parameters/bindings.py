"""Numbers for many circuits of one structure: what a sweep is made of."""

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
    """The operands of `count` circuits that share a structure, made when they are asked for.

    operands: called with (begin, end), gives those of the bindings from `begin` up to `end`: complex128
        [end − begin, total], laid out as in `Circuit.operands`.
    """

    count: int
    operands: Callable[[int, int], Operands]

    @classmethod
    def of(cls, operands: ArrayLike) -> Bindings:
        """Those of an array [bindings, total]; raises `CircuitError`."""
        array: NDArray[Any] = np.asarray(operands)
        if array.ndim != 2:
            raise CircuitError(f"operands of shape [bindings, total] are wanted, got an array of shape {array.shape}.")
        known = np.ascontiguousarray(array, dtype=np.complex128)
        return cls(len(known), lambda begin, end: known[begin:end])
