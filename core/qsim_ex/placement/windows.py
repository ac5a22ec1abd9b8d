"""Windows: which index bits are near during a pass over a migrated state, and which slices that makes.

A window holds 2^local amplitudes, in rows of one slice each. Positions of an index, as steps see it, and index bits at
home are two numberings of the same n bits; `Window` translates.

A `Turn` is what one pass can do of a permutation of index bits: bits of a slice's number change by renumbering slices,
bits inside slices are permuted on the device, while those that shall come inside are near.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import mask_of
from qsim_ex.errors import PlanError
from qsim_ex.placement.bits import move_bits
from qsim_ex.steps.layout import Layout

Index = NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """The near bits of one pass.

    bits: the index bit at home of each position, as in `steps.Migration`; those from `local` up are far, and their
        value, `high` of a step, is the number of a window.
    local: positions of a window. slice: the lowest positions, which are the same at home.
    Raises `PlanError` where the slice would not stay in one piece.
    """

    bits: tuple[int, ...]
    local: int
    slice: int

    def __post_init__(self) -> None:
        n = len(self.bits)
        if sorted(self.bits) != list(range(n)) or self.bits[: self.slice] != tuple(range(min(self.slice, n))):
            raise PlanError(f"a window of bits {self.bits}: a permutation that keeps {self.slice} low bits is wanted.")

    @cached_property
    def position(self) -> tuple[int, ...]:
        """The position of each index bit."""
        out = [0] * len(self.bits)
        for position, bit in enumerate(self.bits):
            out[bit] = position
        return tuple(out)

    @property
    def far(self) -> int:
        """How many positions are far."""
        return len(self.bits) - self.local

    @cached_property
    def rows(self) -> Index:
        """The slice in each row of window 0, int64 [2^(local − slice)]; see `slices`."""
        rows = np.arange(1 << self.local - self.slice, dtype=np.int64)
        return move_bits(rows, [bit - self.slice for bit in self.bits[self.slice : self.local]])

    def slices(self, value: int) -> Index:
        """The slice in each row of a window."""
        return self.rows | sum(1 << bit - self.slice for k, bit in enumerate(self.bits[self.local :]) if value >> k & 1)

    def windows_and_rows(self, slices: Index) -> tuple[Index, Index]:
        """The window that each slice belongs to, and its row there."""
        moved = move_bits(slices, [p - self.slice for p in self.position[self.slice :]])
        return moved >> self.local - self.slice, moved & (1 << self.local - self.slice) - 1

    def positions(self, homes: int) -> int:
        """A mask of index bits as a mask of positions."""
        return mask_of(tuple(p for p, bit in enumerate(self.bits) if homes >> bit & 1))

    def homes(self, positions: int) -> int:
        """A mask of positions as a mask of index bits."""
        return mask_of(tuple(bit for p, bit in enumerate(self.bits) if positions >> p & 1))

    def layout(self, home: Layout) -> Layout:
        """The layout in which wires lie during the pass."""
        return Layout(tuple(self.position[bit] for bit in home.address), self.positions(home.flip))

    def bringing(self, wanted: Sequence[int]) -> Window:
        """This window with some further index bits near, in the places of others that are not wanted.

        The highest positions are given up first, since long rows are copied in one piece.
        """
        bits = list(self.bits)
        free = [p for p in range(self.local - 1, self.slice - 1, -1) if bits[p] not in wanted]
        coming = [p for p in range(self.local, len(bits)) if bits[p] in wanted]
        for place, position in zip(free, coming, strict=False):
            bits[place], bits[position] = bits[position], bits[place]
        if len(coming) > len(free):
            raise PlanError(f"index bits {list(wanted)} do not fit in windows of {self.local} bits.")
        return Window((*bits[: self.local], *sorted(bits[self.local :])), self.local, self.slice)


# --- bits that come into slices --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turn:
    """One pass.

    window: what is near. moves, flip: for `Device.permute` on each window. came: the index bit at which the content of
    an index bit is afterwards. left: what is still to be done, as `sources` of `turn`.
    """

    window: Window
    moves: tuple[int, ...]
    flip: int
    came: dict[int, int]
    left: tuple[int, ...]

    def mask(self, bits: int) -> int:
        """A mask of index bits after the pass."""
        return sum(1 << self.came.get(bit, bit) for bit in range(len(self.left)) if bits >> bit & 1)


def turn(window: Window, sources: Sequence[int], flip: int) -> Turn | None:
    """The next pass towards a state in which index bit k below the slice is bit ``sources[k]``, XOR bit k of `flip`.

    window: what is near now. None if nothing is left to do inside slices.
    """
    inside, local = window.slice, window.local
    if not flip and all(sources[bit] == bit for bit in range(inside)):
        return None
    coming = [source for source in sources[:inside] if source >= inside]
    window = window.bringing(coming[: local - inside])
    wanted = {bit: window.position[sources[bit]] for bit in range(inside)}
    moves = _completed({bit: position for bit, position in wanted.items() if position < local}, local)
    came = {window.bits[source]: window.bits[position] for position, source in enumerate(moves)}
    left = tuple(came.get(source, source) for source in sources)
    last = all(left[bit] == bit for bit in range(inside))
    return Turn(window, moves, flip if last else 0, came, left)


def _completed(moves: dict[int, int], count: int) -> tuple[int, ...]:
    """A permutation of `count` bits with the given sources, in which as many others as can be stay."""
    out = dict(moves)
    taken = set(out.values())
    for bit in range(count):
        if bit not in out and bit not in taken:
            out[bit] = bit
            taken.add(bit)
    left = iter([bit for bit in range(count) if bit not in taken])
    return tuple(out[bit] if bit in out else next(left) for bit in range(count))
