"""The sweeps that bring a state whose wires are sums of index bits to one index bit for each wire, in place.

Each sweep has no work: it writes its tile at other places than it was read from, and does as much of the rest as a tile
can (see `ends.Rest`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from qsim_ex.planning.cost.step_cost import step_cost
from qsim_ex.planning.linear.coordinates import Coordinates
from qsim_ex.planning.linear.ends import Rest, places, then
from qsim_ex.planning.linear.sweep import sweep_over
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.steps.algebra import Map, Span, image, inverse, units
from qsim_ex.steps.index_map import IndexMap
from qsim_ex.steps.layout import Layout, Shape
from qsim_ex.steps.step import Sweep


class Split(NamedTuple):
    """An index map as a layout, and what is left to do until it holds: the amplitude at index s belongs at N s."""

    layout: Layout
    undone: Map


def split(found: IndexMap) -> Split:
    """Return the layout that an index map comes closest to; nothing is left to do if it is plain."""
    address = tuple(places(found.directions))
    layout = Layout(address, image(units(address), found.flip))
    if found.is_plain:
        return Split(layout, ())
    return Split(layout, tuple([image(units(address), wires) for wires in found.wires]))


@lru_cache(maxsize=64)
def settling(undone: Map, shape: Shape) -> tuple[Sweep, ...]:
    """Return the sweeps that do what is left to do, on a device of this shape; they have no numbers."""
    num_bits = len(undone)
    shape = shape.fit(num_bits)
    sweeps: list[Sweep] = []
    while (rest := Rest(undone)).directions:
        tile = Span(units(range(shape.low)))
        for direction in [*rest.directions, *units(range(num_bits))]:
            if len(tile) < shape.tile:
                tile.add(direction)
        part = rest.part(tile)
        made = Coordinates(units(range(num_bits)), [*inverse(part)[: shape.low], *tile.vectors], shape.low)
        sweep, _, left = sweep_over(
            made, made.arrive(part, in_vectors=shape.in_vectors), num_bits, shape, NumberProgram(2), num_bits
        )
        assert sweep is not None, left  # CX on near bits alone: tiles are near where phases are few
        sweeps.append(sweep)
        undone = then(inverse(part), undone)
    return tuple(sweeps)


def passes(undone: Map, shape: Shape) -> float:
    """Return how often all amplitudes are read and written until nothing is left to do."""
    size = len(undone)
    return sum(step_cost(sweep, size, 1, shape.block).bytes for sweep in settling(undone, shape)) / (2 << size)
