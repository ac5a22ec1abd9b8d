"""Bits move to the places they are given, for many numbers at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qsim_ex.placement.bits import integers, move_bits, pack, reindexed, unpack


@given(st.data())
def test_move_bits(data: st.DataObject) -> None:
    """Bit k of a number ends at bit ``to[k]``, and bits beyond the last are dropped."""
    width = data.draw(st.integers(0, 62))
    to = data.draw(st.permutations(range(62)))[:width]
    values = np.array(data.draw(st.lists(st.integers(0, 2**62 - 1), max_size=4)), dtype=np.int64)
    wanted = [sum((v >> k & 1) << bit for k, bit in enumerate(to)) for v in values.tolist()]
    assert move_bits(values, to).tolist() == wanted
    assert move_bits(values, range(width)).tolist() == [v & ((1 << width) - 1) for v in values.tolist()]


@given(st.data())
def test_pack_unpack(data: st.DataObject) -> None:
    """A packed row of up to 200 bits holds exactly the bits of its number."""
    num_bits = data.draw(st.integers(1, 200))
    places = data.draw(st.permutations(range(num_bits)))
    width = data.draw(st.integers(0, min(20, num_bits)))
    masks = [1 << places[k] for k in range(width)]
    if 0 < width < num_bits:
        masks[0] |= 1 << places[width]  # measured twice
    values = np.array(data.draw(st.lists(st.integers(0, (1 << width) - 1), max_size=4)), dtype=np.int64)
    packed = pack(values, masks, num_bits)
    wanted = [sum(mask for k, mask in enumerate(masks) if v >> k & 1) for v in values.tolist()]
    assert packed.shape == (len(values), -(-num_bits // 8))
    assert integers(packed) == wanted
    assert unpack(packed, num_bits).tolist() == [[v >> b & 1 for b in range(num_bits)] for v in wanted]


@pytest.mark.parametrize("flip", [0, 1, 6, 15])
def test_reindexed(flip: int) -> None:
    """Numbers stand where the bits of their place are flipped."""
    values = np.arange(16) / 16
    assert (reindexed(values, flip) == values[np.arange(16) ^ flip]).all()
