"""Where each slice of a migrated state is: on the device, on the host, or nowhere, because it is known to be zero.

Only bookkeeping; nothing is copied here. Places are numbered through: first the rows of the device's slots, then those
of the host. In the scenario *whole* every slice has a place on the host that is its own (its `home`), and a row on the
device may be *dirty*: newer than what is at home. In the scenario *spread* a slice is in one place only.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]

NOWHERE = -1


class Places:
    """The table.

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
