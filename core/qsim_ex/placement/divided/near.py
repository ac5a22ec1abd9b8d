"""One sub state vector of a divided state while it is near, and questions about wires that are put to it.

Wires below `NearSubState.local` are in the buffer's index, all others are constants in `NearSubState.high`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.devices.base import Buffer, Device
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.index_bits import move_bits
from qsim_ex.precision import Amplitudes
from qsim_ex.steps.layout import Layout


class NearSubState(NamedTuple):
    """One sub state vector while it is near.

    layout: the position of each wire: below `Levels.local` in the buffer's index, from there up in `high`.
    high: the value of all positions from `Levels.local` up, for this sub state vector.
    """

    device: Device
    buffer: Buffer
    layout: Layout
    high: int

    @property
    def local(self) -> int:
        """The number of index bits of the buffer."""
        return int(self.buffer.size).bit_length() - 1

    def when(self, when: When) -> When | None:
        """Return a condition on wires as one on the buffer's index; None if it never holds in this sub state vector."""
        return local_when(self.layout, self.local, self.high, when)

    def split(self, wires: Sequence[int]) -> tuple[list[int], int]:
        """Return the places k of the wires that are local, and the stored bits of the others (bit k: ``wires[k]``)."""
        local, places, fixed = self.local, [], 0
        for k, wire in enumerate(wires):
            position = self.layout.address[wire]
            if position < local:
                places.append(k)
            else:
                fixed |= (self.high >> position - local & 1) << k
        return places, fixed


Wanted = Callable[[Layout, int], bool]
"""Returns whether a visit includes a sub state vector, by the visit's layout and its `NearSubState.high`."""


def every(layout: Layout, high: int) -> bool:  # noqa: ARG001  (a `Wanted`)
    """Return True: a visit of all sub state vectors."""
    return True


def local_when(layout: Layout, local: int, high: int, when: When) -> When | None:
    """Return `NearSubState.when` for a sub state vector that need not be near."""
    stored = at.stored_when(layout, when)
    if high & stored.mask >> local != stored.value >> local:
        return None
    inside = (1 << local) - 1
    return When(stored.mask & inside, stored.value & inside)


def add_marginal(near: NearSubState, wires: Sequence[int], when: When, out: NDArray[np.float64]) -> None:
    """Add this sub state vector's part of Σ |amplitude|² for each value of `wires`; see `Placement.marginal`."""
    stored = near.when(when)
    if stored is None:
        return
    places, fixed = near.split(wires)
    flips = at.flipped_values(near.layout, wires)
    chosen, others = places[: thresholds.now.marginal_wires], places[thresholds.now.marginal_wires :]
    bits = at.index_bits(near.layout, [wires[k] for k in chosen])
    for value in range(1 << len(others)):
        held, shift = stored, fixed ^ flips
        for j, k in enumerate(others):
            bit = value >> j & 1
            position = near.layout.address[wires[k]]
            held = When(held.mask | 1 << position, held.value | bit << position)
            shift ^= bit << k
        into = _entries(out, len(wires), chosen, shift)
        into += near.device.marginal(near.buffer, near.local, bits, held).reshape(into.shape)


def _entries(table: NDArray[np.float64], num_bits: int, chosen: Sequence[int], shift: int) -> NDArray[np.float64]:
    """Return the entries ``value ^ shift`` of a table of 2^num_bits for all values of some bits, as a view [2, 2, …].

    The bits that are not chosen are those of `shift`. The highest bit is the first axis.
    """
    every = slice(None), slice(None, None, -1)
    places = [every[shift >> k & 1] if k in chosen else shift >> k & 1 for k in range(num_bits)]
    return table.reshape((2,) * num_bits)[(..., *reversed(places))]


def pauli(near: NearSubState, x: int, zs: Sequence[int]) -> NDArray[np.complex128]:
    """Return this sub state vector's part of <ψ| X-part · Z-part |ψ>; all wires of `x` are local."""
    local = near.local
    masks = [at.index_mask(near.layout, z) for z in zs]
    odd = [(mask >> local & near.high).bit_count() & 1 for mask in masks]
    signs = [at.parity_sign(near.layout, mask) * (1 - 2 * far) for mask, far in zip(masks, odd, strict=True)]
    inside = [mask & (1 << local) - 1 for mask in masks]
    found = near.device.pauli(near.buffer, local, at.index_mask(near.layout, x), inside)
    return np.array(signs) * found


def flip_where(near: NearSubState, wire: int, wires: Sequence[int]) -> None:
    """Apply X to `wires`, which are local, where `wire` is 1."""
    local, position = near.local, near.layout.address[wire]
    one = 1 ^ near.layout.flip >> position & 1  # how a 1 of this wire is stored
    bits = at.index_bits(near.layout, wires)
    if position < local:
        for bit in bits:
            near.device.move(
                near.buffer, local, When(1 << position | 1 << bit, one << position), one << position | 1 << bit
            )
    elif near.high >> position - local & 1 == one:
        near.device.permute(near.buffer, local, range(local), sum(1 << bit for bit in bits))


def copy_range(near: NearSubState, start: int, stop: int, wires: Sequence[int], out: Amplitudes) -> None:
    """Copy this sub state vector's amplitudes among basis values `start` to `stop` to their places in `out`."""
    for begin, free in aligned(start, stop):
        stored = near.when(at.held(ALWAYS, wires[free:], begin >> free))
        if stored is None:
            continue
        inside, outside = wires[:free], begin - start
        places, fixed = near.split(inside)
        flips = at.flipped_values(near.layout, inside)
        outside += fixed ^ flips & ~sum(1 << k for k in places)
        bits = at.index_bits(near.layout, [inside[k] for k in places])
        flipped = stored.value ^ near.layout.flip & sum(1 << bit for bit in bits)
        contiguous = flipped == stored.value and bits == tuple(range(len(bits)))
        for first, last in thresholds.pieces(1 << len(places), thresholds.now.amplitudes_at_once):
            values = np.arange(first, last, dtype=np.int64)
            if contiguous:
                found = near.device.read(near.buffer, stored.value + first, stored.value + last)
            else:
                found = near.device.gather(near.buffer, move_bits(values, bits) ^ flipped)
            if places == list(range(len(places))):
                out[outside + first : outside + last] = found
            else:
                out[outside + move_bits(values, places)] = found


def aligned(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield a range as pieces ``(begin, k)`` of 2^k values that begin at a multiple of 2^k, as few as possible."""
    while start < stop:
        k = (stop - start).bit_length() - 1
        if start:
            k = min(k, (start & -start).bit_length() - 1)
        yield start, k
        start += 1 << k


def distinct(highs: NDArray[np.int64]) -> set[int]:
    """Return the numbers that occur, all small; `np.unique` would load numpy.ma, for 20 ms, when a process starts."""
    return set(np.flatnonzero(np.bincount(highs)).tolist())
