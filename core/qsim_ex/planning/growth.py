"""Growing states: which bits the state has, a level above the tiles.

As long as nothing has mixed a bit, the state is as large as if the bit were not there. So the bits that the state has
are one more set of near bits, to which `grow` adds as it does to a tile: all work within the light cone of few bits
runs while the state is small, and the more bits, the less work is left for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qsim_ex.planning.locality import Choice, fill, grow
from qsim_ex.planning.work import Work
from qsim_ex.steps import Shape

_AT_ONCE = (1, 2, 3, 4, 6)
"""How many bits at a time a large state is tried to grow by."""


@dataclass
class Growth:
    """The bits that a state has while its plan is made.

    fresh: bits that no sweep has brought in yet. low: bits that are in every tile; the lowest if None are named.
    reach: bits that sweeps may bring in now.
    """

    num_bits: int
    shape: Shape
    fresh: int
    low: int | None = None
    reach: int = 0

    def __post_init__(self) -> None:
        self._low = (1 << self.shape.low) - 1 if self.low is None else self.low
        self.reach = (1 << self.num_bits) - 1 & ~self.fresh | self._low

    def tile(self, pending: Sequence[Work]) -> tuple[int, list[int]]:
        """The next tile: the low bits, those that let work run, and the lowest of the others.

        Returns also the reasons of the pending work. The reach grows when the work within it is not worth a sweep.
        """
        everything = (1 << self.num_bits) - 1
        choice = self._within(pending)
        while self.reach != everything and not self._worth_a_sweep(choice):
            self.reach = self._larger(pending)
            choice = self._within(pending)
        tile = fill(choice.bits, everything & ~self.fresh, self.shape.tile, lowest=True)
        tile = fill(tile, self.reach, self.shape.tile, lowest=True)
        tile = fill(tile, everything, self.shape.tile, lowest=True)
        self.fresh &= ~tile
        self.reach |= tile
        return tile, choice.found

    def settle(self) -> None:
        """All bits are there: what was fresh has been cleared."""
        self.fresh, self.reach = 0, (1 << self.num_bits) - 1

    def _within(self, pending: Sequence[Work]) -> Choice:
        return grow(pending, self._low, self.reach & ~self._low, self.shape.tile - self.shape.low)

    def _worth_a_sweep(self, choice: Choice) -> bool:
        """Whether work should run now and not later, when the state is larger by two bits or more.

        Later it costs its arithmetic three times more, now one more pass over the state as it is.
        """
        small = self.reach.bit_count() < self.shape.start
        return choice.weight > 0 and not small and 3 * choice.work >= self.shape.balance

    def _larger(self, pending: Sequence[Work]) -> int:
        """The reach with as few bits added as let enough work run to keep a pass over the state busy."""
        everything = (1 << self.num_bits) - 1
        others = everything & ~self.reach
        room = others.bit_count()
        free = min(room, max(0, self.shape.start - self.reach.bit_count()))
        for count in sorted({max(1, free), *(free + k for k in _AT_ONCE)}):
            if count >= room:
                break
            choice = grow(pending, self.reach, others, count)
            if choice.bits != self.reach and choice.work >= self.shape.balance:
                return choice.bits
        return everything
