"""Trades of arrays between two ranks that reach each other's memory, whatever connects them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from qsim_ex.comm.protocol import Array, Communicator
from qsim_ex.comm.reach import MemoryRuns, swap_half
from qsim_ex.errors import CommunicationError


def swap_in_place(
    end: Communicator,
    other: int,
    process: int,
    arrays: Sequence[Array],
    meet: Callable[[], Callable[[], None]],
    tell: Callable[[Array, Array], None],
) -> None:
    """Trade arrays with another rank, whose process is given; each of the two swaps one half of each.

    tell: sends an array to the other rank, and fills another one with what that one sends. meet: tells the other rank
    that this one is done, and returns a function that waits until that one is; it may be called again if Ctrl-C
    ends it. Neither rank leaves before the other has done its half, whatever happens: what is written must still be
    there. Raises `CommunicationError` if the process has died.
    """
    theirs = np.empty((len(arrays), 4), dtype=np.int64)
    tell(np.array([MemoryRuns.of(array) for array in arrays], dtype=np.int64), theirs)
    try:
        for array, memory in zip(arrays, theirs.tolist(), strict=True):
            swap_half(process, array, MemoryRuns(*memory), int(end.rank > other))
    except OSError as error:
        raise CommunicationError(f"rank {other} of {end.size} cannot be reached any more: {error}") from error
    finally:
        _through_ctrl_c(meet())


def _through_ctrl_c(wait: Callable[[], None]) -> None:
    """Wait to the end, and only then raise the `KeyboardInterrupt` that came meanwhile."""
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            wait()
            break
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
