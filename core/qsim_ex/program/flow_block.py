"""Basic blocks between the markers of control flow.

What such a block measures or stores has columns of its own; at its end they are written into the classical memory, from
which the other blocks read them. Gates under a condition that are all of a block are gates under a *flag*, the column
that holds whether the condition does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from qsim_ex.circuit.classical import Expression, Token, size_of
from qsim_ex.circuit.control import ControlFlow, Record, Store
from qsim_ex.circuit.ops import Measure, Op, mask_of
from qsim_ex.program.basic_block import BasicBlock
from qsim_ex.program.choices import Reading
from qsim_ex.program.division import Division
from qsim_ex.program.memory import Column
from qsim_ex.program.program import BranchPoint, ColumnWrite, Node, RecordWrite


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


class FlowBlock(BasicBlock):
    """One block among others."""

    def __init__(self, division: Division, *, alone: bool) -> None:
        super().__init__(division, alone=alone)
        self._before: list[ColumnWrite] = []
        self._variables: dict[int, tuple[Column, ...]] = {}
        self._flags: list[_Flag] = []
        self._records: list[RecordWrite] = []

    def nodes(self, *, last: bool) -> Iterator[Node]:
        """Yield the nodes of the block; the last one of a circuit need not write its memory."""
        if self._before:
            yield BranchPoint((), (), tuple(self._before))
        for level in self.levels.every:
            if level.work:
                yield level.segment()
            yield from level.nodes()
        written = () if last else tuple(self._written())
        if written or self._records:
            yield BranchPoint((), (), written, tuple(self._records))

    def _written(self) -> Iterable[ColumnWrite]:
        memory = self._division.memory
        clbits = sorted(self._bits)
        if clbits:
            yield _copy(tuple([memory.bits[clbit] for clbit in clbits]), tuple([self._bits[clbit] for clbit in clbits]))
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

    def _gate(self, operation: Op, acted: int) -> None:
        if self._flags:
            self._conditioned(operation, acted, (), (0,))
        else:
            super()._gate(operation, acted)

    def _conditioned(self, operation: Op, acted: int, sources: tuple[Column, ...], values: tuple[int, ...]) -> None:
        if self._flags:
            sources, values = (self._flags[-1].column, *sources), tuple([1 | value << 1 for value in values])
        super()._conditioned(operation, acted, sources, values)

    # --- classical memory --------------------------------------------------------------------------------------------

    def _classical(self, instruction: Store | Record | ControlFlow) -> None:
        match instruction:
            case Store(target, value):
                self._store(target, value)
            case Record(label, value):
                self._records.append(RecordWrite(label, self._assign(value.lowered(self._columns))))
            case _:
                raise AssertionError(f"expected an instruction of a basic block, got {instruction!r}")

    def _assign(self, expression: Expression) -> tuple[int, ...]:
        """Put the value of an expression on columns into new ones, as soon as it is known."""
        columns = self._division.new_columns(size_of(expression.width))
        level = max([self._decided.get(column, -1) for column in expression.columns], default=-1)
        assignments = self._before if level < 0 else self.levels.at(level, 0).assignments
        assignments.append(ColumnWrite(columns, expression))
        if level >= 0:
            self._decided.update(dict.fromkeys(columns, level))
        return columns

    def _columns(self, token: Token) -> tuple[Column, ...]:
        if token.op == "variable":
            return self._variables.get(token.value, self._division.memory.variable(token.value))
        return tuple([self.value(clbit) for clbit in token.value])

    def _store(self, target: Token, value: Expression) -> None:
        columns = self._assign(value.lowered(self._columns))
        if target.op == "variable":
            self._variables[target.value] = columns
        else:
            for clbit, column in zip(target.value, columns, strict=True):
                self._write(clbit, column)

    # --- measurements ------------------------------------------------------------------------------------------------

    def _measure(self, place: int, measure: Measure, final: int) -> None:
        division = self._division
        groups = division.groups_measured(measure.clbits)
        if groups and mask_of(measure.wires) & ~final:
            final = 0
        super()._measure(place, measure, final)
        for group in groups:
            if not final:
                self._read_at_once(group, division.times[group])
                division.read.add(group)
            else:
                division.read.discard(group)
            division.times[group] += 1

    def _read_at_once(self, group: tuple[int, ...], measurement: int) -> None:
        """Read bits with their readout error as soon as they are measured."""
        sources = tuple([self._bits[clbit] for clbit in group])
        columns = self._division.new_columns(len(group))
        self._read(Reading(group, sources, columns, measurement, last=False))
        self._bits.update(zip(group, columns, strict=True))


def _copy(to: tuple[int, ...], columns: tuple[Column, ...]) -> ColumnWrite:
    """Return the assignment of columns to others, bit by bit."""
    return ColumnWrite(to, Expression((Token("columns", len(columns), columns),)))
