"""What every instruction answers for itself, so that nobody has to take it apart for its wires, bits or random numbers.

Wires are given as masks, whose bit w is wire w.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self


class PartNumbers(Protocol):
    """The numbers that wires, classical bits and operands of a circuit have in one of its parts."""

    def wires(self, wires: Sequence[int]) -> tuple[int, ...]:
        """Return wires in the part's numbers."""

    def clbits(self, clbits: Sequence[int]) -> tuple[int, ...]:
        """Return classical bits in the part's numbers."""

    def operand(self, at: int, size: int) -> int:
        """Return where operands that begin at a place of the circuit's begin among the part's."""


class Answers:
    """The answers of an instruction that acts on no wire, reads and writes no classical bit, and is never random.

    Other instructions answer for themselves. `Op` and `Channel`, which are named tuples, cannot inherit from this.
    """

    __slots__ = ()

    @property
    def acts_on(self) -> int:
        """The wires that it mixes, reads, measures or saves; 0 for a save of all wires: see `on_every_wire`."""
        return 0

    @property
    def mixed_wires(self) -> int:
        """The wires that may hold another value after it: a measurement of any other wire commutes with it."""
        return 0

    @property
    def on_every_wire(self) -> bool:
        """Whether it needs or makes the state of all wires of a circuit, whichever these are."""
        return False

    @property
    def read_bits(self) -> tuple[int, ...]:
        """The classical bits that it reads."""
        return ()

    @property
    def reads_every_bit(self) -> bool:
        """Whether it reads all classical bits of a circuit, whichever these are."""
        return False

    @property
    def written_bits(self) -> tuple[int, ...]:
        """The classical bits that it writes."""
        return ()

    @property
    def streams(self) -> int:
        """The number of streams of random numbers that it owns, whether or not it uses them.

        A channel owns one, and a measurement, a reset or an initialisation one for each of its wires. Streams are
        counted along the circuit, so they do not depend on how it is divided, nor on which wires are |0⟩.
        """
        return 0

    def renumbered(self, numbers: PartNumbers) -> Self:  # noqa: ARG002 (for those that have numbers)
        """Return it in the numbers of a part of its circuit."""
        return self


class StateNode(Answers):
    """An instruction on the state of a whole circuit that is a node of programs too, between two segments."""

    __slots__ = ()

    @property
    def in_order(self) -> bool:
        """Whether states are in one piece, with wire w on index bit w, after it."""
        return False

    @property
    def beginning(self) -> tuple[tuple[int, ...], int] | None:
        """Where the state before is discarded, the wires and the operand of the state that is made; else None."""
        return None

    def describe(self) -> str:
        """Return in words what happens there."""
        raise NotImplementedError
