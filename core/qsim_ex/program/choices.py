"""Choices among matrices, readings of classical bits, and operations that depend on them.

Outcomes are stored in columns, one for each choice (see `run.branches`): choice k in column k, and readings, which
have no matrix, in the last columns, counted from the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Entry, Op, Pattern, plain


# It is never changed; but a noisy circuit has many, and a frozen one takes three times as long to make.
@dataclass(eq=False, slots=True)
class Choice:
    """A random choice among some matrices, one of which is applied.

    kind: 'measure' (|0⟩⟨0| or |1⟩⟨1|), 'reset' (|0⟩⟨0| or |0⟩⟨1|), or 'channel'.
    number: its place among the choices of the program, and its column of outcomes.
    stream: the key of its random numbers, see `Answers.streams`.
    wires: one for a measurement or reset. operand, count: of a channel, see `ops.Channel`.
    mixed: whether it is chosen before the first segment runs. product: whether each matrix is a product of 2×2
        matrices.
    """

    kind: Literal["measure", "reset", "channel"]
    number: int
    stream: int
    wires: tuple[int, ...]
    operand: int = 0
    count: int = 2
    mixed: bool = False
    product: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """A key that is equal for choices among the same matrices."""
        return self.kind, self.operand, self.count, len(self.wires), self.product

    @property
    def width(self) -> int:
        """The number of operands of the chosen matrix."""
        return sum(4 ** len(wires) for wires in self.groups)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The wires of each operation that applies the chosen matrix; a product has one operation for each wire."""
        return tuple((wire,) for wire in self.wires) if self.product else (self.wires,)


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """A reading of classical bits with their readout error, for a condition on them.

    clbits: the group of bits of one readout error. sources: the column of each bit's measurement; None for a bit that
        is 0. columns: the column of each bit's read value: −1, −2, … .
    measurement: which measurement into these bits is read, from 0. last: whether it is the last one of the circuit.
    given: the number of the bit among those that other parts of a circuit have measured, which is taken as it is; None
        for bits that are read with their error.
    """

    clbits: tuple[int, ...]
    sources: tuple[int | None, ...]
    columns: tuple[int, ...]
    measurement: int
    last: bool
    given: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Conditioned:
    """An operation under a condition on earlier outcomes; its operands are its matrix or 1.

    sources: for each bit of the condition the column that holds it; None for a bit that is 0.
    values: the values for which the operation is applied.
    """

    operation: Op
    sources: tuple[int | None, ...]
    values: tuple[int, ...]

    @property
    def width(self) -> int:
        """The number of operands of the operation."""
        return len(self.operation.pattern)

    def holds(self, outcomes: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether the condition holds in each branch, for outcomes [branches, columns]."""
        return np.isin(value_of(self.sources, outcomes), self.values)

    def identity(self) -> NDArray[np.complex128]:
        """Return the operands of a branch in which the condition does not hold."""
        size = 1 << len(self.operation.mixes)
        return np.tile(np.eye(size, dtype=np.complex128).reshape(-1), self.width // size**2)

    def classes(self) -> Pattern:
        """Return the class of each entry, which is the operation's entry or that of 1."""
        known = []
        for entry, is_one in zip(plain(self.operation.pattern), self.identity() == 1, strict=True):
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
    """Return the value of some classical bits in each branch, int64 [branches]; bit k is in column ``sources[k]``."""
    value = np.zeros(len(outcomes), dtype=np.int64)
    for k, source in enumerate(sources):
        if source is not None:
            value |= outcomes[:, source].astype(np.int64) << k
    return value


@dataclass(frozen=True, eq=False, slots=True)
class GatheredOperands:
    """The layout of a segment's operands: 0 and 1, some of the circuit's operands, and the chosen matrices.

    taken: which of the circuit's operands follow the constants 0 and 1.
    inserted: what follows them, each with its `width`: matrices that were chosen, and operations under a condition.
    total: the number of operands.
    """

    taken: NDArray[np.int64]
    inserted: tuple[Choice | Conditioned, ...]
    total: int
