"""The pattern of a matrix says how much work it needs."""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex.circuit.ops import pattern
from qsim_ex.kernels.cpu import items


def blocks(text, num_bits=2, num_reads=0):
    """The blocks of a pattern written with spaces."""
    return items.blocks(pattern(text.replace(" ", "")), num_bits, num_reads)


def test_values_that_nothing_happens_to_cost_nothing():
    """An iSWAP-like rotation is one pair, on planes that trade places; two pairs are two blocks."""
    (pair,) = blocks("1000 0ri0 0ir0 0001")
    assert pair.values == (1, 2)
    assert pair.planes == (0, 1)
    assert [block.values for block in blocks("r00i 0ri0 0ir0 i00r")] == [(0, 3), (1, 2)]
    assert blocks("1000 0100 0010 0001") == ()
    (phase,) = blocks("1000 0100 0010 000c")
    assert phase.values == (3,)


@pytest.mark.parametrize(
    ("text", "planes"),
    [("rrrr", (0, 0)), ("riir", (0, 1)), ("cccc", ()), ("0ii0", (0, 1)), ("rici", ()), ("ccc0", ())],
)
def test_real_planes(text, planes):
    """A matrix is real on planes if D⁻¹·M·D is real for a diagonal D of powers of i."""
    (block,) = blocks(text, 1)
    assert block.planes == planes


def test_blocks_agree_on_planes():
    """If one selected block is real where another is imaginary, there are no planes that serve both."""
    (block,) = blocks("rrrr riir", 1, 1)
    assert block.planes == ()


def test_codes():
    """Codes name floats of the packed numbers; negating them twice changes nothing."""
    codes = np.array([0, 5, 12, items.ZERO, items.ONE, items.MINUS_ONE])
    assert list(items.negative(codes)) == [1, 4, 13, items.ZERO, items.MINUS_ONE, items.ONE]
    assert list(items.negative(items.negative(codes))) == list(codes)


def test_sets_that_are_no_power_of_two_are_one_matrix():
    """Three coupled values take the fourth along."""
    (block,) = blocks("cc00 cc c0 0cc0 0001".replace(" ", ""))
    assert block.values == (0, 1, 2, 3)
