"""Basic blocks: instructions without control flow between them, divided into segments and branch points.

An operation is done as early as its wires and the bits that it depends on allow: level k of a block is what happens up
to its k-th branch point, save, or state that is set. A circuit without control flow is one block; see `flow_block`
for one among others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from qsim_ex import thresholds
from qsim_ex.circuit.control import ControlFlow, Record, Store
from qsim_ex.circuit.ops import (
    Begin,
    Channel,
    Conditional,
    Initialize,
    Instruction,
    Measure,
    Op,
    Permutation,
    Reset,
    Save,
    mask_of,
)
from qsim_ex.circuit.saves import SAVE_KINDS
from qsim_ex.program.choices import Choice, Conditioned, Reading
from qsim_ex.program.division import BlockLevels, Division, OpenLevel
from qsim_ex.program.gathered import Piece
from qsim_ex.program.memory import Column
from qsim_ex.program.program import RandomInstruction


class BasicBlock:
    """One block; alone: whether no other block and no loop is around it, so that what it resets stays |0⟩.

    levels_after: how many branch points the wires of each instruction have passed after it, if that is kept.
    """

    def __init__(self, division: Division, *, alone: bool) -> None:
        self._division = division
        self._alone = alone
        self.levels_after: list[int] = []
        self.levels = BlockLevels()
        self._bits: dict[int, Column] = {}  # of the bits that were written in this block
        self._decided = dict(division.given)  # the level after which a column is known
        for number, (clbit, column) in enumerate(division.memory.bits.items() if division.given else ()):
            reading = Reading((clbit,), (None,), (column,), 0, last=False, given=number)
            self.levels.at(division.given[column], 0).readings.append(reading)

    def value(self, clbit: int) -> Column:
        """Return the column with the present value of a classical bit."""
        return self._bits[clbit] if clbit in self._bits else self._division.memory.bits.get(clbit)

    # --- instructions ------------------------------------------------------------------------------------------------

    def put(self, place: int, instruction: Instruction, acted: int, final: int) -> None:
        """Put one instruction into its level.

        acted: mask of the instruction's wires. final: of the wires whose measurement is moved to the end.
        """
        match instruction:
            case Op():
                self._gate(instruction, acted)
            case Permutation():
                self._work(acted).append(instruction)
            case Channel():
                self._channel(place, instruction, acted)
            case Conditional():
                self._conditional(place, instruction, acted)
            case Initialize(wires, _, cleared):
                if not cleared:
                    self._reset(place, wires, "initialising wires that were used before")
                self._work(acted).append(instruction)
            case Measure():
                self._measure(place, instruction, final)
                return  # a measurement alone leaves |0⟩ as it is
            case Reset(wires):
                self._reset(place, wires, "reset of wires that were used before")
                return
            case Begin(_, level, after):
                follows = 0 if after is None else self.levels_after[after]
                self.levels.at(max(level, follows, self.levels.reached(acted)), acted)
                return
            case Save():
                self._save(place, instruction)
                return  # a saved wire is not touched
            case Store() | Record() | ControlFlow():
                self._classical(instruction)
                return
            case _:
                self.levels.close(self.levels.reached(0), instruction)
        self._division.used |= acted
        self._division.touched |= acted

    def _classical(self, instruction: Store | Record | ControlFlow) -> None:
        """Put what only circuits with control flow have."""
        raise AssertionError(f"expected an instruction of a circuit without control flow, got {instruction!r}")

    def _gate(self, operation: Op, acted: int) -> None:
        """Put a gate without a condition of its own."""
        self._work(acted).append(operation)

    def _work(self, acted: int) -> list[Piece]:
        """Return the work of the level that some wires have reached, and raise all of them to it."""
        levels = self.levels
        return (levels.every[0] if levels.single else levels.at(levels.reached(acted), acted)).work

    def _random(self, feature: str, place: int, wires: int) -> None:
        """Note the first instruction with a random outcome."""
        if self._division.first_random is None:
            self._division.first_random = RandomInstruction(feature, place, wires)

    def _conditional(self, place: int, conditional: Conditional, acted: int) -> None:
        """Put an operation under a condition after the branch points of its bits; in a whole circuit others are 0."""
        operation, clbits, values = conditional.operation, conditional.clbits, conditional.values
        sources = tuple([self._read_value(clbit) for clbit in clbits])
        if not self._division.whole or any(source is not None for source in sources):
            self._random("an operation under a classical condition", place, acted)
            self._conditioned(operation, acted, sources, values)
        elif 0 in values:
            self._work(acted).append(operation)

    def _conditioned(self, operation: Op, acted: int, sources: tuple[Column, ...], values: tuple[int, ...]) -> None:
        """Put a gate after the branch points of the bits on which it depends."""
        level = max([self.levels.reached(acted), *self._known_after(sources)])
        self.levels.at(level, acted).work.append(Conditioned(operation, sources, values))

    def _known_after(self, columns: Iterable[Column]) -> list[int]:
        """Return for each column that is no constant the level at which its value may be used."""
        return [1 + self._decided.get(column, -1) for column in columns if column is not None]

    def _write(self, clbit: int, column: Column) -> None:
        self._division.measured.pop(clbit, None)
        self._division.written.add(clbit)
        self._bits[clbit] = column

    def _channel(self, place: int, channel: Channel, acted: int) -> None:
        division = self._division
        self._random("a noise channel", place, acted)
        early = channel.mixed and self._alone
        stream, number = division.structure.first_streams[place], len(division.choices)
        wires, at, count = channel.wires, channel.operand, channel.count
        choice = Choice("channel", number, stream, wires, at, count, early, channel.product)
        if early:
            division.choices.append(choice)
            self._work(acted).append(choice)
        else:
            self._ask(choice, self.levels.reached(acted))

    # --- measurements ------------------------------------------------------------------------------------------------

    def _measure(self, place: int, measure: Measure, final: int) -> None:
        division, wires, clbits = self._division, measure.wires, measure.clbits
        if division.reader is not None:
            division.reader.measured(clbits)
        for k, (wire, clbit) in enumerate(zip(wires, clbits, strict=True)):
            if final >> wire & 1:
                self._bits[clbit] = None
                division.measured.pop(clbit, None)
                division.measured[clbit] = wire
            elif not division.used >> wire & 1:
                self._write(clbit, None)
            else:
                self._random("measurement in the middle of a circuit", place, 1 << wire)
                self._write(clbit, len(division.choices))
                if measure.kept:
                    self._write(measure.kept[k], len(division.choices))
                    division.used &= ~(1 << wire)  # it is |0⟩ now
                self._project("reset" if measure.kept else "measure", place, k, wire)

    def _read_value(self, clbit: int) -> Column:
        """Return the column with the value that a condition reads; in a whole circuit misread bits are read now."""
        reader = self._division.reader
        if reader is None or not reader.misreads(clbit):
            return self.value(clbit)
        reading, new = reader.reading(clbit, self.value)
        if new:
            self._read(reading)
        return reading.columns[reading.clbits.index(clbit)]

    def _read(self, reading: Reading) -> None:
        """Read bits as soon as all of them are measured."""
        known = [self._decided[source] for source in reading.sources if source is not None]
        level = max(known, default=self.levels.lowest)
        self.levels.at(level, 0).readings.append(reading)
        self._decided.update(dict.fromkeys(reading.columns, level))

    def _reset(self, place: int, wires: Sequence[int], feature: str) -> None:
        division = self._division
        if used := mask_of(tuple(wires)) & division.used:
            self._random(feature, place, used)
        for k, wire in enumerate(wires):
            if division.used >> wire & 1:
                self._project("reset", place, k, wire)
                if self._alone:
                    division.used &= ~(1 << wire)  # it is |0⟩ again

    def _project(self, kind: Literal["measure", "reset"], place: int, number: int, wire: int) -> None:
        """Measure or reset a wire, the `number`-th of the instruction at a place."""
        division = self._division
        level = self.levels.reached(1 << wire)
        while level < len(self.levels.every) and self._is_full(self.levels.every[level], place):
            level += 1
        choice = Choice(kind, len(division.choices), division.structure.first_streams[place] + number, (wire,))
        if division.parts:
            division.place_of[choice] = place
        self._ask(choice, level)

    def _is_full(self, level: OpenLevel, place: int) -> bool:
        """Return whether as many wires as possible are measured after a level, of those that may be entangled.

        Wires of separate parts are not counted, so that a part is divided as it is when it runs alone.
        """
        parts, place_of = self._division.parts, self._division.place_of
        measured = [
            choice
            for choice in level.choices
            if choice.kind != "channel" and (not parts or parts[place_of[choice]] == parts[place])
        ]
        return len(measured) >= thresholds.now.jointly

    def _ask(self, choice: Choice, level: int) -> None:
        """Make a choice after the work of a level; the chosen matrix is the first work on its wires after that."""
        self._division.choices.append(choice)
        self._decided[choice.number] = level
        self.levels.at(level, 0).choices.append(choice)
        self.levels.at(level + 1, mask_of(choice.wires)).work.append(choice)

    # --- saves and states --------------------------------------------------------------------------------------------

    def _save(self, place: int, save: Save) -> None:
        division = self._division
        if SAVE_KINDS[save.what].gates_only:
            division.check_gates(place, save)
        level = self.levels.reached(0)
        if save.by_memory:
            columns = tuple([self._read_value(clbit) for clbit in range(division.structure.num_clbits)])
            division.saved[save.label] = columns
            level = max([level, *self._known_after(columns)])
        self.levels.close(level, save)
