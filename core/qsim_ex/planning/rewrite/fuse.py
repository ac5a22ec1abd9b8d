"""Merging neighbours where that lowers the number of multiply-adds.

Two pieces of work are neighbours when nothing between them touches their bits. A piece whose bits all lie within
its neighbour's is multiplied into it if the product, judged by its pattern, costs no more than the two: RZ·SX·RZ
becomes one matrix, an RY beside an RZ stays (a real matrix and a phase are cheaper than a complex one).
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import ONE_AT, ZERO_AT
from qsim_ex.circuit.ops import ALWAYS, PLAIN, WITHOUT_EIGHTHS, Entry, Pattern, When, mask_of
from qsim_ex.planning import patterns
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.rewrite import trial
from qsim_ex.planning.work import Work

MOST_BITS = 2
"""The widest matrix that fusing makes: beyond two bits the multiply-adds double with each bit (CPU and GPU alike)."""

TABLE_WORK = 1.5
"""The cost of a phase beside other work: less than its multiplication, since phases merge into tables."""


def work_of(work: Work) -> float:
    """Return the multiply-adds per amplitude, by pattern; a condition counts the share of amplitudes where it holds."""
    share = 0.5 ** work.when.mask.bit_count()
    match work.kind:
        case "rename":
            return 0.0
        case "diagonal":
            return min(TABLE_WORK, patterns.diagonal_work(work.pattern) * share)
        case _:
            return patterns.mix_work(work.pattern, 1 << len(work.bits)) * share


class _Embedding(NamedTuple):
    """An operation as one dense matrix.

    template: for each entry 0 (the constant 0), 1 (the constant 1), or 2 + its number in the operation's source.
    """

    template: NDArray[np.int64]
    pattern: Pattern


@lru_cache(maxsize=16384)
def _embedding(
    of: Pattern, bits: tuple[int, ...], reads: tuple[int, ...], when: When, to: tuple[int, ...], num_bits: int
) -> _Embedding:
    """Return an operation on bits 0 … num_bits − 1 as a matrix [2^num_bits, 2^num_bits]."""
    size, inner = 1 << num_bits, 1 << len(bits)
    template = np.zeros((size, size), dtype=np.int64)
    classes = np.full((size, size), Entry.ZERO, dtype=np.uint8)
    mixed = mask_of(bits)
    for column in range(size):
        if column & when.mask != when.value:
            template[column, column], classes[column, column] = 1, Entry.ONE
            continue
        c = sum((column >> bit & 1) << k for k, bit in enumerate(bits))
        block = sum(((column & mask).bit_count() & 1) << k for k, mask in enumerate(reads))
        for r in range(inner):
            row = column & ~mixed | sum((r >> k & 1) << bit for k, bit in enumerate(bits))
            if to:
                template[row, column], classes[row, column] = (1, Entry.ONE) if to[c] == r else (0, Entry.ZERO)
            else:
                number = (block * inner + r) * inner + c
                template[row, column], classes[row, column] = 2 + number, of[number]
    return _Embedding(template, classes.tobytes())


_COMPLEX = bytes([Entry.COMPLEX])
_CONSTANTS = np.array([ZERO_AT, ONE_AT], dtype=np.int64)


def _embed(work: Work, bits: tuple[int, ...], *, known: bool = False) -> _Embedding:
    """Return a piece of work as a dense matrix on `bits`; known: with the numbers that are known."""
    own = work.bits == bits
    of = work.known if known and work.known is not None else work.pattern
    return _embedding(
        of if work.kind != "rename" else b"",
        tuple(range(len(bits))) if own else tuple([bits.index(bit) for bit in work.bits]),
        tuple([_local(mask, bits) for mask in work.reads]),
        When(_local(work.when.mask, bits), _local(work.when.value, bits)) if work.when.mask else ALWAYS,
        work.to,
        len(bits),
    )


def _local(mask: int, bits: tuple[int, ...]) -> int:
    """Return a mask of index bits as a mask of their places among `bits`."""
    return sum([1 << k for k, bit in enumerate(bits) if mask >> bit & 1])


def _factor(work: Work, bits: tuple[int, ...]) -> trial.Factor:
    """Return a piece of work as a dense matrix on `bits` at trial numbers, or as what they are drawn for."""
    template, of = _embed(work, bits, known=True)
    if work.trial is None:
        return of, np.concatenate((_CONSTANTS, work.source))[template]
    numbers = np.concatenate((trial.CONSTANTS, work.trial.reshape(len(work.trial), -1)), axis=1)
    taken: trial.Trial = numbers[:, template]
    return taken


def cancels(work: Work) -> bool:
    """Return whether something may cancel in products with a piece of work, which patterns do not show."""
    return work.trial is not None or (work.known is not None and bool(work.known.strip(trial.OTHERS)))


def _is_any(work: Work) -> bool:
    """Return whether work is a matrix of complex numbers of which nothing else is known: with it nothing cancels."""
    return work.trial is None and work.kind == "mix" and not work.pattern.strip(_COMPLEX)


def _places(work: Work, embedding: _Embedding) -> NDArray[np.int64]:
    """Return the places of the entries of an embedded piece of work in the number buffer: [1, size, size]."""
    return np.concatenate((_CONSTANTS, work.source))[embedding.template][None]


def _dense(work: Work) -> bool:
    """Return whether a piece of work is a matrix into which a neighbour may be multiplied."""
    return work.kind == "mix" and not work.reads and not work.when.mask and len(work.bits) <= MOST_BITS


def small(work: Work) -> bool:
    """Return whether work may be part of a matrix on `MOST_BITS` bits."""
    return work.kind in ("mix", "diagonal", "rename") and 0 < len(work.touched) <= MOST_BITS


class _Neighbours:
    """The work kept so far, and for each bit the pieces that touch it, the latest on top."""

    def __init__(self, program: NumberProgram, item_work: float) -> None:
        self.kept: dict[int, Work] = {}
        self.on_bit: defaultdict[int, list[int]] = defaultdict(list)
        self._program = program
        self._item_work = item_work

    def push(self, piece: Work, at: int) -> None:
        """Keep a piece at a position behind all others."""
        self.kept[at] = piece
        for bit in piece.touched:
            self.on_bit[bit].append(at)

    def pop(self, piece: Work) -> None:
        """Remove a piece that is on top of all its bits."""
        for bit in piece.touched:
            at = self.on_bit[bit].pop()
        del self.kept[at]

    def tops(self, piece: Work) -> set[int]:
        """Return the positions of the pieces just before this one on each of its bits; −1 stands for none."""
        return {stack[-1] if (stack := self.on_bit[bit]) else -1 for bit in piece.touched}

    def is_top(self, piece: Work, at: int) -> bool:
        """Return whether no later piece touches any bit of a piece."""
        return all(self.on_bit[bit][-1] == at for bit in piece.touched)

    def merged(self, pieces: list[Work], bits: tuple[int, ...], *, gain: bool) -> Work | None:
        """Return pieces, the earliest first, as one matrix on `bits` if it costs no more (with `gain`: less)."""
        before = sum([work_of(piece) + self._item_work for piece in pieces])
        return product_of(pieces, bits, self._program, self._item_work, before, less=gain)


def product_of(
    pieces: list[Work],
    bits: tuple[int, ...],
    program: NumberProgram,
    item_work: float,
    most: float,
    *,
    less: bool = False,
) -> Work | None:
    """Return pieces, the earliest first, as one matrix on `bits`; None if it costs more than `most`.

    less: whether it has to cost less.
    """
    embedded = [_embed(piece, bits) for piece in pieces]
    of = embedded[0].pattern
    for embedding in embedded[1:]:
        of = patterns.product(embedding.pattern, of, 1)
    made = _tried(pieces, bits)
    if made is not None:
        of = trial.without_zeros(of, made)
    cost = patterns.mix_work(of, 1 << len(bits)) + item_work
    if cost > most or (less and cost == most):
        return None
    if made is not None and not of.strip(_COMPLEX) and not np.array_equal(*made):
        made = None  # something is drawn in all of it, so seldom does anything cancel in products with it
    right, level = _places(pieces[0], embedded[0]), pieces[0].level
    for piece, embedding in zip(pieces[1:], embedded[1:], strict=True):
        level = 1 + max(level, piece.level)
        right = program.product(_places(piece, embedding), right, level)
    unitary = all(piece.unitary for piece in pieces)
    label = label_of(pieces)
    return Work("mix", bits, (), ALWAYS, of, right.reshape(-1), label, level=level, trial=made, unitary=unitary)


def _tried(pieces: list[Work], bits: tuple[int, ...]) -> trial.Trial | None:
    """Return the product of pieces, the earliest first, at trial numbers; None if nothing may cancel in it."""
    if not any(cancels(piece) for piece in pieces) or any(_is_any(piece) for piece in pieces):
        return None
    return trial.product([_factor(piece, bits) for piece in pieces])


def label_of(pieces: list[Work]) -> str:
    """Return the joined labels of pieces that became one, the latest first, as in a product of matrices."""
    label = "·".join(dict.fromkeys(piece.label for piece in reversed(pieces) if piece.label))
    return label if len(label) <= 40 else f"{label[:39]}…"


def fuse(work: list[Work], program: NumberProgram, item_work: float = 0.0) -> list[Work]:
    """Return the work with neighbours merged; products are added to `program`.

    item_work: multiply-adds per amplitude that every piece costs beside its arithmetic (loads and stores in a tile).
    """
    neighbours = _Neighbours(program, item_work)
    for at, piece in enumerate(work):
        known = piece.pattern.translate(WITHOUT_EIGHTHS)
        piece.pattern = known.translate(PLAIN)
        if known != piece.pattern:
            piece.known = known
        left = _settle(piece, neighbours) if small(piece) else piece
        if left is not None:
            neighbours.push(left, at)
    return numbered(list(neighbours.kept.values()))


def numbered(work: list[Work]) -> list[Work]:
    """Return the same work, with the order and the cost of each piece set."""
    for order, piece in enumerate(work):
        piece.order = order
        piece.work = work_of(piece) if piece.kind in ("mix", "diagonal") else 0.0
    return work


def _settle(piece: Work, neighbours: _Neighbours) -> Work | None:
    """Merge a piece with the pieces just before it; return the piece to keep, or None if it was merged into another."""
    while True:
        tops = neighbours.tops(piece)
        if len(tops) == 1 and _into_earlier(piece, max(tops), neighbours):
            return None
        grown = _with_earlier(piece, tops, neighbours) if _dense(piece) else None
        grown = grown or _run(piece, neighbours)
        if grown is None:
            return piece
        piece = grown


def _into_earlier(piece: Work, at: int, neighbours: _Neighbours) -> bool:
    """Multiply a piece into the one matrix before it that covers all its bits; return whether that was done."""
    earlier = neighbours.kept.get(at)
    if earlier is None or not _dense(earlier) or piece.touch & ~earlier.touch:
        return False
    merged = neighbours.merged([earlier, piece], earlier.bits, gain=not _dense(piece) and len(earlier.bits) == 1)
    if merged is None:
        return False
    neighbours.kept[at] = merged
    return True


def _with_earlier(piece: Work, tops: set[int], neighbours: _Neighbours) -> Work | None:
    """Return a matrix with an earlier piece within its bits multiplied into it, None if none gains."""
    for at in sorted(tops, reverse=True):
        earlier = neighbours.kept.get(at)
        if earlier is None or not small(earlier) or earlier.touch & ~piece.touch:
            continue
        if not neighbours.is_top(earlier, at):
            continue
        gain = len(piece.bits) == 1 and not _dense(earlier)
        merged = neighbours.merged([earlier, piece], piece.bits, gain=gain)
        if merged is not None:
            neighbours.pop(earlier)
            return merged
    return None


def _run(piece: Work, neighbours: _Neighbours) -> Work | None:
    """Return one matrix of three consecutive pieces on one bit, such as SX·RZ·SX, where no two of them gain."""
    if len(piece.touched) != 1:
        return None
    stack = neighbours.on_bit[piece.touched[0]]
    before = [neighbours.kept[at] for at in stack[-2:]]
    if len(before) < 2 or any(len(p.touched) != 1 or not small(p) for p in before):
        return None
    merged = neighbours.merged([*before, piece], piece.touched, gain=True)
    if merged is not None:
        neighbours.pop(before[1])
        neighbours.pop(before[0])
    return merged
