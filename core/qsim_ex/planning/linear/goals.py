"""Which bit of the work each index bit becomes in the end, and what tiles have to have for that.

Any place will do for a bit of the work, where layouts may change. So those are matched that are nearest.
"""

from __future__ import annotations

from collections.abc import Sequence

from qsim_ex.steps.algebra import Map, Span, units


def matched(now: Sequence[int], goals: Sequence[int], covers: Sequence[Span]) -> list[int]:
    """Return for each direction the number of its goal: the same, or one that differs by little.

    covers: growing spaces; first all are matched that differ by a vector of the first one, and so on.
    """
    to, free = [-1] * len(now), list(range(len(goals)))
    for cover in (Span(), *covers):
        if not free:
            break
        left = [cover.reduced(goal)[0] for goal in goals]
        for number, direction in enumerate(now):
            if to[number] < 0:
                rest = cover.reduced(direction)[0]
                found = next((goal for goal in free if left[goal] == rest), -1)
                if found >= 0:
                    to[number] = found
                    free.remove(found)
    for number in range(len(now)):
        if to[number] < 0:
            to[number] = free.pop(0)
    return to


def uncovered(directions: Map, tiles: Span, *, stays: bool) -> list[int]:
    """Return what the span of all tiles lacks for the way of each index bit to a bit of the work; nothing if they do.

    stays: whether each bit of the work ends where it began.
    """
    start = units(range(len(directions)))
    to = range(len(start)) if stays else matched(start, directions, [tiles])
    return Span([tiles.reduced(start[bit] ^ directions[goal])[0] for bit, goal in enumerate(to)]).vectors
