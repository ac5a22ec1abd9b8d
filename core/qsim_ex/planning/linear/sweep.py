"""One sweep over a subspace, from its tile and its work; and the time that steps take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from qsim_ex.circuit.ops import mask_of
from qsim_ex.planning.cost.step_cost import step_cost
from qsim_ex.planning.linear.coordinates import Coordinates
from qsim_ex.planning.linear.frame import Framed
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.tiles.schedule import Packed, Places, phases_of, sweep_of
from qsim_ex.steps.algebra import Map, image, inverse, units
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.step import Rename, Sweep

MOST_PIECES = 4096
"""More work is planned on bits: which pieces commute is found for all pairs."""


class LinearPlan(NamedTuple):
    """Sweeps over subspaces.

    at, flip: for each bit that the work names the index bit that it is on in the end, and which of them are inverted.
    program: that of the numbers of the steps.
    undone: what is left to do until it is on that bit, () for nothing; see `Plan.undone`.
    """

    steps: Packed
    at: list[int]
    flip: int
    program: NumberProgram
    undone: Map = ()


class Made(NamedTuple):
    """A sweep with the places of its numbers, or the work that its phases do not hold."""

    sweep: Sweep | None
    numbers: Places
    undone: set[int]


def written(
    work: Sequence[Framed], ready: Sequence[int], tile: Sequence[int], at: Map, low: int, fresh: int = 0
) -> Coordinates:
    """Return work in the coordinates of a tile; the directions that it mixes first are positions.

    at: what the frame's bits flip in memory. fresh: index bits at whose 1 the state is zero before.
    """
    used: dict[int, int] = {}
    for number in ready:
        for direction, row in zip(work[number].directions, work[number].rows, strict=True):
            used.setdefault(direction, row)
    basis = [*used, *tile]
    made = Coordinates(inverse(at), [image(at, d) for d in basis], low, list(used.values()), fresh)
    for number in ready:
        made.place(work[number], number)
    return made


def sweep_over(
    made: Coordinates, store: Map, num_bits: int, shape: Shape, program: NumberProgram, visited: int
) -> Made:
    """Return the sweep of work in coordinates; where its phases do not hold all of it there is none.

    visited: log2 of the amplitudes that are visited.
    """
    edge = 1 << shape.edge
    edges = edge - 1, mask_of(tuple(bit for bit in made.tile if store[bit] < edge))
    tile = mask_of(made.tile)
    _, undone = phases_of(made.work, tile, shape, edges)
    if undone:
        return Made(None, made.work[0].source, {made.pieces[piece.order] for piece in undone})
    sweep, numbers, _ = sweep_of(made.work, tile, shape, program, edges, visited)
    load = tuple(made.load)
    plain = load == units(range(num_bits))
    sweep = replace(sweep, load=() if plain else load, store=() if store == load else store, fresh=made.fresh)
    return Made(sweep, numbers, set())


def time_of(steps: Packed, num_bits: int, shape: Shape) -> float:
    """Return the time of steps, in passes over a full state; see `ordering.foresee`."""
    total = 0.0
    for step, _ in steps:
        cost = step_cost(step, num_bits, 1, shape.block)
        memory, work = cost.bytes / (2 << num_bits), cost.fma / (1 << num_bits)
        if isinstance(step, Sweep):
            beside = shape.item_work * _items(step, shape) + (shape.transposed if step.store else 0.0)
            share = 0.5 ** (step.fresh & ~mask_of(step.tile)).bit_count()
            work += (beside + shape.exchanged * len(step.phases)) * share
            memory = shape.slowed * memory + (shape.elsewhere * share if step.load else 0.0)
        arithmetic = work / shape.rate
        total += max(memory, arithmetic) + shape.seen * min(memory, arithmetic) + 2.0 ** (shape.start - num_bits)
    return total


def _items(sweep: Sweep, shape: Shape) -> int:
    """Return how many items take time.

    Where a tile is whole in a cache, a CX of bits in the number of a row moves nothing (`RowFrame` of native code).
    """
    rows = ~((1 << shape.low) - 1)
    items = [item for phase in sweep.phases for item in phase.items]
    return sum(not (isinstance(item, Rename) and _is_cx(item, rows)) for item in items)


def _is_cx(item: Rename, among: int) -> bool:
    """Return whether a renaming is a CX whose bits are both among some."""
    touched = item.when.mask | mask_of(item.bits)
    return item.to == (1, 0) and item.when.mask.bit_count() == 1 and not touched & ~among
