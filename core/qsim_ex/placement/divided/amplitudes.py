"""The amplitudes of a divided state: how they are read and overwritten, where each of them lies.

Each function does for the sub state vectors here what the method of `base.Placement` of its name does for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import Pieces
from qsim_ex.placement.divided import near as one
from qsim_ex.placement.divided.near import NearSubState, Visited
from qsim_ex.precision import Amplitudes
from qsim_ex.steps.layout import Layout


def overwrite(state: Visited, pieces: Pieces, layout: Layout) -> None:
    """Overwrite all amplitudes, by index in the given layout. One visit."""
    state.forget()
    for near in state.visit(write=True):
        for start, values in pieces(near.high << near.local, 1 << near.local):
            near.device.write(near.buffer, start, values.astype(state.dtype, copy=False))
    state.layout = layout


def write(state: Visited, start: int, values: Amplitudes) -> None:
    """Overwrite amplitudes from index `start` on, which is that basis value in the layout of the wires' order."""
    stop, local = start + len(values), state.levels.local
    if not len(values):
        return
    state.write_zeros((1 << (stop - 1).bit_length()) - 1)
    for near, first, last in in_range(state, start, stop, write=True):
        base = near.high << local
        near.device.write(near.buffer, first - base, values[first - start : last - start])


def scale(state: Visited, when: When, inside: float, outside: float) -> None:
    """Multiply the amplitudes at which `when` (on wires) holds by `inside`, all others by `outside`."""
    local = state.levels.local

    def wanted(layout: Layout, high: int) -> bool:
        return outside != 1 or one.local_when(layout, local, high, when) is not None

    for near in state.visit_some(wanted, write=True):
        stored = near.when(when)
        if stored is None:
            near.device.scale(near.buffer, local, ALWAYS, outside, outside)
        else:
            near.device.scale(near.buffer, local, stored, inside, outside)


def gather(state: Visited, values: NDArray[np.int64], wires: Sequence[int]) -> Amplitudes:
    """Return amplitudes of basis values; bit k of a value is wire ``wires[k]``. One visit, where they are."""
    local = state.levels.local
    out = np.zeros(len(values), dtype=state.dtype)
    indices = at.indices(state.layout, values, wires)
    highs = indices >> local
    found = one.distinct(highs)
    for near in state.visit_some(lambda _, high: high in found) if found else ():
        mine = np.flatnonzero(highs == near.high)
        out[mine] = near.device.gather(near.buffer, indices[mine] & (1 << local) - 1)
    return out


def read(state: Visited, start: int, stop: int, wires: Sequence[int]) -> Amplitudes:
    """Return amplitudes of basis values `start` up to `stop`; bit k of a value is wire ``wires[k]``. One visit."""
    out = np.zeros(stop - start, dtype=state.dtype)
    pieces = [at.held(ALWAYS, wires[free:], begin >> free) for begin, free in one.aligned(start, stop)]
    local = state.levels.local

    def wanted(layout: Layout, high: int) -> bool:
        return any(one.local_when(layout, local, high, piece) is not None for piece in pieces)

    for near in state.visit_some(wanted) if pieces else ():
        one.copy_range(near, start, stop, wires, out)
    return out


def stored(state: Visited, start: int, stop: int) -> Amplitudes:
    """Return the amplitudes at the indices from `start` up to `stop`, in the order of the indices."""
    out = np.zeros(stop - start, dtype=state.dtype)
    for near, first, last in in_range(state, start, stop):
        base = near.high << near.local
        out[first - start : last - start] = near.device.read(near.buffer, first - base, last - base)
    return out


def pieces(state: Visited, size: int) -> Iterator[tuple[int, Amplitudes]]:
    """Yield all amplitudes that are not known to be zero, in pieces of at most `size`, with their first index."""
    for near in state.visit():
        whole = 1 << near.local
        for start in range(0, whole, size):
            yield (near.high << near.local) + start, near.device.read(near.buffer, start, min(start + size, whole))


def in_range(state: Visited, start: int, stop: int, *, write: bool = False) -> Iterator[tuple[NearSubState, int, int]]:
    """Yield the sub state vectors that hold indices from `start` up to `stop`, each with its part of that range."""
    if start >= stop:
        return
    local = state.levels.local
    for near in state.visit_some(lambda _, high: start >> local <= high <= stop - 1 >> local, write=write):
        yield near, max(start, near.high << local), min(stop, near.high + 1 << local)


def copy_to(state: Visited, new: Visited, layout: Layout) -> None:
    """Copy amplitudes to a new placement, by index as far as both have it; `layout` is the layout there."""
    new.layout = layout
    new.write_zeros(~state.fresh & (1 << min(state.num_wires, new.num_wires)) - 1)
    for near in state.visit():
        begin = near.high << near.local
        stop = min(begin + (1 << near.local), 1 << new.num_wires)
        for to, first, last in in_range(new, begin, stop, write=True):
            source = near.buffer[first - begin : last - begin]
            at_ = first - (to.high << to.local)
            if to.device is near.device:
                to.device.copy(to.buffer[at_ : at_ + last - first], source)
            else:
                to.device.write(to.buffer, at_, near.device.read(near.buffer, first - begin, last - begin))
