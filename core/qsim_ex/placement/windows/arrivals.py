"""What other ranks send home before a pass, in the order of the windows that it is for.

A window needs no more than its own part of a trade. So ranks trade the part of one window, then copy that window to a
device, and trade the part of the next one while the device works.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


class Arrivals:
    """The parts of one trade, each of which is made once, in their order, which is the same on all ranks.

    starts: the index at home at which each part begins; it has only bits of `far`. far: mask of the bits at home that
    tell one part from another. trade: makes the part that begins at an index, together with other ranks.
    """

    def __init__(self, starts: Sequence[int], far: int, trade: Callable[[int], None]) -> None:
        self._starts = starts
        self._number = {start: number for number, start in enumerate(starts)}
        self._far = far
        self._trade = trade
        self._made = 0

    def until(self, start: int) -> None:
        """Make the part of the window that begins at this index at home, and all parts before it."""
        self._make(self._number[start & self._far] + 1)

    def rest(self) -> None:
        """Make all parts that are left; a rank whose windows are known to be zero makes all of them here."""
        self._make(len(self._starts))

    def _make(self, count: int) -> None:
        """Make the parts up to a number."""
        for start in self._starts[self._made : count]:
            self._trade(start)
            self._made += 1
