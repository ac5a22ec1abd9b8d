"""What is decided while a circuit runs: choices among matrices, readings of classical bits, and what depends on them.

What was decided stands in columns, one for each choice (see `run.branches`): choice k in column k, and readings, which
belong to no matrix, in the last columns, counted from the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Entry, Op, Pattern


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """One of some matrices, to be chosen and applied.

    kind: 'measure' (|0⟩⟨0| or |1⟩⟨1|), 'reset' (|0⟩⟨0| or |0⟩⟨1|), or 'channel'.
    number: its place among the choices of the circuit, which its random numbers are keyed by.
    wires: one for a measurement or reset. operand, count: of a channel, see `ops.Channel`.
    mixed: whether it is chosen before anything runs. product: whether each matrix is a product of 2×2 matrices.
    """

    kind: Literal["measure", "reset", "channel"]
    number: int
    wires: tuple[int, ...]
    operand: int = 0
    count: int = 2
    mixed: bool = False
    product: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """The same for choices among the same matrices."""
        return self.kind, self.operand, self.count, len(self.wires), self.product

    @property
    def width(self) -> int:
        """How many numbers stand among the operands."""
        return sum(4 ** len(wires) for wires in self.groups)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The wires of each operation that it becomes: one for each wire if it is a product."""
        return tuple((wire,) for wire in self.wires) if self.product else (self.wires,)


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """Classical bits are read where a condition looks at them, and a readout error may misread them.

    clbits: the group that is misread together. sources: the column of each bit's measurement; None for a bit that is 0.
    columns: where what is read is written, one for each bit: −1, −2, … .
    measurement: which measurement into these bits it reads, from 0. last: whether it is the last one of the circuit.
    """

    clbits: tuple[int, ...]
    sources: tuple[int | None, ...]
    columns: tuple[int, ...]
    measurement: int
    last: bool


@dataclass(frozen=True, eq=False, slots=True)
class Conditioned:
    """An operation that is applied, or not, by what was decided before: among the operands stands its matrix or 1.

    sources: for each bit of the condition the column that holds it; None for a bit that is 0.
    values: those at which the operation is applied.
    """

    operation: Op
    sources: tuple[int | None, ...]
    values: tuple[int, ...]

    @property
    def width(self) -> int:
        """How many numbers stand among the operands."""
        return len(self.operation.pattern)

    def holds(self, outcomes: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Whether the condition holds, for what was decided, [branches, columns]."""
        return np.isin(value_of(self.sources, outcomes), self.values)

    def identity(self) -> NDArray[np.complex128]:
        """The numbers that stand there where the condition does not hold."""
        size = 1 << len(self.operation.mixes)
        return np.tile(np.eye(size, dtype=np.complex128).reshape(-1), self.width // size**2)

    def classes(self) -> Pattern:
        """What is known of entries that are an operation's or those of 1."""
        known = []
        for entry, is_one in zip(self.operation.pattern, self.identity() == 1, strict=True):
            match Entry(entry):
                case Entry.ZERO:
                    known.append(Entry.REAL if is_one else Entry.ZERO)
                case Entry.ONE:
                    known.append(Entry.ONE if is_one else Entry.REAL)
                case Entry.MINUS_ONE | Entry.REAL:
                    known.append(Entry.REAL)
                case Entry.IMAG:
                    known.append(Entry.COMPLEX if is_one else Entry.IMAG)
                case Entry.COMPLEX:
                    known.append(Entry.COMPLEX)
        return bytes(known)


def value_of(sources: tuple[int | None, ...], outcomes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The value of some classical bits in each branch, int64 [branches]; bit k stands in column ``sources[k]``."""
    value = np.zeros(len(outcomes), dtype=np.int64)
    for k, source in enumerate(sources):
        if source is not None:
            value |= outcomes[:, source].astype(np.int64) << k
    return value
