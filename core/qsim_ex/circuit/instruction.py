"""What every instruction answers for itself, so that nobody has to take it apart for its wires, bits or random numbers.

Wires are given as masks, whose bit w is wire w.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from qsim_ex.circuit.ops import Op
    from qsim_ex.circuit.saves import Save


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

    @property
    def applies(self) -> Op | None:
        """The linear operation that it applies, always or under a condition."""
        return None

    @property
    def required(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """The classical bits and their values under which alone it applies something."""
        return None

    @property
    def saved(self) -> Save | None:
        """The value that it keeps."""
        return None

    @property
    def unitary(self) -> bool:
        """Whether it is a unitary operation."""
        return False

    @property
    def resets(self) -> bool:
        """Whether it puts its wires into |0>, whatever their state is."""
        return False

    def renumbered(self, numbers: PartNumbers) -> Self:  # noqa: ARG002 (for those that have numbers)
        """Return it in the numbers of a part of its circuit."""
        return self


class StateNode(Answers):
    """An instruction on the state of a whole circuit that is a node of programs too, between two segments.

    work: that of a segment; no other node has any.
    """

    __slots__ = ()
    work = None

    def resolved(self, labels: Sequence[int]) -> Self:  # noqa: ARG002
        """Return itself, as it has no labels of other nodes."""
        return self

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
