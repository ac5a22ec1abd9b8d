"""Which tiles a state is swept over, one after another; while the space that it lies in grows, if it is new.

A state that begins in |0…0⟩ lies in the span of the directions that work has mixed so far, its **mixed space**. It is
as large as that space, whichever CX there were. So work is done while the space has few dimensions, as `tiles.schedule`
does it for bits; where in memory the space lies is decided afterwards, by `backward`. The mixed space of a state that
is there is all from the beginning, its first tile has the lowest bits, and its tiles lead to a plain end (`forward`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from qsim_ex.planning.linear.frame import Frame, Framed
from qsim_ex.planning.linear.goals import uncovered
from qsim_ex.planning.linear.locality import Order, Reason, chosen, reasons, split
from qsim_ex.planning.tiles.schedule import AT_ONCE
from qsim_ex.steps.algebra import Span, common, units
from qsim_ex.steps.layout import Shape


@dataclass(frozen=True, slots=True, eq=False)
class TileVisit:
    """What one sweep brings near.

    tile: directions that span the tile; those that work mixes come first, in the order of that work.
    lanes: the directions that are on the lowest bits when the tile is read; none where nothing is there to be read.
    work: the numbers of the pieces that run. mixed: the mixed space before.
    """

    tile: tuple[int, ...]
    lanes: tuple[int, ...]
    work: tuple[int, ...]
    mixed: tuple[int, ...]


class GrowingSpace:
    """The mixed space of a state, as sweeps are chosen for it.

    wires: the bits of the work that are not 0 in all of the state in the end. The mixed space has all of their
    directions then, so that it is theirs. left: the bits whose zeros nobody has written in the end.
    worth: a new state grows for work that takes so many times as long as reading and writing it.
    """

    def __init__(
        self, work: Sequence[Framed], order: Order, frame: Frame, shape: Shape, *, grows: bool, worth: float
    ) -> None:
        self._work, self._order, self._shape, self._grows = work, order, shape, grows
        self._balance = worth * shape.balance
        self._directions = tuple(frame.directions)
        self._stays = not grows and not shape.floats
        self._may_be_lowest = self._directions[: shape.low] if self._stays else self._directions
        everything = [] if grows else units(range(len(self._directions)))
        self._every = Span([*everything, *(direction for piece in work for direction in piece.directions)])
        self.wires = [
            wire
            for wire, parity in enumerate(frame.parities)
            if any((parity & vector).bit_count() & 1 for vector in self._every.vectors)
        ]
        for wire in self.wires:
            self._every.add(self._directions[wire])
        self._reach, self._mixed, self._covered = Span(everything), Span(everything), Span()
        self.left: list[int] = []
        self.visits: list[TileVisit] = []

    def plan(self) -> tuple[int, ...] | None:
        """Choose all sweeps; return the wires whose directions are lowest in the end, None if work does not fit."""
        low = self._shape.low
        self.left = list(range(len(self._directions))) if self._grows else []
        if not self._work and self._grows:
            return tuple(range(low))
        if not self._work and not self._lacks(Span()):
            return ()
        lanes = [] if self._grows else list(units(range(low)))
        pending = list(range(len(self._work)))
        while True:
            near, ready = self._tile(pending, lanes)
            if pending and not ready:
                return None
            done = set(ready)
            pending = [number for number in pending if number not in done]
            tile = self._ordered(near, ready)
            self.visits.append(TileVisit(tile, tuple(lanes), tuple(ready), tuple(self._mixed.vectors)))
            for direction in tile:
                self._mixed.add(direction)
                self._covered.add(direction)
            lowest = self._lowest(near)
            if not pending and len(lowest) >= low and not self._lacks(self._covered):
                self.left = [wire for wire in self.left if self._directions[wire] not in self._mixed]
                return tuple(lowest)
            lanes = self._lanes(pending, near, tile, lanes)

    def _lacks(self, tiles: Span) -> list[int]:
        """Return what the span of all tiles lacks for a plain end."""
        if self._grows:
            return [direction for direction in self._every.vectors if direction not in tiles]
        return uncovered(self._directions, tiles, stays=self._stays)

    def _lowest(self, near: Span) -> list[int]:
        """Return bits of the work that can be lowest in the end, as many as are."""
        return [wire for wire, direction in enumerate(self._may_be_lowest) if direction in near][: self._shape.low]

    def _ordered(self, near: Span, ready: Iterable[int]) -> tuple[int, ...]:
        span = Span()
        for number in ready:
            for direction in self._work[number].directions:
                span.add(direction)
        for direction in near.vectors:
            span.add(direction)
        return tuple(span.vectors)

    def _tile(self, pending: Sequence[int], lanes: Sequence[int]) -> tuple[Span, list[int]]:
        """Return the next tile, and the work in it."""
        size, low = self._shape.tile, self._shape.low
        near = Span([*lanes, *self._wanted(pending, lanes)])
        ready, left = split(pending, self._work, self._order, near)
        if not self._grows:
            while len(near) < size and (lacks := self._lacks(Span([*self._covered.vectors, *near.vectors]))):
                near.add(lacks[0])
        elif not left:
            wires = [self._directions[wire] for wire in self.wires]
            _fill(near, sorted(wires, key=lambda direction: direction in self._mixed), size)
        if not left:  # it may be the last one, which has wires in its lanes
            for direction in self._may_be_lowest:
                if len(self._lowest(near)) < low:
                    _fill(near, [direction], size)
        for directions in (self._mixed.vectors, self._reach.vectors, self._every.vectors, self._directions):
            _fill(near, directions, size)
        return near, ready

    def _wanted(self, pending: Sequence[int], lanes: Sequence[int]) -> list[int]:
        """Return directions within the reach with which enough work runs; the reach becomes larger until it does."""
        room = self._shape.tile - len(lanes)
        found = reasons(pending, self._work, self._order, Span(lanes), room)
        while True:
            last = len(self._reach) >= len(self._every)
            if last:
                return chosen(found, self._work, lanes, room)
            if len(self._reach) >= self._shape.start:
                inside = self._inside(found, self._reach)
                added = chosen(inside, self._work, lanes, room)
                if 3 * self._arithmetic(found, Span([*lanes, *added])) >= self._balance:
                    return added
            self._reach = self._larger(pending)

    def _larger(self, pending: Sequence[int]) -> Span:
        """Return the reach with as few added directions as let enough work run to occupy a pass over the state."""
        room = len(self._every) - len(self._reach)
        free = min(room, max(0, self._shape.start - len(self._reach)))
        counts = [count for count in sorted({max(1, free), *(free + k for k in AT_ONCE)}) if count < room]
        near = self._reach.vectors
        found = reasons(pending, self._work, self._order, self._reach, max(counts)) if counts else {}
        for count in counts:
            added = chosen(found, self._work, near, count)
            wider = Span([*near, *added])
            if added and self._arithmetic(found, wider) >= self._balance:
                return wider
        return Span([*near, *self._every.vectors])

    def _arithmetic(self, found: dict[int, Reason | None], near: Span) -> float:
        """Return the multiply-adds per amplitude of the work that runs with some directions near."""
        inside = self._inside(found, near)
        return sum(self._work[number].piece.work for number, reason in inside.items() if reason is not None)

    @staticmethod
    def _inside(found: dict[int, Reason | None], space: Span) -> dict[int, Reason | None]:
        known: dict[Reason, bool] = {}
        for reason in found.values():
            if reason is not None and reason not in known:
                known[reason] = all(vector in space for vector in reason)
        return {number: reason for number, reason in found.items() if reason is not None and known[reason]}

    def _lanes(self, pending: Sequence[int], near: Span, tile: Sequence[int], now: Sequence[int]) -> list[int]:
        """Return the directions that go to the lowest bits: of this tile, with which the next one does most.

        First those that the next tile does not want near, as many as it has room for, of them those that are there now.
        """
        size, count = self._shape.tile, self._shape.low
        wanted = Span()
        if pending:
            found = reasons(pending, self._work, self._order, Span(), size)
            inside = self._inside(found, Span([*self._reach.vectors, *near.vectors]))
            wanted = Span(chosen(inside, self._work, [], size, near.vectors, size - count))
            if not wanted.vectors:
                wanted = Span(chosen(found, self._work, [], size, near.vectors, size - count))
        room, taken, both = size - len(wanted), Span(), Span(wanted.vectors)
        order = [*now, *tile[::-1]]
        if pending:
            done = split(pending, self._work, self._order, wanted)[0]
            rows = dict.fromkeys([row for number in done for row in self._work[number].rows])
            unread = _even(near.vectors, rows)
            order = sorted([*now, *unread, *tile[::-1]], key=lambda d: sum((d & row).bit_count() & 1 for row in rows))
        for direction in order:
            if len(taken) < min(room, count) and both.add(direction):
                taken.add(direction)
        for direction in [*order, *common(near.vectors, wanted.vectors)]:
            if len(taken) < count and direction in both:
                taken.add(direction)
        return taken.vectors


def _even(vectors: Sequence[int], parities: Iterable[int]) -> list[int]:
    """Return a basis of the vectors of a space in which some parities are even."""
    space = list(vectors)
    for parity in parities:
        odd = [vector for vector in space if (vector & parity).bit_count() & 1]
        space = [vector for vector in space if not (vector & parity).bit_count() & 1]
        space += [odd[0] ^ vector for vector in odd[1:]]
    return space


def _fill(near: Span, directions: Iterable[int], size: int) -> None:
    for direction in directions:
        if len(near) < size:
            near.add(direction)
