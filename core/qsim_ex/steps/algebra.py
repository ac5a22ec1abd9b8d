"""Linear algebra over GF(2) on index bits: a vector is a mask of bits, and + is XOR.

A **direction** is a vector: the bits that flip together. A **parity** is a functional: the bits whose sum is read. A
map is the tuple of its columns, ``columns[j]`` being what the unit of bit j becomes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qsim_ex.circuit.ops import wires_of

Map = tuple[int, ...]
"""A linear map, as its columns."""


class Span:
    """The span of some vectors, and how each of its vectors is a sum of those that it was made of.

    vectors: those that were added and were not sums of the ones before.
    """

    def __init__(self, vectors: Iterable[int] = ()) -> None:
        self.vectors: list[int] = []
        self._reduced: dict[int, tuple[int, int]] = {}  # highest bit -> (vector, which of `vectors` it is the sum of)
        for vector in vectors:
            self.add(vector)

    def __len__(self) -> int:
        return len(self.vectors)

    def add(self, vector: int) -> bool:
        """Add a vector; return whether it was new."""
        rest, made = self.reduced(vector)
        if rest:
            self._reduced[rest.bit_length()] = (rest, made ^ 1 << len(self.vectors))
            self.vectors.append(vector)
        return rest != 0

    def reduced(self, vector: int) -> tuple[int, int]:
        """Return what is left of a vector outside the span, and which of `vectors` make up the rest, as a mask."""
        made, left = 0, 0
        while vector:
            found = self._reduced.get(vector.bit_length())
            if found is None:
                top = 1 << vector.bit_length() - 1
                left, vector = left | top, vector ^ top
            else:
                vector, made = vector ^ found[0], made ^ found[1]
        return left, made

    def __contains__(self, vector: int) -> bool:
        return self.reduced(vector)[0] == 0

    def pivots(self) -> int:
        """Return a mask of bits that tell the vectors of the span apart, one for each dimension."""
        return sum(1 << top - 1 for top in self._reduced)


def units(bits: Iterable[int]) -> Map:
    """Return the units of some bits."""
    return tuple([1 << bit for bit in bits])


def columns_on(bits: Sequence[int], columns: Sequence[int]) -> Map:
    """Return the map with these columns on some bits, up to the highest of them; all other bits stay."""
    made = dict(zip(bits, columns, strict=True))
    return tuple([made.get(bit, 1 << bit) for bit in range(max(bits, default=-1) + 1)])


def image(columns: Sequence[int], vector: int) -> int:
    """Return what a map makes of a vector."""
    out = 0
    for bit in wires_of(vector):
        out ^= columns[bit]
    return out


def inverse(columns: Sequence[int]) -> Map:
    """Return the inverse of a map; raises `ValueError` if it has none."""
    span = Span(columns)
    if len(span) != len(columns):
        raise ValueError(f"expected {len(columns)} independent columns, got {len(span)}; pass an invertible map.")
    return tuple([span.reduced(1 << bit)[1] for bit in range(len(columns))])


def as_additions(columns: Sequence[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """Return an invertible map as additions of one bit to another, control and target, and then places of all bits."""
    left, pairs = list(columns), list[tuple[int, int]]()
    places: list[int] = []
    for bit in range(len(left)):
        place = bit if left[bit] >> bit & 1 else left[bit].bit_length() - 1
        for other in range(len(left)):
            if other != bit and left[other] >> place & 1:
                left[other] ^= left[bit]
                pairs.append((other, bit))
        places.append(place)
    return pairs, places
