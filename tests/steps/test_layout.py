"""Shapes that no plan would fit."""

from __future__ import annotations

import pytest

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.errors import OptionError
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Shape


def test_a_tile_holds_the_lowest_bits_and_a_matrix() -> None:
    """A shape whose tiles are smaller than its lowest bits and a matrix is refused, for states larger than a tile."""
    shape = Shape(tile=5, registers=3, low=4, edge=0, most_blocks=None, dense=2, start=0)
    circuit = CircuitBuilder(6).gate("rxx", [4, 5], 0.3).build()
    with pytest.raises(OptionError, match=r"expected tiles of at least low \+ dense index bits, got tile=5, low=4 and"):
        make_plan(circuit.instructions, 6, Layout.identity(6), shape)
    assert shape.fit(5).tile == 5
    assert Shape(tile=6, registers=3, low=4, edge=0, most_blocks=None, dense=2).fit(9).tile == 6


def test_a_narrow_shape_is_slower() -> None:
    """A shape with fewer lowest bits has as few edge bits, and memory takes longer with it."""
    shape = Shape(tile=6, registers=3, low=3, edge=3, most_blocks=None, dense=3, fewer=2, scattered=1.5)
    narrow = shape.narrow()
    assert (shape.low, shape.edge, shape.slowed) == (3, 3, 1.0)
    assert (narrow.low, narrow.edge, narrow.slowed) == (2, 2, 1.5)
    assert narrow.fit(12) == narrow


def test_a_layout_moves() -> None:
    """Behind a move a wire is on the bit to which its bit went, inverted if it was."""
    layout = Layout((2, 0, 1), 0b101)
    moved = layout.moved((1, 2, 0))
    assert moved == Layout((0, 1, 2), 0b011)
