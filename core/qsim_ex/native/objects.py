"""The distinct objects of a list, which native code finds."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from qsim_ex.native.library import address, function

Value = TypeVar("Value")


def numbered(values: list[Value]) -> tuple[list[Value], NDArray[np.uint32]]:
    """Return the distinct objects of a list, by their identity, and which of these each one is."""
    numbers, first = np.empty(len(values), dtype=np.uint32), np.empty(len(values), dtype=np.int64)
    count = function("objects_number")(values, len(values), address(numbers), address(first))
    return [values[place] for place in first[:count].tolist()], numbers
