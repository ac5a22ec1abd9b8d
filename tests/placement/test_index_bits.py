"""Arithmetic on layouts agrees with `Layout.index`, which says where a basis value is stored."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.plain_device import PlainDevice
from support.strategies import layouts

from qsim_ex.circuit.ops import When
from qsim_ex.placement import index_bits as at
from qsim_ex.steps import Layout


@st.composite
def laid_out(draw: st.DrawFn) -> Layout:
    """A layout of some wires."""
    return draw(layouts(draw(st.integers(0, 6))))


def stored(layout: Layout) -> np.ndarray:
    """A buffer in which every amplitude is its own basis value."""
    buffer = np.empty(1 << len(layout))
    buffer[[layout.index(value) for value in range(len(buffer))]] = range(len(buffer))
    return buffer


@given(laid_out())
def test_indices(layout: Layout) -> None:
    """`indices` says where each basis value is stored."""
    values = np.arange(1 << len(layout))
    assert stored(layout)[at.indices(layout, values, range(len(layout)))].tolist() == values.tolist()


@given(laid_out(), st.data())
def test_conditions(layout: Layout, data: st.DataObject) -> None:
    """A condition on wires and its condition on index bits hold at the same amplitudes."""
    mask = data.draw(st.integers(0, (1 << len(layout)) - 1))
    when = When(mask, data.draw(st.integers(0, (1 << len(layout)) - 1)) & mask)
    found = at.stored_when(layout, when)
    for value in range(1 << len(layout)):
        assert (value & when.mask == when.value) == (layout.index(value) & found.mask == found.value)


@given(laid_out(), st.data())
def test_parities(layout: Layout, data: st.DataObject) -> None:
    """The parity of wires is the sign times the parity of stored bits."""
    wires = data.draw(st.integers(0, (1 << len(layout)) - 1))
    bits = at.index_mask(layout, wires)
    for value in range(1 << len(layout)):
        wanted = (-1) ** (value & wires).bit_count()
        assert wanted == at.parity_sign(layout, bits) * (-1) ** (layout.index(value) & bits).bit_count()


@given(laid_out(), st.data())
def test_moves(layout: Layout, data: st.DataObject) -> None:
    """Moving from one layout to another puts every amplitude where the new one says."""
    new = data.draw(layouts(len(layout)))
    sources, flip = at.moves(layout, new)
    buffer = stored(layout)
    PlainDevice().permute(buffer, len(layout), sources, flip)
    assert buffer.tolist() == stored(new).tolist()


@given(laid_out(), st.data())
def test_relabelled_and_inverted(layout: Layout, data: st.DataObject) -> None:
    """A renamed wire, or one that an X was applied to, is stored where its new name or value says."""
    n = len(layout)
    names = data.draw(st.permutations(range(n)))
    wires = data.draw(st.integers(0, (1 << n) - 1))
    renamed, flipped = at.relabelled(layout, names), at.inverted(layout, wires)
    for value in range(1 << n):
        moved = sum((value >> wire & 1) << name for wire, name in enumerate(names))
        assert renamed.index(moved) == layout.index(value)
        assert flipped.index(value ^ wires) == layout.index(value)


@given(laid_out(), st.data())
def test_value_order(layout: Layout, data: st.DataObject) -> None:
    """A marginal over stored bits becomes one over values, inverted wires included."""
    n = len(layout)
    wires = data.draw(st.permutations(range(n)))[: data.draw(st.integers(0, n))]
    bits = at.index_bits(layout, wires)
    by_stored, by_value = np.zeros(1 << len(wires)), np.zeros(1 << len(wires))
    for value in range(1 << n):
        index = layout.index(value)
        by_stored[sum((index >> bit & 1) << k for k, bit in enumerate(bits))] += value
        by_value[sum((value >> wire & 1) << k for k, wire in enumerate(wires))] += value
    assert at.value_order(layout, by_stored, wires).tolist() == by_value.tolist()
