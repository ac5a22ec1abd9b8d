"""How sums along directions are cut: each amplitude is in one piece of the right sum."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import linear_maps

from qsim_ex.kernels.along import along
from qsim_ex.steps.algebra import Span, image


@given(st.data(), st.integers(0, 9), st.integers(0, 4))
def test_pieces(data: st.DataObject, num_bits: int, most_lanes: int) -> None:
    """Lanes, groups and steps are a basis of all directions; steps and the first lanes change no value."""
    columns = data.draw(linear_maps(num_bits))
    asked = data.draw(st.integers(0, num_bits))
    left_out = data.draw(st.integers(0, num_bits - asked))
    directions, rest = columns[:asked], columns[asked : num_bits - left_out]
    how = along(directions, rest, most_lanes)
    assert len(how.lanes) == min(most_lanes, asked + len(rest))
    every = [*how.lanes, *how.groups, *how.steps]
    assert len(Span(every)) == len(every) == asked + len(rest)
    whole = Span([*directions, *rest])
    changed = [whole.reduced(vector)[1] & (1 << asked) - 1 for vector in every]
    assert all(vector in whole for vector in every)
    kept = [*changed[how.summed : len(how.lanes)], *changed[len(how.lanes) : len(how.lanes) + len(how.groups)]]
    assert tuple(kept) == how.places
    assert not any(changed[: how.summed])
    assert not any(changed[len(every) - len(how.steps) :])
    in_order = how.in_order(np.arange(float(1 << asked)))
    assert all(in_order[image(how.places, place)] == place for place in range(1 << asked))


def test_lanes_are_neighbours() -> None:
    """Where all bits are walked through, lanes are the lowest ones, whatever the directions are."""
    how = along((0b110101, 0b011000), (0b1, 0b11, 0b1000, 0b101000), 3)
    assert sorted(Span(how.lanes).vectors) == sorted(how.lanes)
    assert max(how.lanes) < 1 << 3
