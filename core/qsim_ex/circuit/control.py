"""Control flow of a circuit: markers among its instructions that open, divide and close blocks.

A circuit stays one flat row of instructions, so blocks may be nested to any depth: nothing that walks through a circuit
calls itself. `builder.CircuitBuilder` checks that every block is closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qsim_ex.circuit.instruction import Answers

if TYPE_CHECKING:
    from qsim_ex.circuit.classical import Expression, Token


@dataclass(frozen=True, slots=True)
class ControlFlow(Answers):
    """An instruction of this module. All wires of circuits that have one stay together, with all classical bits."""

    @property
    def read_expression(self) -> Expression | None:
        """The expression that it reads, if any."""
        return None

    @property
    def read_bits(self) -> tuple[int, ...]:
        """The bits in that expression."""
        return () if self.read_expression is None else self.read_expression.clbits


@dataclass(frozen=True, slots=True)
class If(ControlFlow):
    """Open a block that is done where a condition is not 0 at this point of the circuit."""

    condition: Expression

    @property
    def read_expression(self) -> Expression | None:
        """Its condition."""
        return self.condition


@dataclass(frozen=True, slots=True)
class Else(ControlFlow):
    """End the block of the last open `If`, and open the one that is done where its condition is 0."""


@dataclass(frozen=True, slots=True)
class While(ControlFlow):
    """Open a block that is repeated as long as a condition is not 0 before it; None: until something leaves it."""

    condition: Expression | None

    @property
    def read_expression(self) -> Expression | None:
        """Its condition, if it has one."""
        return self.condition


@dataclass(frozen=True, slots=True)
class Once(ControlFlow):
    """Open a block that is done once, and that `Leave` may leave early, as the rounds of a loop that is written out."""


@dataclass(frozen=True, slots=True)
class End(ControlFlow):
    """Close the last open block."""


@dataclass(frozen=True, slots=True)
class Leave(ControlFlow):
    """Go on after the end of an enclosing `While` or `Once`; blocks: how many of these lie between, 0 for the inner."""

    blocks: int


@dataclass(frozen=True, slots=True)
class NextRound(ControlFlow):
    """Go on with the next round of the innermost `While` or `Once`, which must be a `While`."""


@dataclass(frozen=True, slots=True)
class Store(ControlFlow):
    """Put the value of an expression into classical bits or a variable, whose token is `target`."""

    target: Token
    value: Expression

    @property
    def read_expression(self) -> Expression | None:
        """The value that is stored."""
        return self.value

    @property
    def written_bits(self) -> tuple[int, ...]:
        """The bits that the value is put into, if it is put into bits."""
        return self.target.value if self.target.op == "bits" else ()


@dataclass(frozen=True, slots=True)
class Record(ControlFlow):
    """Append the value of an expression to the list of a label, once for each time that a shot comes here."""

    label: str
    value: Expression

    @property
    def read_expression(self) -> Expression | None:
        """The value that is appended."""
        return self.value


Marker = If | Else | While | Once | End | Leave | NextRound
"""Closed: the instructions that say what comes next."""

MARKERS = (If, Else, While, Once, End, Leave, NextRound)


def ends_of(instructions: tuple[object, ...]) -> dict[int, int]:
    """Return for the place of each `If`, `Else`, `While` and `Once` that of the marker that ends its block."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for place, instruction in enumerate(instructions):
        match instruction:
            case If() | While() | Once():
                waiting.append(place)
            case Else():
                found[waiting.pop()] = place
                waiting.append(place)
            case End():
                found[waiting.pop()] = place
            case _:
                pass
    return found
