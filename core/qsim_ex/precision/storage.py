"""How amplitudes lie in memory: the bytes that they take, and what loads and stores one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Amplitudes = NDArray[np.complexfloating]
"""Amplitudes in the host's memory, of any precision."""

AmplitudeDtype = np.dtype[Any]
"""The dtype of the amplitudes in a buffer, of any precision; a type checker is told no more by ``np.dtype(…)``."""

_IN_MEMORY = re.compile(r"\bmem\b")


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class CudaStorage:
    """The types of amplitudes in CUDA C++, in registers and in memory.

    A kernel calls its own amplitudes, in registers and in shared memory, `amp`, and those of a state `mem`. Where an
    amplitude is stored as it is computed with, `mem` is `amp`. Elsewhere it is a struct that is declared here: its
    conversion to `amp` loads, its assignment from `amp` stores, so that no kernel needs another line.

    real: the type of a real and an imaginary part in registers.
    amplitude: that of an amplitude in registers.
    pair: the type of two amplitudes of 8 bytes, which are copied at once; None where one amplitude has 16 bytes.
    stored: the name of the type of an amplitude in memory.
    declared: its declaration, in terms of `real` and `amp`; empty where it is one of them.
    """

    real: str
    amplitude: str
    pair: str | None
    stored: str = "amp"
    declared: str = ""

    @property
    def stored_pair(self) -> str | None:
        """The type of two amplitudes that are stored at once, if two amplitudes of registers lie so in memory."""
        return None if self.declared else self.pair

    def head(self) -> list[str]:
        """Return the lines that declare `real`, `amp` and the type in memory."""
        lines = [f"typedef {self.real} real;", f"typedef {self.amplitude} amp;"]
        return [*lines, *self.declared.splitlines()]

    def written(self, text: str) -> str:
        """Return CUDA C++ in which amplitudes in memory have type `mem` with the name of this type."""
        return _IN_MEMORY.sub(self.stored, text)


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Storage:
    """How an amplitude lies in memory, on every device.

    dtype: of an element of a buffer.
    real: the dtype in which kernels compute with real and imaginary parts.
    cuda: the types of CUDA C++, with the load and the store.
    native_single: whether native code reads and writes C++'s float, and not double.
    bytes: of one amplitude in memory. real_bytes: of a real number that kernels compute with.
    computed_bytes: of an amplitude in registers and in shared memory, which is two real numbers.
    """

    dtype: AmplitudeDtype
    real: np.dtype[np.floating]
    cuda: CudaStorage
    native_single: bool
    bytes: int = field(init=False)
    real_bytes: int = field(init=False)
    computed_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        for name, size in (("bytes", self.dtype), ("real_bytes", self.real)):
            object.__setattr__(self, name, size.itemsize)
        object.__setattr__(self, "computed_bytes", 2 * self.real_bytes)

    def nbytes(self, count: int) -> int:
        """Return the bytes of a buffer of so many amplitudes."""
        return self.bytes * count

    def count(self, nbytes: int) -> int:
        """Return how many amplitudes so many bytes can hold."""
        return nbytes // self.bytes
