"""Generated kernels do what their sweep says: their source text runs on the CPU and is compared with the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cuda.sweeps import case, check


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_every_number_of_bits_from_none_up(dtype):
    """States smaller than a tile, down to one amplitude, agree with the definition."""
    check([case(100 + n, n, 11, 3, 3, 2) for n in range(11)], dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("seed", range(3))
def test_several_tiles(dtype, seed):
    """With bits outside the tile and outside the buffer, reads and conditions find them wherever they are."""
    check([case(1000 * seed + k, 9 + k % 3, 6 + k % 3, 1 + k % 4, 4, 3) for k in range(12)], dtype)


def test_full_tiles():
    """Tiles of 12 bits of complex64 and 11 of complex128 agree with the definition, in one block and in several."""
    check([case(7, 12, 12, 3, 4), case(8, 14, 12, 4, 4, 2)], np.complex64)
    check([case(9, 11, 11, 3, 4), case(10, 13, 11, 4, 4, 2)], np.complex128)


def test_numbers_that_do_not_fit_by_value_come_from_memory():
    """With little room for arguments all numbers are read from the table, and the result is the same."""
    check([case(20 + k, 8, 7, 2, 5, 1) for k in range(4)], np.complex64, room=32)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 2**31), st.integers(0, 10), st.integers(4, 9), st.integers(1, 4), st.integers(0, 4), st.booleans()
)
def test_any_sweep(seed, num_bits, tile_bits, num_blocks, num_items, double):
    """Random sweeps of any shape agree with the definition."""
    check([case(seed, num_bits, tile_bits, num_blocks, num_items, 2)], np.complex128 if double else np.complex64)
