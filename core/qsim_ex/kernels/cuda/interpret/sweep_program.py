"""A sweep as a program for the interpreter, and the numbers that it takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SweepProgram:
    """A sweep's words and the takes (see `packing`) of its numbers.

    shared: numbers that all amplitudes share. tables: both parts of entries that threads look up.
    skipped_bits: the number of a state's bits that do not number its blocks.
    """

    words: NDArray[np.uint32]
    shared: NDArray[np.int64]
    tables: NDArray[np.int64]
    threads: int
    skipped_bits: int

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Both one behind the other, as the kernel takes them that reads all from memory."""
        return np.concatenate([self.shared, self.tables])
