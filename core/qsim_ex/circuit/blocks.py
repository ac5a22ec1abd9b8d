"""Blocks of a circuit that is being built: conditions, loops, and classical variables.

A condition on a few bits that holds nothing but gates becomes gates under a condition (`Conditional`), which need no
block: every condition and every branch of a program is simulated at once then. All else stays a block between markers
(`circuit.control`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from qsim_ex import thresholds
from qsim_ex.circuit import check
from qsim_ex.circuit.control import Else, End, If, Leave, NextRound, Once, Record, Store, While
from qsim_ex.circuit.ops import Conditional, Instruction
from qsim_ex.errors import CircuitError
from qsim_ex.later import later

if TYPE_CHECKING:
    from qsim_ex.circuit import classical
else:
    classical = later("qsim_ex.circuit.classical")


@dataclass(slots=True)
class OpenBlock:
    """A block that is not closed yet: its marker, its place, and that of its `Else`."""

    marker: If | While | Once
    place: int
    otherwise: int | None = None


class BlockBuilder:
    """The part of a `CircuitBuilder` that opens and closes blocks."""

    num_clbits: int
    _instructions: list[Instruction]
    _open: list[OpenBlock]
    _variables: list[int]  # their widths
    _records: dict[str, int]  # the width of each label

    # --- conditions --------------------------------------------------------------------------------------------------

    @contextmanager
    def condition(self, clbits: Sequence[int], values: Iterable[int]) -> Iterator[Self]:
        """Put what is appended within the ``with`` block under a condition on classical bits.

        It is done only if the bits hold one of `values` at that point of the circuit.
        clbits: ``clbits[0]`` is the least significant bit of a value. Conditions may be nested; all must hold. A bit
        holds the last value that was measured into it, at first 0. Raises `CircuitError` for bits and values that do
        not exist.
        """
        wanted = check.condition(clbits, values, self.num_clbits)
        bits = classical.Expression.of_bits(tuple(map(int, clbits))) if clbits else classical.Expression.constant(0, 1)
        with self.branch(bits.among(wanted)) as builder:
            yield builder

    @contextmanager
    def branch(self, condition: classical.Expression) -> Iterator[Self]:
        """Put what is appended within the ``with`` block under a condition: its value must not be 0.

        `otherwise` divides the block into what is done if the condition holds, and if not. Raises `CircuitError` for a
        condition on bits or variables that do not exist.
        """
        self.open(If(condition))
        yield self
        self.close()

    def otherwise(self) -> Self:
        """Begin what is done if the condition of the innermost block does not hold; raises `CircuitError`."""
        if not self._open or not isinstance(self._open[-1].marker, If) or self._open[-1].otherwise is not None:
            raise CircuitError("expected `otherwise` in the block of a condition, once; open one with `branch`.")
        self._open[-1].otherwise = len(self._instructions)
        self._instructions.append(Else())
        return self

    # --- loops -------------------------------------------------------------------------------------------------------

    @contextmanager
    def loop(self, condition: classical.Expression | None = None) -> Iterator[Self]:
        """Repeat what is appended within the ``with`` block as long as a condition is not 0 before each round.

        condition: None repeats the block until `leave` ends it. `Options.max_loop_rounds` bounds the rounds.
        """
        self.open(While(condition))
        yield self
        self.close()

    @contextmanager
    def once(self) -> Iterator[Self]:
        """Do what is appended within the ``with`` block once; `leave` goes on behind it, as in a loop of one round."""
        self.open(Once())
        yield self
        self.close()

    def leave(self, blocks: int = 0) -> Self:
        """Leave the innermost loop or block of `once`, or one further out; raises `CircuitError` outside of them.

        blocks: how many loops and blocks of `once` are left besides.
        """
        if self._left() <= blocks:
            raise CircuitError(f"expected {blocks + 1} loops around `leave`, got {self._left()}; use it within a loop.")
        self._instructions.append(Leave(check.count(blocks, "blocks")))
        return self

    def next_round(self) -> Self:
        """Go on with the next round of the innermost loop; raises `CircuitError` outside of one."""
        inner = next((one.marker for one in reversed(self._open) if not isinstance(one.marker, If)), None)
        if not isinstance(inner, While):
            raise CircuitError("expected a loop around `next_round`, got none; use it directly within a loop.")
        self._instructions.append(NextRound())
        return self

    def _left(self) -> int:
        return sum(not isinstance(one.marker, If) for one in self._open)

    # --- variables ---------------------------------------------------------------------------------------------------

    def bits(self, clbits: Sequence[int]) -> classical.Expression:
        """Return the value of classical bits as an expression, ``clbits[0]`` the least significant."""
        return self._valid(classical.Expression.of_bits(tuple(map(int, clbits))))

    def variable(self, width: int) -> classical.Expression:
        """Return a new variable: an unsigned integer of `width` bits, or a float64 for `FLOAT`; at first 0.

        Raises `CircuitError` for a negative width.
        """
        self._variables.append(check.count(width, "width"))
        return classical.Expression((classical.Token("variable", width, len(self._variables) - 1),))

    def store(self, target: classical.Expression, value: classical.Expression) -> Self:
        """Put the value of an expression into a variable, or into classical bits.

        target: what `variable` or `bits` returned. Raises `CircuitError` for another target, and for another width.
        """
        if len(target.code) != 1 or target.code[0].op not in ("variable", "bits"):
            raise CircuitError("expected a variable or classical bits as the target of a store; use `variable`.")
        if target.width != value.width:
            raise CircuitError(
                f"expected a value of {target.width} bits for the target, got one of {value.width}; use `cast`."
            )
        self._instructions.append(Store(self._valid(target).code[0], self._valid(value)))
        return self

    def record(self, label: str, value: classical.Expression) -> Self:
        """Append the value of an expression to the list of a label, once for each time that a shot comes here.

        `Result.records` has the lists. value: an unsigned integer; all of a label have one width. Raises
        `CircuitError`.
        """
        width = self._records.setdefault(label, value.width)
        if classical.FLOAT in (width, value.width) or value.width != width:
            raise CircuitError(
                f"expected an unsigned integer of {width} bits for the record {label!r}, got a value of "
                f"{value.width or 'float'} bits; use `cast`, or a label of its own."
            )
        self._instructions.append(Record(label, self._valid(value)))
        return self

    # --- markers -----------------------------------------------------------------------------------------------------

    def open(self, marker: If | While | Once) -> None:
        """Open a block; `branch`, `loop` and `once` do so, and close it."""
        if not isinstance(marker, Once) and marker.condition is not None:
            self._valid(marker.condition)
        self._open.append(OpenBlock(marker, len(self._instructions)))
        self._instructions.append(marker)

    def close(self) -> None:
        """Close the innermost block; raises `CircuitError` if none is open."""
        if not self._open:
            raise CircuitError("expected an open block, got none; open one first.")
        block = self._open.pop()
        inside = self._instructions[block.place + 1 :]
        flat: list[Instruction] | None = None
        if isinstance(block.marker, If):
            at = len(inside) if block.otherwise is None else block.otherwise - block.place - 1
            flat = _flat(block.marker.condition, inside[:at], inside[at + 1 :])
        if flat is None:
            self._instructions.append(End())
        else:
            self._instructions[block.place :] = flat

    def _check_closed(self) -> None:
        if self._open:
            raise CircuitError(f"expected all blocks to be closed, got {len(self._open)} open ones; close them first.")

    def _valid(self, expression: classical.Expression) -> classical.Expression:
        """Return an expression if its bits and variables exist; raises `CircuitError`."""
        for clbit in expression.clbits:
            if not 0 <= clbit < self.num_clbits:
                raise CircuitError(
                    f"expression: expected classical bits 0 <= c < {self.num_clbits}, got bit {clbit}, which is out of "
                    "range; give the circuit more classical bits."
                )
        for token in expression.variables:
            if token.value >= len(self._variables) or token.width != self._variables[token.value]:
                raise CircuitError("expected a variable of this circuit, got another one; use what `variable` returns.")
        return expression


Bits = tuple[int, ...]


def _flat(
    condition: classical.Expression, inside: Sequence[Instruction], otherwise: Sequence[Instruction]
) -> list[Instruction] | None:
    """Return the gates of a block, each under the block's condition.

    None if it holds more than gates, or if the condition has too many bits or values.
    """
    if not inside and not otherwise:
        return []
    clbits = condition.clbits
    if len(clbits) > thresholds.now.wide_listed_bits or condition.variables or condition.width == classical.FLOAT:
        return None
    gates = [(one.applies, one.required) for one in (*inside, *otherwise)]
    if any(operation is None for operation, _ in gates):
        return None
    place = {clbit: k for k, clbit in enumerate(clbits)}
    bits = np.unpackbits(np.arange(1 << len(clbits), dtype=">u2").view(np.uint8).reshape(-1, 2), axis=1)[:, ::-1]
    results = (
        classical.evaluate(condition.lowered(lambda token: tuple([place[clbit] for clbit in token.value])), bits) != 0
    )
    made: list[Instruction] = []
    for holds, part in ((results, gates[: len(inside)]), (~results, gates[len(inside) :])):
        values = tuple(np.flatnonzero(holds).tolist()) if part else ()
        if len(values) > thresholds.now.listed_values:
            return None
        for operation, own in part if values else ():
            both = (clbits, values) if own is None else _both(clbits, values, *own)
            if both is None or operation is None:
                return None
            made.append(Conditional(operation, *both) if both[0] else operation)  # one on no bit always holds
    return made


def _both(clbits: Bits, values: Bits, inner: Bits, wanted: Bits) -> tuple[Bits, Bits] | None:
    """Return the bits and values for which two conditions hold; None if both together are wide."""
    both = tuple(dict.fromkeys((*clbits, *inner)))
    if len(both) > thresholds.now.wide_listed_bits:
        return None
    value = np.arange(1 << len(both))
    held = [sum((value >> both.index(clbit) & 1) << k for k, clbit in enumerate(of)) for of in (clbits, inner)]
    holds = np.isin(held[0], values) & np.isin(held[1], wanted)
    listed = tuple(np.flatnonzero(holds).tolist())
    return None if len(listed) > thresholds.now.listed_values else (both, listed)
