"""Qubit reuse: the wires of a part are slots, each of which holds one live range after another.

A slot is free where a live range has ended in a known basis state. So a part needs as many slots as overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qsim_ex.program.live_ranges import LiveRanges


@dataclass(frozen=True, eq=False, slots=True)
class QubitReuse:
    """The slots of a part.

    of: the slot of each live range. taken: for one in the slot of another wire, the live range that was there before.
    wires: for each slot the wire of the last live range in it, ascending.
    """

    of: dict[int, int]
    taken: dict[int, int]
    wires: tuple[int, ...]


def reuse_of(ranges: LiveRanges, places: Sequence[int]) -> QubitReuse:
    """Return slots for the live ranges of a part, in the order of the part's places."""
    slot: dict[int, int] = {}
    taken: dict[int, int] = {}
    held: list[int] = []  # the present or last live range of each slot
    free: list[int] = []  # the slots that are free, the first one for the longest time
    last = {ranges.every[live].wire: live for place in places for live in ranges.of[place]}
    for place in places:
        for live in ranges.of[place]:
            mine = ranges.every[live]
            if live in slot or mine.echoes:
                continue
            own = next((one for one in free if held[one] == mine.before), None)
            if own is None and free:  # better one whose wire does not come back
                own = next((one for one in free if last[ranges.every[held[one]].wire] == held[one]), free[0])
                taken[live] = held[own]
            if own is None:
                own = len(held)
                held.append(live)
            else:
                free.remove(own)
                held[own] = live
            slot[live] = own
        free += [slot[live] for live in ranges.of[place] if ranges.every[live].end == place]
    order = sorted(range(len(held)), key=lambda one: ranges.every[held[one]].wire)
    place_of = {one: number for number, one in enumerate(order)}
    wires = tuple(ranges.every[held[one]].wire for one in order)
    return QubitReuse({live: place_of[one] for live, one in slot.items()}, taken, wires)
