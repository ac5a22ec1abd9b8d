"""Splitting of complex matrices on one bit into a real rotation between phases, where phases are cheap.

The pieces that fusing leaves are mostly one-qubit gates between CX and CZ. As a complex matrix each costs 8
multiply-adds per amplitude. As diag(1, e^{iα}) · R · diag(1, e^{iβ}) the rotation R costs 4, and the phases commute
with the reads of
neighbours: they are delayed and merge into tables, α of one gate with β of the next.
"""

from __future__ import annotations

from qsim_ex.circuit.ops import ALWAYS, Entry, When, pattern
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.rewrite.fuse import numbered
from qsim_ex.planning.work import Work

_ROTATION = pattern("rrrr")
_PHASE = pattern("c")

MOST_ITEM_WORK = 1.0
"""The highest cost of an item at which a rotation and its share of a table are cheaper than one complex matrix."""


def rotate(work: list[Work], program: NumberProgram) -> list[Work]:
    """Return the work with complex one-bit matrices split up; it pays where an item costs `MOST_ITEM_WORK` or less."""
    out: list[Work] = []
    for piece in work:
        if splits(piece):
            numbers = program.euler(piece.source)
            bit = When(piece.mix, piece.mix)
            out.append(Work("diagonal", (), (), bit, _PHASE, numbers[5:6], piece.label))
            out.append(Work("mix", piece.bits, (), ALWAYS, _ROTATION, numbers[:4], piece.label))
            out.append(Work("diagonal", (), (), bit, _PHASE, numbers[4:5], piece.label))
            out.append(Work("diagonal", (), (), ALWAYS, _PHASE, numbers[6:7], "phase"))
        else:
            out.append(piece)
    return numbered(out)


def splits(piece: Work) -> bool:
    """Return whether a piece is a unitary matrix on one bit with complex numbers."""
    if not piece.unitary or piece.kind != "mix" or len(piece.bits) != 1 or piece.reads or piece.when.mask:
        return False
    return piece.pattern.count(Entry.COMPLEX) >= 3
