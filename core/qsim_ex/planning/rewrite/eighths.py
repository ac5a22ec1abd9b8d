"""Phases that are known to be eighth turns, and what a bit makes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from qsim_ex.circuit.circuit import ONE_AT
from qsim_ex.circuit.ops import ALWAYS, When, pattern
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.work import Work

TURN = 8
"""A turn in eighths."""

PHASES = pattern("1wjv-VJW")
"""The phases that are known, by their eighth turns."""

EIGHTHS = {of: k for k, of in enumerate(PHASES)}
"""The eighth turns of an entry."""

_ROOTS = {of: 2 * k for k, of in enumerate(pattern("hkHK"))}
"""The eighth turns of an entry of size √½."""


class Turned(NamedTuple):
    """An H between phases: e^{iγ} · diag(1, e^{iα}) · H · diag(1, e^{iβ}), in eighth turns."""

    alpha: int
    beta: int
    gamma: int


class Shift(NamedTuple):
    """What X under conditions have added to a bit: the parity of a mask of others, and 1 if `inverted`."""

    mask: int
    inverted: int


NOT_SHIFTED = Shift(0, 0)


def turned(piece: Work) -> Turned | None:
    """Return a piece as an H between phases, None if it is something else."""
    if piece.kind != "mix" or len(piece.bits) != 1 or piece.reads or piece.when.mask or not piece.unitary:
        return None
    if any(entry not in _ROOTS for entry in piece.pattern):
        return None
    first, second, third, fourth = [_ROOTS[entry] for entry in piece.pattern]
    found = Turned((third - first) % TURN, (second - first) % TURN, first)
    return found if (first + found.alpha + found.beta + TURN // 2 - fourth) % TURN == 0 else None


def is_known(piece: Work) -> bool:
    """Return whether a piece is phases of which all are known."""
    return piece.kind == "diagonal" and not piece.pattern.strip(PHASES)


def in_place_of(phase: Work, bit: int, shift: Shift) -> Work | None:
    """Return what a phase is where a shift stands in place of a bit; None if it is 1."""
    one, wanted = 1 << bit, phase.when.value >> bit & 1
    reads, picks = [], [0]  # for each value of the reads that are kept, which entry it takes
    for k, mask in enumerate(phase.reads):
        has = mask >> bit & 1
        left = mask ^ (one ^ shift.mask) * has
        flip = (shift.inverted & has) << k
        if left:
            reads.append(left)
            picks = [x | flip for x in picks] + [x | (flip ^ 1 << k) for x in picks]
        else:
            picks = [x | flip for x in picks]
    source, of = phase.source[picks], bytes(phase.pattern[x] for x in picks)
    when = When(phase.when.mask & ~one, phase.when.value & ~one)
    if phase.when.mask & one:
        if not shift.mask and shift.inverted != wanted:
            return None
        if shift.mask:
            reads.append(shift.mask)
            ones = np.full(len(of), ONE_AT, dtype=np.int64), PHASES[:1] * len(of)
            first, second = ((source, of), ones) if shift.inverted == wanted else (ones, (source, of))
            source, of = np.concatenate((first[0], second[0])), first[1] + second[1]
    return simple(replace(phase, reads=tuple(reads), when=when, source=source, pattern=of))


def simple(phase: Work) -> Work | None:
    """Return a phase in the form in which it is compared: None if it is 1, of a bit under a condition if it can be."""
    of, reads = phase.pattern, phase.reads
    if not any(EIGHTHS[entry] for entry in of):
        return None
    if len(set(of)) == 1 and not phase.when.mask:
        return replace(phase, reads=(), source=phase.source[:1], pattern=of[:1])
    if len(reads) != 1 or reads[0] & reads[0] - 1 or phase.when.mask or all(EIGHTHS[entry] for entry in of):
        return phase
    value = int(not EIGHTHS[of[0]])  # at the other one the phase is 1
    when = When(reads[0], reads[0] * value)
    return replace(phase, reads=(), when=when, source=phase.source[value : value + 1], pattern=of[value : value + 1])


def undoes(then: Work, phase: Work) -> bool:
    """Return whether a piece is a known phase that reads the same as another one, and is its inverse."""
    if (then.reads, then.when) != (phase.reads, phase.when) or not is_known(then):
        return False
    pairs = zip(phase.pattern, then.pattern, strict=True)
    return all((EIGHTHS[one] + EIGHTHS[other]) % TURN == 0 for one, other in pairs)


def phases_of(of: Work, reads: int, turns: tuple[int, int], program: NumberProgram) -> Work | None:
    """Return phases of a parity at 0 and at 1, with numbers from a matrix of `turned`; None if they are 1.

    turns: their eighth turns.
    """
    source = np.array([number(of, k % TURN, program) for k in turns])
    return simple(
        Work("diagonal", (), (reads,), ALWAYS, bytes(PHASES[k % TURN] for k in turns), source, of.label, level=1)
    )


def number(of: Work, turns: int, program: NumberProgram) -> int:
    """Return the place of a phase by some eighth turns: twice the product of two entries of a matrix of `turned`."""
    if not turns:
        return ONE_AT
    entries = [_ROOTS[entry] for entry in of.pattern]
    left, right = next(
        (of.source[j], of.source[k])
        for j, one in enumerate(entries)
        for k, other in enumerate(entries)
        if (one + other - turns) % TURN == 0
    )
    made = program.product(np.full((1, 2, 2), left), np.full((1, 2, 1), right), 1 + of.level)
    return int(made.reshape(-1)[0])
