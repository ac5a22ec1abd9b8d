"""Sub state vectors for users: their numbers, where they are stored, and access to their amplitudes.

The index bits above the local ones are the number of a sub state vector. A state in one piece has one sub state vector,
number 0, which is always staged, so one loop over sub state vectors is right for every placement::

    for index in state.sub_state_vectors:
        state.stage(index)
        array = state.sub_state_vector(index)  # CuPy on a GPU, NumPy on the CPU
        my_kernel(array, state.stream_of(index))
    state.synchronize()
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.base import Buffer, Device
from qsim_ex.errors import StateError
from qsim_ex.placement.base import Placement
from qsim_ex.placement.divided.near import NearSubState
from qsim_ex.state.guard import Guard


class SubStateVectors:
    """The part of `StateVector` that describes the levels of its memory and gives access to sub state vectors.

    `stage` and `expose` fix where sub state vectors are stored until the next use of the state; methods that depend on
    it raise `StateError` before that.
    """

    num_wires: int
    where: Assignment
    _guard: Guard
    _placement: Placement
    _visit: Iterator[NearSubState] | None = None
    _staged: NearSubState | None = None
    _exposed: bool = False  # whether it is fixed where sub state vectors are stored
    _laid_open: bool = False  # whether host memory may be read too

    # --- the levels --------------------------------------------------------------------------------------------------

    @property
    def placement(self) -> str:
        """The kind of placement: 'single', 'peers', 'migrated', 'peers over host', 'ranks', or 'ranks over host'."""
        return self._placement.kind

    @property
    def local_wires(self) -> tuple[int, ...]:
        """The wires on index bits inside a sub state vector, least significant first."""
        return self._placement.layout.wires()[: self._placement.levels.local]

    @property
    def peer_wires(self) -> tuple[int, ...]:
        """The wires on the bits of a device's number, least significant first."""
        levels = self._placement.levels
        return self._placement.layout.wires()[levels.local : levels.local + levels.peers]

    @property
    def migration_wires(self) -> tuple[int, ...]:
        """The wires on index bits whose values are staged one after another, least significant first."""
        levels = self._placement.levels
        return self._placement.layout.wires()[levels.local + levels.peers :]

    @property
    def sub_state_vectors(self) -> range:
        """The numbers of all sub state vectors: the values of the index bits above the local ones."""
        return range(1 << (self.num_wires - self._placement.levels.local))

    @property
    def slices_per_sub_state_vector(self) -> int:
        """The number of slices in which a sub state vector is copied; 1 if no slice is ever copied."""
        local = self._placement.levels.local
        return 1 if local == self.num_wires else 1 << (local - self._placement.slice_bits)

    # --- what lies where ---------------------------------------------------------------------------------------------

    @property
    def staged(self) -> tuple[int, ...]:
        """The numbers of the sub state vectors on devices; raises `StateError` before `expose` or `stage`."""
        with self._guard.aside():
            self._require_exposed("which sub state vectors are on devices")
            if not self._migrates:
                return tuple(self.sub_state_vectors)
            return () if self._staged is None else (self._staged.high,)

    @property
    def unstaged(self) -> tuple[int, ...]:
        """The numbers of the sub state vectors in host memory; raises `StateError` before `expose` or `stage`."""
        here = self.staged
        return tuple(number for number in self.sub_state_vectors if number not in here)

    def expose(self) -> None:
        """Finish all pending work and write everything to memory, so that amplitudes may be read where they are stored.

        This holds until the next use of the state.
        """
        with self._guard:
            self._placement.expose()
            for device in self.where.devices:
                device.synchronize()
            self._guard.pending, self._exposed, self._laid_open = self._hide, True, True

    def stage(self, index: int) -> None:
        """Copy a sub state vector to its device, unless it is there, as that of a state in one piece always is.

        It may be read and written until the next use of the state. Raises `StateError` for a number out of range.
        """
        with self._guard.aside():
            if index not in self.sub_state_vectors:
                last = len(self.sub_state_vectors) - 1
                raise StateError(f"stage: expected the number of a sub state vector, 0 to {last}, got {index!r}.")
            if self._exposed and (not self._migrates or (self._staged is not None and self._staged.high == index)):
                return
            self._hide()
            self._placement.write_zeros()
            if self._migrates:
                self._visit, self._staged = _first(self._placement.visit_one(int(index)))
            self._guard.pending, self._exposed = self._hide, True

    def sub_state_vector(self, index: int) -> Buffer:
        """Return the amplitudes of a staged sub state vector, without a copy: NumPy or CuPy, [2^local].

        Bit k of the array's index is index bit k, the number of the sub state vector has the bits above, and
        ``state.index_map`` says which basis state that is. Raises `StateError` unless it is staged.
        """
        with self._guard.aside():
            return self._near(index).buffer[: 1 << self._placement.levels.local]

    def slice(self, index: int, number: int) -> Buffer:
        """Return one slice of an unstaged sub state vector after `expose`, without a copy: [2^slice].

        A slice in host memory is a NumPy array that the device can read; a slice that is still on the device is the
        device's array. It may be written. Bit k of the array's index is index bit k. Raises `StateError` before
        `expose`.
        """
        with self._guard.aside():
            if not self._laid_open:
                raise StateError(f"slice {number} of sub state vector {index} may still move; call expose() first.")
            placed, count = self._placement, self.slices_per_sub_state_vector
            if index not in self.sub_state_vectors or number not in range(count):
                last = len(self.sub_state_vectors) - 1
                raise StateError(
                    f"expected slices 0 to {count - 1} of sub state vectors 0 to {last}, got slice {number!r} of sub "
                    f"state vector {index!r}."
                )
            return placed.slice_at(index * count + number)

    def device_of(self, index: int) -> Device:
        """Return the device of a staged sub state vector; raises `StateError` unless it is staged."""
        with self._guard.aside():
            return self._near(index).device

    def stream_of(self, index: int) -> Any:
        """Return the CuPy stream on which work on a staged sub state vector is queued; None on the CPU."""
        return getattr(self.device_of(index), "stream", None)

    # --- parts -------------------------------------------------------------------------------------------------------

    @property
    def _migrates(self) -> bool:
        levels = self._placement.levels
        return levels.local + levels.peers < self.num_wires

    def _near(self, index: int) -> NearSubState:
        """Return a staged sub state vector."""
        self._require_exposed(f"sub state vector {index}")
        if self._staged is not None and self._staged.high == index:
            return self._staged
        if self._migrates or index not in self.sub_state_vectors:
            raise StateError(f"sub state vector {index} is not on a device; call stage({index}) first.")
        visit, near = _first(self._placement.visit_one(index))
        _finish(visit)
        return near

    def _require_exposed(self, what: str) -> None:
        if not self._exposed:
            raise StateError(f"{what}: pending work may still move it; call expose() or stage() first.")

    def _hide(self) -> None:
        """Copy back the sub state vector that was staged by hand, since the state is used again."""
        visit, self._visit, self._staged, self._exposed, self._laid_open = self._visit, None, None, False, False
        self._guard.pending = None
        if visit is not None:
            _finish(visit)

    def _drop(self) -> None:
        """Let go of the sub state vector that was staged by hand, since the state is closed."""
        visit, self._visit, self._staged = self._visit, None, None
        if isinstance(visit, Generator):
            visit.close()


def _first(visit: Iterator[NearSubState]) -> tuple[Iterator[NearSubState], NearSubState]:
    """Return a visit that has reached its first sub state vector, and that sub state vector."""
    return visit, next(visit)


def _finish(visit: Iterator[NearSubState]) -> None:
    """Run a visit to its end, so that written amplitudes are copied back."""
    for _ in visit:
        pass
