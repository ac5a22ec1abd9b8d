"""Where the bits of a tile are while a sweep runs: in the lanes of a vector or in the number of a row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

PAD = 1 << 10
"""Bits from here up are padding, for states with fewer bits than a vector has lanes: only their value 0 is real."""


@dataclass
class TileLayout:
    """lanes[l] is the index bit on lane bit l, rows[p] the one on bit p of the row number."""

    lanes: list[int]
    rows: list[int]

    @classmethod
    def first(cls, tile: Sequence[int], mixed: Sequence[Collection[int]], lane_bits: int) -> tuple[TileLayout, bool]:
        """Return the layout in which tiles are read, and whether rows are whole vectors in memory.

        mixed: for each phase, the bits that it mixes. They can not be lanes, so a small tile may need padding.
        """
        spare = min((len(tile) - len(bits) for bits in mixed), default=len(tile))
        padding = [PAD + k for k in range(max(0, lane_bits - spare))]
        if not padding and list(tile[:lane_bits]) == list(range(lane_bits)):
            return cls(list(range(lane_bits)), list(tile[lane_bits:])), True
        mixed_first = mixed[0] if mixed else ()
        lanes = ([bit for bit in tile if bit not in mixed_first] + padding)[:lane_bits]
        return cls(lanes, [bit for bit in (*tile, *padding) if bit not in lanes]), False

    def exchange(self, swaps: Iterable[tuple[int, int]]) -> None:
        """Let lane bits and row bits trade places."""
        for lane, row in swaps:
            self.lanes[lane], self.rows[row] = self.rows[row], self.lanes[lane]

    def swaps_for(self, mixed: Collection[int], read: Collection[int]) -> list[tuple[int, int]]:
        """Return which (lane, row) bits must trade places so that no mixed bit is in a lane.

        All lanes move at once if more than one must, since that is one pass over the tile.
        """
        must = [lane for lane, bit in enumerate(self.lanes) if bit in mixed]
        if not must:
            return []
        free = [row for row, bit in enumerate(self.rows) if bit not in mixed]
        together = len(must) > 1 and len(free) >= len(self.lanes)
        swaps = []
        for lane in range(len(self.lanes)) if together else must:
            row = min(free, key=lambda row: self._cost(lane, self.rows[row], read))
            free.remove(row)
            swaps.append((lane, row))
        return swaps

    def _cost(self, lane: int, bit: int, read: Collection[int]) -> tuple[bool, bool, bool, bool]:
        """What makes a bit a poor choice for a lane, worst first: padding, another lane's home, being read."""
        return bit >= PAD, bit != lane and bit < len(self.lanes), bit != lane, bit in read

    def swaps_home(self) -> list[list[tuple[int, int]]]:
        """Return the swaps, group after group, that bring index bit l back to lane l."""
        groups = []
        here = TileLayout(list(self.lanes), list(self.rows))
        for lane in range(len(here.lanes)):
            if lane in here.lanes and here.lanes[lane] != lane:
                away = [(here.lanes.index(lane), 0)]
                here.exchange(away)
                groups.append(away)
        home = [(lane, here.rows.index(lane)) for lane in range(len(here.lanes)) if here.lanes[lane] != lane]
        return [*groups, home] if home else groups
