"""What a divided state offers to whoever answers questions about it: visits of its sub state vectors.

`amplitudes` and `sums` answer every question in visits; `divided.Divided` has them as methods. A placement differs from
others in how sub state vectors are brought near.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from qsim_ex.devices.base import Device
from qsim_ex.errors import InvalidInput, NotSupported
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.divided.near import NearSubState, Wanted, every
from qsim_ex.precision import AmplitudeDtype
from qsim_ex.steps.layout import Layout, Levels


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
