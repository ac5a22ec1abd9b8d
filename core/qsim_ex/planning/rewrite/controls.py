"""What two H on a bit and known phases between them are: an X under conditions, and phases of other bits.

Transpilers write a Toffoli as H on its target, seven phases by eighth turns, and H. `cancel` makes phases of parities
of them. For given values of the other bits, what these add up to on the target is one phase by some angle. Where that
is 0 or π for all values, H·phase·H is nothing or an X: all of it is an X under conditions, which computes nothing.
Phases that other bits have beside it stay where they are, and where one undoes another both are gone: of the seven
nothing is left.

A √X is an H between quarter turns, and a bit that is stored inverted has an H between half turns, so both are an H
here. A CX onto the bit between the two, as Toffolis up to phases have, becomes a CZ behind the X, and phases behind it
read the parity that it makes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

import numpy as np

from qsim_ex.circuit import thresholds
from qsim_ex.circuit.ops import When
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.rewrite.eighths import (
    NOT_SHIFTED,
    PHASES,
    TURN,
    Shift,
    in_place_of,
    is_known,
    number,
    phases_of,
    turned,
    undoes,
)
from qsim_ex.planning.rewrite.flips import flips_of
from qsim_ex.planning.rewrite.held import HeldWork
from qsim_ex.planning.work import Work, bits_of_mask


def controls(work: list[Work], program: NumberProgram) -> list[Work]:
    """Return the work with an X under conditions for each two H between which phases add up to one.

    Products of phases are added to `program`.
    """
    kept, window = _Controls(program), thresholds.now.rewriting.window
    for at, piece in enumerate(work):
        if not kept.takes(piece, 2 * at):
            kept.push(piece, 2 * at)
        kept.settle(at - window)
    for at in range(len(work) - window, len(work)):
        kept.settle(at)
    return kept.kept()


@dataclass
class _Between:
    """What is between two H on a bit: the positions of pieces, and what X before each have added to the bit.

    first: the position of the first H. needs: the other bits that each piece depends on.
    xs: the positions of those that are an X under one condition or none.
    """

    bit: int
    first: int
    places: list[int]
    shifts: list[Shift] = field(default_factory=list)
    needs: list[int] = field(default_factory=list)
    xs: list[int] = field(default_factory=list)
    shift: Shift = NOT_SHIFTED


class _Controls(HeldWork):
    """The work so far. Pieces that are given have even positions, so that there is room for one more behind each."""

    def __init__(self, program: NumberProgram) -> None:
        super().__init__()
        self._program = program

    def takes(self, piece: Work, now: int) -> bool:
        """Make an H at position `now`, the one before it on its bit and what is between an X; return whether it did."""
        last = turned(piece)
        between = self._between(piece.bits[0], now) if last else None
        if last is None or between is None:
            return False
        before = self.pieces[between.first]
        first = turned(before)
        assert first is not None
        phases = [(self.pieces[at], shift) for at, shift in zip(between.places, between.shifts, strict=True)]
        known = [(phase, shift) for phase, shift in phases if phase.kind == "diagonal"]
        flips = flips_of(known, between.bit, first.alpha, (last.beta, between.shift))
        place = self._place(between) if flips is not None else None
        if flips is None or place is None:
            return False
        for at, (phase, shift) in zip(between.places, phases, strict=True):
            self.remove(at)
            self.put(self._behind(phase, shift, between.bit, piece), at)
        if between.xs:
            self.put(self._added(last.beta, between.shift, piece), between.xs[-1] + 1)
        self.put(flips.work(between.bit, piece.label), place)
        self.remove(between.first)
        left = (first.gamma + last.gamma) % TURN != 0  # else they cancel
        for at, of, gamma, more in (
            (between.first, before, first.gamma, first.beta),
            (now, piece, last.gamma, last.alpha),
        ):
            turns = left * gamma, left * gamma + more
            self.put(phases_of(of, of.mix, turns, self._program), at)
        return True

    def settle(self, number: int) -> None:
        """Take known phases at and behind a given piece away if later ones undo them."""
        self._undo(2 * number)
        self._undo(2 * number + 1)

    def _undo(self, at: int) -> None:
        """Take a known phase away with the next one that undoes it, if nothing between mixes its bits."""
        piece = self.pieces.get(at)
        if piece is None or not piece.touch or not is_known(piece):
            return
        places = self.on_bit[piece.touched[0]]
        begin = bisect_right(places, at)
        for other in places[begin : begin + thresholds.now.rewriting.looked_at]:
            then = self.pieces[other]
            if then.mix & piece.touch:
                return
            if undoes(then, piece):
                if not self._mixes(piece.touch, at, other):
                    self.remove(at)
                    self.remove(other)
                return

    def _between(self, bit: int, now: int) -> _Between | None:
        """Return what is between position `now` and the last H on a bit; None if it is not known."""
        places: list[int] = []
        limits = thresholds.now.rewriting
        for at in self.on_bit[bit][: -limits.looked_at - 1 : -1]:
            piece = self.pieces[at]
            if at < now - 2 * limits.window:
                return None
            if turned(piece):
                return self._shifted(_Between(bit, at, places[::-1]))
            if not is_known(piece) and (at & 1 or _added_by(piece, bit) is None):
                return None
            places.append(at)
        return None

    def _shifted(self, between: _Between) -> _Between:
        """Find what X have added to the bit before each piece, and which other bits the pieces depend on."""
        for at in between.places:
            piece = self.pieces[at]
            between.shifts.append(between.shift)
            added = _added_by(piece, between.bit)
            if added is not None:
                between.xs.append(at)
                mask, inverted = between.shift
                between.shift = Shift(mask ^ added.mask, inverted ^ added.inverted)
            between.needs.append(piece.touch & ~(1 << between.bit) | between.shift.mask)
        return between

    def _place(self, between: _Between) -> int | None:
        """Return a free position for the X, before all that were there, where all phases may be; the latest one."""
        end = between.xs[0] if between.xs else between.places[-1] + 1 if between.places else 0
        needed = zip(between.places, between.needs, strict=True)
        after = [at for at, needs in needed if needs and at < end and not at & 1]
        for at in [*reversed(after), between.first]:
            needed = zip(between.places, between.needs, strict=True)
            if at + 1 not in self.pieces and not any(self._mixes(needs, *sorted((at, k))) for k, needs in needed):
                return at + 1
        return None

    def _behind(self, piece: Work, shift: Shift, bit: int, of: Work) -> Work | None:
        """Return what is left behind the X of a piece that was between two H: of an X a Z, of phases those at 0."""
        if piece.kind == "diagonal":
            return in_place_of(piece, bit, shift)
        when = When(piece.when.mask | 1 << bit, piece.when.value | 1 << bit)
        source = np.array([number(of, TURN // 2, self._program)])
        return Work("diagonal", (), (), when, PHASES[TURN // 2 :][:1], source, piece.label, level=1)

    def _added(self, beta: int, shift: Shift, of: Work) -> Work | None:
        """Return the phase that the second H has for what X have added to its bit."""
        if not beta:
            return None
        at_0 = beta * shift.inverted
        at_1 = beta - at_0 if shift.mask else at_0
        return phases_of(of, shift.mask, (at_0, at_1), self._program)

    def _mixes(self, bits: int, begin: int, end: int) -> bool:
        """Return whether a piece between two positions mixes some of these bits."""
        for bit in bits_of_mask(bits):
            places = self.on_bit[bit]
            for at in places[bisect_right(places, begin) : bisect_left(places, end)]:
                if self.pieces[at].mix >> bit & 1:
                    return True
        return False


def _added_by(piece: Work, bit: int) -> Shift | None:
    """Return what an X under one condition or none adds to a bit, None if a piece is something else."""
    control = piece.when.mask
    if piece.kind != "rename" or piece.bits != (bit,) or control & control - 1:
        return None
    return Shift(control, int(not piece.when.value))
