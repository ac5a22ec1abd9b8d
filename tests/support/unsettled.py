"""States in one piece whose wires are sums of index bits."""

from __future__ import annotations

import numpy as np

from qsim_ex.placement.single import Single
from qsim_ex.steps.algebra import Map, units
from qsim_ex.steps.index_map import images


def unsettle(placement: Single, undone: Map) -> None:
    """Put amplitudes where a map has yet to be done: at index s the one that belongs at its image. No state changes."""
    placement.write_zeros()
    stored = placement.device.read(placement.buffer, 0, 1 << placement.num_wires)
    layout = placement.layout
    placement.write(0, stored[images(undone, np.arange(len(stored)))])
    placement.layout = layout
    placement.undone = () if undone == units(range(len(undone))) else undone
