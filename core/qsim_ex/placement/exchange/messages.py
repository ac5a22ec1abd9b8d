"""The messages by which ranks trade parts of their states: how large they are, how many fly, where they are staged."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.placement.exchange.schedule import Part
from qsim_ex.precision import Storage
from qsim_ex.steps.layout import Levels

MESSAGE_BYTES = 1 << 23
"""The most bytes of one message, which comes to a staging piece and goes to its place from there.

On two busy cores 1 MiB took 1.3 times as long as 32 MiB, since both processes have to run where a message ends.
"""

FLYING = 2
"""The most messages that are under way at a time."""

_SHARE = 6
"""A staging piece is at most 1/2^6 of a sub state vector; there are two for each message under way, out and in."""


def staging_piece(levels: Levels, storage: Storage, most: int = MESSAGE_BYTES) -> int:
    """Return the number of amplitudes of one staging piece: those of one message."""
    return max(1, min(storage.count(most), 1 << max(levels.local - _SHARE, 0)))


def staging(levels: Levels, storage: Storage) -> int:
    """Return the bytes of host memory in which a rank stages what it sends and receives."""
    return storage.nbytes(2 * FLYING * staging_piece(levels, storage))


class Message(NamedTuple):
    """One message each way: a part of the buffer, the other rank, and whether the part is sent, and gets another."""

    part: Part
    other: int
    sends: bool
    gets: bool


def land_until(flying: deque[Callable[[], None]], most: int) -> None:
    """Wait for the earliest messages until at most so many are under way."""
    while len(flying) > most:
        flying.popleft()()


def messages(part: Part, most: int) -> Iterator[Part]:
    """Yield the amplitudes of a part in parts of at most `most`, as many rows at a time as that allows."""
    rows = max(1, most // part.width)
    for row in range(0, part.rows, rows):
        for first in range(0, part.width, most):
            width = min(most, part.width - first)
            yield Part(part.start + row * part.stride + first, min(rows, part.rows - row), width, part.stride)


def flat(array: NDArray[np.generic]) -> NDArray[Any]:
    """Return a contiguous array in one dimension."""
    return array.reshape(-1)
