"""Which work runs in which stage, where what is far may be any parity: `division`, with CX in the frame.

A bit is far if its value says in which memory an amplitude lies. For the work of `linear.frame` that need not be a bit
of the start: any parity of bits will do, and a piece of work runs if no direction that it mixes changes a far parity.
So CX keeps nothing waiting. Candidates are the parities that are bits at some time of the circuit. For each piece one
mask says which of them would keep it waiting, by itself or by a piece that has to come before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import wires_of
from qsim_ex.planning.linear.frame import Frame, Framed, changes_frame
from qsim_ex.planning.linear.locality import Order
from qsim_ex.planning.work import Work

WIDTH = 6
"""How many ways are followed at a time, and how many sets of far parities are tried for each next stage."""

MOST_CANDIDATES = 512
"""The most parities that are compared, besides those of the start and of the end; the earliest first."""

_STAYS = 1
"""The weight, in thousandths of a piece of work, of keeping a parity far that is far already: it breaks ties."""


class FarStage(NamedTuple):
    """Pieces of work, by their numbers, that run while some parities are far."""

    pieces: tuple[int, ...]
    far: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Partial:
    """A partial division: the stages so far, and the pieces that are left."""

    pending: tuple[int, ...]
    stages: tuple[FarStage, ...] = ()

    @property
    def far(self) -> tuple[int, ...]:
        """The parities that are far now."""
        return self.stages[-1].far if self.stages else ()


class _Set(NamedTuple):
    """Candidates that may be far together, a basis of them that is reduced, and how far they are liked for staying."""

    columns: tuple[int, ...]
    basis: tuple[int, ...]
    liked: int


class FarParities:
    """Divides framed work into stages with `count` far parities each.

    A full state is divided from its start on. A state that begins in |0…0⟩ is divided from its end, where bits have to
    be far, to its start, where any parities may be.
    """

    def __init__(
        self, work: Sequence[Work], pieces: Sequence[Framed], end: Frame, count: int, *, new: bool, low: int = 0
    ) -> None:
        """Take work, its pieces in their frame, and the frame at the end, of which `low` bits are not far then."""
        self._count = count
        self._new = new
        order = Order(pieces)
        self._before = _behind(order) if new else order.before
        self._weights = np.array([one.piece.thousandths for one in pieces], dtype=np.int64)
        self._all = _candidates(work, end)
        self._every = (1 << len(self._all)) - 1
        self._ends = self._mask(end.parities[low:])
        self._names = {parity: 1 << bit for bit, parity in enumerate(end.parities)}
        columns = np.array(self._all, dtype=np.uint64)
        changed: dict[int, int] = {}
        self._own: list[int] = []
        for one in pieces:
            mask = 0
            for direction in one.directions:
                if direction not in changed:
                    odd = (np.bitwise_count(columns & np.uint64(direction)) & 1).astype(np.uint8)
                    changed[direction] = int.from_bytes(np.packbits(odd, bitorder="little").tobytes(), "little")
                mask |= changed[direction]
            self._own.append(mask)

    def stages(
        self, most: int, first: Sequence[int] = (), *, forced: bool = False, named: bool = False
    ) -> list[FarStage] | None:
        """Return at most `most` stages, with bits of the end far in the last one; None if none were found.

        first: for a full state the bits of which those are chosen that are far in the first stage.
        forced: whether they all are. named: whether bits that are far in the end have to be on places of their own,
        where no others can be just before.
        """
        begin, last = (self._ends, self._every) if self._new else (self._mask(first), self._ends)
        numbers = range(len(self._own))
        ways = [_Partial(tuple(reversed(numbers) if self._new else numbers))]
        for number in range(most):
            found: dict[tuple[tuple[int, ...], tuple[int, ...]], _Partial] = {}
            for way in ways:
                among = (self._every, last) if number else (begin,)
                for further in self._further(way, among, forced and not number):
                    found.setdefault((further.pending, further.far), further)
            for way in found.values():
                if not way.pending and not self._mask(way.far) & ~last and not (named and self._collides(way)):
                    return list(way.stages[::-1] if self._new else way.stages)
            ways = sorted(found.values(), key=lambda way: int(self._weights[list(way.pending)].sum()))[:WIDTH]
        return None

    def _collides(self, way: _Partial) -> bool:
        """Return whether bits that are far in the end cannot be on places of their own, since others are there."""
        before = way.stages[0].far
        return len(way.stages) <= 2 and any(
            parity != self._names[parity] if parity in before else self._names[parity] in before for parity in way.far
        )

    def _further(self, way: _Partial, among: Sequence[int], forced: bool) -> list[_Partial]:
        """Return the continuations of a way by a stage whose far parities are among some."""
        blocked = self._blocked(way.pending)
        table = self._table(way.pending, blocked)
        chosen: dict[tuple[int, ...], None] = {}
        for mask in dict.fromkeys(among):
            if forced:
                chosen[wires_of(mask)] = None
            elif way.pending:
                chosen.update(dict.fromkeys(self._sets(way, table, mask)))
            else:
                chosen[wires_of(mask)[: self._count]] = None
        out = []
        for columns in chosen:
            far = tuple(self._all[column] for column in columns)
            if way.stages and not follows(way.far, far):
                continue
            waits = sum(1 << column for column in columns)
            runs = tuple(sorted(number for number in way.pending if not blocked[number] & waits))
            left = tuple(number for number in way.pending if blocked[number] & waits)
            out.append(replace(way, pending=left, stages=(*way.stages, FarStage(runs, far))))
        return out

    def _blocked(self, pending: Sequence[int]) -> dict[int, int]:
        """Return for each piece the mask of the candidates that would keep it waiting."""
        blocked: dict[int, int] = {}
        waiting = 0
        for number in pending:
            mask = self._own[number]
            for other in wires_of(self._before[number] & waiting):
                mask |= blocked[other]
            blocked[number] = mask
            if mask:
                waiting |= 1 << number
        return blocked

    def _sets(self, way: _Partial, table: NDArray[np.int64], among: int) -> list[tuple[int, ...]]:
        """Return the few sets of candidates that let most work run; each lets some work run."""
        columns = wires_of(among)
        holds = table if among == self._every else table[:, columns]
        weights = self._weights[list(way.pending)]
        stays = set(way.far)
        liked = np.array([_STAYS * (self._all[column] in stays) for column in columns])
        kept = [_Set((), (), 0)]
        alive = np.ones((1, len(weights)), dtype=np.int64)
        for _ in range(self._count):
            runs = (alive @ weights)[:, None] - (alive * weights) @ holds
            values = np.where(runs >= _STAYS, runs + np.array([one.liked for one in kept])[:, None] + liked, -1)
            chosen: dict[tuple[int, ...], tuple[_Set, int, int]] = {}
            for flat in np.argsort(-values, axis=None, kind="stable").tolist():
                row, at = divmod(flat, len(columns))
                if values[row, at] < 0 or len(chosen) == WIDTH:
                    break
                rest = reduced(self._all[columns[at]], kept[row].basis)
                wider = tuple(sorted((*kept[row].columns, columns[at])))
                if rest and wider not in chosen:
                    chosen[wider] = _Set(wider, (*kept[row].basis, rest), kept[row].liked + int(liked[at])), row, at
            if not chosen:
                return []
            alive = np.array([alive[row] * (1 - holds[:, at]) for _, row, at in chosen.values()])
            kept = [one for one, _, _ in chosen.values()]
        return [one.columns for one in kept]

    def _table(self, pending: Sequence[int], blocked: dict[int, int]) -> NDArray[np.int64]:
        """Return for each piece and each candidate 1 if the candidate keeps the piece waiting, else 0."""
        size = (len(self._all) + 7) // 8
        packed = b"".join([blocked[number].to_bytes(size, "little") for number in pending])
        rows = np.frombuffer(packed, dtype=np.uint8).reshape(len(pending), size)
        return np.unpackbits(rows, axis=1, bitorder="little")[:, : len(self._all)].astype(np.int64)

    def _mask(self, parities: Sequence[int]) -> int:
        """Return the candidates that are among some parities."""
        wanted = set(parities)
        return sum(1 << column for column, parity in enumerate(self._all) if parity in wanted)


def follows(before: Sequence[int], far: Sequence[int]) -> bool:
    """Return whether parities can be far in the stage behind one: a sum of those far before can be only one of them.

    A CX on a far bit would move amplitudes between memories.
    """
    basis: list[int] = []
    for parity in {*before, *far}:
        rest = reduced(parity, basis)
        if not rest:
            return False
        basis.append(rest)
    return True


def reduced(parity: int, basis: Iterable[int]) -> int:
    """Return what is left of a parity with sums of others taken away, each of which was reduced by those before."""
    for row in basis:
        parity = min(parity, parity ^ row)
    return parity


def _behind(order: Order) -> list[int]:
    """Return for each piece the mask of those that come just behind it."""
    behind = [0] * len(order.before)
    for number, before in enumerate(order.before):
        for other in wires_of(before):
            behind[other] |= 1 << number
    return behind


def _candidates(work: Sequence[Work], end: Frame) -> list[int]:
    """Return the parities that are bits at some time: all of the start and of the end, and some in between."""
    frame = Frame(len(end.parities))
    found = dict.fromkeys([*frame.parities, *end.parities])
    most = len(found) + MOST_CANDIDATES
    for piece in work:
        if changes_frame(piece) and piece.when.mask:
            frame.cx(piece.when.mask.bit_length() - 1, piece.bits[0], int(piece.when.value != 0))
            if len(found) < most:
                found.setdefault(frame.parities[piece.bits[0]])
    return list(found)
