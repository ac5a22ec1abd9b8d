"""From stages with far parities back to work on bits: CX make each direction a bit when a piece mixes it.

The bits are new names: a map says which of them flip with each bit of the frame. A CX between names changes the map,
and only its target has to be near. So a far bit is never the target of one, and keeps its parity during its stage.
Before the next stage, CX make each parity that will be far a bit. What is exchanged or migrated are bits, as ever.

A full state is written forwards, and CX make its end plain. A new state is written backwards from a plain end: any
map will do at the start of |0…0⟩.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from qsim_ex.circuit.ops import When, mask_of, wires_of
from qsim_ex.planning.linear.coordinates import on_positions
from qsim_ex.planning.linear.frame import Frame, Framed
from qsim_ex.planning.stages.far_parities import FarStage
from qsim_ex.planning.work import NOTHING, Work
from qsim_ex.steps.algebra import image, inverse, units


class NamedStage(NamedTuple):
    """The work of a stage, and the mask of the bits that are far."""

    work: list[Work]
    far: int


def forwards(
    stages: Sequence[FarStage], pieces: Sequence[Framed], end: Frame, low: int
) -> tuple[list[NamedStage], list[int]]:
    """Return the work of each stage of a full state, and the name of each bit of the work in the end.

    A bit has its own name in the end where that is possible. low: so many of the lowest names are never far.
    """
    same = units(range(len(end.parities)))
    names = _Names(same, same, low)
    own = {parity: bit for bit, parity in enumerate(end.parities)}
    last = mask_of(tuple(own[parity] for parity in stages[-1].far))
    out: list[NamedStage] = []
    for stage, after in zip_longest(stages, stages[1:]):
        names.far = mask_of(tuple(names.bits_of(stage.far)))
        for number in stage.pieces:
            names.place(pieces[number])
        if after is not None:
            wanted = [own[parity] for parity in after.far] if after is stages[-1] else []
            names.bits_of(after.far, wanted, last)
        else:
            places = names.bits_of(stage.far)
            at = _completed({own[parity]: place for parity, place in zip(stage.far, places, strict=True)}, len(same))
            names.settle(at, end.parities)
        out.append(NamedStage(names.taken(), names.far))
    return out, at


def backwards(
    stages: Sequence[FarStage], pieces: Sequence[Framed], end: Frame, low: int
) -> tuple[list[NamedStage], list[int]]:
    """Return the same for a state that begins in |0…0⟩."""
    at = _places(stages[-1].far, end.parities, low)
    places = units(at)
    columns = [image(places, column) for column in inverse(end.directions)]
    parities = [image(places, column) for column in inverse(end.parities)]
    names = _Names(columns, parities, low)
    out: list[NamedStage] = []
    for stage, before in zip_longest(stages[::-1], stages[-2::-1]):
        names.far = mask_of(tuple(names.bits_of(stage.far)))
        for number in stage.pieces[::-1]:
            names.place(pieces[number])
        if before:
            names.bits_of(before.far)
        out.append(NamedStage(names.taken()[::-1], names.far))
    return _of_zero(out[::-1], len(at)), at


class _Names:
    """The names of bits while work is written; far: mask of those that are far now.

    For each bit of the frame, `columns` are the names that flip with it, and `parities` those whose sum it is.
    """

    def __init__(self, columns: Sequence[int], parities: Sequence[int], low: int) -> None:
        self.far = 0
        self._columns = list(columns)
        self._parities = list(parities)
        self._high = (1 << len(columns)) - (1 << low)
        self._home: dict[int, int] = {}
        self._work: list[Work] = []

    def taken(self) -> list[Work]:
        """Return the work written since this was asked last."""
        work, self._work = self._work, []
        return work

    def place(self, framed: Framed) -> None:
        """Write a piece of work, and the CX before it."""
        bits: list[int] = []
        for bit, direction, parity in zip(framed.piece.bits, framed.directions, framed.rows, strict=True):
            flips = image(self._columns, direction)
            name = self._chosen(flips & ~mask_of(tuple(bits)), self._seen(parity), self._home.get(bit, -1))
            self._home[bit] = name
            self._spread(name, flips & ~(1 << name))
            bits.append(name)
        for name, parity in zip(bits, framed.rows, strict=True):
            self._alone(name, parity)
        conditions = sorted((self._seen(parity), value) for parity, value in framed.conditions)
        reads = [self._seen(parity) for parity in framed.reads]
        self._work.append(on_positions(framed, tuple(bits), reads, conditions))

    def bits_of(self, parities: Sequence[int], wanted: Sequence[int] = (), later: int = 0) -> list[int]:
        """Return the names of parities that will be far, after CX that make each of them a bit.

        wanted: the name that each should have, if it is free. later: names that others should have.
        """
        found: dict[int, int] = {}
        for k, parity in enumerate(parities):
            seen = self._seen(parity)
            right = not wanted or seen == 1 << wanted[k] or seen & self.far
            if right and seen & self._high and not seen & seen - 1:
                found[parity] = seen.bit_length() - 1
        for k, parity in enumerate(parities):
            if parity not in found:
                taken = mask_of(tuple(found.values())) | self.far
                free = self._high & ~taken
                free = (free & 1 << wanted[k] if wanted else 0) or free & ~later or free
                found[parity] = (self._seen(parity) & free or free).bit_length() - 1
                self._rise(found[parity], parity, taken)
        return [found[parity] for parity in parities]

    def settle(self, at: Sequence[int], parities: Sequence[int]) -> None:
        """Write the CX after which each parity has its name."""
        taken = self.far
        for bit in sorted(range(len(at)), key=lambda bit: self._seen(parities[bit]).bit_count()):
            if not taken >> at[bit] & 1:
                self._rise(at[bit], parities[bit], taken)
                taken |= 1 << at[bit]

    def _seen(self, parity: int) -> int:
        """Return a parity of the frame's bits as one of names."""
        return image(self._parities, parity)

    def _chosen(self, among: int, liked: int, home: int) -> int:
        """Return the name of a direction: the one that it had, or one that needs few CX."""
        if home >= 0 and among >> home & 1:
            return home
        return (among & liked or among).bit_length() - 1

    def _rise(self, name: int, parity: int, taken: int) -> None:
        """Write the CX after which a name is a parity; none of them changes the names that are taken."""
        seen = self._seen(parity)
        if not seen >> name & 1:
            self._spread(name, 1 << (seen & ~taken).bit_length() - 1)
        self._alone(name, parity)

    def _alone(self, name: int, parity: int) -> None:
        """Write the CX after which a parity that has a name is that of the name alone."""
        controls = self._seen(parity) & ~(1 << name)
        if controls:
            unit = 1 << name
            self._columns = [c ^ unit if (c & controls).bit_count() & 1 else c for c in self._columns]
            self._parities = [p ^ controls if p & unit else p for p in self._parities]
            self._work += [_cx(control, name) for control in wires_of(controls)]

    def _spread(self, name: int, targets: int) -> None:
        """Write a CX from a name to each of some others."""
        if targets:
            unit = 1 << name
            self._columns = [c ^ targets if c & unit else c for c in self._columns]
            self._parities = [p ^ unit if (p & targets).bit_count() & 1 else p for p in self._parities]
            self._work += [_cx(name, target) for target in wires_of(targets)]


def _cx(control: int, target: int) -> Work:
    when = When(1 << control, 1 << control)
    return Work("rename", (target,), (), when, b"", NOTHING, "cx", to=(1, 0))


def _places(far: Sequence[int], parities: Sequence[int], low: int) -> list[int]:
    """Return the name of each bit at the end: its own, but for those of the lowest that are far."""
    last = [bit for bit, parity in enumerate(parities) if parity in far]
    free = iter([bit for bit in range(low, len(parities)) if bit not in last])
    return _completed({bit: bit if bit >= low else next(free) for bit in last}, len(parities))


def _completed(some: dict[int, int], num_bits: int) -> list[int]:
    """Return a name for each bit, given those of some: its own where it is free."""
    names = set(some.values())
    at = some | {bit: bit for bit in range(num_bits) if bit not in some and bit not in names}
    left = iter(sorted(set(range(num_bits)) - set(at.values())))
    return [at[bit] if bit in at else next(left) for bit in range(num_bits)]


def _of_zero(stages: Sequence[NamedStage], num_bits: int) -> list[NamedStage]:
    """Return work that begins in |0…0⟩ without what a bit controls that is 0."""
    zero = (1 << num_bits) - 1
    out = []
    for stage in stages:
        kept = []
        for piece in stage.work:
            if not piece.when.value & zero:
                zero &= ~piece.mix
                kept.append(piece)
        out.append(NamedStage(kept, stage.far))
    return out
