"""From instructions on wires to work on index bits: SWAPs and Xs become changes of the layout and vanish.

A SWAP, an X, or any uncontrolled operation that is a relabelling of wires followed by phases (Y, iSWAP, DCX's
relatives …) changes the layout; only its phases remain as work. Later operations are rewritten for wires that
have moved or that are stored inverted. Where layouts must stay (`Shape.relabels`) these are work like others.

A condition on a bit that is 0 in all of the state, since nothing has mixed it yet, holds or does not: a CX whose
control is such a bit is nothing, or an X.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit import thresholds
from qsim_ex.circuit.ops import ALWAYS, Entry, Initialize, Op, Pattern, Permutation, Unitary, When, mask_of, pattern
from qsim_ex.planning import patterns
from qsim_ex.planning.work import NOTHING, Kind, Work, bits_of_mask
from qsim_ex.steps.layout import Layout, Shape

_ONES = bytes([Entry.ONE])


class _Tracker:
    """The current index bit of each wire, after the relabellings so far. zero: index bits that nothing has mixed."""

    def __init__(self, start: Layout, zero: int) -> None:
        self.zero = zero
        self.address = list(start.address)
        self.flip = start.flip
        self.moved = start.address != tuple(range(len(start.address)))

    def mask(self, wires: int) -> int:
        """Return the index bits of a mask of wires."""
        if not self.moved:
            return wires
        return mask_of(tuple(self.address[w] for w in bits_of_mask(wires)))

    def bits(self, wires: tuple[int, ...]) -> tuple[int, ...]:
        """Return the index bits of some wires."""
        return tuple(self.address[w] for w in wires) if self.moved else wires

    def when(self, when: When) -> When:
        """Return a condition on wires as a condition on stored index bits."""
        if not when.mask:
            return when
        mask = self.mask(when.mask)
        return When(mask, self.mask(when.value) ^ (self.flip & mask))

    def known(self, when: When) -> When | None:
        """Return what is left of a condition on wires where bits are known to be 0; None if it cannot hold."""
        if self.when(when).value & self.zero:
            return None
        unknown = mask_of(tuple(w for w in bits_of_mask(when.mask) if not self.zero >> self.address[w] & 1))
        return When(unknown, when.value & unknown)

    def relabel(self, wires: tuple[int, ...], source: tuple[int, ...], flip: int) -> None:
        """Apply x ↦ x' with new bit j = old bit source[j] XOR flip's bit j, without moving data."""
        old = [self.address[w] for w in wires]
        for j, wire in enumerate(wires):
            self.address[wire] = old[source[j]]
            if flip >> j & 1:
                self.flip ^= 1 << self.address[wire]
        self.moved = self.moved or source != tuple(range(len(source)))


class _Flipped(NamedTuple):
    pick: NDArray[np.int64]
    pattern: Pattern


@lru_cache(maxsize=16384)
def _flipped(of: Pattern, size: int, read_flip: int, mix_flip: int) -> _Flipped:
    """Return which entries an operation takes when some of its bits are stored inverted."""
    index = np.arange(len(of)).reshape(-1, size, size)
    values = np.arange(size) ^ mix_flip
    blocks = np.arange(len(index)) ^ read_flip
    pick = index[np.ix_(blocks, values, values)].reshape(-1)
    return _Flipped(pick, bytes(np.frombuffer(of, dtype=np.uint8)[pick]))


def absorb(instructions: tuple[Unitary, ...], start: Layout, shape: Shape, zero: int = 0) -> tuple[list[Work], Layout]:
    """Return the work that remains, in order, and the layout at the end.

    zero: mask of index bits that are 0 in all of the state.
    """
    at = _Tracker(start, zero)
    out: list[Work] = []
    for instruction in instructions:
        match instruction:
            case Op():
                work = _op(instruction, at, shape)
            case Permutation():
                work = _permutation(instruction, at, shape)
            case Initialize(wires, operand):
                work = _initialize(wires, operand, at)
            case _:
                assert_never(instruction)
        if work is not None:
            at.zero &= ~mask_of(work.bits)
            work.order = len(out)
            out.append(work)
    return out, Layout(tuple(at.address), at.flip)


def _op(op: Op, at: _Tracker, shape: Shape) -> Work | None:
    source = np.arange(op.operand, op.operand + len(op.pattern))
    mixes, reads, when, of = op.mixes, op.reads, op.when, op.pattern
    if at.zero and when.mask:
        left = at.known(when)
        if left is None:
            return None
        when = left
    if shape.relabels and op.unitary and 0 < len(mixes) <= thresholds.now.rewriting.relabeled and not when.mask:
        found = patterns.relabeling(of, 1 << len(mixes))
        if found is not None:
            at.relabel(mixes, found.source, found.flip)
            if found.trivial:
                return None
            # Entry [block, row] of the phases is a table over the old reads and then the mixed bits.
            pick = found.phases.T.reshape(-1)
            reads += tuple(1 << w for w in mixes)
            mixes, source, of = (), source[pick], bytes(of[int(k)] for k in pick)
    bits = at.bits(mixes)
    size = 1 << len(bits)
    masks = tuple(at.mask(m) for m in reads) if at.moved else reads
    if at.flip:
        read_flip = sum(((mask & at.flip).bit_count() & 1) << k for k, mask in enumerate(masks))
        mix_flip = sum((at.flip >> bit & 1) << k for k, bit in enumerate(bits))
        if read_flip or mix_flip:
            pick, of = _flipped(of, size, read_flip, mix_flip)
            source = source[pick]
    condition = at.when(when)
    work = _placed(bits, masks, condition, of, source, op.name, shape)
    if work is not None:
        work.unitary = op.unitary
    return work


def _placed(
    bits: tuple[int, ...],
    reads: tuple[int, ...],
    when: When,
    of: Pattern,
    source: NDArray[np.int64],
    label: str,
    shape: Shape,
) -> Work | None:
    """Return an operation as the kind of work that it is, None for the identity."""
    if not bits:
        return None if not of.strip(_ONES) else Work("diagonal", bits, reads, when, of, source, label)
    to = patterns.renaming(of, 1 << len(bits)) if not reads and len(bits) <= _widest_renaming(shape) else None
    if to is not None:
        return Work("rename", bits, (), when, of, NOTHING, label, to=to)
    kind: Kind = "mix" if len(bits) <= shape.dense else "dense_matrix"
    return Work(kind, bits, reads, when, of, source, label)


def _widest_renaming(shape: Shape) -> int:
    return min(shape.near, thresholds.now.rewriting.relabeled)


def _permutation(step: Permutation, at: _Tracker, shape: Shape) -> Work | None:
    found = patterns.affine(step.indices) if shape.relabels else None
    if found is not None:
        at.relabel(step.wires, *found)
        return None
    bits = at.bits(step.wires)
    flip = sum((at.flip >> bit & 1) << k for k, bit in enumerate(bits))
    to = tuple(step.indices[x ^ flip] ^ flip for x in range(len(step.indices)))
    kind: Kind = "rename" if len(bits) <= _widest_renaming(shape) else "basis_permutation"
    return Work(kind, bits, (), ALWAYS, pattern(""), NOTHING, "permutation", to=to)


def _initialize(wires: tuple[int, ...], operand: int, at: _Tracker) -> Work:
    bits = at.bits(wires)
    flip = sum((at.flip >> bit & 1) << k for k, bit in enumerate(bits))
    source = operand + (np.arange(1 << len(bits)) ^ flip)
    return Work("initial_amplitudes", bits, (), ALWAYS, pattern(""), source, "initialize", held=flip)
