"""Bringing windows into the slots of the device: the slot of a window, and the copies to it.

Slices that are on the device already only change rows there. Then slices that the window does not need leave, and
missing slices arrive, one copy at a time, so that both directions of the link are busy at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.devices.base import Buffer
from qsim_ex.errors import StateError
from qsim_ex.placement.windows.pipeline import Pipeline
from qsim_ex.placement.windows.slice_table import NOWHERE, SliceTable
from qsim_ex.placement.windows.window import Index, MigratedMemory, Window, WindowMemory

Tick = Callable[[], None]


PART = 1 << 32
"""The bytes that are brought to a window between two ticks."""


class Slots:
    """The slots of a migrated state, its table of places, and the copies between them.

    buffers: the slots. places: the place of every slice. pipe: the queues of copies.
    parts: in how many parts a window is brought, with a tick before each.
    """

    def __init__(self, device: Any, room: MigratedMemory, memory: WindowMemory) -> None:
        self.room = room
        self.buffers: list[Buffer] = memory.slots
        num_slices = 1 << room.num_wires - room.slice
        self.places = SliceTable(num_slices, room.slots, room.rows, room.host, whole=room.scenario == "whole")
        self.pipe = Pipeline(device, memory.slots, memory.host, memory.scratch, room.rows, room.piece)
        self.parts = max(1, room.rows * room.slice_bytes // PART)
        self._at_once = room.scratch
        self._turns = list(range(room.slots))  # the least recently used slot first

    def order(self, window: Window, values: list[int]) -> Iterator[tuple[int, int]]:
        """Yield each window with its slot: first those that are largely on the device; then the slots take turns."""
        full = np.flatnonzero(self.places.held >= 0)
        number, row = window.windows_and_rows(self.places.held[full])
        rows = self.places.rows
        here = np.zeros((len(self._turns), 1 << window.far), dtype=np.int64)
        np.add.at(here, (full // rows, number), np.where(row == full % rows, 2, 1))
        found = sorted(
            (-int(here[slot, value]), self._turns.index(int(slot)), int(value), int(slot))
            for slot, value in np.argwhere(here)
        )
        first: dict[int, int] = {}
        for _, _, value, slot in found:
            if value not in first and slot not in first.values():
                first[value] = slot
        left = set(values)
        for value in [*(value for value in first if value in left), *(value for value in values if value not in first)]:
            slot = first.get(value, self._turns[0])
            self._turns.remove(slot)
            self._turns.append(slot)
            yield slot, value

    # --- one window ------------------------------------------------------------------------------------------------

    def bring(self, wanted: Index, slot: int, tick: Tick | None) -> None:
        """Put these slices into the rows of a slot; slices in its other rows are copied out, or dropped if at home too.

        Rows for which `wanted` is `NOWHERE` are emptied, since work on the window may write them.
        """
        places, first = self.places, slot * self.places.rows
        parts = _Parts(tick, self.parts, len(wanted))
        parts.reached(0)
        self._gather(wanted, first)
        here = places.slot(slot)
        wrong = places.held[here] != wanted
        places.forget(first + np.flatnonzero(wrong & (places.held[here] >= 0) & ~places.dirty[here]))
        leaving = wrong & (places.held[here] >= 0)
        arriving = wrong & (wanted >= 0)
        order, done = self._in_order(wanted, leaving, arriving), 0
        while done < len(order):
            parts.reached(done)
            rows = order[done : done + self._batch(order[done:], leaving)]
            if not len(rows):
                self._make_room(first + order[done:][leaving[order[done:]]], slot)
                leaving = leaving & (places.held[here] >= 0)
                continue
            come = rows[arriving[rows]]
            self._swap(first + rows[leaving[rows]], first + come, wanted[come])
            done += len(rows)
        parts.reached(len(wanted))

    def _in_order(self, wanted: Index, leaving: NDArray[np.bool_], arriving: NDArray[np.bool_]) -> Index:
        """Return the rows that change: first those that only receive a slice, last those that only lose one.

        Arriving slices are in the order of their places on the host, so that copies are long.
        """
        source = np.where(arriving, self.places.place[wanted], -1)
        rows = np.argsort(source, kind="stable")
        only = rows[(arriving & ~leaving)[rows]]
        both = rows[(arriving & leaving)[rows]]
        return np.concatenate([only, both, np.flatnonzero(leaving & ~arriving)])

    def _batch(self, order: Index, leaving: NDArray[np.bool_]) -> int:
        """Return how many of the rows are swapped at once: one copy, as far as the host has places for leaving slices.

        Only half of the spare places are used at once: the next batch goes to the others at the same time.
        """
        free = self.places.room()
        if free is None:
            return min(self._at_once, len(order))
        most = min(self._at_once, max(1, self.room.spare // 2), len(order))
        return int(np.searchsorted(np.cumsum(leaving[order[:most]]), free, side="right"))

    def _swap(self, leaving: Index, arriving: Index, slices: Index) -> None:
        """Copy slices in some rows to the host, and other slices to rows that are empty then."""
        if len(leaving):
            self.pipe.send(self.places.leave(leaving), leaving)
        if len(arriving):
            source = self.places.arrive(slices, arriving)
            if (source < self.places.device).any():
                raise StateError("a slice is in no place: a change of the state was interrupted. Use a new state.")
            self.pipe.bring(arriving, source)

    def _make_room(self, rows: Index, slot: int) -> None:
        """Move leaving slices to empty rows of other slots when no place is free on the host."""
        empty = self.places.empty_rows(slot)[: len(rows)]
        if not len(empty):
            raise StateError("no place is free for a slice: a change of the state was interrupted. Use a new state.")
        self.pipe.shift(empty, rows[: len(empty)])
        self.places.trade(rows[: len(empty)], empty)

    def _gather(self, wanted: Index, first: int) -> None:
        """Move needed slices that are on the device already to their rows; the slices there take their places."""
        places = self.places
        rows = first + np.arange(len(wanted))
        while True:
            source = np.where(wanted >= 0, places.place[wanted], NOWHERE)
            misplaced = (source >= 0) & (source < places.device) & (source != rows)
            if not misplaced.any():
                return
            to, other = _apart(rows[misplaced], source[misplaced])
            empty = places.held[to] < 0
            self.pipe.shift(to[empty], other[empty])
            self.pipe.exchange(to[~empty], other[~empty])
            places.trade(to, other)


def _apart(one: Index, other: Index) -> tuple[Index, Index]:
    """Return as many of the pairs, from the first on, as share no number with earlier ones."""
    used: set[int] = set()
    keep = []
    for k, pair in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        if used.isdisjoint(pair):
            used.update(pair)
            keep.append(k)
    return one[keep], other[keep]


class _Parts:
    """Calls a tick before each of some equal parts of a number of rows."""

    def __init__(self, tick: Tick | None, parts: int, rows: int) -> None:
        self._tick = tick
        self._begins = deque(part * rows // parts for part in range(parts))

    def reached(self, row: int) -> None:
        """Record that all rows below this one are done."""
        while self._tick is not None and self._begins and self._begins[0] <= row:
            self._begins.popleft()
            self._tick()
