"""Visits of a state vector that is divided into sub state vectors, on several devices, in host memory, or both.

What differs between these is how sub state vectors come near; that is `Visited.visit`. `divided.Divided` puts every
question in visits. What a question about wires means for one sub state vector while it is near (`NearSubState`) is at
the end: wires below `NearSubState.local` lie in the buffer's index, all others are constants in `NearSubState.high`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, When, mask_of
from qsim_ex.devices.base import Buffer, Device
from qsim_ex.errors import NotSupported
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import CHUNK, MARGINAL_WIRES, Amplitudes
from qsim_ex.placement.bits import move_bits
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
        """Index bits of the buffer."""
        return int(self.buffer.size).bit_length() - 1

    def when(self, when: When) -> When | None:
        """A condition on wires as one on the buffer's index; None if it holds nowhere in this sub state vector."""
        return local_when(self.layout, self.local, self.high, when)

    def split(self, wires: Sequence[int]) -> tuple[list[int], int]:
        """Which of some wires are local (their places k), and the stored bits of the others (bit k: ``wires[k]``)."""
        local, places, fixed = self.local, [], 0
        for k, wire in enumerate(wires):
            position = self.layout.address[wire]
            if position < local:
                places.append(k)
            else:
                fixed |= (self.high >> position - local & 1) << k
        return places, fixed


Wanted = Callable[[Layout, int], bool]
"""Whether a sub state vector is wanted in a visit, by the visit's layout and its `NearSubState.high`."""


def every(layout: Layout, high: int) -> bool:  # noqa: ARG001  (a `Wanted`)
    """All sub state vectors are wanted."""
    return True


class Visited(ABC):
    """2^n amplitudes in 2^(n − local) sub state vectors.

    layout: the index bit of each wire at rest. fresh: mask of index bits that are 0 all over (see `steps.Sweep`);
    a sub state vector in which one of them is 1 is zero, takes no memory that is read, and is not visited.
    devices: those that sub state vectors are near to. dtype: the amplitudes', complex64 or complex128.
    """

    kind: str
    layout: Layout
    levels: Levels
    fresh: int
    dtype: np.dtype[Any]
    devices: Sequence[Device]

    @property
    def num_wires(self) -> int:
        """How many wires the state has."""
        return len(self.layout)

    @abstractmethod
    def visit(self, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:
        """Bring every sub state vector near that is not known to be zero, those of different devices in turn.

        near: wires that shall be local during the visit; at most `Levels.local` − `Levels.slice` of them. Wires on
        index bits below `Levels.slice` are local in every visit. Without `near`, the layout is the one at rest; with
        it, amplitudes may be exchanged between devices for good, and the layout at rest changes with them.
        write: whether the amplitudes are changed during the visit. Afterwards the wires that were local in it are
        fresh no longer, so a fresh wire becomes an ordinary one by being near in a visit that writes.
        A sub state vector is near until the iterator goes on; work that is queued on its device until then is waited
        for by whatever comes after. Amplitudes of its fresh local positions are zero in memory. The layout is the
        same throughout a visit. Visits of two states may take turns, and a visit that does not write may be left early.
        """

    @abstractmethod
    def run(self, plan: Plan, work: Sequence[Any], tick: Callable[[], None]) -> None:
        """Run a plan that starts in this layout with these fresh bits; `work` has one entry for each device."""

    @abstractmethod
    def arrange(self, layout: Layout) -> None:
        """Move amplitudes so that they lie in another layout."""

    @abstractmethod
    def release(self) -> None:
        """Let go of all memory, at once, whatever is under way; may be called again."""

    # --- what a placement may do better ------------------------------------------------------------------------------

    def visit_some(self, wanted: Wanted, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:
        """As `visit`, but only of the sub state vectors that are wanted; the others need not be brought near.

        If it writes, amplitudes at which a fresh bit is 1 stay zero, and fresh bits may stay fresh.
        """
        for found in self.visit(near, write=write):
            if wanted(found.layout, found.high):
                yield found

    def write_zeros(self, bits: int = -1) -> None:
        """Write the zeros of fresh index bits (all of them by default), which are then fresh no longer."""
        home = self.layout
        wires = at.wires_on(home, self.fresh & bits)
        far = [wire for wire in wires if home.address[wire] >= self.levels.local]
        if far and not self.most_near:
            raise NotSupported(f"{len(far)} far wires cannot be brought near: {self._division}.")
        for first in range(0, len(far), max(self.most_near, 1)):
            self._rewrite(far[first : first + self.most_near])
        if self.fresh & mask_of(at.index_bits(self.layout, wires)):
            self._rewrite(())
        if self.layout != home:
            self.arrange(home)

    def mark_zero(self, bits: int) -> None:
        """Index bits are fresh from now on: where one of them is 1 all amplitudes are zero, and need no memory."""
        self.fresh |= bits

    # --- what is near ------------------------------------------------------------------------------------------------

    @property
    def most_near(self) -> int:
        """How many wires a visit can bring near."""
        return self.levels.local - self.levels.slice

    def open(self, wires: Sequence[int]) -> tuple[list[int], int]:
        """Which of some wires have more than one value, as far as known (their places k), and the value of the others.

        Wires on fresh bits from `Levels.local` up are at one value: nothing has to be brought near for them.
        """
        far = self.fresh & ~((1 << self.levels.local) - 1)
        known = [k for k, wire in enumerate(wires) if far >> self.layout.address[wire] & 1]
        value = sum(1 << k for k in known if self.layout.flip >> self.layout.address[wires[k]] & 1)
        return [k for k in range(len(wires)) if k not in known], value

    def brought(self, wires: Sequence[int]) -> tuple[int, ...]:
        """What a visit has to be asked for so that some wires are local; nothing if they are so at rest."""
        levels, address = self.levels, self.layout.address
        if all(address[wire] < levels.local for wire in wires):
            return ()
        return tuple(wire for wire in wires if address[wire] >= levels.slice)

    def fits(self, wires: Sequence[int]) -> bool:
        """Whether a visit can have all of some wires near that are not known to be at one value."""
        return len(self.brought([wires[k] for k in self.open(wires)[0]])) <= self.most_near

    def visit_with(self, wires: Sequence[int], wanted: Wanted = every) -> Iterator[NearSubState]:
        """A visit during which some wires are local; those that cannot be brought near are moved there and back.

        Raises `NotSupported` for more wires than a sub state vector has.
        """
        brought = self.brought(wires)
        if len(brought) <= self.most_near:
            yield from self.visit_some(wanted, brought)
            return
        if len(wires) > self.levels.local:
            raise NotSupported(f"{len(wires)} wires are wanted near together: {self._division}.")
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
    """As `NearSubState.when`, for a sub state vector that need not be near."""
    stored = at.stored_when(layout, when)
    if high & stored.mask >> local != stored.value >> local:
        return None
    inside = (1 << local) - 1
    return When(stored.mask & inside, stored.value & inside)


def add_marginal(near: NearSubState, wires: Sequence[int], when: When, out: NDArray[np.float64]) -> None:
    """Add what this sub state vector has to Σ |amplitude|² for each value of `wires`; see `Placement.marginal`."""
    stored = near.when(when)
    if stored is None:
        return
    places, fixed = near.split(wires)
    flips = at.flipped_values(near.layout, wires)
    chosen, others = places[:MARGINAL_WIRES], places[MARGINAL_WIRES:]
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
    """What this sub state vector has of <ψ| X-part · Z-part |ψ>; all wires of `x` are local."""
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
    """Copy this sub state vector's amplitudes among basis values `start` to `stop` to where they are in `out`."""
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
        for first in range(0, 1 << len(places), CHUNK):
            last = min(first + CHUNK, 1 << len(places))
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
    """Cut a range into pieces ``(begin, k)`` of 2^k values that begin at a multiple of 2^k, as few as can be."""
    while start < stop:
        k = (stop - start).bit_length() - 1
        if start:
            k = min(k, (start & -start).bit_length() - 1)
        yield start, k
        start += 1 << k
