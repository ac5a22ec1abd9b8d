"""The levels of a basic block: its work up to each branch point, and the level that each wire has reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from qsim_ex.circuit.instruction import StateNode
from qsim_ex.circuit.ops import wires_of
from qsim_ex.circuit.structure import straight_work
from qsim_ex.program.choices import Choice, Reading
from qsim_ex.program.gathered import Piece, segment_from
from qsim_ex.program.program import BranchPoint, ColumnWrite, Node, Segment, Work


@dataclass(slots=True)
class OpenLevel:
    """The work up to a branch point, what is chosen, read and assigned there, or another node."""

    work: list[Piece] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    assignments: list[ColumnWrite] = field(default_factory=list)
    end: StateNode | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing happens, since the wires of other parts pass branch points here."""
        return not (self.work or self.choices or self.readings or self.assignments) and self.end is None

    def nodes(self) -> Iterator[Node]:
        """Yield the node after the work."""
        if self.choices or self.readings or self.assignments:
            yield BranchPoint(tuple(self.choices), tuple(self.readings), tuple(self.assignments))
        if self.end is not None:
            yield self.end

    def segment(self) -> Segment:
        """Return the work as a segment with operands of its own."""
        return segment_from(self.work)

    def plain(self) -> Segment:
        """Return work that has no choices among it as a segment whose operands are the circuit's."""
        return Segment(straight_work(cast(list[Work], self.work)))


class BlockLevels:
    """The levels of a block.

    every: those that are open. lowest: that after the last node on all wires. single: whether there is one level.
    """

    def __init__(self) -> None:
        self.every = [OpenLevel()]
        self.lowest = 0
        self.single = True
        self._of: dict[int, int] = {}

    def reached(self, wires: int) -> int:
        """Return the highest level of some wires; without wires (a global phase), the highest of all wires."""
        if self.single:
            return 0
        if not wires:
            return max(self._of.values(), default=self.lowest)
        return max([self._of.get(wire, self.lowest) for wire in wires_of(wires)])

    def at(self, level: int, wires: int) -> OpenLevel:
        """Return a level, and raise some wires to it."""
        while len(self.every) <= level:
            self.every.append(OpenLevel())
            self.single = False
        if level:
            for wire in wires_of(wires):
                self._of[wire] = level
        return self.every[level]

    def close(self, level: int, node: StateNode) -> None:
        """Put a node after the work of a level, and all that follows after it."""
        self.at(level, 0).end = node
        self._of.clear()
        self.lowest, self.single = level + 1, False
