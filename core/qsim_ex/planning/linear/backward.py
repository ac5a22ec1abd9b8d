"""Where in memory a growing state lies before each sweep, found backwards from a plain end.

Any linear map may be the layout of a state that begins in |0…0⟩, since 0 stays 0. So the layout behind the last sweep
is plain, and each sweep undoes what the next one needs: the directions that were lowest go to the lowest bits, the
space that was there before to bits that are not fresh. A sweep may do that to the directions of its tile alone; to all
others it adds directions of its tile, which is enough, since a space lies on bits that a reduced basis of the tile has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qsim_ex.planning.linear.growth import TileVisit
from qsim_ex.planning.linear.locality import basis_of
from qsim_ex.steps.algebra import Map, Span, common, image, inverse, units


class Around(NamedTuple):
    """Where directions are before a sweep and behind it: what flips in memory with each bit of the frame.

    fresh: mask of the index bits at whose 1 the state is zero before the sweep.
    """

    before: Map
    after: Map
    fresh: int


def placed(visits: Sequence[TileVisit], end: Map, fresh: int, low: int) -> list[Around]:
    """Return the layouts around all sweeps, given the one at the end and the bits that are fresh there."""
    out: list[Around] = []
    for visit in visits[::-1]:
        before, grown = _before(visit, end, low)
        fresh |= grown
        out.append(Around(before, end, fresh))
        end = before
    return out[::-1]


def _before(visit: TileVisit, after: Map, low: int) -> tuple[Map, int]:
    """Return the layout before a sweep, and the bits by which the state grows in it."""
    rows = basis_of(image(after, direction) for direction in visit.tile)[::-1]
    mixed = Span(visit.mixed)
    there = [direction for direction in visit.tile if direction in mixed]
    old = Span([*visit.lanes, *there, *common(visit.tile, visit.mixed)]).vectors
    new = [direction for direction in visit.tile if mixed.add(direction)]
    if not visit.mixed:  # nothing has been read yet, so the lanes are free: they are what work mixes last
        old, new = new[len(new) - low :], new[: len(new) - low]
    kept, grown = rows[: len(old)], rows[len(old) :]
    names, images = [*old, *new], [*kept, *grown]
    if not visit.mixed:
        grown = rows
    mask = sum(1 << row.bit_length() - 1 for row in grown)
    span = Span(names)
    for direction in [*visit.mixed, *units(range(len(after)))]:
        if span.add(direction):
            names.append(direction)
            images.append(_reduced(image(after, direction), rows))
    back = inverse(names)
    return tuple([image(images, column) for column in back]), mask


def _reduced(vector: int, rows: Sequence[int]) -> int:
    """Return a vector with rows of a reduced basis added such that no highest bit of one is left."""
    for row in rows:
        vector = min(vector, vector ^ row)
    return vector
