"""X-parts of Pauli strings, distributed over visits of a divided state.

The wires of an X-part must be near at the same time, and a visit of a state in host memory costs a pass over the
link to the host. So X-parts whose wires fit together share a visit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qsim_ex.circuit.ops import wires_of


class Visit(NamedTuple):
    """A visit and its X-parts.

    near: wires to bring near, none where all are local at rest. parts: the places of the X-parts of the visit.
    """

    near: tuple[int, ...]
    parts: tuple[int, ...]


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
