"""The classical memory of a program with loops: the columns in which each branch keeps bits, variables and flags.

Columns −1, −2, … stand behind those of the choices (see `choices.Reading`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qsim_ex.circuit.classical import Expression, Token, size_of
from qsim_ex.circuit.control import If, Record, Store, While
from qsim_ex.circuit.ops import Instruction

Column = int | None
"""A column; None stands for a bit that is 0."""


class ClassicalMemory:
    """The columns of classical bits and variables, which live as long as a shot, and of values between two markers.

    count: the number of columns so far. history: in which each branch keeps the number of its last record, if there are
    records (see `run.history`).
    """

    def __init__(self, num_clbits: int, instructions: Sequence[Instruction]) -> None:
        self.count = 0
        self._bits = self.new(num_clbits)
        self.history = self.new(8 * any(isinstance(one, Record) for one in instructions))
        self._variables: dict[int, tuple[int, ...]] = {}
        for token in _variables(instructions):
            if token.value not in self._variables:
                self._variables[token.value] = self.new(size_of(token.width))

    def new(self, columns: int) -> tuple[int, ...]:
        """Return new columns."""
        self.count += columns
        return tuple(range(-1 - self.count + columns, -1 - self.count, -1))

    def bit(self, clbit: int) -> int:
        """Return the column of a classical bit."""
        return self._bits[clbit]

    def variable(self, number: int) -> tuple[int, ...]:
        """Return the columns of a variable."""
        return self._variables[number]

    def columns(self, token: Token) -> tuple[Column, ...]:
        """Return the columns of classical bits or of a variable."""
        return self._variables[token.value] if token.op == "variable" else tuple([self._bits[c] for c in token.value])


def _variables(instructions: Iterable[Instruction]) -> Iterable[Token]:
    """Yield the variables that instructions read or write."""
    for instruction in instructions:
        read: Expression | None = None
        match instruction:
            case Store(target, read):
                if target.op == "variable":
                    yield target
            case If(read) | While(read) | Record(_, read):
                pass
            case _:
                continue
        if read is not None:
            yield from read.variables
