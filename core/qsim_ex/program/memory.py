"""The classical memory of a program: the columns in which each branch keeps bits, variables and flags.

Columns −1, −2, … stand behind those of the choices (see `choices.Reading`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.classical import Token, size_of
from qsim_ex.circuit.control import ControlFlow, Record, Store
from qsim_ex.circuit.ops import Instruction
from qsim_ex.circuit.structure import Structure

Column = int | None
"""A column; None stands for a bit that is 0."""


class ColumnCounter:
    """Columns behind those of the choices; count: their number so far."""

    def __init__(self) -> None:
        self.count = 0

    def new(self, columns: int) -> tuple[int, ...]:
        """Return new columns."""
        self.count += columns
        return tuple(range(-1 - self.count + columns, -1 - self.count, -1))


class ClassicalMemory(ColumnCounter):
    """The columns of classical bits and variables, which live as long as a shot, and of values between two markers.

    Without control flow there is one basic block, which knows itself what it has measured: memory then holds only the
    bits that other parts of a circuit have measured, and all others are 0.
    records: label -> the width of what is recorded under it. history: in which each branch keeps the number of its last
    record, if there are records (see `run.history`).
    """

    def __init__(self, structure: Structure, given: Sequence[int]) -> None:
        super().__init__()
        kept = range(structure.num_clbits) if structure.has_control_flow else given
        self.bits = dict(zip(kept, self.new(len(kept)), strict=True))
        read = structure.instructions if structure.has_control_flow else ()
        self.records = {one.label: one.value.width for one in read if isinstance(one, Record)}
        self.history = self.new(8 if self.records else 0)
        self._variables: dict[int, tuple[int, ...]] = {}
        for token in _variables(read):
            if token.value not in self._variables:
                self._variables[token.value] = self.new(size_of(token.width))

    def variable(self, number: int) -> tuple[int, ...]:
        """Return the columns of a variable."""
        return self._variables[number]

    def columns(self, token: Token) -> tuple[Column, ...]:
        """Return the columns of classical bits or of a variable."""
        return self._variables[token.value] if token.op == "variable" else tuple([self.bits[c] for c in token.value])


def _variables(instructions: Iterable[Instruction]) -> Iterable[Token]:
    """Yield the variables that instructions read or write."""
    for instruction in instructions:
        if isinstance(instruction, Store) and instruction.target.op == "variable":
            yield instruction.target
        if isinstance(instruction, ControlFlow) and instruction.read_expression is not None:
            yield from instruction.read_expression.variables


def classical_memory(columns: tuple[int | None, ...], outcomes: NDArray[np.uint8], num_bytes: int) -> NDArray[np.uint8]:
    """Return the classical bits of each branch, packed: uint8 [branches, bytes].

    columns: of each bit the column of `outcomes` [branches, columns] that holds it; None for a bit that is 0.
    """
    found = np.zeros((len(outcomes), num_bytes), dtype=np.uint8)
    for clbit, column in enumerate(columns):
        if column is not None:
            found[:, clbit // 8] |= outcomes[:, column] << clbit % 8
    return found
