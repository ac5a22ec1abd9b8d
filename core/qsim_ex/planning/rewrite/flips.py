"""For which values of other bits known phases between two H flip a bit, and the X under conditions that does so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from qsim_ex.circuit import thresholds
from qsim_ex.circuit.circuit import ONE_AT, ZERO_AT
from qsim_ex.circuit.ops import ALWAYS, When, pattern
from qsim_ex.planning.rewrite.eighths import EIGHTHS, TURN, Shift
from qsim_ex.planning.work import NOTHING, Work
from qsim_ex.steps.algebra import Span, image, kernel


class Flips(NamedTuple):
    """An X for some values of parities: value x of them flips if ``flips[x]``."""

    parities: list[int]
    flips: list[int]

    def work(self, bit: int, label: str) -> Work | None:
        """Return it as work on a bit; None if nothing flips."""
        values = [x for x, flips in enumerate(self.flips) if flips]
        if not values:
            return None
        span = Span(x ^ values[0] for x in values)
        if 1 << len(span) != len(values):
            return _selected(bit, self.parities, self.flips, label)
        masks = _echelon([image(self.parities, mask) for mask in _orthogonal(span, len(self.parities))])
        made = Span(self.parities)
        wanted = [_value(made.reduced(mask)[1], values[0]) for mask in masks]
        if all(mask & mask - 1 == 0 for mask in masks):
            when = When(sum(masks), sum(mask for mask, value in zip(masks, wanted, strict=True) if value))
            return Work("rename", (bit,), (), when, pattern("0110"), NOTHING, label, to=(1, 0))
        number = sum(value << k for k, value in enumerate(wanted))
        return _selected(bit, masks, [int(x == number) for x in range(1 << len(masks))], label)


def flips_of(phases: Sequence[tuple[Work, Shift]], bit: int, first: int, last: tuple[int, Shift]) -> Flips | None:
    """Return for which values of others known phases between two H turn a bit by π; None if some turn by other angles.

    phases: each with what was added to the bit before it. first, last: by what the two H turn the bit beside these, in
    eighth turns; the last one with what was added before.
    """
    span = Span()
    for phase, shift in phases:
        for mask in phase.parities:
            span.add(_read(mask, bit, shift))
    turns_of_last, shift_of_last = last
    if turns_of_last:
        span.add(shift_of_last.mask)
    if len(span) > thresholds.now.rewriting.parities:
        return None
    turns = [first] * (1 << len(span))
    if turns_of_last:
        made = span.reduced(shift_of_last.mask)[1]
        for x in range(len(turns)):
            turns[x] += turns_of_last * (1 - 2 * (_value(made, x) ^ shift_of_last.inverted))
    for phase, shift in phases:
        read = [(mask >> bit & 1, span.reduced(_read(mask, bit, shift))[1]) for mask in phase.parities]
        for x in range(len(turns)):
            values = [(has, _value(made, x) ^ has * shift.inverted) for has, made in read]
            turns[x] += _phase_at(phase, [value ^ has for has, value in values])
            turns[x] -= _phase_at(phase, [value for _, value in values])
    if any(turn % (TURN // 2) for turn in turns):
        return None
    return Flips(span.vectors, [turn // (TURN // 2) & 1 for turn in turns])


def _read(mask: int, bit: int, shift: Shift) -> int:
    """Return what a parity reads of other bits where a shift stands in place of a bit."""
    return mask ^ (1 << bit ^ shift.mask) if mask >> bit & 1 else mask


def _phase_at(phase: Work, values: list[int]) -> int:
    """Return the eighth turns of a phase at values of all its parities: its reads, and the bits of its condition."""
    reads, under = values[: len(phase.reads)], values[len(phase.reads) :]
    conditions = phase.parities[len(phase.reads) :]
    if any((phase.when.value & mask != 0) != value for mask, value in zip(conditions, under, strict=True)):
        return 0
    return EIGHTHS[phase.pattern[sum(value << k for k, value in enumerate(reads))]]


def _value(made: int, x: int) -> int:
    """Return the value of a sum of some bits of x."""
    return (made & x).bit_count() & 1


def _orthogonal(span: Span, size: int) -> list[int]:
    """Return a basis of the parities of `size` bits that are 0 for all vectors of a span."""
    return kernel([sum([(vector >> bit & 1) << k for k, vector in enumerate(span.vectors)]) for bit in range(size)])


def _echelon(masks: list[int]) -> list[int]:
    """Return the basis of the same span in which no other has the highest bit of each, the highest first."""
    out: list[int] = []
    for given in masks:
        mask = given
        for other in out:
            mask = min(mask, mask ^ other)
        out = [other ^ mask if other >> mask.bit_length() - 1 & 1 else other for other in out]
        out = sorted([*out, mask], reverse=True)
    return out


def _selected(bit: int, parities: list[int], flips: list[int], label: str) -> Work:
    """Return an X that some values of parities select, as a matrix for each value."""
    of = b"".join(pattern("0110" if flip else "1001") for flip in flips)
    source = np.where(np.frombuffer(of, dtype=np.uint8) != 0, ONE_AT, ZERO_AT).astype(np.int64)
    return Work("mix", (bit,), tuple(parities), ALWAYS, of, source, label)
