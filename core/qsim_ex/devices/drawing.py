"""What a device offers that draws the shots of a state at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.devices.base import Buffer, Copies

Drawing = Callable[[NDArray[np.float64]], tuple[NDArray[np.int64], float]]
"""Returns the value of all wires that each number in [0, 1) falls on, int64 [shots], and the squared norm.

The numbers should ascend; u falls on the value v with S(v − 1) ≤ u·norm < S(v), see `Device.search`. The values mean
nothing if the norm is 0 or not finite.
"""


class DrawsShots(Copies):
    """A device that draws shots of a state without a transfer to the host between sums and amplitudes.

    most_drawn: the number of shots up to which that is faster.
    """

    most_drawn: int

    @abstractmethod
    def weigh(self, buffer: Buffer, bits: Sequence[int], flip: int) -> Drawing:
        """Queue the sums from which shots of a state are drawn; return what draws them, as long as it is not changed.

        bits: the index bit of each wire. flip: mask of the index bits that are stored inverted.
        """
