"""`make_plan`: instructions in, plan out. The order of planning's steps is here and nowhere else.

absorb → fuse → rotate → (grow a tile → grow its phases → assemble)* → number program
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Initialize, Op
from qsim_ex.errors import PlanError
from qsim_ex.planning.absorb import Unitary, absorb
from qsim_ex.planning.assemble import Packer, items_of
from qsim_ex.planning.binding import bind
from qsim_ex.planning.fuse import fuse
from qsim_ex.planning.growth import Growth
from qsim_ex.planning.locality import fill, grow, split
from qsim_ex.planning.numbers import NumberProgram
from qsim_ex.planning.rotate import rotate
from qsim_ex.planning.work import NOTHING, Work
from qsim_ex.steps import Clear, Item, Layout, Plan, Shape, Shuffle, Spread, Stage, Step, Sweep, Wide

__all__ = ["bind", "make_plan"]

Places = NDArray[np.int64]


@lru_cache(maxsize=256)
def make_plan(instructions: tuple[Unitary, ...], num_wires: int, start: Layout, shape: Shape, fresh: int = 0) -> Plan:
    """Plan straight-line unitary work on a state in layout `start`, for devices of this shape.

    fresh: mask of index bits that are 0 in all of the state, whose other amplitudes memory need not hold (see
    `steps.Sweep`); all of them for a state of which only amplitude 0 is written, and is 1.
    The plan depends on structure alone: circuits that differ in angles share it, and this function's cache.
    """
    fitted = shape.fit(num_wires)
    work, end = absorb(instructions, start, fitted)
    program = NumberProgram(_num_operands(instructions))
    work = rotate(fuse(work, program, fitted.item_work), program, fitted.item_work)
    steps, packed = _schedule(work, num_wires, fitted, program, fresh)
    return Plan(
        num_wires=num_wires,
        stages=(Stage(tuple(steps)),) if steps else (),
        start=start,
        end=end,
        numbers=program.finish(packed),
        shape=fitted,
        num_gates=len(instructions),
        made_from=(instructions, num_wires, start, shape, fresh),
        fresh=fresh,
    )


def _num_operands(instructions: tuple[Unitary, ...]) -> int:
    """The least length of an operand array that all instructions' numbers fit in."""
    size = 2
    for instruction in instructions:
        if isinstance(instruction, Op):
            size = max(size, instruction.operand + len(instruction.pattern))
        elif isinstance(instruction, Initialize):
            size = max(size, instruction.operand + (1 << len(instruction.wires)))
    return size


def _schedule(
    pending: list[Work], num_bits: int, shape: Shape, program: NumberProgram, fresh: int
) -> tuple[list[Step], list[Places]]:
    """Cut the work into steps, in order, with the places of each step's numbers."""
    growth = Growth(num_bits, shape, fresh)
    steps: list[Step] = []
    packed: list[Places] = []

    def clear() -> None:
        if growth.fresh:
            steps.append(Clear(growth.fresh))
            packed.append(NOTHING)
            growth.settle()

    while pending:
        alone = _alone(pending[0])
        if alone is not None:
            clear()  # only sweeps know of fresh bits
            steps.append(alone)
            packed.append(pending[0].source)
            pending = pending[1:]
            continue
        before = growth.fresh
        tile, found = growth.tile(pending)
        ready, left = split(pending, tile, found)
        sweep, places, undone = _sweep(ready, tile, shape, program)
        steps.append(replace(sweep, fresh=before))
        packed.append(places)
        pending = sorted([*undone, *left], key=lambda piece: piece.order)
    clear()
    return steps, packed


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
