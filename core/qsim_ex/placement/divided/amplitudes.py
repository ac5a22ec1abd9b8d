"""The amplitudes of a divided state: how they are read and overwritten, where each of them lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import Amplitudes, Pieces
from qsim_ex.placement.divided import visited as one
from qsim_ex.placement.divided.visited import NearSubState, Visited
from qsim_ex.steps.layout import Layout


class DividedAmplitudes(Visited):
    """The part of `Divided` that reads and overwrites amplitudes."""

    def overwrite(self, pieces: Pieces, layout: Layout) -> None:
        """Overwrite all amplitudes, by index in the given layout. One visit."""
        self.forget()
        for near in self.visit(write=True):
            for start, values in pieces(near.high << near.local, 1 << near.local):
                near.device.write(near.buffer, start, values.astype(self.dtype, copy=False))
        self.layout = layout

    def forget(self) -> None:
        """Prepare for overwriting all amplitudes: they may be anything, and the layout becomes the wires' order."""
        self.write_zeros()
        self.layout = Layout.identity(self.num_wires)

    def write(self, start: int, values: Amplitudes) -> None:
        """Overwrite amplitudes from index `start` on, which is that basis value in the layout of the wires' order."""
        stop, local = start + len(values), self.levels.local
        if not len(values):
            return
        self.write_zeros((1 << (stop - 1).bit_length()) - 1)
        for near, first, last in self._range(start, stop, write=True):
            base = near.high << local
            near.device.write(near.buffer, first - base, values[first - start : last - start])

    def scale(self, when: When, inside: float, outside: float) -> None:
        """Multiply the amplitudes at which `when` (on wires) holds by `inside`, all others by `outside`."""
        local = self.levels.local

        def wanted(layout: Layout, high: int) -> bool:
            return outside != 1 or one.local_when(layout, local, high, when) is not None

        for near in self.visit_some(wanted, write=True):
            stored = near.when(when)
            if stored is None:
                near.device.scale(near.buffer, local, ALWAYS, outside, outside)
            else:
                near.device.scale(near.buffer, local, stored, inside, outside)

    def gather(self, values: NDArray[np.int64], wires: Sequence[int]) -> Amplitudes:
        """Return amplitudes of basis values; bit k of a value is wire ``wires[k]``. One visit, where they are."""
        local = self.levels.local
        out = np.zeros(len(values), dtype=self.dtype)
        indices = at.indices(self.layout, values, wires)
        highs = indices >> local
        found = one.distinct(highs)
        for near in self.visit_some(lambda _, high: high in found) if found else ():
            mine = np.flatnonzero(highs == near.high)
            out[mine] = near.device.gather(near.buffer, indices[mine] & (1 << local) - 1)
        return out

    def read(self, start: int, stop: int, wires: Sequence[int]) -> Amplitudes:
        """Return amplitudes of basis values `start` up to `stop`; bit k of a value is wire ``wires[k]``. One visit."""
        out = np.zeros(stop - start, dtype=self.dtype)
        pieces = [at.held(ALWAYS, wires[free:], begin >> free) for begin, free in one.aligned(start, stop)]
        local = self.levels.local

        def wanted(layout: Layout, high: int) -> bool:
            return any(one.local_when(layout, local, high, piece) is not None for piece in pieces)

        for near in self.visit_some(wanted) if pieces else ():
            one.copy_range(near, start, stop, wires, out)
        return out

    def stored(self, start: int, stop: int) -> Amplitudes:
        """Return the amplitudes at the indices from `start` up to `stop`, in the order of the indices."""
        out = np.zeros(stop - start, dtype=self.dtype)
        for near, first, last in self._range(start, stop):
            base = near.high << near.local
            out[first - start : last - start] = near.device.read(near.buffer, first - base, last - base)
        return out

    def own_slices(self) -> Iterator[tuple[int, Amplitudes]]:
        """Yield all amplitudes in the order of the indices, as one slice."""
        yield 0, self.stored(0, 1 << self.num_wires)

    def pieces(self, size: int) -> Iterator[tuple[int, Amplitudes]]:
        """Yield all amplitudes that are not known to be zero, in pieces of at most `size`, with their first index."""
        for near in self.visit():
            whole = 1 << near.local
            for start in range(0, whole, size):
                yield (near.high << near.local) + start, near.device.read(near.buffer, start, min(start + size, whole))

    def _range(self, start: int, stop: int, *, write: bool = False) -> Iterator[tuple[NearSubState, int, int]]:
        """Yield the sub state vectors that hold indices from `start` up to `stop`, each with its part of that range."""
        if start >= stop:
            return
        local = self.levels.local
        for near in self.visit_some(lambda _, high: start >> local <= high <= stop - 1 >> local, write=write):
            yield near, max(start, near.high << local), min(stop, near.high + 1 << local)
