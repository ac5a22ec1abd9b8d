"""Tests of how kernels that never change are launched."""

from __future__ import annotations

import pytest

from qsim_ex.kernels.cuda.fixed.fixed import MOST_BLOCKS, THREADS, _blocks


@pytest.mark.parametrize(
    ("size", "blocks"), [(0, 1), (1, 1), (THREADS, 1), (THREADS + 1, 2), (THREADS * MOST_BLOCKS * 2, MOST_BLOCKS)]
)
def test_blocks_have_a_thread_for_each_piece_of_work(size: int, blocks: int) -> None:
    """A launch has as many blocks as give each piece a thread, at least one, and at most `MOST_BLOCKS`."""
    assert _blocks(size) == blocks
