"""Answers that are sums over all ranks: each has the part of its own amplitudes, and all get the sum."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.comm.protocol import Communicator

_Number = TypeVar("_Number", bound=np.generic)


def summed(communicator: Communicator, mine: NDArray[_Number]) -> NDArray[_Number]:
    """Return the sum of the answers of all ranks; that of a large answer takes its place, a piece at a time."""
    if mine.nbytes <= thresholds.now.summed_bytes:
        return communicator.allreduce(mine)
    flat, size = mine.reshape(-1), thresholds.now.summed_bytes // mine.itemsize
    for first in range(0, flat.size, size):
        flat[first : first + size] = communicator.allreduce(flat[first : first + size])
    return flat.reshape(mine.shape)
