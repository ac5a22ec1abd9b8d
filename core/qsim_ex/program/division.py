"""What the basic blocks of a program share while a circuit is divided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from qsim_ex.circuit.ops import Op, Permutation, Save, title_of
from qsim_ex.circuit.structure import Structure
from qsim_ex.errors import NotSupported
from qsim_ex.program.choices import Choice
from qsim_ex.program.levels import OpenLevel
from qsim_ex.program.memory import ClassicalMemory, Column
from qsim_ex.program.program import RandomInstruction
from qsim_ex.program.readings import Groups, ReadingTracker

Given = tuple[tuple[int, int], ...]
"""Classical bits that are known, each with the branch point of the whole circuit after which it is."""


class Division:
    """What the basic blocks of a program share: its memory, choices, levels and results.

    whole: whether the circuit is one block, since it has no control flow.
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
        self.memory = ClassicalMemory(structure, [clbit for clbit, _ in given])
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
        self.reader = ReadingTracker(groups, structure.instructions, self.memory) if groups and self.whole else None

    def recorded(self, value: Callable[[int], Column]) -> dict[int, int]:
        """Return the column of each classical bit that was written on the way; value: returns the last one of a bit."""
        bits = {*self.memory.bits, *self.written} if self.whole else self.written
        return {clbit: column for clbit in sorted(bits - self.measured.keys()) if (column := value(clbit)) is not None}

    def groups_measured(self, clbits: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the groups of misread bits of a measurement among blocks; raises `NotSupported` for a part of one."""
        if self.whole:
            return []
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
        if not self.whole:
            raise NotSupported(
                f"expected only gates before the save of a {save.what} ({save.label!r}), got blocks or loops in the "
                "circuit; save a density_matrix instead."
            )
        for number, instruction in enumerate(self.structure.instructions[:place]):
            if not isinstance(instruction, Op | Permutation | Save):
                raise NotSupported(
                    f"expected only gates before the save of a {save.what} ({save.label!r}), got "
                    f"{title_of(instruction)} as instruction {number}; save it before that instruction, or save a "
                    "density_matrix instead."
                )
