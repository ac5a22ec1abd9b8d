"""Readings of classical bits before the end, for conditions on bits with a readout error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from qsim_ex.circuit.control import Store
from qsim_ex.circuit.ops import Conditional, Instruction, Measure, Save, Structure
from qsim_ex.errors import NotSupported
from qsim_ex.program.choices import Reading

Groups = tuple[tuple[int, ...], ...]
"""Groups of classical bits, one for each readout error; no bit is in two groups."""


@lru_cache(maxsize=256)
def reads_bits(structure: Structure) -> bool:
    """Return whether classical bits are read before the end, by a condition or by a save for each value of them."""
    if structure.has_control_flow:  # bits are read with their errors where they are measured
        return True
    return any(isinstance(i, Conditional) or (isinstance(i, Save) and i.by_memory) for i in structure.instructions)


@lru_cache(maxsize=256)
def unwritten_bits(structure: Structure) -> frozenset[int]:
    """Return the classical bits that no measurement and no store writes, so that they are 0 and nothing reads them."""
    written: set[int] = set()
    for instruction in structure.instructions:
        match instruction:
            case Measure(_, clbits):
                written.update(clbits)
            case Store(target) if target.op == "bits":
                written.update(target.value)
            case _:
                pass
    return frozenset(range(structure.num_clbits)) - written


class ReadingTracker:
    """Follows the classical bits of a circuit from instruction to instruction, and makes their readings.

    columns: the number of columns of the readings so far, and of the bits that are given.
    """

    def __init__(self, groups: Groups, instructions: Sequence[Instruction], given: int = 0) -> None:
        self.columns = given
        self._group = {clbit: group for group in groups for clbit in group}
        measures = (i for i in instructions if isinstance(i, Measure)) if groups else ()
        self._all = Counter(clbit for measure in measures for clbit in measure.clbits)
        self._times: Counter[int] = Counter()  # how often each bit was measured so far
        self._readings: dict[tuple[int, ...], Reading] = {}  # of the present values of the bits
        self._read: set[tuple[int, ...]] = set()  # the groups that were read, then or before

    def misreads(self, clbit: int) -> bool:
        """Return whether a bit has been measured and has a readout error."""
        return clbit in self._group and self._times[clbit] > 0

    def together(self, clbits: Iterable[int]) -> set[int]:
        """Return some bits, and all other bits of their readout errors."""
        return {one for clbit in clbits for one in self._group.get(clbit, (clbit,))}

    def measured(self, clbits: Iterable[int]) -> None:
        """Note a measurement into some bits: earlier readings of them are outdated."""
        for clbit in clbits:
            if clbit in self._group:
                self._times[clbit] += 1
                self._readings.pop(self._group[clbit], None)

    def reading(self, clbit: int, recorded: Mapping[int, int]) -> tuple[Reading, bool]:
        """Return the reading of a bit's group, and whether it is a new one; recorded: the column of each measured bit.

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
        columns = tuple(-1 - self.columns - k for k in range(len(group)))
        self.columns += len(group)
        sources = tuple(recorded.get(one) for one in group)
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
