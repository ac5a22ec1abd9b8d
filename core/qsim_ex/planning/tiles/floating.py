"""Low bits that change from sweep to sweep.

Memory is touched in whole pieces, so the lowest index bits are in every tile. But a sweep may write its tile back with
the bits permuted, and so leave on the lowest bits whatever the next sweep wants there: it is enough that two tiles that
follow each other share as many bits as are low.

Sweeps are planned in the bits that the work names; `Floating` knows where each of them is, and at the end all steps are
put on the places of their bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import When, mask_of
from qsim_ex.planning.locality import EVERY, WINDOW, chosen, reasons
from qsim_ex.planning.work import Work, bits_of_mask
from qsim_ex.steps.algebra import columns_on, units
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.step import (
    BasisPermutation,
    DenseMatrix,
    Diagonal,
    InitialAmplitudes,
    Item,
    Phase,
    Rename,
    Step,
    Sweep,
    ZeroFill,
)

Numbers = NDArray[np.int64]
Places = tuple[int, ...]
"""For each bit that work names the index bit that it is on."""


class Floating:
    """Where bits are while sweeps move them.

    at: the place of each bit. low, edge: masks of the bits on the lowest places, see `Shape`.
    high: bits that never become lowest. trail: the places after each step.
    """

    def __init__(self, num_bits: int, shape: Shape, high: int = 0) -> None:
        self._shape = shape
        self.high = high
        self.at: Places = tuple(range(num_bits))
        self.low, self.edge = self._on(shape.low), self._on(shape.edge)
        self.trail: list[Places] = []

    def follow(self, count: int) -> None:
        """Note that there are `count` steps now."""
        self.trail += [self.at] * (count - len(self.trail))

    def _on(self, count: int) -> int:
        return mask_of(tuple(bit for bit, place in enumerate(self.at) if place < count))

    def store(self, low: int) -> None:
        """Let the bits of `low` trade places with those that are lowest."""
        coming = bits_of_mask(low & ~self.low)
        going = sorted(bits_of_mask(self.low & ~low), key=self.at.__getitem__)
        at = list(self.at)
        for one, other in zip(coming, going, strict=True):
            at[one], at[other] = self.at[other], self.at[one]
        self.at = tuple(at)
        self.low, self.edge = low, self._on(self._shape.edge)


def next_low(ready: Sequence[Work], left: Sequence[Work], tile: int, low: int, reach: int, shape: Shape) -> int:
    """Return the bits that a sweep leaves on the lowest places: bits of `tile`, with which the next tile does most.

    ready: the work of the sweep. left: the work behind it. low: the bits that are lowest now. reach: see `Growth`.
    """
    if not left or left[0].kind not in ("mix", "diagonal", "rename"):
        return low
    size, count = shape.tile, shape.low
    found = reasons(left, 0)
    wanted = chosen(left, found, 0, reach, size, inside=tile, outside=size - count)
    if not wanted:
        wanted = chosen(left, found, 0, EVERY, size, inside=tile, outside=size - count)
    last, first = _last_use(ready), _last_use(left[:WINDOW][::-1])
    room = size - wanted.bit_count()

    def cost(bit: int) -> tuple[bool, int, bool, int]:
        used = last.get(bit, -1) + first.get(bit, -1) if wanted >> bit & 1 else last.get(bit, -1)
        return bool(wanted >> bit & 1), used, not low >> bit & 1, bit

    order = sorted(bits_of_mask(tile), key=cost)
    spare = [bit for bit in order if not wanted >> bit & 1][: min(room, count)]
    taken = [*spare, *(bit for bit in order if wanted >> bit & 1)][:count]
    return mask_of(tuple(taken))


def _last_use(work: Sequence[Work]) -> dict[int, int]:
    """Return for each bit the number of the last piece of work that mixes it."""
    return {bit: number for number, piece in enumerate(work) for bit in piece.bits}


def settled(steps: Sequence[tuple[Step, Numbers]], floating: Floating, begin: Places) -> list[tuple[Step, Numbers]]:
    """Return steps on the places of their bits, given where bits begin; lowest bits begin lowest."""
    floating.follow(len(steps))
    trail = [through(at, begin) for at in (tuple(range(len(begin))), *floating.trail)]
    return [(on_places(step, *where), numbers) for (step, numbers), where in zip(steps, pairwise(trail), strict=True)]


def beginning(at: Places, shape: Shape) -> Places:
    """Return where bits may begin, in a new state, so that they are in order in the end, given where they end now.

    Only bits that are lowest in the end can end lowest.
    """
    end = sorted(range(len(at)), key=lambda bit: (at[bit] >= shape.edge, at[bit] >= shape.low, bit))
    to = [0] * len(at)
    for place, bit in enumerate(end):
        to[at[bit]] = place
    return tuple(to)


def through(first: Places, then: Places) -> Places:
    """Return the places of bits after one relabelling and another one."""
    return tuple(then[place] for place in first)


def on_places(step: Step, at: Places, after: Places) -> Step:
    """Return a step in which each bit is the index bit that it is on; after: where the step leaves bits."""

    def mask(bits: int) -> int:
        return mask_of(tuple([at[bit] for bit in bits_of_mask(bits)]))

    def every(bits: tuple[int, ...]) -> tuple[int, ...]:
        return tuple([at[bit] for bit in bits])

    def condition(when: When) -> When:
        return When(mask(when.mask), mask(when.value)) if when.mask else when

    def item(of: Item) -> Item:
        when = condition(of.when)
        if isinstance(of, Rename):
            return replace(of, bits=every(of.bits), when=when)
        reads = tuple([mask(read) for read in of.reads])
        return (
            replace(of, reads=reads, when=when)
            if isinstance(of, Diagonal)
            else replace(of, bits=every(of.bits), reads=reads, when=when)
        )

    match step:
        case Sweep():
            moves = sorted((at[bit], after[bit]) for bit in step.tile)
            phases = tuple(Phase(tuple(sorted(every(p.near))), tuple(map(item, p.items))) for p in step.phases)
            tile, store = tuple(old for old, _ in moves), tuple(new for _, new in moves)
            kept = () if store == tile else columns_on(tile, units(store))
            return replace(step, tile=tile, phases=phases, fresh=mask(step.fresh), store=kept)
        case ZeroFill(fresh):
            return ZeroFill(mask(fresh))
        case DenseMatrix(bits, reads, when):
            return replace(step, bits=every(bits), reads=tuple(map(mask, reads)), when=condition(when))
        case BasisPermutation(bits) | InitialAmplitudes(bits):
            return replace(step, bits=every(bits))
