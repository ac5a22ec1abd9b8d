"""The writer of a sweep's program: each item becomes instructions for core/native/kernels/sweep.cpp.

These are its rows, its coefficients, and the coefficient of each row and lane. `encode` goes through the items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import assert_never

import numpy as np

from qsim_ex.circuit.ops import When, wires_of
from qsim_ex.kernels.cpu import encoding as p
from qsim_ex.kernels.cpu import items
from qsim_ex.kernels.cpu.encoding import Table, TileSelection
from qsim_ex.kernels.cpu.layout import PAD, Swaps, TileLayout
from qsim_ex.kernels.cpu.row_frame import RowFrame
from qsim_ex.steps.step import Diagonal, Item, Mix, Rename


class Writer:
    """Collects the arrays of a program; `layout` has the present places of the tile's bits."""

    def __init__(self, layout: TileLayout, lane_bits: int, row_bytes: int) -> None:
        self.layout = layout
        self.lane_bits = lane_bits
        self.row_bytes = row_bytes
        self.instructions: list[tuple[object, ...]] = []
        self.fills: list[tuple[int, ...]] = []
        self.codes: list[items.Codes] = []
        self.integers: list[int] = []
        self.coefficients = 0
        self._num_codes = 0
        self._codes_at: dict[int, tuple[items.Codes, int]] = {}  # arrays of codes and where they stand, by identity
        self._frame: RowFrame | None = None  # from the first CX on; before, positions are the bits of a row's number
        self._steps_at: dict[int, int] = {}  # where the steps of some free positions stand, in the present frame
        self._origin = -1
        self._look()

    def _look(self) -> None:
        """Note the place of each index bit."""
        rows, lanes = self.layout.rows, self.layout.lanes
        self._row_of = {bit: k for k, bit in enumerate(rows) if bit < PAD}
        self._lane_of = {bit: k for k, bit in enumerate(lanes) if bit < PAD}
        self._row_mask = sum(1 << bit for bit in self._row_of)
        self._lane_mask = sum(1 << bit for bit in self._lane_of)
        self._outside = ~(self._row_mask | self._lane_mask)
        self._padded = len(self._row_of) + len(self._lane_of) < len(rows) + len(lanes)
        self._all_rows = sum(1 << k for k in self._row_of.values())

    def add(self, values: Sequence[int]) -> int:
        """Append integers; return their start."""
        self.integers += values
        return len(self.integers) - len(values)

    def places(self, directions: Mapping[int, int], fresh: int = 0) -> tuple[int, int]:
        """Write the place of each row and each lane in memory (in amplitudes); return where the tables begin.

        directions: for each bit of the tile what flips in memory. fresh: index bits at whose 1 all amplitudes are zero,
        which memory need not hold.
        """
        rows, lanes = [
            [-1 if bit >= PAD or fresh >> bit & 1 else directions[bit] for bit in bits]
            for bits in (self.layout.rows, self.layout.lanes)
        ]
        flipped = 0
        if self._frame:
            for position in wires_of(self._frame.flips):
                flipped ^= rows[position]
            rows = self._frame.places(rows)
        low, high = rows[: p.LOW_ROWS], rows[p.LOW_ROWS :]
        # XOR of a row's two places and a lane's must not cancel what says that there is none.
        sums = _sums(low + [0] * (p.LOW_ROWS - len(low)), p.NOWHERE, flipped) + _sums(high, 2 * p.NOWHERE)
        return self.add(sums), self.add(_sums(lanes, 4 * p.NOWHERE))

    def bases(self, columns: Sequence[int], tile: Sequence[int]) -> int:
        """Write what a map adds to each bit outside a tile, now that rows may depend on it; return where, −1: nothing.

        Such a bit may be above those of the state.
        """
        added = [0 if bit in tile else mask ^ 1 << bit for bit, mask in enumerate(columns)]
        added += [0] * (p.INDEX - len(added))
        for position, mask in enumerate(self._frame.outside if self._frame else ()):
            for bit in wires_of(mask):
                added[bit] ^= columns[self.layout.rows[position]]
        return self.add(added) if any(added) else -1

    def exchange(self, swaps: Swaps) -> None:
        """Exchange lane bits and row bits, all at once if these are all lanes."""
        rows = [row for _, row in swaps]
        everywhere = (1 << len(self.layout.rows)) - 1
        if swaps and len(swaps) == self.lane_bits:
            where = self._rows(everywhere & ~sum(1 << row for row in rows))
            self._write(p.LANES, where, offsets=[self._offset(1 << row) for row in rows])
        else:
            for lane, row in swaps:
                self._write(p.LANE, self._rows(everywhere & ~(1 << row)), size=lane, offsets=[self._offset(1 << row)])
        self.layout.exchange(swaps)
        self._look()

    def item(self, item: Item) -> None:
        """Append the instructions of one item."""
        match item:
            case Diagonal():
                found = items.diagonal(item.pattern)
                if found is not None:
                    self._scale(item.when, item.reads, *found, item.slot.at)
            case Mix():
                for block in items.blocks(item.pattern, len(item.bits), len(item.reads)):
                    self._block(item, block)
            case Rename() if self._is_cx(item):
                self._cx(item)
            case Rename():
                self._rename(item)
            case _:
                assert_never(item)

    def _write(
        self,
        kind: int,
        where: TileSelection,
        *,
        table: Table = Table(),  # noqa: B008  (it is a tuple)
        size: int = 0,
        per_lane: bool = False,
        offsets: Sequence[int] = (),
    ) -> None:
        outside_mask, outside_value, *rows = where
        look_up = table.block, table.reads, table.columns
        eight = (*offsets, *[0] * (8 - len(offsets)))
        self.instructions.append((outside_mask, outside_value, table.at, *rows, *look_up, size, eight, kind, per_lane))

    def _where(self, when: When, bits: Sequence[int] = (), value: int = 0) -> TileSelection:
        """Return the rows and tiles of an item, where `bits` have `value`."""
        free, fixed = self._all_rows, 0
        for k, bit in enumerate(bits):
            free &= ~(1 << self._row_of[bit])
            fixed |= (value >> k & 1) << self._row_of[bit]
        for bit in wires_of(when.mask & self._row_mask):
            free &= ~(1 << self._row_of[bit])
            fixed |= (when.value >> bit & 1) << self._row_of[bit]
        return self._rows(free, fixed, when.mask & self._outside, when.value & self._outside)

    def _rows(self, free: int, fixed: int = 0, outside_mask: int = 0, outside_value: int = 0) -> TileSelection:
        """Return the rows with some positions free, and the tiles in which index bits outside them have a value."""
        size = 1 << free.bit_count()
        if not self._frame:
            first = self.row_bytes * fixed
            return TileSelection(outside_mask, outside_value, self.row_bytes * free, -1, first, -1, size)
        at = self._steps_at.get(free)
        if at is None:
            at = self._steps_at[free] = self.add([self.row_bytes * step for step in self._frame.steps(free)])
        if self._origin < 0 and (origin := self._frame.origin()):
            self._origin = self.add(origin)
        first = self.row_bytes * self._frame.row(fixed)
        return TileSelection(outside_mask, outside_value, self.row_bytes * free, at, first, self._origin, size)

    def _table(
        self, reads: tuple[int, ...], when: When, codes: items.Codes, identity: items.Codes, slot: int, *, scalars: bool
    ) -> tuple[Table, bool]:
        """Append the look-up of coefficients [2^reads, entries]; return the table and whether it is per lane.

        A parity of lane bits alone needs no block of its own: each lane takes its own entry.
        slot: the number from which the codes count, which items with one pattern share.
        scalars: one scalar for each coefficient if lanes do not matter.
        """
        lane_columns = [0] * self.lane_bits
        kept, kept_mask = [], 0
        for k, mask in enumerate(reads):
            if mask & ~self._lane_mask:
                kept.append(mask)
                kept_mask |= 1 << k
            for bit in wires_of(mask & self._lane_mask):
                lane_columns[self._lane_of[bit]] |= 1 << k
        on_lanes = wires_of(when.mask & self._lane_mask)
        lane_mask = sum(1 << self._lane_of[bit] for bit in on_lanes)
        lane_value = sum((when.value >> bit & 1) << self._lane_of[bit] for bit in on_lanes)
        per_lane = lane_mask != 0 or any(lane_columns)
        splat = scalars and not per_lane
        blocks, entries = 1 << len(kept), codes.shape[1]
        here = self._put(codes, identity)
        places = here, here + codes.size, self.add(lane_columns)
        self.fills.append((self.coefficients, slot, blocks, entries, *places, kept_mask, splat, lane_mask, lane_value))
        width = 1 if splat else 1 << self.lane_bits
        table = Table(self.coefficients, entries * width, len(kept), self._reads(kept) if kept else 0)
        self.coefficients += -(-blocks * entries * width // 16) * 16  # whole cache lines
        return table, per_lane

    def _put(self, codes: items.Codes, identity: items.Codes) -> int:
        """Append codes, unless an earlier item has the same array of them, and return where they stand."""
        known = self._codes_at.get(id(codes))
        if known is not None:
            return known[1]
        here = self._num_codes
        self.codes += [codes.ravel(), identity]
        self._num_codes += codes.size + identity.size
        self._codes_at[id(codes)] = codes, here
        return here

    def _reads(self, masks: Sequence[int]) -> int:
        """Write how parities select a block.

        For each bit of a row's number what it flips, then the masks outside the tile, then what is always flipped.
        """
        columns, others, flips = [0] * len(self.layout.rows), [], 0
        for k, mask in enumerate(masks):
            positions = sum(1 << self._row_of[bit] for bit in wires_of(mask & self._row_mask))
            inside, outside, flip = self._frame.read(positions) if self._frame else (positions, 0, 0)
            for bit in wires_of(inside):
                columns[bit] |= 1 << k
            others.append(mask & self._outside ^ outside)
            flips |= flip << k
        return self.add([*columns, *others, flips])

    def _scale(
        self,
        when: When,
        reads: tuple[int, ...],
        codes: items.Codes,
        identity: items.Codes,
        slot: int,
        bits: Sequence[int] = (),
        value: int = 0,
    ) -> None:
        """Multiply the rows at which `bits` have `value` by a table of factors."""
        kind = p.SCALE_REAL if codes.shape[1] == 1 else p.SCALE_COMPLEX
        table, per_lane = self._table(reads, when, codes, identity, slot, scalars=True)
        self._write(kind, self._where(when, bits, value), table=table, per_lane=per_lane)

    def _block(self, item: Mix, block: items.MatrixBlock) -> None:
        """Append one set of values that a matrix mixes among themselves."""
        codes, at = block.codes, item.slot.at
        size = len(block.values)
        if size == 1:
            self._scale(item.when, item.reads, codes, block.identity, at, item.bits, block.values[0])
            return
        rows = [self._row_offset(item.bits, value) for value in block.values]
        table, per_lane = self._table(item.reads, item.when, codes, block.identity, at, scalars=size > 4)
        where = self._where(item.when, item.bits)
        if size > 4:
            self._write(p.DENSE, where, table=table, size=size, per_lane=per_lane, offsets=[self.add(rows)])
        elif block.planes:
            half = self.row_bytes // 2
            first = [row + half * plane for row, plane in zip(rows, block.planes, strict=True)]
            second = [row + half * (1 - plane) for row, plane in zip(rows, block.planes, strict=True)]
            self._write(p.PAIR_REAL if size == 2 else p.QUAD_REAL, where, table=table, offsets=first + second)
        else:
            self._write(p.PAIR_COMPLEX if size == 2 else p.QUAD_COMPLEX, where, table=table, offsets=rows)

    def _row_offset(self, bits: Sequence[int], value: int) -> int:
        """Return the distance from the row with 0 on `bits` to the row with `value`."""
        return self._offset(sum(1 << self._row_of[bit] for k, bit in enumerate(bits) if value >> k & 1))

    def _offset(self, positions: int) -> int:
        """Return the distance between rows that differ in some positions."""
        return self.row_bytes * (self._frame.direction(positions) if self._frame else positions)

    def _is_cx(self, item: Rename) -> bool:
        """Return whether a renaming adds one bit to another, and moves whole rows: then none has to be moved.

        Where there is padding, it has to, since what a row is there for has to show in its number.
        """
        if self._padded or item.when.mask & self._lane_mask:
            return False
        return item.to == (1, 0) and item.when.mask.bit_count() == 1

    def _cx(self, item: Rename) -> None:
        """Let the frame follow a CX."""
        (control,) = wires_of(item.when.mask)
        target, value = self._row_of[item.bits[0]], int(item.when.value != 0)
        self._frame = self._frame or RowFrame(len(self.layout.rows))
        if control in self._row_of:
            self._frame.cx(self._row_of[control], target, value)
        else:
            self._frame.cx_outside(control, target, value)
        self._steps_at.clear()
        self._origin = -1

    def _rename(self, item: Rename) -> None:
        """Append a permutation of rows, as exchanges of two; in some lanes only, it is a matrix."""
        half = self.row_bytes // 2
        for a, b in _transpositions(item.to):
            rows = [self._row_offset(item.bits, a), self._row_offset(item.bits, b)]
            where = self._where(item.when, item.bits)
            if item.when.mask & self._lane_mask:
                table, _ = self._table((), item.when, *_EXCHANGE, 0, scalars=False)
                self._write(p.PAIR_REAL, where, table=table, offsets=rows + [row + half for row in rows])
            else:
                self._write(p.EXCHANGE, where, offsets=rows)


_EXCHANGE = (
    np.array([[items.ZERO, items.ONE, items.ONE, items.ZERO] * 2]),
    np.array([items.ONE, items.ZERO, items.ZERO, items.ONE] * 2),
)


def _sums(steps: Sequence[int], nowhere: int, first: int = 0) -> list[int]:
    """Return for each set of steps their sum over GF(2): a place in memory, or `nowhere` if a step is negative.

    first: the sum of no steps.
    """
    found = [first]
    for step in steps:
        found += [nowhere if step < 0 or place == nowhere else place ^ step for place in found]
    return found


@lru_cache(maxsize=1024)
def _transpositions(to: Sequence[int]) -> list[tuple[int, int]]:
    """Return exchanges of two places that, one after the other, move the content of x to ``to[x]``."""
    swaps: list[tuple[int, int]] = []
    seen: set[int] = set()
    for start in range(len(to)):
        x = start
        while x not in seen:
            seen.add(x)
            x = to[x]
            if x != start:
                swaps.append((start, x))
    return swaps
