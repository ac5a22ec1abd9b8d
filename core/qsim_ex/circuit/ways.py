"""The definition of control flow for `reference`: every way through blocks and loops, one instruction at a time.

The state is a density matrix for each place in the circuit and each value of the classical memory. The earliest place
goes on first, so that ways that meet are added up. A loop is followed until what still goes round has a probability
that does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.classical import FLOAT, Expression, Token
from qsim_ex.circuit.control import Else, End, If, Leave, NextRound, Once, Record, Store, While, ends_of
from qsim_ex.circuit.ops import Instruction

Matrix = NDArray[np.complex128]

NOTHING = 1e-12
"""The probability below which a way through a circuit is not followed."""

MOST_STEPS = 200_000
"""The most steps of all ways together; a loop that ends so slowly is an error of the test."""


class BitsAndVariables(NamedTuple):
    """The classical bits as one integer, bit c that of classical bit c, and the values of all variables."""

    bits: int
    variables: tuple[float, ...]


Step = Callable[[Instruction, int, Matrix], Mapping[int, Matrix]]
"""Returns what a plain instruction makes of a density matrix, for each value of the bits after it."""


def follow(circuit: Circuit, rho: Matrix, step: Step) -> dict[int, Matrix]:
    """Return the density matrix at the end for each value of the classical bits; see `reference.by_bits`."""
    instructions = circuit.instructions
    ends, heads = ends_of(instructions), _heads(instructions)
    count = 1 + max((token.value for token in _variables(instructions)), default=-1)
    at: dict[tuple[int, BitsAndVariables], Matrix] = {(0, BitsAndVariables(0, (0,) * count)): rho}
    found: dict[int, Matrix] = {}
    for _ in range(MOST_STEPS):
        if not at:
            return found
        place, memory = min(at)
        one = at.pop((place, memory))
        if place == len(instructions):
            found[memory.bits] = found.get(memory.bits, 0) + one
            continue
        if np.trace(one).real < NOTHING:
            continue
        for to, after, made in _next(instructions, place, memory, one, ends, heads, step):
            at[to, after] = at.get((to, after), 0) + made
    raise ValueError(f"expected loops that end within {MOST_STEPS} steps, got longer ones; use fewer rounds.")


def _next(
    instructions: tuple[Instruction, ...],
    place: int,
    memory: BitsAndVariables,
    rho: Matrix,
    ends: Mapping[int, int],
    heads: Mapping[int, int],
    step: Step,
) -> list[tuple[int, BitsAndVariables, Matrix]]:
    """Return where a way goes on after an instruction, with its memory and its density matrix."""
    match instruction := instructions[place]:
        case If(condition) | While(condition):
            holds = condition is None or bool(value_of(condition, memory))
            return [(place + 1 if holds else ends[place] + 1, memory, rho)]
        case Else():  # the end of what was done because the condition held
            return [(ends[place], memory, rho)]
        case Once():
            return [(place + 1, memory, rho)]
        case End():
            head = heads[place]
            return [(head if isinstance(instructions[head], While) else place + 1, memory, rho)]
        case Leave(blocks):
            return [(ends[_around(instructions, heads, place)[blocks]] + 1, memory, rho)]
        case NextRound():
            return [(_around(instructions, heads, place)[0], memory, rho)]
        case Store(target, value):
            return [(place + 1, _stored(memory, target, value_of(value, memory)), rho)]
        case Record():  # which changes nothing
            return [(place + 1, memory, rho)]
        case _:
            made = step(instruction, memory.bits, rho)
            return [(place + 1, memory._replace(bits=bits), one) for bits, one in made.items()]


def _heads(instructions: tuple[Instruction, ...]) -> dict[int, int]:
    """Return for the place of each `End` that of the marker that opened its block."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for place, instruction in enumerate(instructions):
        if isinstance(instruction, If | While | Once):
            waiting.append(place)
        elif isinstance(instruction, End):
            found[place] = waiting.pop()
    return found


def _around(instructions: tuple[Instruction, ...], heads: Mapping[int, int], place: int) -> list[int]:
    """Return the places of the loops and blocks that may be left around a place, the innermost first."""
    return [
        head
        for end, head in sorted(heads.items())
        if head < place < end and isinstance(instructions[head], While | Once)
    ]


def _variables(instructions: tuple[Instruction, ...]) -> list[Token]:
    found = [one.target for one in instructions if isinstance(one, Store) and one.target.op == "variable"]
    for one in instructions:
        if isinstance(one, If | While) and one.condition is not None:
            found += one.condition.variables
        elif isinstance(one, Store | Record):
            found += one.value.variables
    return found


def _stored(memory: BitsAndVariables, target: Token, value: float) -> BitsAndVariables:
    if target.op == "variable":
        values = list(memory.variables)
        values[target.value] = value
        return memory._replace(variables=tuple(values))
    bits = memory.bits
    for k, clbit in enumerate(target.value):
        bits = bits & ~(1 << clbit) | (int(value) >> k & 1) << clbit
    return memory._replace(bits=bits)


def value_of(expression: Expression, memory: BitsAndVariables) -> float:
    """Return the value of an expression: an int, or a float for a token of width `FLOAT`."""
    stack: list[Any] = []
    for token in expression.code:
        match token.op:
            case "constant":
                found = token.value
            case "bits":
                found = sum((memory.bits >> clbit & 1) << k for k, clbit in enumerate(token.value))
            case "variable":
                found = memory.variables[token.value]
            case "not":
                found = not stack.pop()
            case "truth":
                found = bool(stack.pop())
            case "invert":
                found = ~stack.pop()
            case "negate":
                found = -stack.pop()
            case "cast":
                found = stack.pop()
            case "among":
                found = stack.pop() in token.value
            case _:
                right, left = stack.pop(), stack.pop()
                found = _BINARY[token.op](left, right)
        stack.append(float(found) if token.width == FLOAT else int(found) & (1 << token.width) - 1)
    (value,) = stack
    return float(value) if isinstance(value, float) else int(value)


def _divided(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        return left / right if right else left * np.inf
    return left // right if right else 0


_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "both": lambda a, b: bool(a) and bool(b),
    "either": lambda a, b: bool(a) or bool(b),
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "shift_left": lambda a, b: a << min(b, 1 << 16),
    "shift_right": lambda a, b: a >> b,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": _divided,
}
