"""From the work of a run that begins in |0…0⟩ to sweeps over subspaces that end in a plain layout.

Sweeps are chosen forwards (`growth`), the layouts between them backwards (`backward`), and then each is written. So a
plain end costs no sweep. Some amounts of arithmetic for which the state grows are tried, and the best plan is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from qsim_ex.circuit.ops import mask_of
from qsim_ex.planning import compiled
from qsim_ex.planning.cancellation import CANCEL, check_cancelled
from qsim_ex.planning.linear.backward import placed
from qsim_ex.planning.linear.frame import SWEPT, Frame, Framed, changes_frame, framed
from qsim_ex.planning.linear.growth import GrowingSpace
from qsim_ex.planning.linear.locality import Order
from qsim_ex.planning.linear.sweep import MOST_PIECES, LinearPlan, sweep_over, time_of, written
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.tiles.schedule import Packed
from qsim_ex.planning.ways import linear_worths
from qsim_ex.planning.work import NOTHING, Work
from qsim_ex.steps.algebra import image, inverse, units
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.step import ZeroFill

_LEAST = 1.0
"""Passes over a full state: no plan takes less time."""

_HALF = 0.5
"""The share of the time that is saved which may be spent on planning."""

_CROWD = 600.0
"""So many pieces of work take the planner twice as long, each of them, as few do."""


def is_worth_trying(work: Sequence[Work], num_bits: int, shape: Shape) -> bool:
    """Return whether work is so full of CX, and fits so well into tiles, that there may be a better plan."""
    if not 2 * shape.low <= shape.tile < num_bits or any(piece.kind not in SWEPT for piece in work):
        return False
    added, diagonals = sum(map(changes_frame, work)), sum(piece.kind == "diagonal" for piece in work)
    least = compiled.PROMISE.rich * shape.rich * (len(work) - diagonals - added)
    return len(work) - added <= MOST_PIECES and added >= least


def grown_plan(
    work: Sequence[Work], num_bits: int, shape: Shape, program: NumberProgram, time: float
) -> LinearPlan | None:
    """Return work on a state of which only amplitude 0 is there as sweeps over subspaces, in the least time.

    None where it needs bits, or where finding the plan may take longer than it saves. time: that of a plan on bits.
    """
    found = framed(work, num_bits, grows=True)
    if found is None:
        return None
    pieces, frame = found
    worths = _affordable(linear_worths(shape), pieces, max(0.0, time - _LEAST) * 2.0 ** (num_bits - shape.start))
    if not worths:
        return None
    order, best, least = Order(pieces), None, inf
    for worth in worths:
        growth = GrowingSpace(pieces, order, frame, shape, worth)
        made = _swept(growth, pieces, frame, num_bits, shape, program.copy())
        if made and (takes := time_of(made.steps, num_bits, shape)) < least:
            best, least = made, takes
    return best


def _affordable(worths: tuple[float, ...], pieces: Sequence[Framed], saved: float) -> tuple[float, ...]:
    """Return as many of the first worths as plans may be made. saved: how long planning takes at most what it saves."""
    diagonals = sum(one.piece.kind == "diagonal" for one in pieces)
    count = len(pieces) - diagonals + diagonals / 10
    one = compiled.PROMISE.piece * count * (1 + count / _CROWD)
    return tuple([worth for number, worth in enumerate(worths, 1) if number * one <= _HALF * saved])


def _swept(
    growth: GrowingSpace, pieces: Sequence[Framed], frame: Frame, num_bits: int, shape: Shape, program: NumberProgram
) -> LinearPlan | None:
    """Return the sweeps of a state that grows in some way, None where phases do not hold their work."""
    lowest = growth.plan()
    if lowest is None:
        return None
    at = _places(lowest, num_bits)
    end = tuple([image(units(at), vector) for vector in inverse(frame.directions)])
    left = mask_of(tuple(at[wire] for wire in growth.left))
    steps: Packed = []
    for visit, (before, after, fresh) in zip(growth.visits, placed(growth.visits, end, left, shape.low), strict=True):
        if CANCEL.get() is not None:
            check_cancelled()
        visited = len(visit.mixed)
        made = written(pieces, visit.work, visit.tile, before, shape.low, fresh)
        allowed = shape if visited >= shape.blocks_from else shape.plain()
        sweep, numbers, _ = sweep_over(
            made, made.arrive(after, in_vectors=shape.in_vectors), num_bits, allowed, program
        )
        if sweep is None:
            return None
        steps.append((sweep, numbers))
    if left:
        steps.append((ZeroFill(left), NOTHING))
    return LinearPlan(steps, at, frame.flip, program)


def _places(lowest: Sequence[int], num_bits: int) -> list[int]:
    """Return the index bit of each bit of the work in the end: in order, but for those that have to be lowest."""
    at = [0] * num_bits
    for place, bit in enumerate([*lowest, *(bit for bit in range(num_bits) if bit not in lowest)]):
        at[bit] = place
    return at
