"""From work to sweeps over subspaces that end in a plain layout, for a new state and for one that is there.

Tiles are chosen forwards (`growth`). The layouts between them are found backwards for a new state, whose first layout
may be any (`backward`), and forwards for a state that is there, which begins in a plain one (`forward`). Then each
sweep is written. A new state may grow for several amounts of arithmetic: some are tried, and the best plan is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

from qsim_ex.circuit.ops import mask_of
from qsim_ex.planning import compiled
from qsim_ex.planning.cancellation import CANCEL, check_cancelled
from qsim_ex.planning.linear.backward import Around, placed
from qsim_ex.planning.linear.forward import walked
from qsim_ex.planning.linear.frame import SWEPT, Frame, Framed, changes_frame, framed
from qsim_ex.planning.linear.growth import GrowingSpace, TileVisit
from qsim_ex.planning.linear.locality import Order
from qsim_ex.planning.linear.sweep import MOST_PIECES, LinearPlan, sweep_over, time_of, written
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.tiles.schedule import Packed
from qsim_ex.planning.ways import linear_worths
from qsim_ex.planning.work import NOTHING, Work
from qsim_ex.steps.algebra import Map, image, inverse, units
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.step import ZeroFill

_LEAST = 1.0
"""Passes over a full state: no plan takes less time."""

_HALF = 0.5
"""The share of the time that is saved which may be spent on planning."""

_CROWD = 600.0
"""So many pieces of work take the planner twice as long, each of them, as few do."""


def cheaper(
    time: float, work: Sequence[Work], num_bits: int, shape: Shape, program: NumberProgram, *, grows: bool
) -> LinearPlan | None:
    """Return the linear plan of some work if it is predicted to take clearly less than the time of a plan on bits.

    grows: whether the work begins in |0…0⟩; else all amplitudes are there. None also where work needs bits, or where
    finding the plan may take longer than it saves.
    """
    if not _is_worth_trying(work, num_bits, shape, shape.rich if grows else shape.rich_there):
        return None
    found = framed(work, num_bits, grows=grows, stays=not grows and not shape.floats)
    if found is None:
        return None
    saved = max(0.0, time - _LEAST) * 2.0 ** (num_bits - shape.start)
    made = grown_plan(found, num_bits, shape, program, saved, grows=grows)
    return made if made and time_of(made.steps, num_bits, shape) < compiled.PROMISE.gain * time else None


def grown_plan(
    found: tuple[list[Framed], Frame], num_bits: int, shape: Shape, program: NumberProgram, saved: float, *, grows: bool
) -> LinearPlan | None:
    """Return the plan of framed work that takes least time, of as many as may be made for what is saved.

    None where work does not fit into phases. saved: in the time of a sweep over 2^`Shape.start` amplitudes.
    """
    work, frame = found
    worths = _affordable(linear_worths(shape) if grows else (1.0,), work, saved)
    if not worths:
        return None
    order, best, least = Order(work), None, inf
    for worth in worths:
        growth = GrowingSpace(work, order, frame, shape, grows=grows, worth=worth)
        made = _plan(growth, work, frame, num_bits, shape, program.copy(), grows=grows)
        if made and (takes := time_of(made.steps, num_bits, shape)) < least:
            best, least = made, takes
    return best


def _is_worth_trying(work: Sequence[Work], num_bits: int, shape: Shape, rich: float) -> bool:
    """Return whether work is so full of CX, and fits so well into tiles, that there may be a better plan."""
    if not 2 * shape.low <= shape.tile < num_bits or any(piece.kind not in SWEPT for piece in work):
        return False
    added, diagonals = sum(map(changes_frame, work)), sum(piece.kind == "diagonal" for piece in work)
    least = compiled.PROMISE.rich * rich * (len(work) - diagonals - added)
    return len(work) - added <= MOST_PIECES and added >= least


def _affordable(worths: tuple[float, ...], work: Sequence[Framed], saved: float) -> tuple[float, ...]:
    """Return as many of the first worths as plans may be made: they may take a share of what can be saved."""
    diagonals = sum(one.piece.kind == "diagonal" for one in work)
    count = len(work) - diagonals + diagonals / 10
    one = compiled.PROMISE.piece * count * (1 + count / _CROWD)
    return tuple([worth for number, worth in enumerate(worths, 1) if number * one <= _HALF * saved])


class _Placed(NamedTuple):
    """Sweeps, the layouts around them, where each bit of the work is in the end, and what nobody has written."""

    visits: Sequence[TileVisit]
    around: Sequence[Around]
    at: list[int]
    left: int = 0
    undone: Map = ()


def _plan(
    growth: GrowingSpace,
    work: list[Framed],
    frame: Frame,
    num_bits: int,
    shape: Shape,
    program: NumberProgram,
    *,
    grows: bool,
) -> LinearPlan | None:
    lowest = growth.plan()
    if lowest is None:
        return None
    found = (_new if grows else _there)(growth, lowest, tuple(frame.directions), shape)
    steps: Packed = []
    for visit, (before, after, fresh) in zip(found.visits, found.around, strict=True):
        if CANCEL.get() is not None:
            check_cancelled()
        made = written(work, visit.work, visit.tile, before, shape.low, fresh)
        store = made.arrive(after, in_vectors=shape.in_vectors)
        sweep, numbers, _ = sweep_over(made, store, num_bits, shape, program, len(visit.mixed))
        if sweep is None:
            return None
        steps.append((sweep, numbers))
    if found.left:
        steps.append((ZeroFill(found.left), NOTHING))
    return LinearPlan(steps, found.at, frame.flip, program, found.undone)


def _new(growth: GrowingSpace, lowest: Sequence[int], directions: Map, shape: Shape) -> _Placed:
    """Return where a new state lies: in order in the end, but for the bits that have to be lowest."""
    size = len(directions)
    at = _index_bits([*lowest, *(bit for bit in range(size) if bit not in lowest)])
    end = tuple([image(units(at), vector) for vector in inverse(directions)])
    left = mask_of(tuple(at[wire] for wire in growth.left))
    return _Placed(growth.visits, placed(growth.visits, end, left, shape.low), at, left)


def _there(growth: GrowingSpace, lowest: Sequence[int], directions: Map, shape: Shape) -> _Placed:
    """Return where a state lies that is there."""
    walk = walked(growth.visits, directions, lowest, shape.tile, stays=not shape.floats, opens=shape.opens)
    maps = [inverse(layout) for layout in walk.layouts]
    around = [Around(before, after, 0) for before, after in pairwise(maps)]
    back = inverse([directions[bit] for bit in walk.bits])
    undone = tuple([image(back, direction) for direction in walk.layouts[-1]])
    return _Placed(walk.visits, around, _index_bits(walk.bits), 0, () if undone == units(range(len(back))) else undone)


def _index_bits(bits: Sequence[int]) -> list[int]:
    """Return the index bit of each bit of the work, given the bit of the work on each index bit."""
    at = [0] * len(bits)
    for place, bit in enumerate(bits):
        at[bit] = place
    return at
