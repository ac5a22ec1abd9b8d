"""The slices of a state in windows: brought into the slots of the device, a window at a time, taken elsewhere, given.

Slices that are on the device already only change rows there. Then slices that the window does not need leave, and
missing slices arrive, one copy at a time, so that both directions of the link are busy at once.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.devices.base import Buffer
from qsim_ex.display.amounts import plural
from qsim_ex.errors import StateError
from qsim_ex.placement.index_bits import move_bits
from qsim_ex.placement.windows.pipeline import Pipeline
from qsim_ex.placement.windows.slice_table import NOWHERE, SliceTable
from qsim_ex.placement.windows.window import Index, MigratedMemory, Window, WindowMemory
from qsim_ex.precision import Amplitudes

Tick = Callable[[], None]


PART = 1 << 32
"""The bytes that are brought to a window between two ticks."""


class Slots:
    """The slots of a migrated state, its slices in their places, and the copies between them.

    buffers: the slots. places: the place of every slice. pipe: the queues of copies. kind: that of the host's memory.
    parts: in how many parts a window is brought, with a tick before each.
    """

    def __init__(self, device: Any, room: MigratedMemory, memory: WindowMemory) -> None:
        self.device, self.room, self.kind = device, room, memory.kind
        windows = 1 << room.num_wires - room.levels.local - room.levels.peers
        if windows >= thresholds.now.told_windows:
            _tell_of_many(windows, room)
        self.buffers: list[Buffer] = memory.slots
        num_slices = 1 << room.num_wires - room.slice
        self.places = SliceTable(num_slices, room.slots, room.rows, room.host, whole=room.scenario == "whole")
        self.pipe = Pipeline(device, memory.slots, memory.host, memory.scratch, room.rows, room.piece)
        self.parts = max(1, room.rows * room.slice_bytes // PART)
        self._at_once = room.scratch
        self._turns = list(range(room.slots))  # the least recently used slot first

    def begin(self, slices: Index) -> None:
        """Make |0…0⟩ in the first slot, of these slices."""
        self.pipe.begin_work(0)
        self.device.begin(self.buffers[0])
        self.pipe.end_work()
        self.places.written(0, slices)

    def windows(
        self, window: Window, values: list[int], fresh: int, after: int | None, tick: Tick | None
    ) -> Iterator[tuple[Buffer, int]]:
        """Bring one window after another into a slot; yield the slot's buffer and the number of the window.

        values: the windows to bring; if no slice of one exists, its amplitudes are undefined. fresh, after: the index
        bits that are fresh before, and when a window has been worked on; None if nothing is written.
        """
        for slot, value in self.order(window, values):
            slices = window.slices[value]
            self.bring(self.existing(slices, fresh), slot, tick)
            self.pipe.begin_work(slot)
            try:
                yield self.buffers[slot], value
            finally:
                self.pipe.end_work()
                if after is not None:
                    self.places.written(slot, self.existing(slices, after))

    def existing(self, slices: Index, fresh: int) -> Index:
        """Return slices, with `NOWHERE` in place of those that are known to be zero."""
        return np.where(slices & fresh >> self.room.slice, NOWHERE, slices)

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

    # --- what was copied -------------------------------------------------------------------------------------------

    @property
    def bytes_moved(self) -> int:
        """Bytes copied so far between the host and the device."""
        return self.pipe.bytes_in + self.pipe.bytes_out

    def report(self) -> dict[str, object]:
        """Return the bytes copied between the host and the device, and the kind of the host's memory."""
        copied = {"bytes_from_host": [self.pipe.bytes_in], "bytes_to_host": [self.pipe.bytes_out]}
        return copied | {"host_memory_kind": self.kind}

    # --- slices in their places ------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Wait until nothing is under way, so that slices are in their places."""
        self.pipe.synchronize()
        self.device.synchronize()

    def send_home(self) -> None:
        """Copy every slice that has a place on the host there, and wait until nothing is under way."""
        self.pipe.end_work()
        places = self.places
        if places.home is not None:
            rows = np.flatnonzero(places.held >= 0)
            places.forget(rows[~places.dirty[rows]])
            rows = np.flatnonzero(places.held >= 0)
            self.pipe.send(places.leave(rows), rows)
        self.settle()

    def at(self, number: int) -> Buffer:
        """Return a slice of a settled state, without a copy: NumPy on the host, the device's array on the device."""
        return self.pipe.at(int(self.places.place[number]))

    def take(self, slices: Index, out: Amplitudes) -> None:
        """Copy slices of a settled state to host memory; they have no places then."""
        size = 1 << self.room.slice
        for k, number in enumerate(slices.tolist()):
            found = self.at(number)
            out[k * size : (k + 1) * size] = (
                found if isinstance(found, np.ndarray) else self.device.read(found, 0, size)
            )
        self.places.nothing(slices)

    def give(self, slices: Index, values: Amplitudes) -> None:
        """Put slices that have no places into some; which bits are fresh then is the caller's to know."""
        self.places.put(slices)
        size = 1 << self.room.slice
        for k, number in enumerate(slices.tolist()):
            found, own = self.at(number), values[k * size : (k + 1) * size]
            if isinstance(found, np.ndarray):
                found[:] = own
            else:
                self.device.write(found, 0, own)

    def drop(self, bits: int = 0) -> None:
        """Forget the slices at which an index bit of a mask is 1, or all of them: they are known to be zero."""
        self.pipe.end_work()
        slices = np.arange(self.places.num_slices, dtype=np.int64)
        self.places.nothing(slices[slices & bits >> self.room.slice != 0] if bits else slices)

    def renumber(self, sources: Sequence[int], flip: int) -> None:
        """Renumber slices: new index bit k is old bit ``sources[k]``, XOR bit k of `flip`; slices stay whole."""
        inside = self.room.slice
        number = np.arange(self.places.num_slices, dtype=np.int64)
        old = move_bits(number ^ np.int64(flip >> inside), [source - inside for source in sources[inside:]])
        new = np.empty_like(old)
        new[old] = number
        self.places.renumbered(old, new)


def _tell_of_many(windows: int, room: MigratedMemory) -> None:
    """Warn of very many windows, which take far longer than the work on them, and say what to do."""
    warnings.warn(
        f"the state of {room.num_wires} wires has {windows:,} windows of {plural(room.levels.local, 'wire')}, each of "
        "which takes up to a millisecond in each pass over the state; pass a larger device_wires, or leave it out.",
        RuntimeWarning,
        stacklevel=3,
    )


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
