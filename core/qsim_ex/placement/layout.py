"""From wires to index bits: what a question about wires means for the amplitudes as they lie in memory.

Everything here is arithmetic on a `Layout`; no amplitude is touched.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import When, mask_of, wires_of
from qsim_ex.placement.bits import move_bits
from qsim_ex.steps import Layout


def index_bits(layout: Layout, wires: Sequence[int]) -> tuple[int, ...]:
    """The index bit of each wire."""
    return tuple(layout.address[wire] for wire in wires)


def index_mask(layout: Layout, wires: int) -> int:
    """A mask of wires as a mask of index bits."""
    return sum(1 << layout.address[wire] for wire in wires_of(wires))


def stored_when(layout: Layout, when: When) -> When:
    """A condition on wires as a condition on index bits; inverted wires are wanted at the other value."""
    mask = index_mask(layout, when.mask)
    return When(mask, index_mask(layout, when.value) ^ (layout.flip & mask))


def held(when: When, wires: Sequence[int], value: int) -> When:
    """A condition and, besides, the wanted values of further wires; bit k of `value` is ``wires[k]``."""
    ones = mask_of(tuple(wire for k, wire in enumerate(wires) if value >> k & 1))
    return When(when.mask | mask_of(tuple(wires)), when.value | ones)


def indices(layout: Layout, values: NDArray[np.int64], wires: Sequence[int]) -> NDArray[np.int64]:
    """The indices at which basis values are stored; bit k of a value is wire ``wires[k]``, other wires are 0."""
    return move_bits(values, index_bits(layout, wires)) ^ np.int64(layout.flip)


def value_order(layout: Layout, marginal: NDArray[np.float64], wires: Sequence[int]) -> NDArray[np.float64]:
    """Sums that are indexed by stored bits of `wires`, reindexed by the wires' values."""
    flipped = flipped_values(layout, wires)
    return marginal[np.arange(len(marginal)) ^ flipped] if flipped else marginal


def flipped_values(layout: Layout, wires: Sequence[int]) -> int:
    """Which bits of a value of `wires` are stored inverted, ``wires[0]`` least significant."""
    return sum((layout.flip >> layout.address[wire] & 1) << k for k, wire in enumerate(wires))


def parity_sign(layout: Layout, bits: int) -> int:
    """The sign that (−1)^parity of stored bits has to be given so that it speaks of the wires' values."""
    return -1 if (layout.flip & bits).bit_count() & 1 else 1


def moves(old: Layout, new: Layout) -> tuple[tuple[int, ...], int]:
    """How index bits must move, as `Device.permute` wants it, to bring amplitudes from one layout to another.

    Returns ``(sources, flip)``: new bit k is old bit ``sources[k]``, XOR bit k of `flip`.
    """
    sources = tuple(old.address[wire] for wire in new.wires())
    flip = new.flip
    for bit, source in enumerate(sources):
        flip ^= (old.flip >> source & 1) << bit
    return sources, flip


def relabelled(layout: Layout, to: Sequence[int]) -> Layout:
    """The layout after wire w has been given the name ``to[w]``."""
    address = [0] * len(layout)
    for wire, name in enumerate(to):
        address[name] = layout.address[wire]
    return Layout(tuple(address), layout.flip)


def inverted(layout: Layout, wires: int) -> Layout:
    """The layout after an X on each wire of a mask."""
    return Layout(layout.address, layout.flip ^ index_mask(layout, wires))
