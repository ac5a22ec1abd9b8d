"""Which basis state an index holds, by the definition: each wire is a sum of index bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import index_maps, layouts

from qsim_ex.steps import IndexMap, Layout


def by_definition(found: IndexMap, index: int) -> int:
    """The basis state at an index, a wire at a time."""
    return sum(
        ((mask & index).bit_count() & 1 ^ found.flip >> wire & 1) << wire for wire, mask in enumerate(found.parities)
    )


@given(st.data(), st.integers(0, 9))
def test_indices_and_basis_states(data: st.DataObject, num_wires: int) -> None:
    """Each index holds the basis state of its parities, and each basis state is at one index: one by one, and many."""
    found = data.draw(index_maps(num_wires))
    every = np.arange(1 << num_wires)
    states = [by_definition(found, index) for index in range(1 << num_wires)]
    assert found.basis_state_of(every).tolist() == states
    assert [found.basis_state_of(index) for index in range(1 << num_wires)] == states
    assert found.index_of(np.array(states)).tolist() == every.tolist()
    assert [found.index_of(state) for state in states] == every.tolist()
    bits = every[:, None] >> np.arange(num_wires) & 1
    flips = found.flip >> np.arange(num_wires) & 1
    of_bits = ((bits @ found.matrix.T + flips) % 2) @ (1 << np.arange(num_wires))
    assert of_bits.tolist() == states
    assert found.is_plain == (sorted(found.parities) == [1 << bit for bit in range(num_wires)])


@given(st.data(), st.integers(0, 9))
def test_of_a_layout(data: st.DataObject, num_wires: int) -> None:
    """A layout's map has each wire on its bit, and the layout comes back from it."""
    layout = data.draw(layouts(num_wires))
    plain = IndexMap.of(layout)
    assert plain.is_plain
    assert plain.layout == layout
    assert all(plain.index_of(value) == layout.index(value) for value in range(1 << num_wires))


def test_sums_of_index_bits_have_no_layout() -> None:
    """A map with a wire that is the sum of two index bits says so when it is asked for a layout."""
    with pytest.raises(ValueError, match="expected each wire on an index bit of its own"):
        _ = IndexMap((3, 2)).layout


def test_parities_that_are_not_independent() -> None:
    """A map that puts two basis states at one index has no directions, and says so."""
    with pytest.raises(ValueError, match="expected 2 independent columns, got 1; pass an invertible map"):
        IndexMap((3, 3)).index_of(0)


def test_wide_maps() -> None:
    """Maps of 58 wires, as a file may have them, are computed as smaller ones are."""
    rng = np.random.default_rng(3)
    parities = [1 << bit for bit in rng.permutation(58).tolist()]
    for _ in range(200):
        control, target = rng.permutation(58)[:2].tolist()
        parities[target] ^= parities[control]
    found = IndexMap(tuple(parities), int(rng.integers(1 << 58)))
    some = rng.integers(0, 1 << 58, 100)
    assert found.basis_state_of(some).tolist() == [by_definition(found, int(index)) for index in some]
    assert np.array_equal(found.index_of(found.basis_state_of(some)), some)
    assert Layout.identity(58).index(7) == IndexMap.of(Layout.identity(58)).index_of(7)
