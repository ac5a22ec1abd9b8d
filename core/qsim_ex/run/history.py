"""What branches record on their way through a program with loops: a list under each label, of any length.

Records are numbered, and each names the one before it. So branches with equal records so far share them, whatever
they record later. A branch keeps the number of its last record in eight columns of its outcomes, which follow it
through forks, choices and joins; 0 stands for none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.program.program import RecordWrite
from qsim_ex.run.branches import Branches, Recorded

Numbers = NDArray[np.int64]

_NUMBER = np.dtype("<i8")


class _Entries(NamedTuple):
    """Records written together, one of each branch: their label, the records before them, and their values."""

    label: str
    before: Numbers
    bits: NDArray[np.uint8]


class History:
    """The records of the branches of one unit of work; columns: those with the number of a branch's last record."""

    def __init__(self, columns: Sequence[int]) -> None:
        self._columns = list(columns)
        self._entries: list[_Entries] = []
        self._count = 1

    def clear(self) -> None:
        """Forget all records, when no branch is left that has some."""
        self._entries.clear()
        self._count = 1

    def write(self, records: Sequence[RecordWrite], branches: Branches) -> Branches:
        """Append a value to some lists of each branch, and return the branches."""
        for label, columns in ((record.label, list(record.columns)) for record in records):
            self._entries.append(_Entries(label, self._last(branches), branches.outcomes[:, columns]))
            numbers = np.arange(self._count, self._count + len(branches), dtype=_NUMBER)
            self._count += len(branches)
            branches = branches.assigned(self._columns, numbers.view(np.uint8).reshape(-1, 8))
        return branches

    def of(self, branches: Branches, widths: Mapping[str, int]) -> Mapping[str, Recorded]:
        """Return what each branch has recorded under each label; widths: the bits of a value."""
        none = np.zeros(1, dtype=np.int64)
        before = np.concatenate([none, *[one.before for one in self._entries]])
        ways, at = [], self._last(branches)
        while at.any():
            ways.append(at)
            at = before[at]
        way = np.array(ways[::-1], dtype=np.int64).reshape(len(ways), len(branches)).T  # [branches, records]
        label = np.concatenate([none - 1, *[np.full(len(e.before), [*widths].index(e.label)) for e in self._entries]])
        place = np.zeros(self._count, dtype=np.int64)  # of each record among those of its label
        found = {}
        for number, (name, width) in enumerate(widths.items()):
            mine = label == number
            place[mine] = np.arange(mine.sum())
            bits = [one.bits for one in self._entries if one.label == name]
            values = np.concatenate(bits) if bits else np.zeros((0, width), dtype=np.uint8)
            here = mine[way]
            found[name] = Recorded(here.sum(axis=1), values[place[way[here]]])
        return found

    def _last(self, branches: Branches) -> Numbers:
        """Return the number of each branch's last record."""
        held = np.ascontiguousarray(branches.outcomes[:, self._columns])
        return held.view(_NUMBER).reshape(-1).astype(np.int64)
