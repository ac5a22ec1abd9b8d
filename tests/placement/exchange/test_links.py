"""The pieces in which peers stage incoming amplitudes."""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex.placement.exchange.links import staging_piece
from qsim_ex.precision import STORAGE
from qsim_ex.steps import Levels


@pytest.mark.parametrize(
    ("levels", "piece_bytes", "piece"),
    [
        (Levels(20, 2), 1000, 32),
        (Levels(20, 2, network="mesh"), 1000, 16),
        (Levels(20, 2), 20, 1),
        (Levels(20, 2), 1, 1),
        (Levels(4, 2), 1000, 8),
    ],
)
def test_a_piece_has_at_most_the_bytes_of_its_lane(levels: Levels, piece_bytes: int, piece: int) -> None:
    """A piece is the largest power of two that fits a lane's share, one amplitude at least and half a part at most."""
    assert staging_piece(levels, STORAGE[np.dtype(np.complex128)], piece_bytes) == piece
