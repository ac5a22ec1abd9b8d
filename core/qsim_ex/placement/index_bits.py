"""From wires to index bits: what a question about wires means for the amplitudes as they lie in memory.

Everything here is arithmetic on a `Layout`; no amplitude is touched.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import When, mask_of, wires_of
from qsim_ex.errors import StateError
from qsim_ex.placement.bits import move_bits
from qsim_ex.steps.layout import Layout


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


def moved(layout: Layout, sources: Sequence[int], flip: int = 0) -> Layout:
    """The layout after index bits have moved: new bit k is old bit ``sources[k]``, XOR bit k of `flip`."""
    address = [0] * len(layout)
    wires = layout.wires()
    for bit, source in enumerate(sources):
        address[wires[source]] = bit
        flip ^= (layout.flip >> source & 1) << bit
    return Layout(tuple(address), flip)


def relabelled(layout: Layout, to: Sequence[int]) -> Layout:
    """The layout after wire w has been given the name ``to[w]``."""
    address = [0] * len(layout)
    for wire, name in enumerate(to):
        address[name] = layout.address[wire]
    return Layout(tuple(address), layout.flip)


def inverted(layout: Layout, wires: int) -> Layout:
    """The layout after an X on each wire of a mask."""
    return Layout(layout.address, layout.flip ^ index_mask(layout, wires))


def wires_on(layout: Layout, bits: int) -> tuple[int, ...]:
    """The wires on a mask of index bits, in the order of the bits."""
    return tuple(wire for bit, wire in enumerate(layout.wires()) if bits >> bit & 1)


def ordered(layout: Layout, wires: Sequence[int]) -> Layout:
    """The layout in which wire ``wires[k]`` is on index bit k; what was stored inverted still is."""
    flip, address = 0, [0] * len(layout)
    for bit, wire in enumerate(wires):
        address[wire] = bit
        flip |= (layout.flip >> layout.address[wire] & 1) << bit
    return Layout(tuple(address), flip)


def with_first(layout: Layout, wires: Sequence[int]) -> Layout:
    """The layout in which some wires are the first index bits; the others keep the order of theirs."""
    return ordered(layout, [*wires, *(wire for wire in layout.wires() if wire not in wires)])


def with_last(layout: Layout, wires: Sequence[int], value: int) -> Layout:
    """The layout in which some wires are the last index bits, all 0 at the value `value` (bit k is ``wires[k]``)."""
    others = [wire for wire in layout.wires() if wire not in wires]
    found = ordered(layout, [*others, *wires])
    return Layout(found.address, found.flip & (1 << len(others)) - 1 | value << len(others))


def without_last(layout: Layout, wires: Sequence[int]) -> Layout:
    """The layout after wires on the last index bits are gone; the others keep their order and are numbered anew."""
    address = tuple(bit for wire, bit in enumerate(layout.address) if wire not in wires)
    return Layout(address, layout.flip & (1 << len(address)) - 1)


def begun_as(layout: Layout, start: Layout) -> Layout:
    """Another layout for a state of which amplitude 0 is all there is: |x> is the same |x> in it.

    Raises `StateError` if it would be another basis state.
    """
    every = range(len(layout))
    if any((layout.flip >> layout.address[w] ^ start.flip >> start.address[w]) & 1 for w in every):
        raise StateError("the plan begins in another basis state than this state is in.")
    return start
