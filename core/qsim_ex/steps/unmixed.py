"""Unmixed bits: fresh bits of a tile that no work mixes, so that a sweep stores zeros beside the amplitudes it has.

A new state may end in a part of its amplitudes: where particles come in pairs, all of them have an even number of ones.
Its last sweep has a position for such a direction. The state is zero at its 1 until, at the end, CX put each amplitude
in its place. A compiled kernel computes nothing of these zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import NamedTuple

from qsim_ex import thresholds
from qsim_ex.circuit.ops import When, mask_of, wires_of
from qsim_ex.steps.algebra import Map
from qsim_ex.steps.step import Item, Permute, RegisterBlock, Sweep


class Widened(NamedTuple):
    """A sweep without its unmixed bits.

    sweep: they are fresh bits outside its tile, and CX onto them are part of the map by which it is stored.
    beside: what flips in memory with each of them. Where an amplitude is stored, zeros are stored at all sums of these.
    """

    sweep: Sweep
    beside: Map


def widened(sweep: Sweep) -> Widened:
    """Return a sweep without its unmixed bits, of which there may be none."""
    beside, least = list[int](), thresholds.now.unmixed_tile
    for bit in wires_of(sweep.fresh & mask_of(sweep.tile)):
        if len(sweep.tile) > least and (found := _without(sweep, bit)) is not None:
            sweep = found
            beside.append(bit)
    return Widened(sweep, sweep.stores(beside))


def count_unmixed(sweep: Sweep) -> int:
    """Return the number of a sweep's unmixed bits."""
    return len(widened(sweep).beside) if sweep.fresh & mask_of(sweep.tile) else 0


def _without(sweep: Sweep, bit: int) -> Sweep | None:
    """Return a sweep without a fresh bit of its tile, None if anything mixes it or depends on what CX put there."""
    parity, blocks, tile = 0, [], mask_of(sweep.tile)
    for block in sweep.register_blocks:
        items: list[Item] = []
        for item in block.items:
            passed = _passed(item, bit, parity, tile)
            if passed is None:
                return None
            parity, left = passed
            items += left
        blocks.append(RegisterBlock(tuple(one for one in block.registers if one != bit), tuple(items)))
    store = list(sweep.stores(range(max(sweep.tile[-1] + 1, len(sweep.store), len(sweep.load)))))
    for one in wires_of(parity):
        store[one] ^= store[bit]
    left_to = tuple(one for one in sweep.tile if one != bit)
    changed = tuple(store) if parity else sweep.store
    return Sweep(left_to, tuple(blocks), sweep.numbers, sweep.tables, sweep.fresh, changed, sweep.load)


def _passed(item: Item, bit: int, parity: int, tile: int) -> tuple[int, Sequence[Item]] | None:
    """Return the parity that a bit is behind an item, and what is left of the item; None if the bit is no parity then.

    parity: of which bits of the tile it is the sum before the item; of none while it is 0. Others are not followed,
    since they may be outside the buffer, where no map tells them.
    """
    mixed, reads = mask_of(getattr(item, "bits", ())), getattr(item, "reads", ())
    if not parity and not mixed >> bit & 1:
        return None if 1 << bit in reads else (0, _at_zero(item, bit))
    if (item.when.mask | reduce(or_, reads, 0)) >> bit & 1:
        return None
    if not mixed & (parity | 1 << bit):
        return parity, (item,)
    control = item.when.mask
    is_cx = isinstance(item, Permute) and item.to == (1, 0) and control.bit_count() == 1 and item.when.value == control
    return (parity ^ control, () if mixed >> bit & 1 else (item,)) if is_cx and control & tile else None


def _at_zero(item: Item, bit: int) -> Sequence[Item]:
    """Return what an item is where a bit that it does not mix is 0."""
    if item.when.value >> bit & 1:
        return ()
    if item.when.mask >> bit & 1:
        item = replace(item, when=When(item.when.mask ^ 1 << bit, item.when.value))
    if isinstance(item, Permute) or not any(read >> bit & 1 for read in item.reads):
        return (item,)
    return (replace(item, reads=tuple([read & ~(1 << bit) for read in item.reads])),)
