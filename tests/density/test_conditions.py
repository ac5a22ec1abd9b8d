"""Conditions on classical bits are conditions on the wires that hold them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from qsim_ex.circuit.ops import When
from qsim_ex.density.conditions import assigned, cubes, joined

WIRES = 4
places = st.lists(st.one_of(st.none(), st.integers(0, WIRES - 1)), min_size=1, max_size=4)


def holds(when: When, index: int) -> bool:
    """Return whether a condition holds for the values of all wires."""
    return index & when.mask == when.value


@given(places, st.data())
def test_exactly_one_cube_holds_where_the_bits_have_one_of_the_values(
    held: list[int | None], data: st.DataObject
) -> None:
    """At each value of the wires one cube holds if the bits that they hold have a value asked for, else none."""
    values = data.draw(st.sets(st.integers(0, (1 << len(held)) - 1)))
    found = list(cubes(assigned(held, values)))
    for index in range(1 << WIRES):
        bits = sum((0 if at is None else index >> at & 1) << k for k, at in enumerate(held))
        assert sum(holds(when, index) for when in found) == (bits in values)


@given(*[st.tuples(st.integers(0, 15), st.integers(0, 15))] * 2)
def test_a_joined_condition_holds_where_both_do(one: tuple[int, int], other: tuple[int, int]) -> None:
    """The condition that two conditions make together holds where both hold; there is none where they never do."""
    a, b = (When(mask, mask & value) for mask, value in (one, other))
    both = joined(a, b)
    for index in range(16):
        assert (both is not None and holds(both, index)) == (holds(a, index) and holds(b, index))
