"""Slots: the wires of a part, each of which holds one life of a circuit's wire after another.

A slot is free where a life has ended in a known basis state. So a part needs as many slots as lives overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qsim_ex.program.lives import Lives


@dataclass(frozen=True, eq=False, slots=True)
class Turns:
    """The slots of a part.

    of: the slot of each life. taken: for a life in the slot of another wire, the life that was there before.
    wires: for each slot the wire of the last life in it, ascending.
    """

    of: dict[int, int]
    taken: dict[int, int]
    wires: tuple[int, ...]


def slots_of(lives: Lives, places: Sequence[int]) -> Turns:
    """Return slots for the lives of a part, in the order of the part's places."""
    slot: dict[int, int] = {}
    taken: dict[int, int] = {}
    held: list[int] = []  # the present or last life of each slot
    free: list[int] = []  # the slots that are free, the first one for the longest time
    last = {lives.every[life].wire: life for place in places for life in lives.of[place]}
    for place in places:
        for life in lives.of[place]:
            mine = lives.every[life]
            if life in slot or mine.echoes:
                continue
            own = next((one for one in free if held[one] == mine.before), None)
            if own is None and free:  # better one whose wire does not come back
                own = next((one for one in free if last[lives.every[held[one]].wire] == held[one]), free[0])
                taken[life] = held[own]
            if own is None:
                own = len(held)
                held.append(life)
            else:
                free.remove(own)
                held[own] = life
            slot[life] = own
        free += [slot[life] for life in lives.of[place] if lives.every[life].end == place]
    order = sorted(range(len(held)), key=lambda one: lives.every[held[one]].wire)
    place_of = {one: number for number, one in enumerate(order)}
    wires = tuple(lives.every[held[one]].wire for one in order)
    return Turns({life: place_of[one] for life, one in slot.items()}, taken, wires)
