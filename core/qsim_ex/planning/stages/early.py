"""What runs on a growing state before it is spread over devices.

A state that has few bits is exchanged in no time. So it is spread as soon as it has bits that can be far from then on:
bits that no later work mixes. Until then it grows as on one device, and so a plan for several has the sweeps of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qsim_ex.planning.locality import grow, split
from qsim_ex.planning.tiles.schedule import Growth
from qsim_ex.planning.work import Work
from qsim_ex.steps.layout import Shape

_IN_SWEEPS = ("mix", "diagonal", "rename")


@dataclass(frozen=True, slots=True)
class EarlyGrowth:
    """How a state of `num_bits` bits grows until it is spread.

    most: the most bits that it may have then. low, worth: the lowest bits, and the arithmetic for which it grows, see
    `PlanWay`. steadily: whether it grows as on one device, until bits are done; else it gets so many bits at once.
    """

    num_bits: int
    shape: Shape
    most: int
    low: int
    worth: float
    steadily: bool

    def divide(self, pending: Sequence[Work], there: int, far: int, count: int) -> tuple[list[Work], list[Work]]:
        """Return the work that runs before the state is spread, and the work that is left.

        there: the bits that are not fresh. far: the bits that may be far. count: how many of them have to be.
        If not so many are done while the state is small, it is as much work as can run until then.
        """
        return (self.steadily and self._until_done(pending, there, far, count)) or self._at_once(pending, there)

    def _until_done(
        self, pending: Sequence[Work], there: int, far: int, count: int
    ) -> tuple[list[Work], list[Work]] | None:
        """Return the work up to the sweep after which `count` bits are done.

        None if the state is too large then, or if something comes before that no sweep does.
        """
        growth = Growth(self.num_bits, self.shape, self._others(there), self.low, worth=self.worth)
        ready: list[Work] = []
        left = list(pending)
        mixed = there
        while left and left[0].kind in _IN_SWEEPS:
            tile, found = growth.tile(left)
            if self.num_bits - growth.fresh.bit_count() > self.most:
                return None
            now, left = split(left, tile, found)
            if not now:  # what comes first needs a step of its own, or more bits than a tile has
                return None
            ready += now
            mixed |= _mixed(now)
            if (mixed & far & ~self.low & ~_mixed(left)).bit_count() >= count:
                return ready, left
        return None

    def _at_once(self, pending: Sequence[Work], there: int) -> tuple[list[Work], list[Work]]:
        """Return the work that can run with as many bits as the state may have."""
        room = self.most - there.bit_count()
        if room <= 0:
            return [], list(pending)
        choice = grow(pending, there, self._others(there), room)
        return split(pending, choice.bits, choice.found)

    def _others(self, there: int) -> int:
        return (1 << self.num_bits) - 1 & ~there


def _mixed(work: Sequence[Work]) -> int:
    mixed = 0
    for piece in work:
        mixed |= piece.mix
    return mixed
