"""The place of each slice of a migrated state: on the device, on the host, or nowhere."""

from __future__ import annotations

from collections import deque

import numpy as np

from qsim_ex.placement.windows.window import Index

NOWHERE = -1
"""The place of a slice that is known to be zero, and the content of a row without a slice."""


class SliceTable:
    """The place of each slice: on the device, on the host, or nowhere, because it is known to be zero.

    Only bookkeeping; nothing is copied here. Places are numbered consecutively: first the rows of the device's slots,
    then those of the host. In the scenario *whole* every slice has a place of its own on the host (its `home`), and a
    row on the device may be *dirty*: newer than the place at home. In the scenario *spread* a slice is in one place
    only.

    num_slices: of the whole state. slots, rows: slots on the device, rows in each slot. host: places on the host.
    whole: whether every slice has a place of its own on the host.
    place: for each slice the place that holds its newest amplitudes, or `NOWHERE`. held: for each row of the device the
    slice in it, or `NOWHERE`. dirty: for each row of the device, whether its slice is in no other place.
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
        """Return the rows of a slot."""
        return slice(number * self.rows, (number + 1) * self.rows)

    def everywhere(self) -> None:
        """Give every slice a place, with undefined amplitudes."""
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

    # --- changes of slices -----------------------------------------------------------------------------------------

    def room(self) -> int | None:
        """Return how many slices can leave for the host at once; None where each has its own place."""
        return None if self.home is not None else len(self.free)

    def leave(self, rows: Index) -> Index:
        """Move the slices in rows of the device to the host; return their places there."""
        slices = self.held[rows]
        to = self.home[slices] if self.home is not None else self._taken(len(rows))
        self._vacate(rows)
        self.place[slices] = to
        return to

    def forget(self, rows: Index) -> None:
        """Empty rows of the device whose slices have the same amplitudes at home."""
        if self.home is not None:
            slices = self.held[rows]
            self._vacate(rows)
            self.place[slices] = self.home[slices]

    def nothing(self, slices: Index) -> None:
        """Mark slices as known to be zero; their places become free."""
        place = self.place[slices]
        self._vacate(place[(place >= 0) & (place < self.device)])
        if self.home is None:
            self.free.extend(place[place >= self.device].tolist())
        self.place[slices] = NOWHERE

    def put(self, slices: Index) -> None:
        """Give places to slices that have none: rows of the device that are empty, and then places on the host."""
        rows = np.flatnonzero(self.held < 0)[: len(slices)]
        here, there = slices[: len(rows)], slices[len(rows) :]
        self.held[rows], self.place[here] = here, rows
        self.dirty[rows] = True
        self.place[there] = self._taken(len(there)) if self.home is None else self.home[there]

    def arrive(self, slices: Index, rows: Index) -> Index:
        """Move slices from the host to empty rows of the device; return their former places."""
        source = self.place[slices]
        self.place[slices] = rows
        self.held[rows] = slices
        self.dirty[rows] = self.home is None
        if self.home is None:
            self.free.extend(source.tolist())
        return source

    def trade(self, one: Index, other: Index) -> None:
        """Exchange the contents of two sets of rows of the device, which share no row; either content may be empty."""
        held, dirty = self.held[one].copy(), self.dirty[one].copy()
        self.held[one], self.dirty[one] = self.held[other], self.dirty[other]
        self.held[other], self.dirty[other] = held, dirty
        for rows in (one, other):
            full = rows[self.held[rows] >= 0]
            self.place[self.held[full]] = full

    def written(self, number: int, slices: Index) -> None:
        """Record work on a slot: its rows hold these slices now (or none), and no other place has their amplitudes."""
        rows = self.slot(number)
        self.held[rows] = slices
        self.dirty[rows] = slices >= 0
        here = slices >= 0
        self.place[slices[here]] = np.flatnonzero(here) + rows.start

    def saved(self, rows: Index) -> Index:
        """Record that rows of the device were written home and stay on the device; return the places at home."""
        assert self.home is not None
        self.dirty[rows] = False
        return self.home[self.held[rows]]

    def renumbered(self, old: Index, new: Index) -> None:
        """Renumber slices without moving them: slice j was ``old[j]``, slice i becomes ``new[i]``."""
        self.place = self.place[old]
        if self.home is not None:
            self.home = self.home[old]
        full = self.held >= 0
        self.held[full] = new[self.held[full]]

    # --- rows of the device ----------------------------------------------------------------------------------------

    def empty_rows(self, but: int) -> Index:
        """Return the empty rows of the device, in all slots but one."""
        empty: Index = np.flatnonzero(self.held < 0)
        return np.compress(empty // self.rows != but, empty)

    def _taken(self, count: int) -> Index:
        return np.array([self.free.popleft() for _ in range(count)], dtype=np.int64)

    def _vacate(self, rows: Index) -> None:
        self.held[rows] = NOWHERE
        self.dirty[rows] = False
