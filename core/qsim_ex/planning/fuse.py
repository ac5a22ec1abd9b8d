"""Merging neighbours where that lowers the number of multiply-adds.

Two pieces of work are neighbours when nothing between them touches their bits. A piece whose bits all lie within
its neighbour's is multiplied into it if the product, judged by its pattern, costs no more than the two: RZ·SX·RZ
becomes one matrix, an RY beside an RZ stays (a real matrix and a phase are cheaper than a complex one).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import ONE_AT, ZERO_AT
from qsim_ex.circuit.ops import ALWAYS, Entry, Pattern, When, mask_of
from qsim_ex.planning import patterns
from qsim_ex.planning.numbers import NumberProgram
from qsim_ex.planning.work import Work, bits_of_mask

MOST_BITS = 2
"""Widest matrix that fusing makes: beyond two bits the multiply-adds double with each bit (CPU and GPU alike)."""

_TABLE_WORK = 3.0
"""What a phase costs beside other work: less than its multiplication, since phases merge into tables."""


def work_of(work: Work) -> float:
    """Multiply-adds for one amplitude, by pattern; conditions leave their share."""
    share = 0.5 ** work.when.mask.bit_count()
    match work.kind:
        case "rename":
            return 0.0
        case "diagonal":
            return min(_TABLE_WORK, patterns.diagonal_work(work.pattern) * share)
        case _:
            return patterns.mix_work(work.pattern, 1 << len(work.bits)) * share


class _Embedding(NamedTuple):
    """An operation as one dense matrix: for each entry its number in the operation's source, or −1 (0) or −2 (1)."""

    template: NDArray[np.int64]
    pattern: Pattern


@lru_cache(maxsize=16384)
def _embedding(
    of: Pattern, bits: tuple[int, ...], reads: tuple[int, ...], when: When, to: tuple[int, ...], num_bits: int
) -> _Embedding:
    """Write an operation on bits 0 … num_bits − 1 as a matrix [2^num_bits, 2^num_bits]."""
    size, inner = 1 << num_bits, 1 << len(bits)
    template = np.full((size, size), -1, dtype=np.int64)
    classes = np.full((size, size), Entry.ZERO, dtype=np.uint8)
    mixed = mask_of(bits)
    for column in range(size):
        if column & when.mask != when.value:
            template[column, column], classes[column, column] = -2, Entry.ONE
            continue
        c = sum((column >> bit & 1) << k for k, bit in enumerate(bits))
        block = sum(((column & mask).bit_count() & 1) << k for k, mask in enumerate(reads))
        for r in range(inner):
            row = column & ~mixed | sum((r >> k & 1) << bit for k, bit in enumerate(bits))
            if to:
                entry, kind = (-2, Entry.ONE) if to[c] == r else (-1, Entry.ZERO)
            else:
                entry = (block * inner + r) * inner + c
                kind = Entry(of[entry])
            template[row, column], classes[row, column] = entry, kind
    return _Embedding(template, classes.tobytes())


def _embed(work: Work, bits: tuple[int, ...]) -> tuple[NDArray[np.int64], Pattern]:
    """Places and pattern of a piece of work as a dense matrix on `bits`."""
    at = {bit: k for k, bit in enumerate(bits)}

    def local(mask: int) -> int:
        return sum(1 << at[bit] for bit in bits_of_mask(mask))

    template, of = _embedding(
        work.pattern if work.kind != "rename" else b"",
        tuple(at[b] for b in work.bits),
        tuple(local(m) for m in work.reads),
        When(local(work.when.mask), local(work.when.value)),
        work.to,
        len(bits),
    )
    places = np.where(template == -2, ONE_AT, ZERO_AT)
    if work.source.size:
        places = np.where(template >= 0, work.source[np.maximum(template, 0)], places)
    return places, of


def _merged(first: Work, second: Work, bits: tuple[int, ...], program: NumberProgram) -> Work | None:
    """`second` after `first` as one matrix on `bits`, if its pattern costs no more than the two."""
    left, left_pattern = _embed(second, bits)
    right, right_pattern = _embed(first, bits)
    of = patterns.product(left_pattern, right_pattern, 1)
    size = 1 << len(bits)
    if patterns.mix_work(of, size) > work_of(first) + work_of(second):
        return None
    level = 1 + max(first.level, second.level)
    source = program.product(left[None], right[None], level).reshape(-1)
    label = "·".join(filter(None, (second.label, first.label)))
    label = label if len(label) <= 40 else f"{label[:37]}…"
    return Work("mix", bits, (), ALWAYS, of, source, label, level=level)


def _dense(work: Work) -> bool:
    """Whether work may be the matrix that a neighbour is merged into."""
    return work.kind == "mix" and not work.reads and not work.when.mask and len(work.bits) <= MOST_BITS


def _small(work: Work) -> bool:
    return work.kind in ("mix", "diagonal", "rename") and 0 < len(work.touched) <= MOST_BITS


def fuse(work: list[Work], program: NumberProgram) -> list[Work]:
    """Return the work with neighbours merged; products are added to `program`."""
    kept: list[Work | None] = []
    last: dict[int, int] = {}  # bit -> position in `kept` of the last piece that touches it
    for piece in work:
        if not _small(piece):
            for bit in piece.touched:
                last[bit] = len(kept)
            kept.append(piece)
            continue
        piece, at = _absorb_before(piece, kept, last, program)
        if at is None:
            at = len(kept)
            kept.append(piece)
        else:
            kept[at] = piece
        for bit in piece.touched:
            last[bit] = at
    out = [piece for piece in kept if piece is not None]
    for order, piece in enumerate(out):
        piece.order = order
    return out


def _absorb_before(
    piece: Work, kept: list[Work | None], last: dict[int, int], program: NumberProgram
) -> tuple[Work, int | None]:
    """Merge `piece` with what stands just before it; the position it takes over, or None for a new one."""
    before = {last[bit] for bit in piece.touched if bit in last}
    if len(before) == 1:
        at = next(iter(before))
        earlier = kept[at]
        whole = earlier is not None and _dense(earlier) and piece.touch & ~earlier.touch == 0
        if earlier is not None and whole and all(bit in last for bit in piece.touched):
            merged = _merged(earlier, piece, earlier.bits, program)
            if merged is not None:
                return merged, at
    if _dense(piece):
        for at in sorted(before, reverse=True):
            earlier = kept[at]
            if earlier is None or not _small(earlier) or earlier.touch & ~piece.touch:
                continue
            if any(last[bit] != at for bit in earlier.touched):
                continue
            merged = _merged(earlier, piece, piece.bits, program)
            if merged is not None:
                kept[at] = None
                piece = merged
    return piece, None
