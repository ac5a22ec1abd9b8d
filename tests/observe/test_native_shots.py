"""Random numbers of shots in order, and where they fall on running sums, as NumPy has them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from qsim_ex.observe import sampling
from qsim_ex.placement import index_bits


@pytest.mark.parametrize("count", [0, 1, 2, 7, 1000, 70001])
def test_ascending(count: int) -> None:
    """Numbers are sorted by their first 32 bits; of equal ones the first stays first."""
    numbers = np.random.default_rng(count).random(count)
    numbers[::3] = np.round(numbers[::3], 2) % 1
    order = sampling.ascending(numbers)
    assert (order == np.argsort((numbers * 2.0**32).astype(np.uint32), kind="stable")).all()


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("size", [1, 2, 5, 1 << 14])
def test_choose(size: int, ordered: bool) -> None:
    """A target falls on the weight in which the running sum passes it; beyond the last sum on the last weight."""
    rng = np.random.default_rng(size)
    weights = rng.random(size) * (rng.random(size) < 0.7)
    weights[-1] = 0.5
    ends = sampling.running_sums(weights)
    assert (ends == np.cumsum(weights)).all()
    targets = np.concatenate([rng.random(500) * ends[-1], ends[: size // 2], [0.0, ends[-1], 2 * ends[-1]]])
    targets = np.sort(targets) if ordered else targets
    found, rest = np.empty(len(targets), dtype=np.int64), np.empty(len(targets))
    sampling.choose_ascending(ends, targets, found, rest)
    below = np.minimum(targets, np.nextafter(ends[-1], -1))
    assert (found == np.searchsorted(ends, below, side="right")).all()
    assert (rest == below - np.concatenate([[0.0], ends])[found]).all()


@pytest.mark.parametrize("distinct", [1, 3, 1 << 40])
def test_tallied(distinct: int) -> None:
    """Equal values are counted, and the first to come is first, as in a counter."""
    values = np.random.default_rng(0).integers(-distinct, distinct, 3000)
    assert list(index_bits.tallied(values).items()) == list(Counter(values.tolist()).items())
    assert index_bits.tallied(values[:0]) == {}


@pytest.mark.parametrize("count", [1, 3, 1000])
def test_uniforms(count: int) -> None:
    """Numbers are those of NumPy's Philox generator with the same key."""
    seeds = np.array([0, 7, 2**64 - 1], dtype=np.uint64)
    found = sampling.uniforms_of(seeds, 5, count, 1)
    for seed, row in zip(seeds, found, strict=True):
        bits = np.random.Philox(key=np.array([seed, 5], dtype=np.uint64))
        assert (row == np.random.Generator(bits).random(count)).all()
