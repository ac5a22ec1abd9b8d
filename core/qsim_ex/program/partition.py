"""The partition of a circuit's instructions into parts: which live ranges of wires must be simulated together.

An operation joins the live ranges of its wires. A condition, or a live range that begins with a measured bit, only has
to know that bit: the part that measures it may run first, unless each of the two needs a bit of the other. That is done
where it makes the largest part smaller (`thresholds.narrow`, `gain`), and so are live ranges that take turns in a slot.
"""

from __future__ import annotations

from collections.abc import Sequence

from qsim_ex import thresholds
from qsim_ex.program.joined import Joined
from qsim_ex.program.live_ranges import LiveRanges
from qsim_ex.program.qubit_reuse import QubitReuse, reuse_of


class Partition:
    """The parts of a circuit, and their instructions.

    order: the places of all instructions in the order in which they are simulated. of: for each place the number of its
    part. places: of each part, in that order. slots: of the parts in which live ranges take turns.
    """

    def __init__(self, ranges: LiveRanges, together: bool) -> None:
        """Divide the live ranges into parts, unless they stay together."""
        follows = list(ranges.follows())
        joined = Joined(len(ranges.every), (*ranges.joins(), *follows))
        if together:
            for live in range(1, len(ranges.every)):
                joined.join(0, live)
        self._ranges = ranges
        self.order: Sequence[int] = range(len(ranges.of))
        self.slots: dict[int, QubitReuse] = {}
        roots = [joined.root(mine[0]) for mine in ranges.of]
        if ranges.ends and not together:
            late = ranges.order()
            apart = Joined(len(ranges.every), ranges.joins())
            apart.join_circles(follows)
            finer = self._finer(roots, [apart.root(mine[0]) for mine in ranges.of], late)
            slots = {root: self._slots(places) for root, places in _places(finer, late).items()}
            taken = {root: one for root, one in slots.items() if one is not None}
            if taken or finer != roots:
                self.order, roots = late, finer
            self._number(roots, taken)
        else:
            self._number(roots, {})

    def _number(self, roots: Sequence[int], slots: dict[int, QubitReuse]) -> None:
        """Number the parts in the order of their lowest wires."""
        lowest: dict[int, int] = {}
        for root, mine in zip(roots, self._ranges.of, strict=True):
            wire = min([self._ranges.every[live].wire for live in mine])
            lowest[root] = min(wire, lowest.get(root, wire))
        number = {root: k for k, root in enumerate(sorted(lowest, key=lambda root: (lowest[root], root)))}
        self.of = [number[root] for root in roots]
        self.places = list(_places(self.of, self.order).values())
        self.slots = {number[root]: one for root, one in slots.items()}

    def _slots(self, places: Sequence[int]) -> QubitReuse | None:
        """Return the slots of a part in which live ranges take turns; None if that makes it no smaller."""
        if (wires := self._wires(places)) <= thresholds.now.narrow:
            return None
        found = reuse_of(self._ranges, places)
        return found if len(found.wires) <= wires - thresholds.now.gain else None

    def _wires(self, places: Sequence[int]) -> int:
        """Return the number of wires of a part."""
        return len({self._ranges.every[live].wire for place in places for live in self._ranges.of[place]})

    def _width(self, places: Sequence[int]) -> int:
        slots = self._slots(places)
        return self._wires(places) if slots is None else len(slots.wires)

    def _finer(self, joined: Sequence[int], apart: Sequence[int], order: Sequence[int]) -> list[int]:
        """Return the part of each place: those of `apart` where the largest of them is smaller than their union."""
        pieces: dict[int, set[int]] = {}
        for whole, piece in zip(joined, apart, strict=True):
            pieces.setdefault(whole, set()).add(piece)
        places, smaller = _places(joined, order), _places(apart, order)
        parted = {
            whole
            for whole, some in pieces.items()
            if len(some) > 1
            and (width := self._width(places[whole])) > thresholds.now.narrow
            and max(self._width(smaller[piece]) for piece in some) <= width - thresholds.now.gain
        }
        return [piece if whole in parted else whole for whole, piece in zip(joined, apart, strict=True)]


def _places(parts: Sequence[int], order: Sequence[int]) -> dict[int, list[int]]:
    """Return the places of each part, in an order."""
    found: dict[int, list[int]] = {}
    for place in order:
        found.setdefault(parts[place], []).append(place)
    return dict(sorted(found.items()))
