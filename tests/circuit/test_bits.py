"""Bits that are taken out of a number and put back."""

from __future__ import annotations

from qsim_ex.circuit.bits import gathered, spread


def test_bits_are_gathered_in_the_order_of_their_places() -> None:
    """Bit k of what is gathered is the bit at place k, and no other bit counts."""
    assert gathered(0b1010_0001, (5, 0, 1)) == 0b011
    assert gathered(0b1010_0001, ()) == 0


def test_what_is_spread_is_gathered_again() -> None:
    """Spreading puts bit k of a value at place k and leaves 0 elsewhere, and gathering undoes it."""
    places = (6, 1, 3)
    for value in range(8):
        number = spread(value, places)
        assert number & ~(1 << 6 | 1 << 1 | 1 << 3) == 0
        assert gathered(number, places) == value
