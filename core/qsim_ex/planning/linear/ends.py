"""From a linear layout back to a plain one: which bit each wire takes, and the sweeps that put it there.

What is left to do is a map N. A sweep over a tile W may do any part of it that only adds vectors of W, and leaves W
where it is. With N = 1 + Σ w_i φ_i (w_i directions, φ_i parities), 1 + Σ of some of the terms is such a part if it is
invertible; it is after a change of basis, and then so many terms are done.
"""

from __future__ import annotations

from collections.abc import Sequence

from qsim_ex.circuit.ops import wires_of
from qsim_ex.steps.algebra import Map, Span, image, inverse, units


def places(directions: Sequence[int]) -> list[int]:
    """Return for each bit of the work the index bit that it takes; one that has it already keeps it."""
    out = [-1] * len(directions)
    free = set(range(len(directions)))
    for bit in sorted(range(len(directions)), key=lambda b: directions[b].bit_count()):
        own = [place for place in wires_of(directions[bit]) if place in free]
        out[bit] = own[0] if own else -1
        free -= set(own[:1])
    for bit, place in enumerate(out):
        if place < 0:
            out[bit] = free.pop()
    return out


def then(first: Sequence[int], second: Sequence[int]) -> Map:
    """Return one map after another."""
    return tuple([image(second, column) for column in first])


class Rest:
    """What is left to do: N − 1 = Σ w_i φ_i. directions: the w_i."""

    def __init__(self, left: Map) -> None:
        self._left = left
        span = Span(column ^ 1 << bit for bit, column in enumerate(left))
        self.directions = span.vectors
        made = [span.reduced(column ^ 1 << bit)[1] for bit, column in enumerate(left)]
        self._parities = [
            sum((mask >> k & 1) << bit for bit, mask in enumerate(made)) for k in range(len(span.vectors))
        ]

    def part(self, inside: Span) -> Map:
        """Return a map that does as much of the rest as a tile can, given the directions in it."""
        size = len(self.directions)
        some = self._within(inside)
        one = [
            sum(((self._parities[k] & w).bit_count() & 1 ^ (k == column)) << k for k in range(size))
            for column, w in enumerate(self.directions)
        ]
        basis = [*some, *_common_complement(some, [image(one, vector) for vector in some], size)]
        back = inverse(basis)
        columns = list(units(range(len(self._left))))
        for k in range(len(some)):
            parity = image(self._parities, sum((column >> k & 1) << bit for bit, column in enumerate(back)))
            direction = image(self.directions, basis[k])
            for bit in wires_of(parity):
                columns[bit] ^= direction
        return tuple(columns)

    def _within(self, inside: Span) -> list[int]:
        """Return which sums of the directions lie in a space, as a basis of masks."""
        outside, out = Span(), []
        names: list[int] = []
        for k, direction in enumerate(self.directions):
            rest, made = outside.reduced(inside.reduced(direction)[0])
            if rest:
                outside.add(rest)
                names.append(1 << k ^ image(names, made))
            else:
                out.append(1 << k ^ image(names, made))
        return out


def _common_complement(one: Sequence[int], other: Sequence[int], size: int) -> list[int]:
    """Return vectors that complete each of two sets of as many independent vectors to a basis."""
    first, second, out = Span(one), Span(other), list[int]()
    while len(first) < size:
        new = next(unit for unit in units(range(size)) if unit not in first)
        if new in second:
            also = next(unit for unit in units(range(size)) if unit not in second)
            new = also if also not in first else new ^ also
        first.add(new)
        second.add(new)
        out.append(new)
    return out
