"""From framed work to sweeps over subspaces.

Two tiles that follow each other share as many dimensions as there are lowest bits: a sweep leaves there what the next
one wants. Behind the last work the layout is made plain, by that sweep's store and by sweeps without work.
"""

from __future__ import annotations

from collections.abc import Sequence

from qsim_ex.planning import compiled
from qsim_ex.planning.cancellation import CANCEL, check_cancelled
from qsim_ex.planning.linear.coordinates import Coordinates
from qsim_ex.planning.linear.ends import Rest, places, then
from qsim_ex.planning.linear.frame import Frame, Framed, framed
from qsim_ex.planning.linear.locality import Order, chosen, reasons, split
from qsim_ex.planning.linear.new_state import grown_plan, is_worth_trying
from qsim_ex.planning.linear.sweep import MOST_PIECES, LinearPlan, sweep_over, time_of, written
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.tiles.schedule import Packed
from qsim_ex.planning.work import Work
from qsim_ex.steps.algebra import Map, Span, common, image, inverse, units
from qsim_ex.steps.layout import Shape


def linear_plan(work: Sequence[Work], num_bits: int, shape: Shape, program: NumberProgram) -> LinearPlan | None:
    """Return work that begins and ends in a plain layout as sweeps over subspaces; None where bits are needed."""
    found = framed(work, num_bits) if shape.tile < num_bits else None
    if found is None or len(found[0]) > MOST_PIECES:
        return None
    return _Sweeps(num_bits, shape, program.copy(), *found).plan()


def cheaper(
    time: float, work: Sequence[Work], num_bits: int, shape: Shape, program: NumberProgram, *, grows: bool = False
) -> LinearPlan | None:
    """Return the linear plan of some work if it is predicted to take clearly less than the time of a plan on bits.

    grows: whether the work begins in |0…0⟩.
    """
    if grows and not is_worth_trying(work, num_bits, shape):
        return None
    found = grown_plan(work, num_bits, shape, program, time) if grows else linear_plan(work, num_bits, shape, program)
    return found if found and time_of(found.steps, num_bits, shape) < compiled.PROMISE.gain * time else None


class _Sweeps:
    """Sweeps in the making. at: what each of the frame's bits flips in memory, as it is now."""

    def __init__(self, num_bits: int, shape: Shape, program: NumberProgram, work: list[Framed], frame: Frame) -> None:
        self._num_bits, self._shape, self._program = num_bits, shape, program
        self._work, self._frame = work, frame
        self._order = Order(work)
        self._at: Map = units(range(num_bits))
        self._to: list[int] = []
        self._steps: Packed = []

    def plan(self) -> LinearPlan | None:
        """Return the plan, None if some work does not fit into the phases of a sweep."""
        pending = list(range(len(self._work)))
        while pending:
            if CANCEL.get() is not None:
                check_cancelled()
            left = self._sweep(pending)
            if left == pending:
                return None
            pending = left
        while (rest := self._rest()).directions:
            if not self._end(rest):
                return None
        flip = sum(1 << bit for bit in range(self._num_bits) if self._frame.flip >> bit & 1)
        return LinearPlan(self._steps, self._to, flip, self._program)

    def _lowest(self) -> list[int]:
        """Return the directions that are on the lowest bits."""
        return list(inverse(self._at)[: self._shape.low])

    def _sweep(self, pending: list[int]) -> list[int]:
        """Add a sweep that does most of the pending work; return what is left."""
        size, low = self._shape.tile, self._lowest()
        found = reasons(pending, self._work, self._order, Span(low), size - len(low))
        near = Span(low + chosen(found, self._work, low, size - len(low)))
        ready, left = split(pending, self._work, self._order, near)
        if not left:
            self._fill(near, self._toward_the_end())
        self._fill(near, inverse(self._at))
        while ready:
            made = written(self._work, ready, near.vectors, self._at, self._shape.low)
            lanes = made.lanes(self._next_lanes(made, near, left)) if left else None
            if lanes is None:
                part = self._rest().part(Span(image(self._at, v) for v in near.vectors))
                stores = made.arrive(then(self._at, part), in_vectors=self._shape.in_vectors)
            else:
                stores = made.stores(lanes)
            undone = self._add(made, stores)
            if not undone:
                return left
            later = undone & set(ready) or {ready[-1]}  # CX behind all work may need phases, too
            ready = [number for number in ready if number not in later]
            left = sorted([*left, *later])
        return pending

    def _toward_the_end(self) -> list[int]:
        """Return directions with which the last sweep does more of what makes the layout plain."""
        back = inverse(self._at)
        return [image(back, direction) for direction in self._rest().directions]

    def _fill(self, near: Span, directions: Sequence[int]) -> None:
        for direction in directions:
            if len(near) < self._shape.tile:
                near.add(direction)

    def _next_lanes(self, made: Coordinates, near: Span, left: Sequence[int]) -> list[int]:
        """Return the directions that go to the lowest bits: of this tile, with which the next one does most.

        First those that the next tile does not want near, as many as it has room for.
        """
        size, count = self._shape.tile, self._shape.low
        found = reasons(left, self._work, self._order, Span(), size)
        wanted = Span(chosen(found, self._work, [], size, near.vectors, size - count))
        room = size - len(wanted)
        taken = Span()
        both = Span(wanted.vectors)
        positions = list(made.directions().values())
        for direction in positions:
            if len(taken) < min(room, count) and both.add(direction):
                taken.add(direction)
        for direction in [*positions, *common(near.vectors, wanted.vectors)]:
            if len(taken) < count and direction in both:
                taken.add(direction)
        return taken.vectors

    def _rest(self) -> Rest:
        """Return what is left to do until each bit of the work is on a place of its own."""
        if not self._to:
            self._to = places([image(self._at, direction) for direction in self._frame.directions])
        moved = [image(units(self._to), values) for values in inverse(self._frame.directions)]
        return Rest(then(inverse(self._at), moved))

    def _end(self, rest: Rest) -> bool:
        """Add a sweep without work, which does as much of the rest as its tile holds; return whether phases hold it."""
        tile = Span(units(range(self._shape.low)))
        for direction in [*rest.directions, *units(range(self._num_bits))]:
            if len(tile) < self._shape.tile:
                tile.add(direction)
        part = rest.part(tile)
        lanes = inverse(part)[: self._shape.low]
        made = Coordinates(inverse(self._at), [*lanes, *tile.vectors], self._shape.low)
        return not self._add(made, made.arrive(then(self._at, part), in_vectors=self._shape.in_vectors))

    def _add(self, made: Coordinates, store: Map) -> set[int]:
        """Add a sweep, and follow it; return the work that its phases do not hold: then nothing is added."""
        shape = self._shape if self._num_bits >= self._shape.blocks_from else self._shape.plain()
        sweep, numbers, undone = sweep_over(made, store, self._num_bits, shape, self._program)
        if sweep is None:
            return undone
        self._steps.append((sweep, numbers))
        self._at = made.after(store)
        return set()
