"""A kernel that was written for a sweep: its source, and the data of its launch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

NAME = "sweep"
"""The name of every such kernel."""

NO_PIVOTS = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Kernel:
    """A sweep's source and the data of its launch.

    threads: of one block.
    skipped_bits: the number of a state's bits that do not number its tiles.
    values, table: takes (see `packing`) of the numbers given by value and of the buffer in global memory.
    pivots: what the host changes of the numbers given by value; see `kernels.cuda.launch.pivoted`.
    tiles: the number of tiles of one block; 1 except for batches of small states.
    file: the name of its machine code on disk, if it was found there by its sweep; then the source was not written.
    """

    source: str
    threads: int
    skipped_bits: int
    values: NDArray[np.int64]
    table: NDArray[np.int64]
    pivots: NDArray[np.int32] = field(default_factory=lambda: NO_PIVOTS)
    tiles: int = 1
    file: str = ""

    @property
    def code(self) -> str:
        """The source without its comments, which name gates and thus differ between equal structures."""
        return "\n".join(line for line in map(_without_comment, self.source.splitlines()) if line)


def _without_comment(line: str) -> str:
    return line.split("//", 1)[0].rstrip()
