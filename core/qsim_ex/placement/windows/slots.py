"""Windows come into the slots of the device: where every slice is, which slot a window takes, and what moves when.

What is on the device already only changes rows there. Then what nobody wants leaves, and what is missing arrives, a
copy's worth at a time, so that both directions of the link are busy at once.
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
from qsim_ex.placement.windows.window import Index, MigratedMemory, Window, WindowMemory

Tick = Callable[[], None]

NOWHERE = -1
"""The place of a slice that is known to be zero, and what a row without a slice holds."""

PART = 1 << 32
"""Bytes that come to a window between two ticks."""


class Slots:
    """The slots of a migrated state, its places, and the copies between them.

    buffers: the slots. places: what is where. pipe: the queues of copies.
    parts: in how many parts a window comes, with a tick before each.
    """

    def __init__(self, device: Any, room: MigratedMemory, memory: WindowMemory) -> None:
        self.room = room
        self.buffers: list[Buffer] = memory.slots
        num_slices = 1 << room.num_wires - room.slice
        self.places = SliceTable(num_slices, room.slots, room.rows, room.host, whole=room.scenario == "whole")
        self.pipe = Pipeline(device, memory.slots, memory.host, memory.scratch, room.rows, room.piece)
        self.parts = max(1, room.rows * room.slice_bytes // PART)
        self._at_once = room.scratch
        self._turns = list(range(room.slots))  # the one that was used longest ago first

    def order(self, window: Window, values: list[int]) -> Iterator[tuple[int, int]]:
        """Each window with its slot: first those that are on the device in large part, then the slots take turns."""
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
        """Let the rows of a slot hold these slices; what was in its other rows leaves, or is given up.

        Rows that are wanted by nobody (`NOWHERE`) are emptied, since work on the window may write them.
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
        """The rows in which something moves, those that only free places first, those that only take places last.

        What arrives comes in the order in which it lies on the host, so that copies are long.
        """
        source = np.where(arriving, self.places.place[wanted], -1)
        rows = np.argsort(source, kind="stable")
        only = rows[(arriving & ~leaving)[rows]]
        both = rows[(arriving & leaving)[rows]]
        return np.concatenate([only, both, np.flatnonzero(leaving & ~arriving)])

    def _batch(self, order: Index, leaving: NDArray[np.bool_]) -> int:
        """How many of the rows are swapped at once: a copy's worth, as far as there are places for what leaves.

        Only half of the spare places are used at once: into the others the next batch goes at the same time.
        """
        free = self.places.room()
        if free is None:
            return min(self._at_once, len(order))
        most = min(self._at_once, max(1, self.room.spare // 2), len(order))
        return int(np.searchsorted(np.cumsum(leaving[order[:most]]), free, side="right"))

    def _swap(self, leaving: Index, arriving: Index, slices: Index) -> None:
        """Slices in some rows go to the host, and others come to rows that are empty then."""
        if len(leaving):
            self.pipe.send(self.places.leave(leaving), leaving)
        if len(arriving):
            source = self.places.arrive(slices, arriving)
            if (source < self.places.device).any():
                raise StateError("a slice is wanted that is nowhere: the state was left in the middle of a change.")
            self.pipe.bring(arriving, source)

    def _make_room(self, rows: Index, slot: int) -> None:
        """No place is free on the host: what leaves goes to empty rows of other slots."""
        empty = self.places.empty_rows(slot)[: len(rows)]
        if not len(empty):
            raise StateError("no place is free for a slice: the state was left in the middle of a change.")
        self.pipe.shift(empty, rows[: len(empty)])
        self.places.trade(rows[: len(empty)], empty)

    def _gather(self, wanted: Index, first: int) -> None:
        """Bring the wanted slices that are on the device already to their rows; what is there takes their places."""
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
    """As many of the pairs, from the first on, as share no number with those before."""
    used: set[int] = set()
    keep = []
    for k, pair in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        if used.isdisjoint(pair):
            used.update(pair)
            keep.append(k)
    return one[keep], other[keep]


class _Parts:
    """Calls a tick before each of some equal parts of so many rows."""

    def __init__(self, tick: Tick | None, parts: int, rows: int) -> None:
        self._tick = tick
        self._begins = deque(part * rows // parts for part in range(parts))

    def reached(self, row: int) -> None:
        """All rows below this one are done."""
        while self._tick is not None and self._begins and self._begins[0] <= row:
            self._begins.popleft()
            self._tick()


class SliceTable:
    """Where each slice is: on the device, on the host, or nowhere, because it is known to be zero.

    Only bookkeeping; nothing is copied here. Places are numbered through: first the rows of the device's slots, then
    those of the host. In the scenario *whole* every slice has a place on the host that is its own (its `home`), and a
    row on the device may be *dirty*: newer than what is at home. In the scenario *spread* a slice is in one place only.

    num_slices: of the whole state. slots, rows: the device's, rows in each slot. host: places on the host.
    whole: whether every slice has a place of its own on the host.
    place: for each slice the place that holds its newest amplitudes, or `NOWHERE`. held: for each row of the device the
    slice in it, or `NOWHERE`. dirty: for each row of the device, whether its slice is nowhere else.
    """

    def __init__(self, num_slices: int, slots: int, rows: int, host: int, *, whole: bool) -> None:
        self.num_slices = num_slices
        self.rows = rows
        self.device = slots * rows
        self.host = host
        self.place = np.full(num_slices, NOWHERE, dtype=np.int64)
        self.held = np.full(self.device, NOWHERE, dtype=np.int64)
        self.dirty = np.zeros(self.device, dtype=bool)
        self.home = np.arange(num_slices, dtype=np.int64) + self.device if whole else None
        self.free: deque[int] = deque(() if whole else range(self.device, self.device + host))

    def slot(self, number: int) -> slice:
        """The rows of a slot."""
        return slice(number * self.rows, (number + 1) * self.rows)

    def everywhere(self) -> None:
        """Every slice has a place now, and what is there is undefined."""
        self.held[:] = NOWHERE
        self.dirty[:] = False
        if self.home is not None:
            self.place[:] = self.home
            return
        near = min(self.device, self.num_slices)
        self.place[:] = np.arange(self.num_slices) + np.where(np.arange(self.num_slices) < near, 0, self.device - near)
        self.held[:near] = np.arange(near)
        self.dirty[:near] = True
        self.free = deque(range(self.device + self.num_slices - near, self.device + self.host))

    # --- what happens to slices ------------------------------------------------------------------------------------

    def room(self) -> int | None:
        """How many slices can leave for the host at once; None where each has its own place."""
        return None if self.home is not None else len(self.free)

    def leave(self, rows: Index) -> Index:
        """What rows of the device hold moves to the host; returns the places there."""
        slices = self.held[rows]
        to = self.home[slices] if self.home is not None else self._taken(len(rows))
        self._vacate(rows)
        self.place[slices] = to
        return to

    def forget(self, rows: Index) -> None:
        """Rows of the device whose slices have the same amplitudes at home are given up."""
        if self.home is not None:
            slices = self.held[rows]
            self._vacate(rows)
            self.place[slices] = self.home[slices]

    def nothing(self, slices: Index) -> None:
        """Slices are known to be zero: they give up their places."""
        place = self.place[slices]
        self._vacate(place[(place >= 0) & (place < self.device)])
        if self.home is None:
            self.free.extend(place[place >= self.device].tolist())
        self.place[slices] = NOWHERE

    def arrive(self, slices: Index, rows: Index) -> Index:
        """Slices come from the host to empty rows of the device; returns the places where they were."""
        source = self.place[slices]
        self.place[slices] = rows
        self.held[rows] = slices
        self.dirty[rows] = self.home is None
        if self.home is None:
            self.free.extend(source.tolist())
        return source

    def trade(self, one: Index, other: Index) -> None:
        """What two sets of rows of the device hold changes places; the sets share no row, and either may be empty."""
        held, dirty = self.held[one].copy(), self.dirty[one].copy()
        self.held[one], self.dirty[one] = self.held[other], self.dirty[other]
        self.held[other], self.dirty[other] = held, dirty
        for rows in (one, other):
            full = rows[self.held[rows] >= 0]
            self.place[self.held[full]] = full

    def written(self, number: int, slices: Index) -> None:
        """A slot was worked on: its rows hold these slices now (or none), and no other place has their amplitudes."""
        rows = self.slot(number)
        self.held[rows] = slices
        self.dirty[rows] = slices >= 0
        here = slices >= 0
        self.place[slices[here]] = np.flatnonzero(here) + rows.start

    def saved(self, rows: Index) -> Index:
        """Rows of the device were written home and stay on the device as well; returns the places at home."""
        assert self.home is not None
        self.dirty[rows] = False
        return self.home[self.held[rows]]

    def renumbered(self, old: Index, new: Index) -> None:
        """Slices get other numbers and stay where they are: slice j was ``old[j]``, slice i becomes ``new[i]``."""
        self.place = self.place[old]
        if self.home is not None:
            self.home = self.home[old]
        full = self.held >= 0
        self.held[full] = new[self.held[full]]

    # --- rows of the device ----------------------------------------------------------------------------------------

    def empty_rows(self, but: int) -> Index:
        """Rows of the device that hold nothing, in all slots but one."""
        empty: Index = np.flatnonzero(self.held < 0)
        return np.compress(empty // self.rows != but, empty)

    def _taken(self, count: int) -> Index:
        return np.array([self.free.popleft() for _ in range(count)], dtype=np.int64)

    def _vacate(self, rows: Index) -> None:
        self.held[rows] = NOWHERE
        self.dirty[rows] = False
