"""Dense blocks: the work of a phase on its near bits alone, as one matrix, where the device has matrix units.

The near bits of a phase are chosen so that much work runs on them, so blocks are looked for in phases: work that
touches no other bit is multiplied into one matrix on all near bits if that work costs more than the block. A block
costs the same whatever it contains, so rotations, phases and renamings inside it cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import ONE_AT, ZERO_AT
from qsim_ex.circuit.ops import ALWAYS, Entry, When
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.rewrite.fuse import label_of
from qsim_ex.planning.work import Work, bits_of_mask
from qsim_ex.steps.layout import BLOCK_BITS

Rows = NDArray[np.int64]

_SIZE = 1 << BLOCK_BITS
_PARTED = 4.0
"""The multiply-adds per amplitude that rearranging amplitudes again costs, for work in a phase beside a block."""

_TABLED = 0.5
"""The share of a diagonal's or renaming's work that a block saves: outside it may share a table with others."""

_SENT = 4.0
"""The multiply-adds per amplitude that a block has to save besides: it is a phase of its own."""

_DENSE = bytes([Entry.COMPLEX]) * _SIZE * _SIZE


def gathered(work: Sequence[Work], near: int, block: float, program: NumberProgram, making: float = 0.0) -> list[Work]:
    """Return a phase's work with a block in it if that is cheaper; the block's product is added to `program`.

    work: in order; diagonals that earlier phases passed on come first. near: mask of the phase's near bits.
    block: the cost of a block, see `steps.Shape`. making: that of its matrix until it is on the device.
    """
    before, members, after = divided(work, near)
    cost = (
        block
        + making
        + _SENT
        + _PARTED * sum(any(piece.kind != "diagonal" for piece in part) for part in (before, after))
    )
    if sum(piece.work * (1.0 if piece.kind == "mix" else _TABLED) for piece in members) <= cost:
        return list(work)
    return [*before, _product(members, bits_of_mask(near), block, program), *after]


def divided(work: Sequence[Work], near: int) -> tuple[list[Work], list[Work], list[Work]]:
    """Return the work that runs before a block, in it, and after it; each in order.

    Work that touches other bits than `near` is outside: before the block as long as it commutes with the work inside so
    far, otherwise behind it, together with all work that does not commute with the work there.
    """
    before: list[Work] = []
    inside = _Bits()
    after = _Bits()
    for piece in work:
        free = not after.stops(piece)
        if free and not piece.touch & ~near:
            inside.add(piece)
        elif free and not inside.stops(piece):
            before.append(piece)
        else:
            after.add(piece)
    return before, inside.work, after.work


class _Bits:
    """Some work, and masks of the bits that it mixes and touches."""

    def __init__(self) -> None:
        self.work: list[Work] = []
        self._mix = 0
        self._touch = 0

    def stops(self, piece: Work) -> bool:
        """Return whether a piece may not overtake this work: one mixes a bit that the other touches."""
        return bool(piece.mix & self._touch or piece.touch & self._mix)

    def add(self, piece: Work) -> None:
        self.work.append(piece)
        self._mix |= piece.mix
        self._touch |= piece.touch


def _product(members: list[Work], bits: tuple[int, ...], cost: float, program: NumberProgram) -> Work:
    """Return members, the earliest first, as one matrix on `bits`; each is applied to the product of earlier ones."""
    places = np.full((_SIZE, _SIZE), ZERO_AT, dtype=np.int64)
    np.fill_diagonal(places, ONE_AT)
    at = {bit: k for k, bit in enumerate(bits)}

    def local(mask: int) -> int:
        return sum(1 << at[bit] for bit in bits_of_mask(mask))

    level = 0
    for piece in members:
        inner = tuple(at[bit] for bit in piece.bits)
        rows = _rows(inner, tuple(map(local, piece.reads)), When(local(piece.when.mask), local(piece.when.value)))
        if piece.kind == "rename":
            places[rows[:, list(piece.to)]] = places[rows]
            continue
        blocks, size, rest = rows.shape
        left = piece.source.reshape(blocks, size, size)
        right = places[rows].reshape(blocks, size, rest * _SIZE)
        made = program.product(left, right, level := level + 1, late=True)
        places[rows] = made.reshape(blocks, size, rest, _SIZE)
    return Work("mix", bits, (), ALWAYS, _DENSE, places.reshape(-1), label_of(members), members[0].order, work=cost)


@lru_cache(maxsize=4096)
def _rows(bits: tuple[int, ...], reads: tuple[int, ...], when: When) -> Rows:
    """Return the rows of the matrix that an operation on its index bits acts on: [2^reads, 2^bits, other rows]."""
    found: list[list[list[int]]] = [[[] for _ in range(1 << len(bits))] for _ in range(1 << len(reads))]
    for row in range(_SIZE):
        if row & when.mask == when.value:
            block = sum(((row & mask).bit_count() & 1) << k for k, mask in enumerate(reads))
            found[block][sum((row >> bit & 1) << k for k, bit in enumerate(bits))].append(row)
    return np.array(found, dtype=np.int64)
