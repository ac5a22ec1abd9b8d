"""Growing states: which bits the state has, a level above the tiles.

As long as nothing has mixed a bit, the state is as large as if the bit were not there. So the bits that the state has
are one more set of near bits, to which `grow` adds as it does to a tile: all work within the light cone of few bits
runs while the state is small, and the more bits, the less work is left for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qsim_ex.planning.locality import WINDOW, arithmetic, chosen, fill, reasons
from qsim_ex.planning.work import Work
from qsim_ex.steps.shape import Shape

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
        if self.shape.tile >= self.num_bits and len(pending) <= WINDOW:  # nothing is to be chosen
            self.settle()
            return everything, reasons(pending, everything)
        found = reasons(pending, self._low)
        while (bits := self._worth_a_sweep(pending, found)) is None:
            self.reach = self._larger(pending)
        tile = fill(bits, everything & ~self.fresh, self.shape.tile, lowest=True)
        tile = fill(tile, self.reach, self.shape.tile, lowest=True)
        tile = fill(tile, everything, self.shape.tile, lowest=True)
        self.fresh &= ~tile
        self.reach |= tile
        return tile, found

    def settle(self) -> None:
        """All bits are there: what was fresh has been cleared."""
        self.fresh, self.reach = 0, (1 << self.num_bits) - 1

    def _worth_a_sweep(self, pending: Sequence[Work], found: Sequence[int]) -> int | None:
        """Bits for a tile within the reach; None if no work should run now but later, in a state that is larger.

        That is by two bits or more. Later work costs its arithmetic three times more, now one more pass over the state
        as it is.
        """
        last = self.reach == (1 << self.num_bits) - 1
        if not last and self.reach.bit_count() < self.shape.start:
            return None
        bits = chosen(pending, found, self._low, self.reach & ~self._low, self.shape.tile - self.shape.low)
        work = [] if last else arithmetic(pending, found, bits)
        return bits if last or (work and 3 * sum(work) >= self.shape.balance) else None

    def _larger(self, pending: Sequence[Work]) -> int:
        """The reach with as few bits added as let enough work run to keep a pass over the state busy."""
        everything = (1 << self.num_bits) - 1
        others = everything & ~self.reach
        room = others.bit_count()
        free = min(room, max(0, self.shape.start - self.reach.bit_count()))
        counts = [count for count in sorted({max(1, free), *(free + k for k in _AT_ONCE)}) if count < room]
        found = reasons(pending, self.reach) if counts else []
        for count in counts:
            bits = chosen(pending, found, self.reach, others, count)
            if bits != self.reach and sum(arithmetic(pending, found, bits)) >= self.shape.balance:
                return bits
        return everything
