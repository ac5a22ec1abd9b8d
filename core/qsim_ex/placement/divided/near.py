"""Sub state vectors of a divided state that are near, questions about wires that are put to them, and their visits.

`amplitudes` and `sums` answer every question about a divided state in visits; `divided.Divided` has them as methods. A
placement differs from others in how sub state vectors are brought near.

Wires below `NearSubState.local` are in the buffer's index, all others are constants in `NearSubState.high`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.devices.base import Buffer, Device
from qsim_ex.errors import InvalidInput, NotSupported
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.index_bits import move_bits
from qsim_ex.precision import AmplitudeDtype, Amplitudes
from qsim_ex.steps.layout import Layout, Levels


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
    if not when.mask:
        return when
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


class Visited(Protocol):
    """2^n amplitudes in 2^(n − local) sub state vectors; see `divided.Divided` for the attributes."""

    layout: Layout
    levels: Levels
    fresh: int
    dtype: AmplitudeDtype
    devices: Sequence[Device]

    @property
    def num_wires(self) -> int:
        """The number of wires of the state."""

    @property
    def most_near(self) -> int:
        """The number of wires that a visit can bring near."""

    @property
    def division(self) -> str:
        """The sizes of a sub state vector in words, for messages."""

    def visit(self, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:
        """Yield every sub state vector that is not known to be zero, brought near; devices take turns.

        near: wires that are local during the visit; at most `Levels.local` − `Levels.slice` of them. Wires on
        index bits below `Levels.slice` are local in every visit. Without `near`, the layout is the one at rest; with
        it, amplitudes may be exchanged between devices and stay there, and the layout at rest changes with them.
        write: whether the amplitudes are changed during the visit. Afterwards the wires that were local in it are
        not fresh, so a fresh wire becomes an ordinary one by being near in a visit that writes.
        A sub state vector is near until the iterator continues; later operations wait for the work that is queued on
        its device until then. Amplitudes of its fresh local positions are zero in memory. The layout is the
        same throughout a visit. Visits of two states may alternate, and a visit that does not write may be left early.
        """

    def visit_some(self, wanted: Wanted, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:
        """Yield only the sub state vectors for which `wanted` is true; the others may stay far. See `visit`."""

    def write_zeros(self, bits: int = -1) -> None:
        """Write the zeros of fresh index bits (all of them by default), which are not fresh afterwards."""

    def forget(self) -> None:
        """Prepare for overwriting all amplitudes: they may be anything, and the layout becomes the wires' order."""

    def arrange(self, layout: Layout) -> None:
        """Move amplitudes to another layout."""

    def release(self) -> None:
        """Release all memory, at once, even while work or copies are under way; may be called again."""


def bits_near(state: Visited, wires: Sequence[int]) -> tuple[int, ...]:
    """Return the index bits of wires that a visit is to bring near; raise `InvalidInput` for more than it can."""
    bits = at.index_bits(state.layout, wires)
    if len([bit for bit in bits if bit >= state.levels.slice]) > state.most_near:
        raise InvalidInput(f"{len(wires)} wires cannot be near at once: {state.division}. Ask for fewer wires.")
    return bits


def unknown_wires(state: Visited, wires: Sequence[int]) -> tuple[list[int], int]:
    """Return the places k of the wires that may have more than one value, and the value of the others.

    Wires on fresh bits from `Levels.local` up have one value: nothing has to be brought near for them.
    """
    far = state.fresh & ~((1 << state.levels.local) - 1)
    known = [k for k, wire in enumerate(wires) if far >> state.layout.address[wire] & 1]
    value = sum(1 << k for k in known if state.layout.flip >> state.layout.address[wires[k]] & 1)
    return [k for k in range(len(wires)) if k not in known], value


def brought(state: Visited, wires: Sequence[int]) -> tuple[int, ...]:
    """Return the wires that a visit has to bring near so that some wires are local; none if they are at rest."""
    levels, address = state.levels, state.layout.address
    if all(address[wire] < levels.local for wire in wires):
        return ()
    return tuple(wire for wire in wires if address[wire] >= levels.slice)


def fits(state: Visited, wires: Sequence[int]) -> bool:
    """Return whether a visit can have near all of some wires that are not known to be at one value."""
    return len(brought(state, [wires[k] for k in unknown_wires(state, wires)[0]])) <= state.most_near


def visit_with(state: Visited, wires: Sequence[int], wanted: Wanted = every) -> Iterator[NearSubState]:
    """Yield a visit during which some wires are local; wires that cannot be brought near are moved there and back.

    Raises `NotSupported` for more wires than a sub state vector has.
    """
    coming = brought(state, wires)
    if len(coming) <= state.most_near:
        yield from state.visit_some(wanted, coming)
        return
    if len(wires) > state.levels.local:
        raise NotSupported(f"{len(wires)} wires cannot be near together: {state.division}. Ask for fewer wires.")
    home = state.layout
    state.arrange(at.with_first(home, wires))
    yield from state.visit_some(wanted)
    state.arrange(home)
