"""A sweep backwards: the inverses of its items in turn, from where it writes amplitudes to where it reads them.

A state that begins in |0…0⟩ is small until its last bits are mixed. Backwards it becomes small again, and so does all
that counts of a cotangent: where a bit is fresh before a sweep, a state is 0 at its 1, and inner products with it take
nothing from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import mask_of
from qsim_ex.steps.algebra import units
from qsim_ex.steps.step import NUMBERED, Diagonal, Item, Mix, Permute, RegisterBlock, Sweep


@dataclass(frozen=True, eq=False, slots=True)
class ReversedSweep:
    """The inverse of a sweep.

    sweep: as any other; the bits that are fresh before the sweep itself and not in its tile are fresh.
    dropped: mask of bits of the tile at whose 1 nobody needs what it makes.
    sources: of which of the sweep's packed numbers each of its own is the conjugate, int [numbers].
    """

    sweep: Sweep
    dropped: int
    sources: NDArray[np.int64]


def reversed_sweep(sweep: Sweep) -> ReversedSweep:
    """Return the inverse of a sweep whose items are unitary."""
    sources = np.arange(sweep.numbers + sweep.tables)
    blocks = tuple(
        RegisterBlock(block.registers, tuple(_inverse(item, sources) for item in reversed(block.items)))
        for block in reversed(sweep.register_blocks)
    )
    inside, load, store = mask_of(sweep.tile), sweep.load, sweep.store
    if store:  # else both maps are one
        load, store = store, load or units(range(len(store)))
    made = Sweep(sweep.tile, blocks, sweep.numbers, sweep.tables, sweep.fresh & ~inside, store, load)
    return ReversedSweep(made, sweep.fresh & inside, sources)


def _inverse(item: Item, sources: NDArray[np.int64]) -> Item:
    """Return the inverse of an item; its places among the sources are written."""
    match item:
        case Permute(to=to):
            return replace(item, to=tuple(int(k) for k in np.argsort(to)))
        case Diagonal():
            return item
        case Mix(bits, reads, _, pattern, slot):
            size = 1 << len(bits)
            order = np.arange(len(pattern)).reshape(-1, size, size).swapaxes(1, 2).reshape(-1)
            turned = bytes(pattern[k] for k in order)
            if reads:
                sources[slot.at : slot.at + len(pattern)] = slot.at + order
            else:
                has = np.array([entry in NUMBERED for entry in pattern])
                place = np.cumsum(has) - 1
                sources[slot.at : slot.at + slot.count] = slot.at + place[order[has[order]]]
            return replace(item, pattern=turned)
        case _:
            assert_never(item)
