"""The places of a tile's bits while a sweep runs, and the order in which its items run.

A bit is in the lanes of a vector or in the number of a row, and only row bits can be mixed. So items are scheduled as
the planner schedules sweeps: run all items that can run, exchange lanes and rows, run the items that can run then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qsim_ex.circuit.ops import mask_of, wires_of
from qsim_ex.steps.step import Diagonal, Item, Rename, Sweep

PAD = 1 << 10
"""Bits from here up are padding, for states with fewer bits than a vector has lanes: only their value 0 is real."""

Swaps = list[tuple[int, int]]
"""Pairs of a lane bit and a row bit that are exchanged."""


@dataclass(frozen=True, slots=True)
class TouchedBits:
    """An item and the masks of index bits that it mixes, and that it mixes or reads."""

    item: Item
    mix: int
    all: int

    @classmethod
    def of(cls, item: Item) -> TouchedBits:
        """Return an item with its masks."""
        mix = 0 if isinstance(item, Diagonal) else mask_of(item.bits)
        touched = mix | item.when.mask
        if not isinstance(item, Rename):
            for mask in item.reads:
                touched |= mask
        return cls(item, mix, touched)


def touches(sweep: Sweep) -> list[TouchedBits]:
    """Return the items of all phases, in order."""
    return [TouchedBits.of(item) for phase in sweep.phases for item in phase.items]


def runnable(pending: Sequence[TouchedBits], lanes: int) -> tuple[list[TouchedBits], list[TouchedBits]]:
    """Divide items into those that can run while the bits in `lanes` are lanes, and the others; both in order.

    An item may overtake another if both only read every bit that they share.
    """
    ready, left = [], []
    mixed = touched = 0  # by the items that were left
    for piece in pending:
        if piece.mix & (lanes | touched) or piece.all & mixed:
            left.append(piece)
            mixed |= piece.mix
            touched |= piece.all
        else:
            ready.append(piece)
    return ready, left


@dataclass
class TileLayout:
    """The index bits of lanes and rows: lanes[l] is the index bit on lane bit l, rows[p] that on row bit p."""

    lanes: list[int]
    rows: list[int]

    @classmethod
    def first(cls, tile: Sequence[int], work: Sequence[TouchedBits], lane_bits: int) -> tuple[TileLayout, bool]:
        """Return the layout in which tiles are read, and whether rows are whole vectors in memory.

        A tile needs padding if an item mixes so many of its bits that too few are left for the lanes.
        """
        most = max((piece.mix.bit_count() for piece in work), default=0)
        padding = [PAD + k for k in range(max(0, most + lane_bits - len(tile)))]
        if not padding and list(tile[:lane_bits]) == list(range(lane_bits)):
            return cls(list(range(lane_bits)), list(tile[lane_bits:])), True
        bits = [*tile, *padding]
        lanes = _latest(bits, work, lane_bits)
        return cls(lanes, [bit for bit in bits if bit not in lanes]), False

    def lane_mask(self) -> int:
        """Return the mask of the index bits that are lanes."""
        return sum(1 << bit for bit in self.lanes if bit < PAD)

    def exchange(self, swaps: Swaps) -> None:
        """Exchange lane bits and row bits."""
        for lane, row in swaps:
            self.lanes[lane], self.rows[row] = self.rows[row], self.lanes[lane]

    def swaps_for(self, work: Sequence[TouchedBits]) -> Swaps:
        """Return the exchanges that let the first item run, and as many items after it as possible.

        All lanes are exchanged at once where that puts off the next exchange: it takes as long as two to five exchanges
        of one lane.
        """
        size = len(self.lanes)
        wanted = _latest([*self.lanes, *self.rows], work, size)
        if sum(bit not in self.lanes for bit in wanted) > 1:
            others = _latest(self.rows, work, size)
            use = _first_use(work)
            if len(others) == size and min(map(use, others)) > min(map(use, wanted)):
                wanted = others
        coming = [bit for bit in wanted if bit not in self.lanes]
        going = [lane for lane, bit in enumerate(self.lanes) if bit not in wanted]
        swaps = []
        for lane in going:
            bit = lane if lane in coming else next((b for b in coming if b not in going), coming[0])
            coming.remove(bit)
            swaps.append((lane, self.rows.index(bit)))
        return swaps

    def swaps_home(self, home: Sequence[int]) -> list[Swaps]:
        """Return the swaps, group after group, that move index bit ``home[l]`` to lane l."""
        here = TileLayout(list(self.lanes), list(self.rows))
        away = [lane for lane, bit in enumerate(here.lanes) if bit != home[lane]]
        if all(home[lane] in here.rows for lane in away):
            return [[(lane, here.rows.index(home[lane])) for lane in away]] if away else []
        groups = []
        for lane in away:  # one at a time, through a row if a bit is in another's lane
            if home[lane] in here.lanes and here.lanes[lane] != home[lane]:
                groups.append([(here.lanes.index(home[lane]), 0)])
                here.exchange(groups[-1])
            if here.lanes[lane] != home[lane]:
                groups.append([(lane, here.rows.index(home[lane]))])
                here.exchange(groups[-1])
        return groups


def _first_use(work: Sequence[TouchedBits]) -> Callable[[int], int]:
    """Return a function of a bit: the number of the first item that mixes it.

    Bits that are never mixed come last, padding just before them: a lane of padding is wasted.
    """
    first: dict[int, int] = {}
    for k, piece in enumerate(work):
        for bit in wires_of(piece.mix):
            first.setdefault(bit, k)
    return lambda bit: first.get(bit, len(work) + (bit < PAD))


def _latest(bits: Sequence[int], work: Sequence[TouchedBits], count: int) -> list[int]:
    """Return the `count` bits that are mixed last, the lowest ones among equals."""
    use = _first_use(work)
    return sorted(bits, key=lambda bit: (-use(bit), bit))[:count]
