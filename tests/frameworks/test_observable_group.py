"""Bindings are grouped by the observables that are asked of them, and little is computed in vain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qsim_ex import thresholds
from qsim_ex.frameworks.observable_group import observable_groups

MOST = thresholds.now.values_for_one


@settings(deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60))
def test_every_pair_is_found_and_little_else(pairs: list[tuple[int, int]]) -> None:
    """Each binding is in one group, each pair has its row and column, and no group computes too much."""
    bindings = np.array([pair[0] for pair in pairs], dtype=np.intp)
    observables = np.array([pair[1] for pair in pairs], dtype=np.intp)
    found = observable_groups(bindings, observables)
    members = [int(binding) for group in found for binding in group.bindings]
    assert sorted(members) == sorted(set(bindings.tolist()))
    seen = []
    for group in found:
        at, rows, columns = group.of(group.bindings)
        np.testing.assert_array_equal(group.bindings[rows], bindings[at])
        np.testing.assert_array_equal(group.observables[columns], observables[at])
        seen += at.tolist()
    assert sorted(seen) == list(range(len(pairs)))
    computed = sum(len(group.bindings) * len(group.observables) for group in found)
    assert computed <= MOST * len(set(pairs))


def test_a_full_table_is_one_group() -> None:
    """Where every binding meets every observable, all are asked at once."""
    bindings, observables = (flat.reshape(-1) for flat in np.indices((7, 5)))
    (group,) = observable_groups(bindings, observables)
    assert (len(group.bindings), len(group.observables)) == (7, 5)


@pytest.mark.parametrize("count", [1, 4, 100])
def test_a_diagonal_is_cut_into_pieces(count: int) -> None:
    """Where each binding meets an observable of its own, as many go together as the bound allows."""
    found = observable_groups(np.arange(count), np.arange(count))
    assert len(found) == -(-count // MOST)


def test_part_of_a_group() -> None:
    """The pairs of some of a group's bindings have rows among those."""
    (group,) = observable_groups(np.array([3, 5, 3, 5]), np.array([1, 1, 2, 2]))
    at, rows, columns = group.of(np.array([5]))
    assert at.tolist() == [1, 3]
    assert rows.tolist() == [0, 0]
    assert columns.tolist() == [0, 1]
