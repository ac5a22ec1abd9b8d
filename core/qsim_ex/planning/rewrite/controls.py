"""What two H on a bit and known phases between them are: an X under conditions, and phases of other bits.

Transpilers write a Toffoli as H on its target, seven phases by eighth turns, and H. `cancel` makes phases of parities of
them. For given values of the other bits, what these add up to on the target is one phase by some angle. Where that is 0
or π for all values, H·phase·H is nothing or an X: all of it is an X under conditions, which computes nothing. Phases
that other bits have beside it stay where they are. Those that are known and read the same are added up here, so the
seven are gone in the end.

A √X is an H between quarter turns, and a bit that is stored inverted has an H between half turns, so both are an H here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from qsim_ex.circuit.circuit import ONE_AT, ZERO_AT
from qsim_ex.circuit.ops import ALWAYS, Pattern, When, pattern
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.work import NOTHING, Work, bits_of_mask
from qsim_ex.steps.algebra import Span, image

WINDOW = 1024
"""How many pieces back an H may look for its other, and a phase forward; native code keeps so many in hand."""

LOOKED_AT = 64
"""The most pieces on a bit that are looked at."""

MOST_PARITIES = 4
"""The most independent parities of an X's conditions."""

_TURN = 8
_PHASES = pattern("1wjv-VJW")
"""The eight phases that are known, by their eighth turns."""

_ROOTS = {of: 2 * k for k, of in enumerate(pattern("hkHK"))}
_EIGHTHS = {of: k for k, of in enumerate(_PHASES)}


class _Turn(NamedTuple):
    """An H between phases: e^{iγ} · diag(1, e^{iα}) · H · diag(1, e^{iβ}), in eighth turns."""

    alpha: int
    beta: int
    gamma: int


def controls(work: list[Work], program: NumberProgram) -> list[Work]:
    """Return the work with an X under conditions for each two H between which phases add up to one."""
    kept = _Kept(program)
    for at, piece in enumerate(work):
        turn = _turn(piece)
        if turn is None or not kept.takes(piece, turn, 2 * at):
            kept.push(piece, 2 * at)
        kept.settle(2 * (at - WINDOW))
    for at in range(len(work) - WINDOW, len(work)):
        kept.settle(2 * at)
    return [kept.pieces[at] for at in sorted(kept.pieces)]


class _Kept:
    """The work so far by its position, and for each bit the positions of the pieces that touch it.

    Pieces that are given have even positions, so that there is room for an X behind each.
    """

    def __init__(self, program: NumberProgram) -> None:
        self.pieces: dict[int, Work] = {}
        self._program = program
        self._on_bit: defaultdict[int, list[int]] = defaultdict(list)

    def push(self, piece: Work, at: int) -> None:
        """Keep a piece behind all others."""
        self.pieces[at] = piece
        for bit in piece.touched:
            self._on_bit[bit].append(at)

    def takes(self, piece: Work, turn: _Turn, now: int) -> bool:
        """Make an H at position `now`, the one before it on its bit and the phases between an X; return whether it did."""
        bit = piece.bits[0]
        between: list[int] = []
        for at in self._before(bit, now):
            before = self.pieces[at]
            first = _turn(before)
            if first is not None:
                break
            if not _is_known(before):
                return False
            between.append(at)
        else:
            return False
        between.reverse()
        phases = [self.pieces[k] for k in between]
        flips = _flips(phases, bit, turn.beta + first.alpha)
        place = at + 1 if flips is None or not flips.parities else self._place(phases, between, bit)
        if flips is None or place is None:
            return False
        both = (first.gamma + turn.gamma) % _TURN != 0  # else they cancel
        self._remove(at)
        self._put(at, _phase(before, both * first.gamma, first.beta, self._program))
        for k, phase in zip(between, phases, strict=True):
            self._remove(k)
            self._put(k, _at_0(phase, bit))
        self._put(place, flips.work(bit, piece.label))
        self._put(now, _phase(piece, both * turn.gamma, turn.alpha, self._program))
        return True

    def settle(self, at: int) -> None:
        """Join a known phase with the next one that reads the same, if nothing between mixes its bits."""
        piece = self.pieces.get(at)
        if piece is None or not piece.touch or not _is_known(piece):
            return
        key = piece.reads, piece.when
        places = self._on_bit[piece.touched[0]]
        begin = bisect_right(places, at)
        for other in places[begin : begin + LOOKED_AT]:
            then = self.pieces[other]
            if then.mix & piece.touch:
                return
            if (then.reads, then.when) == key and _is_known(then):
                break
        else:
            return
        if self._mixes(piece.touch, at, other):
            return
        self._remove(at)
        self._remove(other)
        self._put(other, _joined(piece, then, self._program))

    def _before(self, bit: int, now: int) -> Iterator[int]:
        """Return the positions of the latest pieces on a bit, the latest first."""
        for at in self._on_bit[bit][: -LOOKED_AT - 1 : -1]:
            if at < now - 2 * WINDOW:
                return
            yield at

    def _place(self, phases: list[Work], between: list[int], bit: int) -> int | None:
        """Return a position where all phases may be that read other bits, with room behind it; the latest one."""
        others = [(phase.touch & ~(1 << bit), at) for phase, at in zip(phases, between, strict=True)]
        for _, place in reversed([other for other in others if other[0]]):
            if place + 1 not in self.pieces and not any(self._mixes(mask, *sorted((at, place))) for mask, at in others):
                return place + 1
        return None

    def _mixes(self, bits: int, begin: int, end: int) -> bool:
        """Return whether a piece between two positions mixes some of these bits."""
        for bit in bits_of_mask(bits):
            places = self._on_bit[bit]
            for at in places[bisect_right(places, begin) : bisect_left(places, end)]:
                if self.pieces[at].mix >> bit & 1:
                    return True
        return False

    def _put(self, at: int, piece: Work | None) -> None:
        """Keep a piece at a position that is free; None stands for nothing."""
        if piece is None:
            return
        self.pieces[at] = piece
        for bit in piece.touched:
            places = self._on_bit[bit]
            places.insert(bisect_left(places, at), at)

    def _remove(self, at: int) -> None:
        for bit in self.pieces.pop(at).touched:
            places = self._on_bit[bit]
            del places[bisect_left(places, at)]


class _Flips(NamedTuple):
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
            return _under(bit, self.parities, self.flips, label)
        masks = _reduced([image(self.parities, mask) for mask in _orthogonal(span, len(self.parities))])
        wanted = [_value(mask, values[0], self.parities) for mask in masks]
        if all(mask & mask - 1 == 0 for mask in masks):
            when = When(sum(masks), sum(mask for mask, value in zip(masks, wanted, strict=True) if value))
            return Work("rename", (bit,), (), when, pattern("0110"), NOTHING, label, to=(1, 0))
        number = sum(value << k for k, value in enumerate(wanted))
        return _under(bit, masks, [int(x == number) for x in range(1 << len(masks))], label)


def _orthogonal(span: Span, size: int) -> list[int]:
    """Return a basis of the parities of `size` bits that are 0 for all vectors of a span."""
    from qsim_ex.steps.algebra import kernel, pulled_back

    columns = [sum([(vector >> bit & 1) << k for k, vector in enumerate(span.vectors)]) for bit in range(size)]
    return kernel(columns)


def _reduced(masks: list[int]) -> list[int]:
    """Return the basis of the same span in which no other has the highest bit of each, the highest first."""
    out: list[int] = []
    for mask in masks:
        for other in out:
            mask = min(mask, mask ^ other)
        out = [min(other, other ^ mask) if other >> mask.bit_length() - 1 & 1 else other for other in out]
        out.append(mask)
    return sorted(out, reverse=True)


def _value(mask: int, x: int, parities: list[int]) -> int:
    """Return the value of a parity that is a sum of some parities, whose values are the bits of x."""
    return (Span(parities).reduced(mask)[1] & x).bit_count() & 1


def _under(bit: int, parities: list[int], flips: list[int], label: str) -> Work:
    """Return an X that some values of parities select, as a matrix for each value."""
    of = b"".join(pattern("0110" if flip else "1001") for flip in flips)
    source = np.where(np.frombuffer(of, dtype=np.uint8) != 0, ONE_AT, ZERO_AT).astype(np.int64)
    return Work("mix", (bit,), tuple(parities), ALWAYS, of, source, label)


def _turn(piece: Work) -> _Turn | None:
    """Return a piece as an H between phases, None if it is something else."""
    if piece.kind != "mix" or len(piece.bits) != 1 or piece.reads or piece.when.mask or not piece.unitary:
        return None
    if any(entry not in _ROOTS for entry in piece.pattern):
        return None
    first, second, third, fourth = [_ROOTS[entry] for entry in piece.pattern]
    turn = _Turn((third - first) % _TURN, (second - first) % _TURN, first)
    return turn if (first + turn.alpha + turn.beta + _TURN // 2 - fourth) % _TURN == 0 else None


def _is_known(piece: Work) -> bool:
    """Return whether a piece is phases of which all are known."""
    return piece.kind == "diagonal" and not piece.pattern.strip(_PHASES)


def _flips(phases: list[Work], bit: int, more: int) -> _Flips | None:
    """Return for which values of others phases between two H turn a bit by π; None if some turn by something else.

    more: what else turns it, in eighth turns.
    """
    rest = ~(1 << bit)
    span = Span()
    for phase in phases:
        for mask in phase.parities:
            if mask & rest:
                span.add(mask & rest)
    if len(span) > MOST_PARITIES:
        return None
    turns = [more] * (1 << len(span))
    for phase in phases:
        whens = [(mask, int(phase.when.value & mask != 0)) for mask in phase.parities[len(phase.reads) :]]
        reads = [(mask >> bit & 1, span.reduced(mask & rest)[1]) for mask in phase.reads]
        under = [(mask >> bit & 1, span.reduced(mask & rest)[1], value) for mask, value in whens]
        for x in range(len(turns)):
            for one in (0, 1):
                if all(((made & x).bit_count() ^ one * has) & 1 == value for has, made, value in under):
                    at = sum((((made & x).bit_count() ^ one * has) & 1) << k for k, (has, made) in enumerate(reads))
                    turns[x] += (2 * one - 1) * _EIGHTHS[phase.pattern[at]]
    if any(turn % (_TURN // 2) for turn in turns):
        return None
    return _Flips(span.vectors, [turn // (_TURN // 2) & 1 for turn in turns])


def _at_0(phase: Work, bit: int) -> Work | None:
    """Return what is left of a phase where a bit is 0; None if it is 1."""
    one = 1 << bit
    if phase.when.value & one:
        return None
    gone = sum(1 << k for k, mask in enumerate(phase.reads) if mask == one)
    pick = [x for x in range(len(phase.pattern)) if not x & gone]
    reads = tuple(mask & ~one for mask in phase.reads if mask != one)
    when = When(phase.when.mask & ~one, phase.when.value)
    return _simple(replace(phase, reads=reads, when=when, source=phase.source[pick], pattern=_picked(phase.pattern, pick)))


def _picked(of: Pattern, pick: list[int]) -> Pattern:
    return bytes(of[k] for k in pick)


def _simple(phase: Work) -> Work | None:
    """Return a phase in the form in which it is compared: None if it is 1, of a bit under a condition if it can be."""
    of, reads = phase.pattern, phase.reads
    if not any(_EIGHTHS[entry] for entry in of):
        return None
    if len(set(of)) == 1 and not phase.when.mask:
        return replace(phase, reads=(), source=phase.source[:1], pattern=of[:1])
    if len(reads) == 1 and reads[0] & reads[0] - 1 == 0 and not phase.when.mask and not _EIGHTHS[of[0]]:
        return replace(phase, reads=(), when=When(reads[0], reads[0]), source=phase.source[1:], pattern=of[1:])
    return phase


def _phase(of: Work, gamma: int, more: int, program: NumberProgram) -> Work | None:
    """Return the phases e^{iγ} of a bit at 0 and e^{i(γ + more)} at 1, with numbers from a matrix; None if they are 1.

    The angles are in eighth turns. Twice the product of two entries is any phase that is needed.
    """
    turns = gamma, (gamma + more) % _TURN
    source = [_number(of, k, program) if k else ONE_AT for k in turns]
    return _simple(Work("diagonal", (), (of.mix,), ALWAYS, bytes(_PHASES[k] for k in turns), np.array(source), of.label, level=1))


def _number(of: Work, turns: int, program: NumberProgram) -> int:
    """Return the place of a phase."""
    entries = [_ROOTS[entry] for entry in of.pattern]
    left, right = next(
        (of.source[j], of.source[k])
        for j, one in enumerate(entries)
        for k, other in enumerate(entries)
        if (one + other - turns) % _TURN == 0
    )
    made = program.product(np.full((1, 2, 2), left), np.full((1, 2, 1), right), 1 + of.level)
    return int(made.reshape(-1)[0])


def _joined(first: Work, then: Work, program: NumberProgram) -> Work | None:
    """Return the product of two known phases that read the same; None if it is 1."""
    of = bytes(
        _PHASES[(_EIGHTHS[a] + _EIGHTHS[b]) % _TURN] for a, b in zip(first.pattern, then.pattern, strict=True)
    )
    if not any(_EIGHTHS[entry] for entry in of):
        return None
    level = 1 + max(first.level, then.level)
    left, right = (piece.source.reshape(-1, 1, 1) for piece in (then, first))
    source = program.product(left, right, level).reshape(-1)
    return _simple(replace(then, source=source, pattern=of, level=level))
