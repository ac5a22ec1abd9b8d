"""Where in memory a state that is there lies behind each sweep, found forwards from a plain layout to a plain one.

Told by what each index bit flips, and not by where each direction lies, layouts change in a simple way: a sweep adds to
the direction of an index bit any direction of its tile. So each bit has a way to go, from its own direction to that of
a bit of the work, and what lies between has to be a sum of directions of tiles. Two things keep it from going straight
there: the lowest bits are the lanes that the next sweep wants, and directions of several bits must stay independent.
"""

from __future__ import annotations

from collections.abc import Sequence

from qsim_ex.planning.linear.goals import matched
from qsim_ex.planning.linear.growth import TileVisit
from qsim_ex.steps.algebra import Map, Span, common, image, inverse, kernel, units

_TURNS = 8
"""So many walks are tried. Where tiles have hardly more dimensions than the state, one in three ends in place."""


def walked(
    visits: Sequence[TileVisit], directions: Map, lowest: Sequence[int], tile: int, *, stays: bool, opens: bool = False
) -> Walk:
    """Return a walk over sweeps, and those that it needs beside them to end in a plain layout.

    directions: those of the bits of the work in the end. lowest: the bits that are lowest then. tile: the dimensions of
    a tile. stays: whether each bit of the work ends where it began. opens: whether the walk may end wherever it is.
    """
    others = [bit for bit in range(len(directions)) if bit not in lowest]
    best: Walk | None = None
    for turn in range(1 if stays or not visits else _TURNS):
        bits = list(range(len(directions))) if stays else [*lowest, *others[turn:], *others[:turn]]
        walk = Walk(visits, directions, bits, len(lowest), stays=stays)
        if best is None or len(walk.left()) < len(best.left()):
            best = walk
        if not best.left():
            break
    assert best is not None  # there is one turn at least
    while not opens and best.left():
        best.go_on(tile)
    return best


class Walk:
    """The directions of all index bits before the first sweep, and behind each one.

    visits: the sweeps. bits: for each index bit the bit of the work that is on it in the end.
    """

    def __init__(self, visits: Sequence[TileVisit], directions: Map, bits: list[int], low: int, *, stays: bool) -> None:
        self.visits = list(visits)
        self.bits = bits
        self.layouts: list[Map] = [units(range(len(directions)))]
        self._directions, self._low, self._stays = directions, low, stays
        behind = [Span()]  # the spans of the last tiles: of none, of one, and so on
        for visit in visits[::-1]:
            behind.append(Span([*behind[-1].vectors, *visit.tile]))
        for number, visit in enumerate(visits):
            later = len(visits) - 1 - number
            self._choose(behind[1 : later + 2], Span(visit.tile))
            lanes = visits[number + 1].lanes if later else self._goals()[:low]
            made = moved(visit.tile, lanes, behind[later], self.layouts[-1], self._goals())
            if later:
                made = cleared([*visits[number + 1].tile, *visit.tile], low, made)
            self.layouts.append(made)
        self._choose((), Span())

    def left(self) -> list[int]:
        """Return a basis of what is missing from the directions of all bits in the end."""
        return Span([now ^ goal for now, goal in zip(self.layouts[-1], self._goals(), strict=True)]).vectors

    def go_on(self, size: int) -> None:
        """Add a sweep without work, which brings bits to their ends."""
        now = self.layouts[-1]
        lanes = now[: self._low]
        near = Span(lanes)
        for direction in [*self.left(), *now]:
            if len(near) < size:
                near.add(direction)
        self.visits.append(TileVisit(tuple(near.vectors), lanes, (), units(range(len(now)))))
        self.layouts.append(moved(near.vectors, lanes, Span(), now, self._goals()))

    def _goals(self) -> Map:
        return tuple([self._directions[bit] for bit in self.bits])

    def _choose(self, covers: Sequence[Span], near: Span) -> None:
        """Let bits above the lowest exchange their goals, such that each is as late on its way as can be.

        Directions in the tile can still go anywhere in it, so all others choose first.
        """
        if self._stays:
            return
        now = self.layouts[-1]
        order = sorted(range(self._low, len(now)), key=lambda place: now[place] in near)
        bits = self.bits[self._low :]
        to = matched([now[place] for place in order], [self._directions[bit] for bit in bits], covers)
        for place, number in zip(order, to, strict=True):
            self.bits[place] = bits[number]


def moved(tile: Sequence[int], lanes: Sequence[int], later: Span, now: Map, goals: Map) -> Map:
    """Return the directions of all index bits behind a sweep, given those before it and those in the end.

    later: the span of the tiles behind, of which what is then missing has to be made. Bits that need not move stay;
    others go to their goals, or as near as this tile leads.
    """
    every = Span([*later.vectors, *tile])
    missing = [one ^ other for one, other in zip(now, goals, strict=True)]
    wanted = [(name, image(now, name)) for name in kernel([later.reduced(vector)[0] for vector in missing])]
    near = Span(tile)
    wanted += [(name, image(goals, name)) for name in kernel([near.reduced(vector)[0] for vector in missing])]
    for name in kernel([every.reduced(vector)[0] for vector in missing]):
        made = every.reduced(image(missing, name))[1] >> len(later) << len(later)
        wanted.append((name, image(now, name) ^ image(every.vectors, made)))
    wanted += [(1 << bit, direction) for bit, direction in enumerate(now)]
    names, images = Span(units(range(len(lanes)))), Span(lanes)
    free = [Span(common(tile, later.vectors)), near]
    for waits in (False, True):  # those whose place is taken wait until it is known what is left
        for name, to in wanted:
            if (waits or to not in images) and names.add(name):
                images.add(_beside(to, free, images, now) if to in images else to)
    return tuple([image(images.vectors, column) for column in inverse(names.vectors)])


def _beside(to: int, spaces: Sequence[Span], images: Span, now: Map) -> int:
    """Return a direction in place of one that is taken, if possible one that is there now."""
    other = (
        direction
        for space in spaces
        for direction in [*(one for one in now if one ^ to in space), *(to ^ vector for vector in space.vectors)]
    )
    return next(direction for direction in other if direction not in images)


def cleared(directions: Sequence[int], low: int, now: Map) -> Map:
    """Return the directions of all index bits with lanes added above them, such that as few CX as can be need lanes.

    directions: they should have no lane in memory, the first ones before all others.
    """
    span, back = Span(now[:low]), inverse(now)
    names, added = Span(units(range(low))), [0] * low
    for direction in directions:
        place = image(back, direction)
        if span.add(direction) and names.add(place >> low << low):
            added.append(image(now, place & (1 << low) - 1))
    for bit in range(len(now)):
        if names.add(1 << bit):
            added.append(0)
    undone = inverse(names.vectors)
    return tuple([direction ^ image(added, undone[bit]) for bit, direction in enumerate(now)])
