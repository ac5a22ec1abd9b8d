"""The way back to a plain layout, sweep by sweep."""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex.planning.linear.ends import Rest, places, then
from qsim_ex.steps.algebra import Map, Span, image, inverse, units


def drawn(rng: np.random.Generator, size: int, changes: int) -> Map:
    """A map that a number of CX make."""
    columns = list(units(range(size)))
    for _ in range(changes):
        control, target = rng.permutation(size)[:2]
        columns[control] ^= columns[target]
    return tuple(columns)


@pytest.mark.parametrize(("size", "tile", "low"), [(8, 4, 2), (12, 5, 2), (28, 12, 4), (28, 15, 5)])
def test_parts(size: int, tile: int, low: int) -> None:
    """Each part keeps to its tile, and as many sweeps as there are directions to fill are all that it takes."""
    rng = np.random.default_rng(size)
    for changes in (1, size // 2, 4 * size):
        left = drawn(rng, size, changes)
        most = -(-len(Rest(left).directions) // (tile - low))
        for _ in range(most):
            rest = Rest(left)
            inside = Span(units(range(low)))
            for direction in [*rest.directions, *units(range(size))]:
                if len(inside) < tile:
                    inside.add(direction)
            part = rest.part(inside)
            assert all(column ^ 1 << bit in inside for bit, column in enumerate(part))
            assert all(image(part, direction) in inside for direction in inside.vectors)
            left = then(inverse(part), left)
        assert left == units(range(size))


def test_places() -> None:
    """Each bit takes a place of its own, and one that is plain stays where it is."""
    rng = np.random.default_rng(0)
    for changes in range(0, 40, 3):
        directions = drawn(rng, 10, changes)
        found = places(directions)
        assert sorted(found) == list(range(10))
        assert all(1 << place == d for d, place in zip(directions, found, strict=True) if d.bit_count() == 1)
