"""Pairs of CX around phases disappear: the phases read parities instead.

A CX adds its control to its target, so between two equal ones a phase that reads the target may read target ⊕ control
without them. A ladder of CX, an RZ, and the ladder back is one phase of a parity, which mixes nothing and needs no bit
near: Pauli rotations as chemistry packages write them, RZZ and CP in rz, sx, cx. Each new CX looks back for its equal:
past phases, and past other X gates on its target, with which it commutes. Where it finds a CX in the opposite
direction, the two are one CX and an exchange of the bits, which moves nothing: a SWAP written as three CX disappears.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import merge
from typing import NamedTuple

import numpy as np

from qsim_ex.circuit import thresholds
from qsim_ex.circuit.circuit import ONE_AT
from qsim_ex.circuit.ops import Entry, When
from qsim_ex.planning.rewrite.held import HeldWork
from qsim_ex.planning.work import Work, moved


class _CX(NamedTuple):
    """A CX on index bits; value: the value of the control at which it acts."""

    control: int
    target: int
    value: int


def cancel(work: list[Work], num_bits: int) -> tuple[list[Work], list[int]]:
    """Return the work without pairs of CX that have only phases of the target between them, and where each bit is."""
    kept = _Canceller(num_bits)
    for at, given in enumerate(work):
        piece = moved(given, kept.to)
        cx = _cx(piece)
        if cx is None or not kept.takes(piece, cx, at):
            kept.push(piece, at)
    return kept.kept(), kept.to


class _Canceller(HeldWork):
    """The work that is left so far. to: where each bit of the work that follows is, after all exchanges."""

    def __init__(self, num_bits: int) -> None:
        super().__init__()
        self.to = list(range(num_bits))

    def takes(self, piece: Work, cx: _CX, now: int) -> bool:
        """Join a CX at position `now` with its equal or opposite, if nothing stands between; return whether it did."""
        passed: list[int] = []
        limits = thresholds.now.rewriting
        for looked_at, at in enumerate(self._before(cx)):
            if at < now - limits.window or looked_at == limits.looked_at:
                return False
            before = self.pieces[at]
            other = _cx(before)
            if other == cx:
                self._pass(cx, passed)
                self.remove(at)
                return True
            if cx.value and other == _CX(cx.target, cx.control, 1):
                self._pass(cx, passed)
                self._exchange(cx, passed)
                self.pieces[at] = piece
                return True
            if not _passes(before, cx):
                return False
            passed.append(at)
        return False

    def _pass(self, cx: _CX, passed: list[int]) -> None:
        """Change the phases that a CX has passed."""
        for at in passed:
            piece = self.pieces[at]
            if piece.kind == "diagonal" and piece.touch >> cx.target & 1:
                self._change(at, through(piece, *cx))

    def _exchange(self, cx: _CX, passed: list[int]) -> None:
        """Exchange the bits of a CX in the pieces that it has passed, and in all that follow."""
        swapped = list(range(len(self.to)))
        swapped[cx.control], swapped[cx.target] = cx.target, cx.control
        for at in passed:
            self._change(at, moved(self.pieces[at], swapped))
        self.to = [swapped[bit] for bit in self.to]

    def _before(self, cx: _CX) -> Iterator[int]:
        """Return the positions of the pieces that touch a bit of a CX, the latest first."""
        both = merge(reversed(self.on_bit[cx.control]), reversed(self.on_bit[cx.target]), reverse=True)
        last = -1
        for at in both:
            if at != last:
                yield at
            last = at

    def _change(self, at: int, piece: Work) -> None:
        self.remove(at)
        self.put(piece, at)


def _cx(piece: Work) -> _CX | None:
    """Return a piece as a CX, None if it is something else."""
    control = piece.when.mask
    if piece.kind != "rename" or len(piece.bits) != 1 or control.bit_count() != 1:
        return None
    return _CX(control.bit_length() - 1, piece.bits[0], int(piece.when.value != 0))


def _passes(piece: Work, cx: _CX) -> bool:
    """Return whether a CX may move to before a piece: it commutes, or is a phase that then reads other parities."""
    if piece.mix >> cx.control & 1:
        return False
    if piece.mix >> cx.target & 1:
        return piece.kind == "rename" and len(piece.bits) == 1
    return piece.kind == "diagonal" or not piece.touch >> cx.target & 1


def through(phase: Work, control: int, target: int, value: int) -> Work:
    """Return a phase as it is between two equal CX: where it read the target, it reads target ⊕ control (⊕ 1)."""
    when, source, of = phase.when, phase.source, phase.pattern
    reads = list(phase.reads)
    known = when.mask >> control & 1
    flips = (when.value >> control & 1) == value if known else not value
    read_flip = 0
    for k, mask in enumerate(reads):
        if mask >> target & 1:
            reads[k] = mask if known else mask ^ 1 << control
            read_flip |= flips << k
    if read_flip:
        pick = np.arange(len(of)) ^ read_flip
        source, of = source[pick], bytes(np.frombuffer(of, dtype=np.uint8)[pick])
    if when.mask >> target & 1:
        wanted = (when.value >> target & 1) ^ flips
        if known:
            when = When(when.mask, when.value & ~(1 << target) | wanted << target)
        else:
            when = When(when.mask & ~(1 << target), when.value & ~(1 << target))
            reads.append(1 << target | 1 << control)
            ones = np.full(len(of), ONE_AT, dtype=np.int64), bytes([Entry.ONE]) * len(of)
            first, second = (ones, (source, of)) if wanted else ((source, of), ones)
            source, of = np.concatenate((first[0], second[0])), first[1] + second[1]
    return replace(phase, reads=tuple(reads), when=when, source=source, pattern=of)
