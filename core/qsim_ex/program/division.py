"""What the basic blocks of a program share while a circuit is divided: its measurements at the end, levels and memory.

Final measurements are those that can be moved to the end of a circuit, where all shots of a state are drawn at once.
The levels of a basic block are its work up to each branch point, and the level that each wire has reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from qsim_ex.circuit.control import Store
from qsim_ex.circuit.instruction import StateNode
from qsim_ex.circuit.ops import Begin, Instruction, Measure, Op, Permutation, Save, mask_of, title_of, wires_of
from qsim_ex.circuit.structure import Structure, straight_work
from qsim_ex.errors import NotSupported
from qsim_ex.later import later
from qsim_ex.program.memory import NOTHING_KEPT, ClassicalMemory, Column
from qsim_ex.program.program import BranchPoint, ColumnWrite, Node, RandomInstruction, Segment, Work

if TYPE_CHECKING:
    from qsim_ex.program import gathered
    from qsim_ex.program import readings as tracking
    from qsim_ex.program.choices import Choice, Reading
    from qsim_ex.program.gates import Gates
    from qsim_ex.program.gathered import Piece
    from qsim_ex.program.readings import Groups
else:
    gathered = later("qsim_ex.program.gathered")
    tracking = later("qsim_ex.program.readings")

Given = tuple[tuple[int, int], ...]
"""Classical bits that are known, each with the branch point of the whole circuit after which it is."""

Group = tuple[int, ...]


def moved_to_the_end(
    instructions: Sequence[Instruction | Gates], acted: Sequence[int], observed: bool, group_of: Mapping[int, Group]
) -> list[int]:
    """Return for each measurement the mask of wires whose measurement there can be moved to the end; else anything.

    An operation that only reads a wire commutes with its measurement. A bit of a condition must be known before it.

    acted: the mask of each instruction's wires. observed: see `program_of`. group_of: the group of each bit with a
        readout error; all bits of one are read together.
    """
    first = next((place for place, one in enumerate(instructions) if type(one) is Measure), len(instructions))
    later, found = 0, [0] * first
    needed: set[int] = set()  # bits that are read before they are written again, or misread before a store writes one
    for place in range(len(instructions) - 1, first - 1, -1):
        instruction = instructions[place]
        found.append(~later)
        match instruction:
            case Measure(measured, clbits, kept):
                if kept:
                    found[-1] = 0
                elif needed:
                    found[-1] &= ~mask_of(tuple([w for w, c in zip(measured, clbits, strict=True) if c in needed]))
                needed.difference_update(clbits)
                later |= instruction.mixed_wires
            case Begin():
                pass
            case Save():
                later = -1  # the saved state is the one after the measurement
            case Store():
                needed.difference_update(instruction.written_bits)
                needed.update(misread_with(instruction.written_bits, group_of), instruction.read_bits)
            case _:
                later |= acted[place] if observed else instruction.mixed_wires
                if read := instruction.read_bits:
                    needed.update(read, misread_with(read, group_of))
    found[first:] = reversed(found[first:])
    return found


def misread_with(clbits: Iterable[int], group_of: Mapping[int, Group]) -> Iterator[int]:
    """Yield those of some bits that are misread, and all others that are misread with them."""
    for clbit in clbits:
        yield from group_of.get(clbit, ())


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
        return gathered.segment_from(self.work)

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


class Division:
    """What the basic blocks of a program share: its memory, choices, levels and results.

    whole: whether the circuit is one block, since it has no control flow.
    columns: how many columns stand behind those of the choices so far.
    used: mask of the wires that may not be |0⟩. touched: of those that may not be |0⟩ at the end.
    measured: classical bit -> the wire that is sampled into it at the end.
    written: the classical bits that were written on the way. read: the groups of bits that are not misread at the end:
        they were read on the way, if they were measured at all.
    saved: the columns of all bits at each save by memory. first_random: the first instruction with a random outcome.
    place_of: of measurements and resets the places of their instructions, if the circuit has separate parts.
    """

    def __init__(
        self, structure: Structure, touched: int, groups: Groups, parts: tuple[int, ...], given: Given
    ) -> None:
        self.structure = structure
        self.whole = not structure.has_control_flow
        self.parts = parts
        self.columns = 0
        self.memory = NOTHING_KEPT
        if not self.whole:
            self.memory = ClassicalMemory(range(structure.num_clbits), structure.instructions, self.new_columns)
        elif given:
            self.memory = ClassicalMemory([clbit for clbit, _ in given], (), self.new_columns)
        self.given = {column: level for column, (_, level) in zip(self.memory.bits.values(), given, strict=False)}
        self.choices: list[Choice] = []
        self.levels: list[OpenLevel] = []
        self.used = self.touched = touched
        self.measured: dict[int, int] = {}
        self.written: set[int] = set()
        self.read = set() if self.whole else {*groups}
        self.saved: dict[str, tuple[Column, ...]] = {}
        self.first_random: RandomInstruction | None = None
        self.place_of: dict[Choice, int] = {}
        self.group_of = {clbit: group for group in groups for clbit in group}
        self.times: Counter[tuple[int, ...]] = Counter()  # how often each group was measured so far
        self.reader = (
            tracking.ReadingTracker(groups, structure.instructions, self.new_columns) if groups and self.whole else None
        )

    def new_columns(self, columns: int) -> tuple[int, ...]:
        """Return columns that nothing else has: flags, readings, or what memory keeps."""
        self.columns += columns
        return tuple(range(-1 - self.columns + columns, -1 - self.columns, -1))

    def recorded(self, value: Callable[[int], Column]) -> dict[int, int]:
        """Return the column of each classical bit that was written on the way; value: returns the last one of a bit."""
        bits = {*self.memory.bits, *self.written} if self.whole else self.written
        return {clbit: column for clbit in sorted(bits - self.measured.keys()) if (column := value(clbit)) is not None}

    def groups_measured(self, clbits: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the groups of misread bits of a measurement among blocks; raises `NotSupported` for a part of one."""
        found = list(dict.fromkeys(self.group_of[clbit] for clbit in clbits if clbit in self.group_of))
        for group in found:
            if not {*group} <= {*clbits}:
                raise NotSupported(
                    f"expected a measurement of all bits of the readout error {list(group)} at once in a circuit with "
                    f"loops or blocks, got one of bits {list(clbits)}; measure them together, or give each bit a "
                    "readout error of its own."
                )
        return found

    def check_gates(self, place: int, save: Save) -> None:
        """Raise `NotSupported` unless all instructions before a save at a place are gates."""
        expected = f"expected only gates before the save of a {save.what} ({save.label!r}), got"
        if not self.whole:
            raise NotSupported(f"{expected} blocks or loops in the circuit; save a density_matrix instead.")
        for number, instruction in enumerate(self.structure.instructions[:place]):
            if not isinstance(instruction, Op | Permutation | Save):
                raise NotSupported(
                    f"{expected} {title_of(instruction)} as instruction {number}; save it before that instruction, or "
                    "save a density_matrix instead."
                )
