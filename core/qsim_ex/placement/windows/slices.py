"""The slices of a state in windows: read in their places, taken elsewhere, and given from there."""

from __future__ import annotations

import numpy as np

from qsim_ex.devices.base import Buffer, Device
from qsim_ex.placement.divided.divided import Divided
from qsim_ex.placement.windows.slots import Slots
from qsim_ex.placement.windows.window import Index, MigratedMemory, Window
from qsim_ex.precision import Amplitudes


class Slices(Divided):
    """The part of `Migrated` that has its slices, each of which is on the device or on the host."""

    device: Device
    needed: MigratedMemory
    _slots: Slots
    _rest: Window  # the window of a state that is at rest
    _window: Window

    def expose(self) -> None:
        """Copy every slice that has a place on the host there, and wait until nothing is under way."""
        self.write_zeros()
        self._slots.pipe.end_work()
        places = self._slots.places
        if places.home is not None:
            rows = np.flatnonzero(places.held >= 0)
            places.forget(rows[~places.dirty[rows]])
            rows = np.flatnonzero(places.held >= 0)
            self._slots.pipe.send(places.leave(rows), rows)
        self._slots.pipe.synchronize()
        self.device.synchronize()

    def slice_at(self, number: int) -> Buffer:
        """Return a slice of an exposed state, without a copy: NumPy on the host, the device's array on the device."""
        return self._slots.pipe.at(int(self._slots.places.place[number]))

    @property
    def parts(self) -> int:
        """In how many parts a window is brought, with a tick before each."""
        return self._slots.parts

    def settle(self) -> None:
        """Wait until nothing is under way, so that slices are in their places."""
        self._slots.pipe.synchronize()
        self.device.synchronize()

    def nothing(self) -> None:
        """Forget all slices, and mark all index bits as fresh: amplitude 0 has no place either."""
        self._slots.pipe.end_work()
        self._window = self._rest
        self.fresh = (1 << self.num_wires) - 1
        self._slots.places.nothing(np.arange(self._slots.places.num_slices, dtype=np.int64))

    def take(self, slices: Index, out: Amplitudes) -> None:
        """Copy slices of a settled state to host memory; they have no places then."""
        size = 1 << self.needed.slice
        for k, number in enumerate(slices.tolist()):
            found = self.slice_at(number)
            out[k * size : (k + 1) * size] = (
                found if isinstance(found, np.ndarray) else self.device.read(found, 0, size)
            )
        self._slots.places.nothing(slices)

    def give(self, slices: Index, values: Amplitudes) -> None:
        """Put slices that have no places into some; `fresh` is the caller's to set."""
        self._slots.places.put(slices)
        size = 1 << self.needed.slice
        for k, number in enumerate(slices.tolist()):
            found, own = self.slice_at(number), values[k * size : (k + 1) * size]
            if isinstance(found, np.ndarray):
                found[:] = own
            else:
                self.device.write(found, 0, own)
