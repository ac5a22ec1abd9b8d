"""Layouts of states that get or lose wires agree with `Layout.index`, which says where a basis value is stored."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.strategies import layouts

from qsim_ex.placement import index_bits as at
from qsim_ex.placement.wires import closed, opened, with_last
from qsim_ex.steps import Layout


@st.composite
def laid_out(draw: st.DrawFn) -> Layout:
    """A layout of some wires."""
    return draw(layouts(draw(st.integers(0, 6))))


@given(laid_out(), st.data())
def test_first_and_last_wires(layout: Layout, data: st.DataObject) -> None:
    """Chosen wires come first or last, the others keep their order, and removing the last moves nothing else."""
    n = len(layout)
    wires = data.draw(st.permutations(range(n)))[: data.draw(st.integers(0, n))]
    others = [wire for wire in layout.wires() if wire not in wires]
    value = data.draw(st.integers(0, (1 << len(wires)) - 1))
    first, last = at.with_first(layout, wires), with_last(layout, wires, value, n)
    assert first.wires() == (*wires, *others)
    assert last.wires() == (*others, *wires)
    assert at.wires_on(last, (1 << len(others)) - 1) == tuple(others)
    fewer = closed(last, wires, len(others))
    left = sorted(others)
    for number in range(1 << n):
        for wire in others:  # what was stored inverted still is
            assert last.flip >> last.address[wire] & 1 == layout.flip >> layout.address[wire] & 1
        if sum((number >> wire & 1) << k for k, wire in enumerate(wires)) == value:
            assert last.index(number) == fewer.index(sum((number >> wire & 1) << k for k, wire in enumerate(left)))
    assert all(first.flip >> first.address[w] & 1 == layout.flip >> layout.address[w] & 1 for w in range(n))


@given(laid_out(), st.data())
def test_wires_that_go_below_an_index_bit(layout: Layout, data: st.DataObject) -> None:
    """Wires go below a bit, wires from there take their places, and closing that gap undoes opening it."""
    n = len(layout)
    end = data.draw(st.integers(0, n))
    wires = data.draw(st.permutations(range(n)))[: data.draw(st.integers(0, end))]
    value = data.draw(st.integers(0, (1 << len(wires)) - 1))
    last, kept = with_last(layout, wires, value, end), end - len(wires)
    assert last.wires()[kept:end] == tuple(wires)
    stayed = [bit for bit in range(end, n) if layout.wires()[bit] not in wires]
    assert [last.wires()[bit] for bit in stayed] == [layout.wires()[bit] for bit in stayed]
    number = sum((value >> k & 1) << wire for k, wire in enumerate(wires))
    assert last.index(number) >> kept & (1 << len(wires)) - 1 == 0
    count = data.draw(st.integers(0, 3))
    wider = opened(layout, end, count)
    assert wider.wires()[end : end + count] == tuple(range(n, n + count))
    assert closed(wider, range(n, n + count), end) == layout
