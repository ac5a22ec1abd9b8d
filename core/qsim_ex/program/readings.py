"""Readings of classical bits before the end, for conditions on bits with a readout error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from qsim_ex.circuit.ops import Instruction
from qsim_ex.errors import NotSupported
from qsim_ex.program.choices import Reading
from qsim_ex.program.memory import Column, NewColumns

Groups = tuple[tuple[int, ...], ...]
"""Groups of classical bits, one for each readout error; no bit is in two groups."""


class ReadingTracker:
    """Follows the classical bits of a circuit from instruction to instruction, and makes their readings.

    new_columns: returns the columns of a reading.
    """

    def __init__(self, groups: Groups, instructions: Sequence[Instruction], new_columns: NewColumns) -> None:
        self._new_columns = new_columns
        self._group = {clbit: group for group in groups for clbit in group}
        self._all = Counter(clbit for one in (instructions if groups else ()) for clbit in one.written_bits)
        self._times: Counter[int] = Counter()  # how often each bit was measured so far
        self._readings: dict[tuple[int, ...], Reading] = {}  # of the present values of the bits
        self._read: set[tuple[int, ...]] = set()  # the groups that were read, then or before

    def misreads(self, clbit: int) -> bool:
        """Return whether a bit has been measured and has a readout error."""
        return clbit in self._group and self._times[clbit] > 0

    def measured(self, clbits: Iterable[int]) -> None:
        """Note a measurement into some bits: earlier readings of them are outdated."""
        for clbit in clbits:
            if clbit in self._group:
                self._times[clbit] += 1
                self._readings.pop(self._group[clbit], None)

    def reading(self, clbit: int, recorded: Callable[[int], Column]) -> tuple[Reading, bool]:
        """Return the reading of a bit's group, and whether it is a new one; recorded: returns the column of a bit.

        Raises `NotSupported` if a bit of the group was not measured as often as the others.
        """
        group = self._group[clbit]
        if group in self._readings:
            return self._readings[group], False
        times = self._times[clbit]
        if unequal := [one for one in group if self._times[one] != times]:
            raise NotSupported(
                f"expected a condition on classical bit {clbit} after all bits of its readout error {list(group)} were "
                f"measured, got it while bit {unequal[0]} was measured {self._times[unequal[0]]} times and bit {clbit} "
                f"{times} times; measure them before the condition, or give each bit a readout error of its own."
            )
        columns = self._new_columns(len(group))
        sources = tuple([recorded(one) for one in group])
        made = Reading(group, sources, columns, times - 1, all(self._all[one] == times for one in group))
        self._readings[group] = made
        self._read.add(group)
        return made, True

    def current(self) -> dict[tuple[int, ...], dict[int, int]]:
        """Return the groups whose readings are up to date at the end, with the column of each bit.

        Raises `NotSupported` if a part of a group was measured again after a condition had read the group.
        """
        for group in self._read:
            if len({self._times[one] for one in group}) > 1:
                raise NotSupported(
                    f"expected a measurement of all bits of the readout error {list(group)} after a condition read "
                    f"them, got one of some (each was measured {[self._times[one] for one in group]} times); measure "
                    "them together, or give each bit a readout error of its own."
                )
        return {group: dict(zip(group, made.columns, strict=True)) for group, made in self._readings.items()}
