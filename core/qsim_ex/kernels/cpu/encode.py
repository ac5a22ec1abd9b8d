"""A sweep as arrays of integers: the program that `sweep.run_tiles` interprets.

Only structure is encoded, so it is done once; numbers are looked up by `sweep.expand` when the sweep runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import When, wires_of
from qsim_ex.kernels.cpu import items
from qsim_ex.kernels.cpu.layout import PAD, TileLayout
from qsim_ex.steps import Diagonal, Item, Mix, Phase, Rename, Sweep

Integers = NDArray[np.int64]

# What an instruction does.
LANES, LANE, SCALE_REAL, SCALE_COMPLEX, PAIR_REAL, PAIR_COMPLEX, QUAD_REAL, QUAD_COMPLEX, DENSE, EXCHANGE = range(10)

# Fields of an instruction. Masks and values of rows are in bits of the row number, offsets in bytes.
KIND = 0
OUTSIDE_MASK, OUTSIDE_VALUE = 1, 2  # index bits outside the tile that must have a value, or it is left out
FREE, FIXED, COUNT = 3, 4, 5  # rows it runs over: all values of FREE, with FIXED set
TABLE, BLOCK, READS, COLUMNS = 6, 7, 8, 9  # first coefficient, coefficients of a block, parities, see `_Writer.reads`
SIZE, PER_LANE = 10, 11  # of DENSE; SIZE is the lane bit of LANE
OFFSETS = 12  # eight of them; of DENSE, where they begin in `integers` and the number of row bits
INSTRUCTION = 20

# Fields of a fill, which says how the coefficients of an instruction are looked up.
TO, BLOCKS, ENTRIES, FROM, LANE_COLUMNS, LANE_MASK, LANE_VALUE, IDENTITY, SPLAT = range(9)
FILL = 9

# The geometry of a sweep.
NUM_BITS, ROW_BITS, DIRECT, TILE_MASK, LOAD, STORE, LOAD_LANES, STORE_LANES = range(8)

LOW_ROWS = 6
"""Tables over rows are split: one for the lowest 6 bits of the row number, one for the others."""
NOWHERE = 1 << 60
"""Added to the place in memory of what is padding."""


@dataclass(frozen=True)
class Program:
    """One encoded sweep.

    instructions: [count, INSTRUCTION]; fills: [count, FILL]; codes: see `items`; integers: tables of all kinds;
    geometry: see above; coefficients: how many real coefficients are looked up when it runs.
    """

    instructions: Integers
    fills: Integers
    codes: Integers
    integers: Integers
    geometry: Integers
    coefficients: int
    outside_bits: int
    row_bits: int


def encode(sweep: Sweep, num_bits: int, lane_bits: int, real_bytes: int) -> Program:
    """Encode a sweep over 2^num_bits amplitudes for vectors of 2^lane_bits real numbers of `real_bytes` bytes."""
    mixed = [_mixed(phase) for phase in sweep.phases]
    layout, direct = TileLayout.first(sweep.tile, mixed, lane_bits)
    writer = _Writer(layout, lane_bits, (2 << lane_bits) * real_bytes)
    load, load_lanes = writer.places()
    for phase, bits in zip(sweep.phases, mixed, strict=True):
        writer.exchange(layout.swaps_for(bits, _read(phase)))
        for item in phase.items:
            writer.item(item)
    for swaps in layout.swaps_home() if direct else ():
        writer.exchange(swaps)
    store, store_lanes = writer.places()
    tile_mask = sum(1 << bit for bit in sweep.tile)
    row_bits = len(layout.rows)
    geometry = [num_bits, row_bits, direct, tile_mask, load, store, load_lanes, store_lanes]
    return Program(
        np.array(writer.instructions, dtype=np.int64).reshape(-1, INSTRUCTION),
        np.array(writer.fills, dtype=np.int64).reshape(-1, FILL),
        np.concatenate([np.zeros(0, dtype=np.int64), *writer.codes]),
        np.array(writer.integers, dtype=np.int64),
        np.array(geometry, dtype=np.int64),
        writer.coefficients,
        num_bits - len(sweep.tile),
        row_bits,
    )


def _mixed(phase: Phase) -> set[int]:
    return {bit for item in phase.items if not isinstance(item, Diagonal) for bit in item.bits}


def _read(phase: Phase) -> set[int]:
    masks = [item.when.mask for item in phase.items]
    masks += [mask for item in phase.items if not isinstance(item, Rename) for mask in item.reads]
    return set(wires_of(reduce(int.__or__, masks, 0)))


@dataclass
class _Writer:
    """Collects the arrays of a program; `layout` says where the tile's bits are now."""

    layout: TileLayout
    lane_bits: int
    row_bytes: int
    instructions: list[list[int]] = field(default_factory=list)
    fills: list[list[int]] = field(default_factory=list)
    codes: list[Integers] = field(default_factory=list)
    integers: list[int] = field(default_factory=list)
    coefficients: int = 0
    num_codes: int = 0

    def places(self) -> tuple[int, int]:
        """Write where each row and each lane is in memory (in amplitudes); return where the tables begin."""
        rows, lanes = self.layout.rows, self.layout.lanes
        at = self.add(_sums(rows[:LOW_ROWS], LOW_ROWS) + _sums(rows[LOW_ROWS:], len(rows[LOW_ROWS:])))
        return at, self.add(_sums(lanes, len(lanes)))

    def add(self, values: Sequence[int]) -> int:
        """Append integers; return where they begin."""
        self.integers += values
        return len(self.integers) - len(values)

    def exchange(self, swaps: list[tuple[int, int]]) -> None:
        """Let lane bits and row bits trade places, all at once if these are all lanes."""
        rows = [row for _, row in swaps]
        offsets = [self.row_bytes << row for row in rows]
        if swaps and len(swaps) == self.lane_bits:
            self.write(LANES, self.everywhere(rows), offsets=offsets)
        else:
            for (lane, row), offset in zip(swaps, offsets, strict=True):
                self.write(LANE, self.everywhere([row]), size=lane, offsets=[offset])
        self.layout.exchange(swaps)

    def everywhere(self, rows: Sequence[int]) -> tuple[int, int, int, int]:
        """All rows, but for `rows` of their bits."""
        free = (1 << len(self.layout.rows)) - 1
        return 0, 0, free & ~sum(1 << row for row in rows), 0

    def write(
        self,
        kind: int,
        where: tuple[int, int, int, int],
        *,
        table: tuple[int, int, int, int] = (0, 0, 0, 0),
        size: int = 0,
        per_lane: bool = False,
        offsets: Sequence[int] = (),
    ) -> None:
        """Append one instruction; `where` and `table` are as `where` and `fill` return them."""
        outside_mask, outside_value, free, fixed = where
        instruction = [kind, outside_mask, outside_value, free, fixed, 1 << free.bit_count(), *table, size, per_lane]
        self.instructions.append([*instruction, *offsets, *[0] * (INSTRUCTION - OFFSETS - len(offsets))])

    def item(self, item: Item) -> None:
        """Append the instructions of one item."""
        match item:
            case Diagonal():
                self.diagonal(item)
            case Mix():
                for block in items.blocks(item.pattern, len(item.bits), len(item.reads)):
                    self.block(item, block)
            case Rename():
                self.rename(item)
            case _:
                assert_never(item)

    def where(self, when: When, bits: Sequence[int] = (), value: int = 0) -> tuple[int, int, int, int]:
        """Where an item acts, when `bits` have `value`: the mask and value outside the tile, free and fixed row bits."""
        rows = self.layout.rows
        free = sum(1 << p for p, bit in enumerate(rows) if bit not in bits and bit < PAD)
        inside = sum(1 << bit for bit in (*rows, *self.layout.lanes) if bit < PAD)
        fixed = sum(1 << rows.index(bit) for k, bit in enumerate(bits) if value >> k & 1)
        for p, bit in enumerate(rows):
            if bit < PAD and when.mask >> bit & 1:
                free &= ~(1 << p)
                fixed |= (when.value >> bit & 1) << p
        return when.mask & ~inside, when.value & ~inside, free, fixed

    def lane_condition(self, when: When) -> tuple[int, int]:
        """The part of a condition that is on lanes, in lane bits."""
        mask = sum(1 << k for k, bit in enumerate(self.layout.lanes) if bit < PAD and when.mask >> bit & 1)
        value = sum(1 << k for k, bit in enumerate(self.layout.lanes) if bit < PAD and when.value >> bit & 1)
        return mask, value

    def fill(
        self, reads: tuple[int, ...], when: When, codes: Integers, identity: Integers, splat: bool = False
    ) -> tuple[tuple[int, int, int, int], bool]:
        """Append how coefficients [2^reads, entries] are looked up; return an instruction's `table` and `per_lane`.

        A parity that only lanes decide needs no block of its own: each lane takes its own entry.
        splat: one scalar for each coefficient if lanes do not matter.
        """
        inside = sum(1 << bit for bit in self.layout.lanes if bit < PAD)
        kept = [k for k, mask in enumerate(reads) if mask & ~inside]
        order = kept + [k for k in range(len(reads)) if k not in kept]
        if order != list(range(len(reads))):
            number = np.arange(len(codes))
            codes = codes[sum((number >> new & 1) << old for new, old in enumerate(order))]
        masks = [reads[k] for k in order]
        lane_columns = [_column(masks, bit) for bit in self.layout.lanes]
        lane_mask, lane_value = self.lane_condition(when)
        per_lane = lane_mask != 0 or any(lane_columns)
        blocks, entries = 1 << len(kept), codes.shape[1]
        here = self.num_codes
        self.codes += [codes.ravel(), identity]
        self.num_codes += codes.size + identity.size
        splat = splat and not per_lane
        self.fills.append(
            [self.coefficients, blocks, entries, here, self.add(lane_columns)]
            + [lane_mask, lane_value, here + codes.size, splat]
        )
        width = 1 if splat else 1 << self.lane_bits
        table = (self.coefficients, entries * width, len(kept), self.reads(masks[: len(kept)]) if kept else 0)
        self.coefficients += -(-blocks * entries * width // 16) * 16  # whole cache lines
        return table, per_lane

    def reads(self, masks: Sequence[int]) -> int:
        """Write how parities select a block: for each row bit what it flips, then the masks outside the tile."""
        inside = sum(1 << bit for bit in (*self.layout.rows, *self.layout.lanes) if bit < PAD)
        return self.add([_column(masks, bit) for bit in self.layout.rows] + [mask & ~inside for mask in masks])

    def diagonal(self, item: Diagonal) -> None:
        """A factor for each row, or for each lane of it."""
        found = items.diagonal(item.pattern)
        if found is not None:
            self.scale(item.when, item.reads, items.placed(found[0], item.slot.at), found[1])

    def scale(
        self,
        when: When,
        reads: tuple[int, ...],
        codes: Integers,
        identity: Integers,
        bits: Sequence[int] = (),
        value: int = 0,
    ) -> None:
        """Multiply the rows at which `bits` have `value` by a table of factors."""
        kind = SCALE_REAL if codes.shape[1] == 1 else SCALE_COMPLEX
        table, _ = self.fill(reads, when, codes, identity)
        self.write(kind, self.where(when, bits, value), table=table)

    def block(self, item: Mix, block: items.Block) -> None:
        """One set of values that a matrix mixes among themselves."""
        codes = items.placed(block.codes, item.slot.at)
        size = len(block.values)
        if size == 1:
            self.scale(item.when, item.reads, codes, block.identity, item.bits, block.values[0])
            return
        rows = [self.row_offset(item.bits, value) for value in block.values]
        table, per_lane = self.fill(item.reads, item.when, codes, block.identity, splat=size > 4)
        where = self.where(item.when, item.bits)
        if size > 4:
            self.write(
                DENSE, where, table=table, size=size, per_lane=per_lane, offsets=[self.add(rows), len(self.layout.rows)]
            )
        elif block.planes:
            half = self.row_bytes // 2
            first = [row + half * p for row, p in zip(rows, block.planes, strict=True)]
            second = [row + half * (1 - p) for row, p in zip(rows, block.planes, strict=True)]
            self.write(PAIR_REAL if size == 2 else QUAD_REAL, where, table=table, offsets=first + second)
        else:
            self.write(PAIR_COMPLEX if size == 2 else QUAD_COMPLEX, where, table=table, offsets=rows)

    def row_offset(self, bits: Sequence[int], value: int) -> int:
        """How far the row with `value` on `bits` is from the one with 0."""
        return sum(self.row_bytes << self.layout.rows.index(bit) for k, bit in enumerate(bits) if value >> k & 1)

    def rename(self, item: Rename) -> None:
        """A permutation of rows, as exchanges of two; in some lanes only, it is a matrix."""
        codes, identity = (
            np.array([[items.ZERO, items.ONE, items.ONE, items.ZERO] * 2]),
            np.array([items.ONE, items.ZERO, items.ZERO, items.ONE] * 2),
        )
        half = self.row_bytes // 2
        for a, b in _transpositions(item.to):
            rows = [self.row_offset(item.bits, a), self.row_offset(item.bits, b)]
            where = self.where(item.when, item.bits)
            if self.lane_condition(item.when)[0]:
                table, _ = self.fill((), item.when, codes, identity)
                self.write(PAIR_REAL, where, table=table, offsets=rows + [row + half for row in rows])
            else:
                self.write(EXCHANGE, where, offsets=rows)


def _column(masks: Sequence[int], bit: int) -> int:
    """Which of the parities a bit flips."""
    return sum((mask >> bit & 1) << k for k, mask in enumerate(masks)) if bit < PAD else 0


def _sums(bits: Sequence[int], size: int) -> list[int]:
    """For each value x of `size` bits, the place in memory whose index has x on `bits`."""
    places = [0]
    for k in range(size):
        step = 0 if k >= len(bits) else NOWHERE if bits[k] >= PAD else 1 << bits[k]
        places += [place + step for place in places]
    return places


def _transpositions(to: Sequence[int]) -> list[tuple[int, int]]:
    """Exchanges of two places that, one after the other, move what is at x to ``to[x]``."""
    swaps = []
    for start in range(len(to)):
        x = to[start]
        if min(_cycle(to, start)) == start:
            while x != start:
                swaps.append((start, x))
                x = to[x]
    return swaps


def _cycle(to: Sequence[int], start: int) -> list[int]:
    cycle, x = [start], to[start]
    while x != start:
        cycle.append(x)
        x = to[x]
    return cycle
