"""Bits move to the places they are given, for many numbers at once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qsim_ex.placement.index_bits import few_distinct, integers, move_bits, pack, reindexed, unpack


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


@given(st.integers(1, 40), st.integers(1, 300), st.integers(1, 1024), st.integers(0, 999))
def test_distinct_rows_and_how_often_they_come(width: int, count: int, kinds: int, seed: int) -> None:
    """Rows of any width come in the order of their first places, each with its number."""
    rng = np.random.default_rng(seed)
    packed = rng.integers(0, 256, (kinds, width), dtype=np.uint8)[rng.integers(0, kinds, count)]
    found = few_distinct(packed)
    assert found is not None
    expected = Counter(map(bytes, packed.tolist()))
    assert list(map(bytes, found[0].tolist())) == list(expected)
    assert found[1] == list(expected.values())


@pytest.mark.parametrize(("kinds", "few"), [(1023, True), (1024, True), (1025, False)])
def test_more_than_1024_rows_are_left_to_sorting(kinds: int, few: bool) -> None:
    """Up to 1,024 distinct rows are found, also of an array that is not contiguous."""
    numbers = np.arange(2 * kinds, dtype="<u8") % kinds
    packed = numbers.view(np.uint8).reshape(-1, 8)[:, :3]
    found = few_distinct(packed)
    assert (found is not None) is few
    if found is not None:
        assert found[0].tolist() == packed[:kinds].tolist()
        assert found[1] == [2] * kinds


@pytest.mark.parametrize("flip", [0, 1, 6, 15])
def test_reindexed(flip: int) -> None:
    """Numbers stand where the bits of their place are flipped."""
    values = np.arange(16) / 16
    assert (reindexed(values, flip) == values[np.arange(16) ^ flip]).all()
