"""X-parts share visits: each is served once, with all that it needs near."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from qsim_ex.circuit.ops import mask_of
from qsim_ex.placement.divided.strings import folded, visits


@given(st.data())
def test_each_part_is_served_once_with_what_it_needs(data: st.DataObject) -> None:
    """Each X-part is served once, while all its wires are near, and no visit brings more near than fit."""
    low, far = 0b11, 0b111100000
    room = data.draw(st.integers(1, 7))
    xs = [x for x in data.draw(st.lists(st.integers(0, 511), max_size=12)) if (x & ~low).bit_count() <= room]
    found = visits(xs, far, low, room)
    assert sorted(k for visit in found for k in visit.parts) == list(range(len(xs)))
    for near, parts in found:
        assert len(near) <= room
        for k in parts:
            wanted = xs[k] & ~low
            assert not wanted & ~mask_of(near) if near else not wanted & far
    assert all(visit.near for visit in found[1:])  # what needs nothing comes before anything moves


def test_parts_that_fit_together_share_a_visit() -> None:
    """X on each of twelve far wires costs three visits where four wires fit near."""
    singles = [1 << wire for wire in range(4, 16)]
    assert len(visits(singles, 0xFFF0, 0xF, 4)) == 3
    assert len(visits([*singles, 0, 0b1111], 0xFFF0, 0xF, 4)) == 3
    assert len(visits([0b11 << 4, 0b11 << 6, 0b1111 << 4, 0b1 << 4], 0xFFF0, 0xF, 4)) == 1
    assert len(visits([0b1, 0, 0b100], 0xFFF0, 0xF, 4)) == 1


@given(st.data())
def test_a_folded_string_is_the_same_operator(data: st.DataObject) -> None:
    """CX · string · CX is the narrower string, with its signs and its Z on the pivot."""
    n = 4
    x = data.draw(st.integers(1, 15))
    pivot = data.draw(st.sampled_from([wire for wire in range(n) if x >> wire & 1]))
    rest = data.draw(st.integers(0, 15)) & x & ~(1 << pivot)
    zs = data.draw(st.lists(st.integers(0, 15), min_size=1, max_size=3))
    index = np.arange(1 << n)
    control = np.zeros((16, 16))
    control[index ^ np.where(index >> pivot & 1, rest, 0), index] = 1

    def operator(x: int, z: int) -> np.ndarray:
        matrix = np.zeros((16, 16))
        matrix[index ^ x, index] = (-1.0) ** np.bitwise_count(index & z)
        return matrix

    narrow, new = folded(x, zs, rest, pivot)
    assert not narrow & rest
    for z, other in zip(zs, new, strict=True):
        assert np.array_equal(control @ operator(x, z) @ control, operator(narrow, other))
