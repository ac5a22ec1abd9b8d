"""Classical bits as parities of records: what measurements have found, and what expressions make of it.

A `Parity` is known from the beginning of a circuit to its end, whatever the shots find. An expression on classical
bits is looked at in all values of the parities that it reads, as `circuit.classical` computes it. If it is no parity
it is a `Test`, which is computed shot by shot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.classical import Expression, Token, as_bits, evaluate


class Samples(Protocol):
    """The records of some shots: uint8 [records, shots], or what gives each record when it is asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of records, and that of shots."""

    def __getitem__(self, record: int) -> NDArray[np.uint8]:
        """Return a record of all shots."""


MOST = 10
"""The most different parities that an expression is looked at in."""


@dataclass(frozen=True, slots=True)
class Parity:
    """The sum modulo 2 of some records and a constant. records: their numbers, from the first one of the circuit."""

    records: frozenset[int] = frozenset()
    constant: int = 0

    def plus(self, other: Parity) -> Parity:
        """Return the sum modulo 2 of two parities."""
        return Parity(self.records ^ other.records, self.constant ^ other.constant)

    def plus_one(self) -> Parity:
        """Return the opposite."""
        return Parity(self.records, 1 - self.constant)

    def of(self, samples: Samples) -> NDArray[np.uint8]:
        """Return the value in each shot."""
        found = np.full(samples.shape[1], self.constant, dtype=np.uint8)
        for record in self.records:
            found ^= samples[record]
        return found


ZERO = Parity()
ONE = Parity(constant=1)


@dataclass(frozen=True, slots=True)
class Test:
    """Whether an expression on columns is not 0, where column k is a parity, but the expression is none."""

    expression: Expression
    parities: tuple[Parity, ...]

    def plus_one(self) -> Test:
        """Return the opposite."""
        return Test(self.expression.invert(), self.parities)

    def of(self, samples: Samples) -> NDArray[np.uint8]:
        """Return 1 in each shot in which it is so, 0 in others."""
        outcomes = np.stack([parity.of(samples) for parity in self.parities], axis=1)
        return as_bits(evaluate(self.expression, outcomes), 1)[:, 0]


Condition = Parity | Test


def value_of(expression: Expression, known: Callable[[Token], Sequence[Parity]]) -> list[Parity] | None:
    """Return the bits of an expression's value, the least significant first; None if one is no parity of records.

    known: the bits of a token that reads classical bits or a variable.
    """
    if len(expression.code) == 1 and expression.code[0].op in ("bits", "variable"):
        return list(known(expression.code[0]))
    read = {token: known(token) for token in expression.code if token.op in ("bits", "variable")}
    free = list(dict.fromkeys(Parity(bit.records) for bits in read.values() for bit in bits if bit.records))
    if len(free) > MOST:
        return None
    # A column of outcomes for each free parity, then for its opposite, then 0 and 1.
    count = len(free)
    values = (np.arange(1 << count)[:, None] >> np.arange(count) & 1).astype(np.uint8)
    constants = np.tile(np.array([0, 1], dtype=np.uint8), (1 << count, 1))
    outcomes = np.concatenate([values, 1 - values, constants], axis=1)

    def column(bit: Parity) -> int:
        return free.index(Parity(bit.records)) + count * bit.constant if bit.records else 2 * count + bit.constant

    lowered = expression.lowered(lambda token: tuple([column(bit) for bit in read[token]]))
    found = as_bits(evaluate(lowered, outcomes), lowered.width)
    made = [_parity_of(bits, free) for bits in found.T]
    return None if any(bit is None for bit in made) else [bit for bit in made if bit is not None]


def condition_of(expression: Expression, known: Callable[[Token], Sequence[Parity]]) -> Condition:
    """Return whether an expression is not 0; known: the bits of a token that reads classical bits or a variable."""
    truth = expression.unary("truth", 1)
    if (found := value_of(truth, known)) is not None:
        return found[0]
    read = {token: known(token) for token in truth.code if token.op in ("bits", "variable")}
    parities = tuple(dict.fromkeys(bit for bits in read.values() for bit in bits))
    return Test(truth.lowered(lambda token: tuple([parities.index(bit) for bit in read[token]])), parities)


def _parity_of(bits: NDArray[np.uint8], free: Sequence[Parity]) -> Parity | None:
    """Return the parity whose values in all values of some free ones are known; None if there is none."""
    constant = int(bits[0])
    found = Parity(constant=constant)
    number, expected = np.arange(len(bits)), np.full(len(bits), constant, dtype=np.uint8)
    for k, one in enumerate(free):
        if bits[1 << k] != constant:
            found = found.plus(one)
            expected ^= (number >> k & 1).astype(np.uint8)
    return found if np.array_equal(bits, expected) else None
