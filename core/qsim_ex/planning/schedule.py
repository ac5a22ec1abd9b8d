"""From the work of a stage to its steps: sweeps, and the steps that are not sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import PlanError
from qsim_ex.planning.assemble import Packer, items_of
from qsim_ex.planning.blocks import gathered
from qsim_ex.planning.growth import Growth
from qsim_ex.planning.locality import fill, grow, split
from qsim_ex.planning.numbers import NumberProgram
from qsim_ex.planning.work import NOTHING, Work
from qsim_ex.steps.shape import Shape
from qsim_ex.steps.step import Clear, Item, Shuffle, Spread, Step, Sweep, Wide

Places = NDArray[np.int64]
Packed = list[tuple[Step, Places]]
"""Steps in order, each with the places of its numbers."""


def schedule(
    work: Sequence[Work], num_bits: int, shape: Shape, program: NumberProgram, fresh: int
) -> tuple[Packed, int]:
    """Cut work that mixes only bits 0 … num_bits − 1 into steps.

    fresh: mask of those bits that are fresh. Returns the steps, and the bits that are fresh after them.
    """
    growth = Growth(num_bits, shape, fresh)
    steps: Packed = []
    pending = list(work)
    while pending:
        alone = _alone(pending[0])
        if alone is not None:
            if growth.fresh:  # only sweeps know of fresh bits
                steps.append((Clear(growth.fresh), NOTHING))
                growth.settle()
            steps.append((alone, pending[0].source))
            pending = pending[1:]
            continue
        before = growth.fresh
        tile, found = growth.tile(pending)
        ready, left = split(pending, tile, found)
        visited = num_bits - growth.fresh.bit_count()
        sweep, places, undone = _sweep(ready, tile, shape if visited >= shape.blocks_from else shape.plain(), program)
        steps.append((replace(sweep, fresh=before), places))
        pending = sorted([*undone, *left], key=lambda piece: piece.order)
    return steps, growth.fresh


def _alone(piece: Work) -> Step | None:
    """The step that a piece of work is on its own, if it does not run in a sweep."""
    match piece.kind:
        case "wide":
            return Wide(piece.bits, piece.reads, piece.when, piece.label)
        case "shuffle":
            return Shuffle(piece.bits, piece.to, piece.label)
        case "spread":
            return Spread(piece.bits, piece.held, piece.label)
        case _:
            return None


def _sweep(ready: list[Work], tile: int, shape: Shape, program: NumberProgram) -> tuple[Sweep, Places, list[Work]]:
    """Cut a sweep's work into phases; returns also the work that did not fit into its phases."""
    phases, undone = _phases(ready, tile, shape)
    packer = Packer()
    made: list[tuple[int, list[Item]]] = []
    held: list[Work] = []
    for k, (near, work) in enumerate(phases):
        if shape.block is not None:
            work, held = gathered([*held, *work], near, shape.block, program), []
        items, held = items_of(work, held, packer, program, shape.table, last=k == len(phases) - 1)
        made.append((near, items))
    sweep, places = packer.finish(tile, made)
    if len(undone) == len(ready):
        raise PlanError(f"a sweep over tile {tile:#x} ran nothing of {len(ready)} pieces of work")
    return sweep, places, undone


def _phases(work: list[Work], tile: int, shape: Shape) -> tuple[list[tuple[int, list[Work]]], list[Work]]:
    """Grow phase after phase inside a tile; the first and the last keep off the edge bits."""
    edge = (1 << shape.edge) - 1
    middle = tile & ~edge
    phases: list[tuple[int, list[Work]]] = []
    while work or not phases:
        first, last = not phases, shape.phases is not None and len(phases) == shape.phases - 1
        allowed = middle if first or last else tile
        choice = grow(work, 0, allowed, shape.near)
        near = fill(choice.bits, middle, shape.near, lowest=False)
        ready, work = split(work, near, choice.found)
        phases.append((near, ready))
        if last:
            break
    if phases[-1][0] & edge:
        phases.append((fill(0, middle, shape.near, lowest=False), []))
    return phases, work
