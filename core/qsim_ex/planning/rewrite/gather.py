"""Phases of the same parities become one.

Phases commute with each other, and with all that only reads their bits. So of two phases that read the same parities
under the same condition, with nothing between them that mixes these bits, one is left. A transpiler writes CP as three
RZ around two CX: what `cancel` makes of a QFT has a phase on a pair of bits for each CP, and two on one bit, which all
are one for each bit. Then such a circuit has as many pieces as the one that it was made of, and is planned as well.
"""

from __future__ import annotations

from dataclasses import replace

from qsim_ex.circuit.ops import When
from qsim_ex.planning import patterns
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.rewrite.fuse import TABLE_WORK, label_of, numbered
from qsim_ex.planning.work import Work

_BITS = 64

_WEIGHED = (0.0, TABLE_WORK, 0.5)
"""The most that a phase costs in a schedule, by the number of bits that it touches, the last for all others: one that
touches none is part of any table, and a table has nine phases of pairs with one bit, as in a QFT, but fewer of one."""


def gather(work: list[Work], program: NumberProgram, *, cheap: bool) -> list[Work]:
    """Return the work with phases joined, each where the first of them was; products are added to `program`.

    cheap: whether items cost little beside their arithmetic. Then phases of the whole state are joined, too.
    """
    kept: list[list[Work]] = []
    latest: dict[tuple[tuple[int, ...], When], int] = {}
    mixed = [-1] * _BITS  # for each bit, the number of the last piece that mixes it
    for piece in work:
        if piece.kind == "diagonal" and (cheap or piece.touch):
            key = piece.reads, piece.when
            at = latest.get(key, -1)
            if at >= 0 and all(mixed[bit] < at for bit in piece.touched):
                kept[at].append(piece)
                continue
            latest[key] = len(kept)
        for bit in piece.bits:
            mixed[bit] = len(kept)
        kept.append([piece])
    return numbered([_joined(group, program) for group in kept]) if len(kept) < len(work) else work


def weighed(work: list[Work]) -> list[Work]:
    """Return the same work, in which phases cost what they take as a part of a table."""
    for piece in work:
        if piece.kind == "diagonal":
            piece.work = min(piece.work, _WEIGHED[min(len(piece.touched), len(_WEIGHED) - 1)])
    return work


def _joined(group: list[Work], program: NumberProgram) -> Work:
    """Return the product of phases: of neighbours, then of these products, so that all of a level are made at once."""
    while len(group) > 1:
        pairs = zip(group[::2], group[1::2], strict=False)
        group = [_product(*pair, program) for pair in pairs] + group[len(group) & ~1 :]
    return group[0]


def _product(first: Work, then: Work, program: NumberProgram) -> Work:
    level = 1 + max(first.level, then.level)
    left, right = (piece.source.reshape(-1, 1, 1) for piece in (then, first))
    return replace(
        first,
        source=program.product(left, right, level).reshape(-1),
        pattern=patterns.elementwise((first.pattern, then.pattern)),
        label=label_of([first, then]),
        level=level,
        unitary=first.unitary and then.unitary,
    )
