"""The numbers of rotations that kernels apply with one of their two numbers made 1.

The rotation's numbers are on the host whenever a kernel is launched, which takes the tangents of 50 rotations in less
than a microsecond; see `kernels.cuda.write.pivots`, and core/native/kernels/pivots.hpp for the records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qsim_ex.native.library import address, function

Records = NDArray[np.int32]

NO_PIVOTS: Records = np.zeros(0, dtype=np.int32)


def pivot(values: NDArray[np.float64], records: Records) -> None:
    """Change the gathered values of one kernel in place: of its rotations, and of what takes the ratios of scales."""
    if len(records):
        function("pivots")(address(values), records.ctypes.data, len(records))
