"""X-parts of Pauli strings, distributed over visits of a divided state.

The wires of an X-part must be near at the same time, and a visit of a state in host memory costs a pass over the
link to the host. So X-parts whose wires fit together share a visit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from qsim_ex.circuit.ops import mask_of, wires_of
from qsim_ex.errors import NotSupported
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.divided.near import Visited, brought, flip_where


class Visit(NamedTuple):
    """A visit and its X-parts.

    near: wires to bring near, none where all are local at rest. parts: the places of the X-parts of the visit.
    """

    near: tuple[int, ...]
    parts: tuple[int, ...]


def visits_of(state: Visited, xs: Sequence[int]) -> list[Visit]:
    """Distribute X-parts over visits of a state, none of which is too wide for one."""
    bits = -1 << state.levels.local, (1 << state.levels.slice) - 1
    far, low = (mask_of(at.wires_on(state.layout, some)) for some in bits)
    return visits(xs, far, low, state.most_near)


def visits(xs: Sequence[int], far: int, low: int, room: int) -> list[Visit]:
    """Distribute X-parts (masks of wires) over visits, each of which brings at most `room` wires near.

    far: wires that are not local at rest; low: wires that are local in every visit. No X-part alone needs more room.
    The widest X-parts come first, and each goes to the visit to which it adds the fewest wires; X-parts that need
    nothing brought near join a visit that is made anyway, or have a visit of their own before the others.
    """
    made: list[tuple[int, list[int]]] = []
    resting = []
    for place in sorted(range(len(xs)), key=lambda k: -(xs[k] & ~low).bit_count()):
        x = xs[place]
        wanted = x & ~low
        fitting = [visit for visit in made if (visit[0] | wanted).bit_count() <= room]
        if fitting:
            best = min(fitting, key=lambda visit: (wanted & ~visit[0]).bit_count())
            made.remove(best)
            made.append((best[0] | wanted, [*best[1], place]))
        elif x & far:
            made.append((wanted, [place]))
        else:
            resting.append(place)
    found = [Visit(wires_of(near), tuple(parts)) for near, parts in made]
    return [Visit((), tuple(resting)), *found] if resting else found


def folded(x: int, zs: Sequence[int], rest: int, pivot: int) -> tuple[int, list[int]]:
    """Return the string that X(x)·Z(z) becomes under CX gates from `pivot`, a wire of x, to the wires `rest` of x.

    The gates take X on the pivot to X on it and all of `rest`, and Z on a wire of `rest` to Z on it and the pivot.
    """
    odd = [(z & rest).bit_count() & 1 for z in zs]
    return x & ~rest, [z ^ sign << pivot for z, sign in zip(zs, odd, strict=True)]


@contextmanager
def made_narrow(
    state: Visited, x: int, zs: Sequence[int], also: tuple[int, ...] = ()
) -> Iterator[tuple[int, list[int]]]:
    """Yield what the strings of an X-part that does not fit into a visit are while CX gates reduce it.

    also: wires that each visit brings near, too. If the context is interrupted, the state is lost and its memory is
    released. Raises `NotSupported` where a visit has no room for a wire.
    """
    above = tuple([wire for wire in brought(state, (*wires_of(x), *also)) if wire not in also])
    room = state.most_near - len(also)
    if room < 1:
        raise NotSupported(
            f"a Pauli string with X or Y on {x.bit_count()} wires does not fit into a visit: {state.division}. Use "
            "more window_slots or device_wires."
        )
    pivot, rest = above[0], above[room:]

    def reduce() -> None:
        for first in range(0, len(rest), room):
            group = rest[first : first + room]
            for near in state.visit((*group, *also), write=True):
                flip_where(near, pivot, group)

    try:
        reduce()
        yield folded(x, zs, mask_of(rest), pivot)
        reduce()
    except BaseException:
        state.release()
        raise
