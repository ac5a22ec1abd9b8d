"""Visits of a state vector that is divided into sub state vectors, on several devices, in host memory, or both.

Placements differ in how sub state vectors are brought near; that is `Visited.visit`. `divided.Divided` answers every
question in visits. The functions at the end translate a question about wires for one near sub state vector
(`NearSubState`): wires below `NearSubState.local` are in the buffer's index, all others are constants in
`NearSubState.high`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import ALWAYS, When, mask_of
from qsim_ex.devices.base import Buffer, Device
from qsim_ex.errors import NotSupported
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import Amplitudes
from qsim_ex.placement.bits import move_bits
from qsim_ex.steps.index_map import IndexMap
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Plan


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


class Visited(ABC):
    """2^n amplitudes in 2^(n − local) sub state vectors.

    layout: the index bit of each wire at rest. fresh: mask of index bits that are 0 in the whole state (see
    `steps.Sweep`); a sub state vector in which one of them is 1 is zero, its memory is not read, and it is not visited.
    devices: the devices that work on sub state vectors. dtype: of the amplitudes, complex64 or complex128.
    """

    kind: str
    layout: Layout
    levels: Levels
    fresh: int
    dtype: np.dtype[Any]
    devices: Sequence[Device]

    @property
    def num_wires(self) -> int:
        """The number of wires of the state."""
        return len(self.layout)

    @property
    def index_map(self) -> IndexMap:
        """Which basis state each index holds."""
        return IndexMap.of(self.layout)

    @abstractmethod
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

    @abstractmethod
    def run(self, plan: Plan, work: Sequence[Any], tick: Callable[[], None]) -> None:
        """Run a plan that starts in this layout with these fresh bits; `work` has one entry for each device."""

    @abstractmethod
    def arrange(self, layout: Layout) -> None:
        """Move amplitudes to another layout."""

    @abstractmethod
    def release(self) -> None:
        """Release all memory, at once, even while work or copies are under way; may be called again."""

    # --- methods that a placement may override -----------------------------------------------------------------------

    def visit_some(self, wanted: Wanted, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:
        """Yield only the sub state vectors for which `wanted` is true; the others may stay far. See `visit`.

        If it writes, amplitudes at which a fresh bit is 1 stay zero, and fresh bits may stay fresh.
        """
        for found in self.visit(near, write=write):
            if wanted(found.layout, found.high):
                yield found

    def write_zeros(self, bits: int = -1) -> None:
        """Write the zeros of fresh index bits (all of them by default), which are not fresh afterwards."""
        home = self.layout
        wires = at.wires_on(home, self.fresh & bits)
        far = [wire for wire in wires if home.address[wire] >= self.levels.local]
        if far and not self.most_near:
            raise NotSupported(
                f"{len(far)} far wires cannot be brought near: {self._division}. Use more window_slots or device_wires."
            )
        for first in range(0, len(far), max(self.most_near, 1)):
            self._rewrite(far[first : first + self.most_near])
        if self.fresh & mask_of(at.index_bits(self.layout, wires)):
            self._rewrite(())
        if self.layout != home:
            self.arrange(home)

    def mark_zero(self, bits: int) -> None:
        """Mark index bits as fresh: all amplitudes at which one of them is 1 are zero, and need no memory."""
        self.fresh |= bits

    # --- wires that are near -----------------------------------------------------------------------------------------

    @property
    def most_near(self) -> int:
        """The number of wires that a visit can bring near."""
        return self.levels.local - self.levels.slice

    def open(self, wires: Sequence[int]) -> tuple[list[int], int]:
        """Return the places k of the wires that may have more than one value, and the value of the others.

        Wires on fresh bits from `Levels.local` up have one value: nothing has to be brought near for them.
        """
        far = self.fresh & ~((1 << self.levels.local) - 1)
        known = [k for k, wire in enumerate(wires) if far >> self.layout.address[wire] & 1]
        value = sum(1 << k for k in known if self.layout.flip >> self.layout.address[wires[k]] & 1)
        return [k for k in range(len(wires)) if k not in known], value

    def brought(self, wires: Sequence[int]) -> tuple[int, ...]:
        """Return the wires that a visit has to bring near so that some wires are local; none if they are at rest."""
        levels, address = self.levels, self.layout.address
        if all(address[wire] < levels.local for wire in wires):
            return ()
        return tuple(wire for wire in wires if address[wire] >= levels.slice)

    def fits(self, wires: Sequence[int]) -> bool:
        """Return whether a visit can have near all of some wires that are not known to be at one value."""
        return len(self.brought([wires[k] for k in self.open(wires)[0]])) <= self.most_near

    def visit_with(self, wires: Sequence[int], wanted: Wanted = every) -> Iterator[NearSubState]:
        """Yield a visit during which some wires are local; wires that cannot be brought near are moved there and back.

        Raises `NotSupported` for more wires than a sub state vector has.
        """
        brought = self.brought(wires)
        if len(brought) <= self.most_near:
            yield from self.visit_some(wanted, brought)
            return
        if len(wires) > self.levels.local:
            raise NotSupported(f"{len(wires)} wires cannot be near together: {self._division}. Ask for fewer wires.")
        home = self.layout
        self.arrange(at.with_first(home, wires))
        yield from self.visit_some(wanted)
        self.arrange(home)

    @property
    def _division(self) -> str:
        levels = self.levels
        return (
            f"a sub state vector has {levels.local} of {self.num_wires} wires, the lowest {levels.slice} of which "
            "stay in a visit"
        )

    def _rewrite(self, near: Sequence[int]) -> None:
        for _ in self.visit(near, write=True):
            pass


# --- one sub state vector --------------------------------------------------------------------------------------------


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
    values = move_bits(np.arange(1 << len(chosen), dtype=np.int64), chosen)
    for value in range(1 << len(others)):
        held, shift = stored, fixed ^ flips
        for j, k in enumerate(others):
            bit = value >> j & 1
            position = near.layout.address[wires[k]]
            held = When(held.mask | 1 << position, held.value | bit << position)
            shift ^= bit << k
        out[values ^ shift] += near.device.marginal(near.buffer, near.local, bits, held)


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
        for first in range(0, 1 << len(places), thresholds.now.amplitudes_at_once):
            last = min(first + thresholds.now.amplitudes_at_once, 1 << len(places))
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
