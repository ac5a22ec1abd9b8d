"""The oracle of programs with loops and variables: it records a program, and then follows every way through it.

A way is a place in the program with the values of all classical bits and variables, and the mixed state that belongs to
them. Plain statements are those of `oracle.Oracle`; blocks, loops and expressions are done by their definition.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from qsim_ex.errors import NotSupported
from tools.fuzz.numbers import Matrix
from tools.fuzz.oracle import NOTHING, Oracle, narrow

MOST_STEPS = 20_000
"""Programs with longer ways are not followed; one that was made smaller may go round for ever."""


class Memory(NamedTuple):
    """The classical bits, and the variables by their numbers."""

    bits: int
    variables: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """An unsigned integer of a width that depends on the memory. target: what a store writes."""

    width: int
    of: Callable[[Memory], int]
    target: Any = None

    def now(self, memory: Memory) -> int:
        """The value, cut to its width."""
        return int(self.of(memory)) & (1 << self.width) - 1

    def unary(self, op: str, width: int | None = None) -> Value:
        """What `Expression.unary` is."""
        found = {"not": lambda x: not x, "truth": bool, "invert": operator.inv, "negate": operator.neg}[op]
        return Value(self.width if width is None else width, lambda memory: found(self.now(memory)))

    def binary(self, op: str, other: Value) -> Value:
        """What `Expression.binary` is."""
        found = BINARY[op]
        width = 1 if op in COMPARISONS else self.width
        return Value(width, lambda memory: found(self.now(memory), other.now(memory)))

    def among(self, values: Sequence[int]) -> Value:
        """What `Expression.among` is."""
        return Value(1, lambda memory: self.now(memory) in values)

    def cast(self, width: int) -> Value:
        """What `Expression.cast` is."""
        return Value(width, self.now)


COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "both": lambda a, b: bool(a and b),
    "either": lambda a, b: bool(a or b),
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
BINARY: Mapping[str, Callable[[int, int], int]] = COMPARISONS | {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shift_left": lambda a, b: a << b if b < 1000 else 0,
    "shift_right": operator.rshift,
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": lambda a, b: a // b if b else 0,
}


def constant(value: int, width: int) -> Value:
    """A constant of a width in bits."""
    return Value(width, lambda _: value)


@dataclass(slots=True)
class _Statement:
    """A recorded statement: a call of the oracle, or where to go on."""

    kind: str
    given: Any = None
    ends: int = 0
    other: int | None = None


class LoopOracle:
    """Records a program as a circuit builder would read it; `follow` gives the oracle at its end."""

    def __init__(self, wires: int, misread: Mapping[tuple[int, ...], Any]) -> None:
        self._oracle = Oracle(wires, together=misread)
        self._statements: list[_Statement] = []
        self._open: list[int] = []
        self._variables = 0

    def __getattr__(self, name: str) -> Callable[..., LoopOracle]:
        def record(*given: Any, **named: Any) -> LoopOracle:
            self._statements.append(_Statement("call", (name, given, named)))
            return self

        return record

    @contextmanager
    def _block(self, kind: str, given: Any = None) -> Iterator[LoopOracle]:
        at = len(self._statements)
        self._open.append(at)
        self._statements.append(_Statement(kind, given))
        yield self
        self._open.pop()
        self._statements[at].ends = len(self._statements)
        if kind == "loop":
            self._statements.append(_Statement("again", at))

    def branch(self, condition: Value) -> Any:
        """A block under a condition."""
        return self._block("if", condition)

    def condition(self, clbits: Sequence[int], values: Sequence[int]) -> Any:
        """A block under a condition on bits."""
        return self._block("if", self.bits(clbits).among(tuple(values)))

    def otherwise(self) -> None:
        """The other part of a block."""
        self._statements[self._open[-1]].other = len(self._statements)
        self._statements.append(_Statement("else", self._open[-1]))

    def loop(self, condition: Value | None = None) -> Any:
        """A block that is repeated."""
        return self._block("loop", condition)

    def once(self) -> Any:
        """A block that may be left."""
        return self._block("once")

    def leave(self, blocks: int = 0) -> None:
        """Leave loops."""
        self._statements.append(_Statement("leave", [at for at in reversed(self._open) if self._leaves(at)][blocks]))

    def next_round(self) -> None:
        """Begin the next round."""
        self._statements.append(_Statement("again", next(at for at in reversed(self._open) if self._leaves(at))))

    def _leaves(self, at: int) -> bool:
        return self._statements[at].kind in ("loop", "once")

    def bits(self, clbits: Sequence[int]) -> Value:
        """The value of classical bits."""
        return Value(
            len(clbits),
            lambda memory: sum((memory.bits >> bit & 1) << k for k, bit in enumerate(clbits)),
            ("bits", tuple(clbits)),
        )

    def variable(self, width: int) -> Value:
        """A new variable."""
        number, self._variables = self._variables, self._variables + 1
        return Value(width, lambda memory: memory.variables[number], ("variable", number))

    def store(self, target: Value, value: Value) -> None:
        """Put a value into a variable or bits."""
        self._statements.append(_Statement("store", (target.target, value)))

    def follow(self) -> Oracle:
        """The oracle after all ways through the program."""
        (bits, state), *_ = self._oracle.branches.items()
        at = {(0, Memory(bits, (0,) * self._variables)): [state]}
        ended: dict[int, list[Matrix]] = {}
        for _ in range(MOST_STEPS):
            if not at:
                self._oracle.branches = {bits: _joined(parts) for bits, parts in ended.items()}
                return self._oracle
            place, memory = min(at)
            one = _joined(at.pop((place, memory)))
            if place == len(self._statements):
                ended.setdefault(memory.bits, []).append(one)
                continue
            for to, after, made in self._next(place, memory, one):
                at.setdefault((to, after), []).append(made)
        raise NotSupported(f"the oracle follows a program for {MOST_STEPS} steps")

    def _next(self, place: int, memory: Memory, state: Matrix) -> Iterator[tuple[int, Memory, Matrix]]:
        """Where a way goes on from a statement."""
        statement, to = self._statements[place], place + 1
        match statement.kind:
            case "call":
                name, given, named = statement.given
                self._oracle.branches = {memory.bits: state}
                getattr(self._oracle, name)(*given, **named)
                for bits, made in self._oracle.branches.items():
                    if np.vdot(made, made).real > NOTHING:
                        yield to, memory._replace(bits=bits), made
                return
            case "if" if not statement.given.now(memory):
                to = statement.ends if statement.other is None else statement.other + 1
            case "loop" if statement.given is not None and not statement.given.now(memory):
                to = statement.ends + 1
            case "else":
                to = self._statements[statement.given].ends
            case "again":
                to = statement.given
            case "leave":
                left = self._statements[statement.given]
                to = left.ends + (left.kind == "loop")
            case "store":
                memory = _stored(memory, *statement.given)
            case _:
                pass
        yield to, memory, state


def _stored(memory: Memory, target: Any, value: Value) -> Memory:
    kind, where = target
    found = value.now(memory)
    if kind == "variable":
        values = list(memory.variables)
        values[where] = found
        return memory._replace(variables=tuple(values))
    bits = memory.bits
    for k, bit in enumerate(where):
        bits = bits & ~(1 << bit) | (found >> k & 1) << bit
    return memory._replace(bits=bits)


def _joined(parts: list[Matrix]) -> Matrix:
    return parts[0] if len(parts) == 1 else narrow(np.concatenate(parts, axis=1))
