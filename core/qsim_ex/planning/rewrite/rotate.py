"""Phases: those of the same parities become one, and complex matrices on one bit are split up where phases are cheap.

Phases commute with each other, and with all that only reads their bits. So of two phases that read the same parities
under the same condition, with nothing between them that mixes these bits, one is left. A transpiler writes CP as three
RZ around two CX: what `cancel` makes of a QFT has a phase on a pair of bits for each CP, and two on one bit, which all
are one for each bit. Then such a circuit has as many pieces as the one that it was made of, and is planned as well.

The pieces that fusing leaves are mostly one-qubit gates between CX and CZ. As a complex matrix each costs 8
multiply-adds per amplitude. As diag(1, e^{iα}) · R · diag(1, e^{iβ}) the rotation R costs 4, and the phases commute
with the reads of
neighbours: they are delayed and merge into tables, α of one gate with β of the next.

Two such matrices on two bits are mostly RXX·RYY·RZZ as transpilers write it. Where trial numbers show that one or both
of the phases are not needed beside an imaginary rotation [c, is; is, c], it is that: such pairs are what kernels apply
with half of the multiply-adds (`kernels.cuda.write.pivots`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from qsim_ex.circuit.circuit import ONE_AT, ZERO_AT
from qsim_ex.circuit.ops import ALWAYS, Entry, When, pattern
from qsim_ex.planning import patterns
from qsim_ex.planning.numbers.program import NumberProgram, Places
from qsim_ex.planning.rewrite import trial
from qsim_ex.planning.rewrite.fuse import label_of, numbered
from qsim_ex.planning.work import Work

_ROTATION = pattern("rrrr")
_PHASE = pattern("c")

_ROTATIONS = {1: pattern("rr00rr0000rr00rr"), 2: pattern("r0r00r0rr0r00r0r"), 3: pattern("r00r0rr00rr0r00r")}
"""Two rotations on two bits, by what the values differ that they mix."""

_IMAGINARY = {1: pattern("ri00ir0000ri00ir"), 2: pattern("r0i00r0ii0r00i0r"), 3: pattern("r00i0ri00ir0i00r")}
"""The same with imaginary rotations."""

_TELLS = {1: 2, 2: 1, 3: 3}
"""The bits whose parity says which of the two it is."""


_BITS = 64


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


def rotate(work: list[Work], program: NumberProgram) -> list[Work]:
    """Return the work with complex one-bit matrices split up; it pays where items cost little (`item_work`)."""
    out: list[Work] = []
    for piece in work:
        apart = direction(piece)
        if apart:
            out += _two(piece, apart, program)
        elif splits(piece):
            numbers = program.euler(piece.source)
            bit = When(piece.mix, piece.mix)
            out.append(Work("diagonal", (), (), bit, _PHASE, numbers[5:6], piece.label))
            out.append(Work("mix", piece.bits, (), ALWAYS, _ROTATION, numbers[:4], piece.label))
            out.append(Work("diagonal", (), (), bit, _PHASE, numbers[4:5], piece.label))
            out.append(Work("diagonal", (), (), ALWAYS, _PHASE, numbers[6:7], "phase"))
        else:
            out.append(piece)
    return numbered(out)


def _two(piece: Work, apart: int, program: NumberProgram) -> list[Work]:
    """Return two complex matrices on two bits, each on values that differ by `apart`, as rotations between phases."""
    source, reads = piece.source.reshape(4, 4), tuple(1 << bit for bit in piece.bits)
    rotation, phases = np.full((4, 4), ZERO_AT, dtype=np.int64), np.full((2, 4), ONE_AT, dtype=np.int64)
    blocks = [np.ix_((low, low ^ apart), (low, low ^ apart)) for low in (0, 2 if apart == 1 else 1)]
    before, after = _phases(piece.trial, blocks)
    imaginary, scales = not (before and after), []
    for block in blocks:
        places, high = source[block], block[0][1, 0]
        numbers = program.euler((places.T if imaginary and after else places).reshape(-1), imaginary=imaginary)
        rotation[block] = numbers[:4].reshape(2, 2)
        phases[:, high] = numbers[5], numbers[5 if imaginary else 4]
        scales.append(numbers[6])
    of = pattern("".join("1c"[int(place != ONE_AT)] for place in phases[0]))
    which = sum([1 << bit for k, bit in enumerate(piece.bits) if _TELLS[apart] >> k & 1])
    turned = (_IMAGINARY if imaginary else _ROTATIONS)[apart]
    made = [Work("mix", piece.bits, (), ALWAYS, turned, rotation.reshape(-1), piece.label)]
    if before:
        made.insert(0, Work("diagonal", (), reads, ALWAYS, of, phases[0], piece.label))
    if after:
        made.append(Work("diagonal", (), reads, ALWAYS, of, phases[1], piece.label))
    return [*made, Work("diagonal", (), (which,), ALWAYS, pattern("cc"), np.array(scales), piece.label)]


def _phases(made: trial.Trial | None, blocks: Sequence[tuple[Places, ...]]) -> tuple[bool, bool]:
    """Return whether imaginary rotations need phases before them, and behind them, to be these blocks of a matrix.

    With [a, b; c, d] = e^{iγ} · diag(1, e^{iα}) · [cos φ, i sin φ; i sin φ, cos φ] · diag(1, e^{iβ}) it is
    cd = e^{2iα}·ab and bd = e^{2iβ}·ac, and −1 may be part of the rotation.
    """
    if made is None:
        return True, True
    found = [made[:, rows, columns].reshape(-1, 4).T for rows, columns in blocks]
    before = not all(trial.same(a * c, b * d) for a, b, c, d in found)
    return before, not all(trial.same(a * b, c * d) for a, b, c, d in found)


def direction(piece: Work) -> int:
    """Return by what values differ that a piece mixes, if it is two complex matrices on two bits; 0 for others."""
    if not piece.unitary or piece.kind != "mix" or len(piece.bits) != 2 or piece.reads or piece.when.mask:
        return 0
    for apart, of in _ROTATIONS.items():
        if bytes(map(bool, of)) == bytes(map(bool, piece.pattern)):
            return apart if piece.pattern.count(Entry.COMPLEX) >= 6 else 0
    return 0


def splits(piece: Work) -> bool:
    """Return whether a piece is a unitary matrix on one bit with complex numbers."""
    if not piece.unitary or piece.kind != "mix" or len(piece.bits) != 1 or piece.reads or piece.when.mask:
        return False
    return piece.pattern.count(Entry.COMPLEX) >= 3
