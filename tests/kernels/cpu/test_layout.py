"""Items run in an order that keeps their dependencies, and bits return to their places in a tile."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from qsim_ex.circuit.ops import ALWAYS, When, pattern
from qsim_ex.kernels.cpu.layout import TileLayout, TouchedBits, runnable
from qsim_ex.steps import Diagonal, Mix, Rename, Slot


def mix(*bits, when=ALWAYS):
    """Look at a dense matrix on some bits."""
    return TouchedBits.of(Mix(bits, (), when, pattern("c" * 4 ** len(bits)), Slot(0, 4 ** len(bits))))


def phase(*reads):
    """Look at a table of phases."""
    return TouchedBits.of(Diagonal(reads, ALWAYS, pattern("c" * 2 ** len(reads)), Slot(0, 2 ** len(reads))))


def test_runnable_overtakes_what_it_only_shares_reads_with():
    """With bit 0 in a lane its matrix waits, and so does what reads bit 0 after it, but not what is elsewhere."""
    first, reader, other, after = mix(0), phase(0b11), mix(5), mix(1)
    ready, left = runnable([first, reader, other, after], lanes=0b1111)
    assert ready == [other]
    assert left == [first, reader, after]
    controlled = TouchedBits.of(Rename((4,), When(1, 1), (1, 0)))
    assert runnable([controlled], lanes=0b1111) == ([controlled], [])


@given(st.data())
def test_lanes_come_home(data):
    """Whatever trades places, the swaps that follow bring the index bit that is asked for to each lane."""
    lanes, rows = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 7))
    layout = TileLayout(list(range(lanes)), list(range(lanes, lanes + rows)))
    pairs = st.tuples(st.integers(0, lanes - 1), st.integers(0, rows - 1))
    layout.exchange(data.draw(st.lists(pairs, max_size=9)))
    home = data.draw(st.permutations(range(lanes + rows)))[:lanes]
    for swaps in layout.swaps_home(home):
        layout.exchange(swaps)
    assert layout.lanes == home


@given(st.data())
def test_the_first_item_can_run_after_an_exchange(data):
    """An exchange takes every bit that the first item mixes out of the lanes, if padding leaves room for it."""
    tile = range(data.draw(st.integers(1, 12)))
    bits = data.draw(st.lists(st.sampled_from(tile), min_size=1, max_size=5, unique=True))
    work = [mix(*bits), *[mix(data.draw(st.sampled_from(tile))) for _ in range(3)]]
    layout, _ = TileLayout.first(tile, work, data.draw(st.integers(1, 4)))
    layout.exchange(layout.swaps_for(work))
    assert not set(bits) & set(layout.lanes)
    assert len(set(layout.lanes) | set(layout.rows)) == len(layout.lanes) + len(layout.rows)
