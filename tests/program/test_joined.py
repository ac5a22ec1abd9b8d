"""Numbers are joined in groups, and groups that follow each other in a circle are one."""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex.program.joined import Joined


def test_joined_numbers_have_one_root() -> None:
    """The least number stands for all that are joined with it."""
    joined = Joined(6, [(4, 2), (5, 4)])
    joined.join(1, 0)
    assert [joined.root(number) for number in range(6)] == [0, 0, 2, 3, 2, 2]


@pytest.mark.parametrize("seed", range(20))
def test_circles_are_what_can_be_reached_both_ways(seed: int) -> None:
    """Two numbers are joined exactly if there is a way from each to the other."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 12))
    pairs = rng.integers(0, count, (int(rng.integers(0, 2 * count)), 2)).tolist()
    joined = Joined(count)
    joined.join_circles([(a, b) for a, b in pairs])
    reached = np.eye(count, dtype=bool)
    for a, b in pairs:
        reached[a, b] = True
    for middle in range(count):
        reached |= reached[:, [middle]] & reached[[middle]]
    found = [[joined.root(a) == joined.root(b) for b in range(count)] for a in range(count)]
    assert np.array_equal(found, reached & reached.T)
