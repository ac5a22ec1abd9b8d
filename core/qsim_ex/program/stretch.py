"""Stretches: the instructions between two markers of control flow, divided into segments and branch points.

As in `divide`, an operation is done as early as its wires and the bits that it depends on allow. What a stretch
measures or stores has columns of its own; at the end of the stretch it is written into the classical memory, from which
the other stretches read it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from qsim_ex.circuit import thresholds
from qsim_ex.circuit.classical import Expression, Token, size_of
from qsim_ex.circuit.control import Record, Store
from qsim_ex.circuit.ops import (
    Channel,
    Conditional,
    Initialize,
    Instruction,
    Measure,
    Op,
    Permutation,
    Reset,
    Save,
    SetState,
    mask_of,
    wires_acted_on,
    wires_of,
)
from qsim_ex.circuit.saves import KINDS
from qsim_ex.errors import NotSupported
from qsim_ex.program.choices import Choice, Conditioned, Reading, num_streams
from qsim_ex.program.gathered import Piece, segment_from
from qsim_ex.program.memory import ClassicalMemory, Column
from qsim_ex.program.program import BranchPoint, ColumnWrite, Node, RecordWrite
from qsim_ex.program.readings import Groups


@dataclass(slots=True)
class _Level:
    """The work up to a branch point, what is chosen, read and assigned there, or another end."""

    work: list[Piece] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    assignments: list[ColumnWrite] = field(default_factory=list)
    end: Save | SetState | None = None

    def nodes(self) -> Iterator[Node]:
        if self.work:
            yield segment_from(self.work)
        if self.choices or self.readings or self.assignments:
            yield BranchPoint(tuple(self.choices), tuple(self.readings), tuple(self.assignments))
        if self.end is not None:
            yield self.end


class Shared:
    """What the stretches of a program share: its memory, choices, levels and results.

    used: mask of the wires that may not be |0⟩. measured: classical bit -> the wire that is sampled into it at the end.
    written: the classical bits that were written on the way. read: the groups of bits that are not misread at the end:
        they were read on the way, if they were measured at all.
    saved: the columns of all bits at each save by memory.
    """

    def __init__(self, instructions: tuple[Instruction, ...], num_clbits: int, touched: int, groups: Groups) -> None:
        self.instructions = instructions
        self.num_clbits = num_clbits
        self.memory = ClassicalMemory(num_clbits, instructions)
        self.choices: list[Choice] = []
        self.levels: list[_Level] = []
        self.used = self.touched = touched
        self.measured: dict[int, int] = {}
        self.written: set[int] = set()
        self.read = {*groups}
        self.saved: dict[str, tuple[Column, ...]] = {}
        self.streams = list(accumulate(map(num_streams, instructions), initial=0))
        self.times: Counter[tuple[int, ...]] = Counter()  # how often each group was measured so far
        self._group = {clbit: group for group in groups for clbit in group}

    def together(self, clbits: Iterable[int]) -> set[int]:
        """Return those of some bits that are misread, and all others that are misread with them."""
        return {one for clbit in clbits for one in self._group.get(clbit, ())}

    def groups(self, clbits: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the groups of misread bits of a measurement; raises `NotSupported` if it measures a part of one."""
        found = list(dict.fromkeys(self._group[clbit] for clbit in clbits if clbit in self._group))
        for group in found:
            if not {*group} <= {*clbits}:
                raise NotSupported(
                    f"expected a measurement of all bits of the readout error {list(group)} at once in a circuit with "
                    f"loops or blocks, got one of bits {list(clbits)}; measure them together, or give each bit a "
                    "readout error of its own."
                )
        return found


@dataclass(frozen=True, slots=True)
class _Flag:
    """Where it is stored whether a condition holds, and whether it does not; the enclosing conditions included."""

    holds: int
    fails: int
    otherwise: bool = False

    @property
    def column(self) -> int:
        """The column of the present part of the block."""
        return self.fails if self.otherwise else self.holds


class Stretch:
    """One stretch; alone: whether no block and no loop is around it, so that what it resets stays |0⟩."""

    def __init__(self, shared: Shared, *, alone: bool) -> None:
        self._shared = shared
        self._alone = alone
        self._levels = [_Level()]
        self._before: list[ColumnWrite] = []
        self._level: dict[int, int] = {}  # of each wire
        self._lowest = 0
        self._bits: dict[int, Column] = {}  # of the bits that were written in this stretch
        self._variables: dict[int, tuple[Column, ...]] = {}
        self._decided: dict[int, int] = {}  # the level after which a column is known
        self._flags: list[_Flag] = []
        self._records: list[RecordWrite] = []

    # --- what is handed on -------------------------------------------------------------------------------------------

    def nodes(self, *, last: bool) -> Iterator[Node]:
        """Yield the nodes of the stretch; the last one of a circuit need not write its memory."""
        if self._before:
            yield BranchPoint((), (), tuple(self._before))
        for level in self._levels:
            yield from level.nodes()
        self._shared.levels += self._levels
        written = () if last else tuple(self._written())
        if written or self._records:
            yield BranchPoint((), (), written, tuple(self._records))

    def column(self, clbit: int) -> Column:
        """Return the column with the present value of a classical bit."""
        return self._bits[clbit] if clbit in self._bits else self._shared.memory.bit(clbit)

    def _written(self) -> Iterable[ColumnWrite]:
        memory = self._shared.memory
        clbits = sorted(self._bits)
        if clbits:
            yield _copy(tuple([memory.bit(clbit) for clbit in clbits]), tuple([self._bits[clbit] for clbit in clbits]))
        for number, columns in self._variables.items():
            yield _copy(memory.variable(number), columns)

    # --- conditions on gates alone -----------------------------------------------------------------------------------

    def begin(self, condition: Expression) -> None:
        """Begin gates under a condition."""
        lowered, outer = condition.lowered(self._columns), self._flags[-1].column if self._flags else None
        columns = []
        for holds in (lowered.unary("truth", 1), lowered.invert()):
            if outer is not None:
                holds = holds.binary("both", Expression((Token("columns", 1, (outer,)),)))
            columns.append(self._assign(holds)[0])
        self._flags.append(_Flag(columns[0], columns[1]))

    def otherwise(self) -> None:
        """Begin gates that are done if the condition does not hold."""
        flag = self._flags.pop()
        self._flags.append(_Flag(flag.holds, flag.fails, otherwise=True))

    def end(self) -> None:
        """End gates under a condition."""
        self._flags.pop()

    def _assign(self, expression: Expression) -> tuple[int, ...]:
        """Put the value of an expression on columns into new ones, as soon as it is known."""
        columns = self._shared.memory.new(size_of(expression.width))
        level = max([self._decided.get(column, -1) for column in expression.columns], default=-1)
        assignments = self._before if level < 0 else self._at(level, 0).assignments
        assignments.append(ColumnWrite(columns, expression))
        if level >= 0:
            self._decided.update(dict.fromkeys(columns, level))
        return columns

    def _columns(self, token: Token) -> tuple[Column, ...]:
        if token.op == "variable":
            return self._variables.get(token.value, self._shared.memory.variable(token.value))
        return tuple([self.column(clbit) for clbit in token.value])

    # --- instructions ------------------------------------------------------------------------------------------------

    def put(self, place: int, instruction: Instruction, final: int) -> None:
        """Put one instruction into its level; final: mask of the wires whose measurement is moved to the end."""
        shared, acted = self._shared, wires_acted_on(instruction)
        match instruction:
            case Op():
                if self._flags:
                    self._conditioned(instruction, (), (0,))
                else:
                    self._at(self._reached(acted), acted).work.append(instruction)
            case Conditional(operation, clbits, values):
                self._conditioned(operation, tuple([self.column(clbit) for clbit in clbits]), values)
            case Permutation():
                self._at(self._reached(acted), acted).work.append(instruction)
            case Channel():
                self._channel(place, instruction)
            case Initialize(wires, _, cleared):
                if not cleared:
                    self._reset(place, wires)
                self._at(self._reached(acted), acted).work.append(instruction)
            case Measure(wires, clbits):
                self._measure(place, wires, clbits, final)
                return
            case Reset(wires):
                self._reset(place, wires)
                return
            case Store(target, value):
                self._store(target, value)
                return
            case Record(label, value):
                self._records.append(RecordWrite(label, self._assign(value.lowered(self._columns))))
                return
            case SetState():
                self._end(instruction, self._reached(0))
            case Save():
                self._save(instruction)
                return
            case _:
                raise AssertionError(f"expected an instruction of a stretch, got {instruction!r}")
        shared.used |= acted
        shared.touched |= acted

    def _conditioned(self, operation: Op, sources: tuple[Column, ...], values: tuple[int, ...]) -> None:
        """Put a gate under the conditions of its own and of the blocks around it."""
        if self._flags:
            sources, values = (self._flags[-1].column, *sources), tuple([1 | value << 1 for value in values])
        known = [1 + self._decided.get(source, -1) for source in sources if source is not None]
        acted = wires_acted_on(operation)
        level = max([self._reached(acted), *known])
        self._at(level, acted).work.append(Conditioned(operation, sources, values))

    def _store(self, target: Token, value: Expression) -> None:
        columns = self._assign(value.lowered(self._columns))
        if target.op == "variable":
            self._variables[target.value] = columns
        else:
            for clbit, column in zip(target.value, columns, strict=True):
                self._write(clbit, column)

    def _write(self, clbit: int, column: Column) -> None:
        self._shared.measured.pop(clbit, None)
        self._shared.written.add(clbit)
        self._bits[clbit] = column

    def _channel(self, place: int, channel: Channel) -> None:
        shared = self._shared
        early = channel.mixed and self._alone
        number, acted = len(shared.choices), mask_of(channel.wires)
        stream, at, count = shared.streams[place], channel.operand, channel.count
        choice = Choice("channel", number, stream, channel.wires, at, count, early, channel.product)
        if early:
            shared.choices.append(choice)
            self._at(self._reached(acted), acted).work.append(choice)
        else:
            self._ask(choice, self._reached(acted))

    def _measure(self, place: int, wires: Sequence[int], clbits: Sequence[int], final: int) -> None:
        shared = self._shared
        groups = shared.groups(clbits)
        if groups and mask_of(tuple(wires)) & ~final:
            final = 0
        for k, (wire, clbit) in enumerate(zip(wires, clbits, strict=True)):
            if final >> wire & 1:
                self._bits.pop(clbit, None)
                shared.measured.pop(clbit, None)
                shared.measured[clbit] = wire
            elif shared.used >> wire & 1:
                self._write(clbit, len(shared.choices))
                self._project(Choice("measure", len(shared.choices), shared.streams[place] + k, (wire,)))
            else:
                self._write(clbit, None)
        for group in groups:
            if not final:
                self._read(group, shared.times[group])
                shared.read.add(group)
            else:
                shared.read.discard(group)
            shared.times[group] += 1

    def _read(self, group: tuple[int, ...], measurement: int) -> None:
        """Read bits with their readout error as soon as they are measured."""
        sources = tuple([self._bits[clbit] for clbit in group])
        columns = self._shared.memory.new(len(group))
        level = max([self._decided[source] for source in sources if source is not None], default=self._lowest)
        self._at(level, 0).readings.append(Reading(group, sources, columns, measurement, last=False))
        self._decided.update(dict.fromkeys(columns, level))
        self._bits.update(zip(group, columns, strict=True))

    def _reset(self, place: int, wires: Sequence[int]) -> None:
        shared = self._shared
        for k, wire in enumerate(wires):
            if shared.used >> wire & 1:
                self._project(Choice("reset", len(shared.choices), shared.streams[place] + k, (wire,)))
                if self._alone:
                    shared.used &= ~(1 << wire)

    def _project(self, choice: Choice) -> None:
        level = self._reached(1 << choice.wires[0])
        while level < len(self._levels) and self._is_full(self._levels[level]):
            level += 1
        self._ask(choice, level)

    def _is_full(self, level: _Level) -> bool:
        return sum(choice.kind != "channel" for choice in level.choices) >= thresholds.now.jointly

    def _ask(self, choice: Choice, level: int) -> None:
        """Make a choice after the work of a level; the chosen matrix is the first work on its wires after that."""
        self._shared.choices.append(choice)
        self._decided[choice.number] = level
        self._at(level, 0).choices.append(choice)
        self._at(level + 1, mask_of(choice.wires)).work.append(choice)

    # --- saves and states --------------------------------------------------------------------------------------------

    def _save(self, save: Save) -> None:
        if KINDS[save.what].gates_only:
            raise NotSupported(
                f"expected only gates before the save of a {save.what} ({save.label!r}), got blocks or loops in the "
                "circuit; save a density_matrix instead."
            )
        level = self._reached(0)
        if save.by_memory:
            columns = tuple([self.column(clbit) for clbit in range(self._shared.num_clbits)])
            self._shared.saved[save.label] = columns
            level = max([level, *(1 + self._decided.get(c, -1) for c in columns if c is not None)])
        self._end(save, level)

    def _end(self, node: Save | SetState, level: int) -> None:
        """Put a node after the work of a level, and all that follows after it."""
        self._at(level, 0).end = node
        self._level.clear()
        self._lowest = level + 1
        self._at(self._lowest, 0)

    # --- levels ------------------------------------------------------------------------------------------------------

    def _reached(self, wires: int) -> int:
        """Return the highest level of some wires; without wires (a global phase), the highest of all wires."""
        if not wires:
            return max(self._level.values(), default=self._lowest)
        return max(self._level.get(wire, self._lowest) for wire in wires_of(wires))

    def _at(self, level: int, wires: int) -> _Level:
        """Return a level, and raise some wires to it."""
        while len(self._levels) <= level:
            self._levels.append(_Level())
        for wire in wires_of(wires):
            self._level[wire] = level
        return self._levels[level]


def _copy(to: tuple[int, ...], columns: tuple[Column, ...]) -> ColumnWrite:
    """Return the assignment of columns to others, bit by bit."""
    return ColumnWrite(to, Expression((Token("columns", len(columns), columns),)))
