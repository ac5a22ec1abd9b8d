"""Linear algebra on index bits, against matrices of zeros and ones."""

from __future__ import annotations

import numpy as np
import pytest
from support.promises import same_span

from qsim_ex.steps.algebra import Span, as_additions, image, inverse, units


def matrix(columns: tuple[int, ...], size: int) -> np.ndarray:
    """The matrix of a map; vectors have their lowest bit first."""
    return np.array([[column >> row & 1 for column in columns] for row in range(size)])


def drawn(rng: np.random.Generator, size: int) -> tuple[int, ...]:
    """An invertible map."""
    while True:
        columns = tuple(int(c) for c in rng.integers(1 << size, size=size))
        if len(Span(columns)) == size:
            return columns


def test_maps() -> None:
    """A map, its inverse, and what it makes of vectors and of parities are those of its matrix."""
    rng = np.random.default_rng(0)
    for size in range(1, 12):
        columns = drawn(rng, size)
        of = matrix(columns, size)
        assert (of @ matrix(inverse(columns), size) % 2 == np.eye(size)).all()
        for _ in range(10):
            vector = int(rng.integers(1 << size))
            bits = np.array([vector >> bit & 1 for bit in range(size)])
            assert image(columns, vector) == sum(int(b) << k for k, b in enumerate(of @ bits % 2))


def test_spans() -> None:
    """A span knows its vectors, and which of those that it was made of they are sums of."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        given = [int(v) for v in rng.integers(1 << 8, size=rng.integers(1, 7))]
        span = Span(given)
        sums = {0}
        for vector in given:
            sums |= {vector ^ other for other in sums}
        assert len(sums) == 1 << len(span)
        for vector in range(1 << 8):
            rest, made = span.reduced(vector)
            assert (rest == 0) == (vector in span) == (vector in sums)
            assert rest ^ image(span.vectors, made) == vector
        assert same_span(given, list(span.vectors))
        assert same_span(given, [*given[::-1], given[0]])
        assert same_span(given, [*given, 1 << 8]) is False
        assert span.pivots().bit_count() == len(span)
        assert len(Span(vector & span.pivots() for vector in span.vectors)) == len(span)


def test_a_map_without_an_inverse() -> None:
    """A map that is not invertible is refused."""
    assert inverse(units(range(3))) == (1, 2, 4)
    with pytest.raises(ValueError, match="independent columns, got 2"):
        inverse((1, 2, 3))


def test_a_map_as_additions() -> None:
    """Additions of one bit to another, one after the other, and then places of all bits: that is every map."""
    rng = np.random.default_rng(4)
    for size in (1, 3, 8, 20):
        columns = drawn(rng, size)
        pairs, places = as_additions(columns)
        assert sorted(places) == list(range(size))
        for vector in units(range(size)):
            found = vector
            for control, target in pairs:
                found ^= (found >> control & 1) << target
            assert image(units(places), found) == image(columns, vector)
