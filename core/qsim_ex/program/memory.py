"""The classical memory of a program: the columns in which each branch keeps bits and variables.

Columns −1, −2, … stand behind those of the choices (see `choices.Reading`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.control import ControlFlow, Record, Store
from qsim_ex.circuit.ops import Instruction
from qsim_ex.later import later

if TYPE_CHECKING:
    from qsim_ex.circuit import classical
    from qsim_ex.circuit.classical import Token
else:
    classical = later("qsim_ex.circuit.classical")

Column = int | None
"""A column; None stands for a bit that is 0."""


NewColumns = Callable[[int], tuple[int, ...]]
"""Returns so many columns that nothing else has."""


class ClassicalMemory:
    """The columns of classical bits and variables, which live as long as a shot.

    Without control flow there is one basic block, which knows itself what it has measured: memory then holds only the
    bits that other parts of a circuit have measured, and all others are 0.
    records: label -> the width of what is recorded under it. history: in which each branch keeps the number of its last
    record, if there are records (see `run.history`).
    """

    def __init__(self, clbits: Iterable[int], instructions: Sequence[Instruction], new: NewColumns) -> None:
        self.bits = {clbit: new(1)[0] for clbit in clbits}
        self.records = {one.label: one.value.width for one in instructions if isinstance(one, Record)}
        self.history = new(8) if self.records else ()
        self._variables: dict[int, tuple[int, ...]] = {}
        for token in _variables(instructions):
            if token.value not in self._variables:
                self._variables[token.value] = new(classical.size_of(token.width))

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


NOTHING_KEPT = ClassicalMemory((), (), lambda _columns: ())
"""The memory of one basic block that is not given bits."""


def classical_memory(columns: tuple[int | None, ...], outcomes: NDArray[np.uint8], num_bytes: int) -> NDArray[np.uint8]:
    """Return the classical bits of each branch, packed: uint8 [branches, bytes].

    columns: of each bit the column of `outcomes` [branches, columns] that holds it; None for a bit that is 0.
    """
    found = np.zeros((len(outcomes), num_bytes), dtype=np.uint8)
    for clbit, column in enumerate(columns):
        if column is not None:
            found[:, clbit // 8] |= outcomes[:, column] << clbit % 8
    return found
