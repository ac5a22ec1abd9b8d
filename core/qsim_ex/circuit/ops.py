"""Instructions: the closed union of the operations of a circuit.

Bit order everywhere: little endian. ``mixes[0]`` is the least significant bit of a matrix's row and column
index, ``reads[0]`` the least significant bit of the number that selects its block.

Each instruction answers for its wires, classical bits and random numbers (`circuit.instruction`). What it does is known
to the few that take it apart with `match`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from qsim_ex.circuit.control import Marker, Record, Store
from qsim_ex.circuit.instruction import Answers, PartNumbers, StateNode
from qsim_ex.circuit.saves import Save as Save  # noqa: PLC0414 (so that it is an export: instructions are found here)


class Entry(IntEnum):
    """The class of one matrix entry: what its gate alone says about its value, before any number is known."""

    ZERO = 0
    ONE = 1
    MINUS_ONE = 2
    REAL = 3
    IMAG = 4
    COMPLEX = 5


class Known(IntEnum):
    """Numbers that stand in patterns of H, S, T and √X beside classes, until rewriting has seen what cancels.

    A plan has none of them: `plain` makes classes of them. Eighth turns are known until two H around them are an X.
    """

    I = 6  # noqa: E741
    MINUS_I = 7
    ROOT = 8
    MINUS_ROOT = 9
    I_ROOT = 10
    MINUS_I_ROOT = 11
    EIGHTH = 12
    MINUS_EIGHTH = 13
    THREE_EIGHTHS = 14
    MINUS_THREE_EIGHTHS = 15


Pattern = bytes
"""One `Entry`, or `Known` number, for each entry of an array [2^reads, 2^mixes, 2^mixes], in C order."""

_LETTERS = "01-ricjJhHkKwWvV"


def pattern(text: str) -> Pattern:
    """Read a pattern from letters.

    ``0 1 - r i c``: zero, one, minus one, real, imaginary, complex. ``j J h H k K``: i, −i, √½, −√½, i√½, −i√½.
    ``w W v V``: e^{iφ} for φ = π/4, −π/4, 3π/4, −3π/4.
    """
    return bytes(_LETTERS.index(letter) for letter in text)


PLAIN = bytes.maketrans(pattern("jJhHkKwWvV"), pattern("iirriicccc"))
"""What `bytes.translate` makes a class of each `Known` number with."""

_CONJUGATES = bytes.maketrans(pattern("jJkKwWvV"), pattern("JjKkWwVv"))


def plain(of: Pattern) -> Pattern:
    """Return a pattern with a class for each `Known` number."""
    return of.translate(PLAIN)


def conjugate(of: Pattern) -> Pattern:
    """Return the pattern of the conjugate."""
    return of.translate(_CONJUGATES)


def letters(of: Pattern) -> str:
    """Write a pattern as letters; the inverse of `pattern`."""
    return "".join(_LETTERS[entry] for entry in of)


class When(NamedTuple):
    """The amplitudes that an operation applies to: those whose index bits under `mask` equal `value`."""

    mask: int
    value: int


ALWAYS = When(0, 0)


@lru_cache(maxsize=65536)
def wires_of(mask: int) -> tuple[int, ...]:
    """Return the wires in a mask, ascending; cached, since planning calls it many times."""
    wires = []
    while mask:
        low = mask & -mask
        wires.append(low.bit_length() - 1)
        mask ^= low
    return tuple(wires)


@lru_cache(maxsize=65536)
def mask_of(wires: tuple[int, ...]) -> int:
    """Return the mask of some wires as an `int`, whatever integers the wires are; cached as `wires_of` is."""
    mask = 0
    for wire in wires:
        mask |= 1 << int(wire)
    return mask


class _OpFields(NamedTuple):
    mixes: tuple[int, ...]
    reads: tuple[int, ...]
    when: When
    pattern: Pattern
    operand: int
    name: str = ""
    unitary: bool = True


class Op(_OpFields, Answers):
    """A linear operation: dense on the wires it mixes, diagonal in those it reads, applied where `when` holds.

    It is a named tuple and no dataclass, since a circuit has many and their hash is the structure key.

    mixes: wires whose 0 and 1 exchange amplitude, least significant first.
    reads: masks of wires; the parity of each masked value is one bit of the number that selects the block
        (a plain wire is a mask with one bit). No read names a mixed wire.
    when: controls and their required values, as masks of wires; disjoint from `mixes`.
    pattern: classes of the 2^reads × 2^mixes × 2^mixes entries, from the gate's row, never from its numbers.
    operand: the place of the first entry in `Circuit.operands`.
    name: for people only.
    unitary: whether it is unitary; if not, it mixes at least one wire, and its entries may be any numbers.
    """

    __slots__ = ()

    @property
    def acts_on(self) -> int:
        """See `instruction.Answers`, also for what the other instructions answer."""
        mask = mask_of(self.mixes) | self.when.mask
        for read in self.reads:
            mask |= read
        return mask

    @property
    def mixed_wires(self) -> int:
        """Those whose 0 and 1 exchange amplitude."""
        return mask_of(self.mixes)

    @property
    def applies(self) -> Op:
        """Itself, always."""
        return self


class _OnWires(Answers):
    """An instruction that mixes all of its `wires`."""

    __slots__ = ()
    wires: tuple[int, ...]

    @property
    def acts_on(self) -> int:
        return mask_of(self.wires)

    @property
    def mixed_wires(self) -> int:
        return mask_of(self.wires)


@dataclass(frozen=True, slots=True)
class Permutation(_OnWires):
    """A basis permutation: the amplitude at value x of `wires` moves to value ``indices[x]``."""

    wires: tuple[int, ...]
    indices: tuple[int, ...]

    @property
    def unitary(self) -> bool:
        """A permutation is."""
        return True

    def renumbered(self, numbers: PartNumbers) -> Permutation:
        """Return it in the numbers of a part."""
        return Permutation(numbers.wires(self.wires), self.indices)


@dataclass(frozen=True, slots=True)
class Initialize(_OnWires):
    """Put `wires`, which are all |0>, into the state of 2^wires amplitudes at `operand`.

    cleared: whether operations before it have put the wires into |0>, so that no reset is needed.
    """

    wires: tuple[int, ...]
    operand: int
    cleared: bool = field(default=False, repr=False)  # as digests of structures are made of the text

    @property
    def streams(self) -> int:
        """One for each wire, since these are reset first."""
        return len(self.wires)

    def renumbered(self, numbers: PartNumbers) -> Initialize:
        """Return it in the numbers of a part."""
        return Initialize(numbers.wires(self.wires), numbers.operand(self.operand, 1 << len(self.wires)))


@dataclass(frozen=True, slots=True, repr=False)
class Measure(_OnWires):
    """Measure ``wires[k]`` in the computational basis into classical bit ``clbits[k]``.

    kept: of a part of a circuit, further classical bits, one for each wire, that keep the outcomes; the wires are then
        put into |0⟩, so that others take their place.
    """

    wires: tuple[int, ...]
    clbits: tuple[int, ...]
    kept: tuple[int, ...] = ()

    def __repr__(self) -> str:
        # The digest of a structure is made of this text, and most measurements keep nothing.
        kept = f", kept={self.kept!r}" if self.kept else ""
        return f"Measure(wires={self.wires!r}, clbits={self.clbits!r}{kept})"

    @property
    def mixed_wires(self) -> int:
        """None, unless the wires are put into |0⟩."""
        return mask_of(self.wires) if self.kept else 0

    @property
    def written_bits(self) -> tuple[int, ...]:
        """The bits that hold the outcomes afterwards."""
        return (*self.clbits, *self.kept)

    @property
    def streams(self) -> int:
        """One for each wire."""
        return len(self.wires)

    def renumbered(self, numbers: PartNumbers) -> Measure:
        """Return it in the numbers of a part; bits that keep outcomes are the part's own."""
        return Measure(numbers.wires(self.wires), numbers.clbits(self.clbits), self.kept)


@dataclass(frozen=True, slots=True)
class Reset(_OnWires):
    """Put `wires` into |0>, whatever their state is."""

    wires: tuple[int, ...]

    @property
    def streams(self) -> int:
        """One for each wire."""
        return len(self.wires)

    @property
    def resets(self) -> bool:
        """It does nothing else."""
        return True

    def renumbered(self, numbers: PartNumbers) -> Reset:
        """Return it in the numbers of a part."""
        return Reset(numbers.wires(self.wires))


@dataclass(frozen=True, slots=True)
class Begin(Answers):
    """Begin work on a wire after some branch points, and after those before another instruction; no state changes.

    `program.separate` puts it into circuits that it has divided, where live ranges of wires take turns. So random
    choices are made in the same order, however the circuit is divided.

    level: the number of branch points. after: the place of the other instruction; None without one.
    """

    wire: int
    level: int = 0
    after: int | None = None

    @property
    def acts_on(self) -> int:
        """Its wire, which it leaves as it is."""
        return 1 << self.wire

    def renumbered(self, numbers: PartNumbers) -> Begin:
        """Return it in the numbers of a part."""
        (wire,) = numbers.wires((self.wire,))
        return Begin(wire, self.level, self.after)


class _ChannelFields(NamedTuple):
    wires: tuple[int, ...]
    count: int  # type: ignore[assignment]  # tuples have a method of this name
    operand: int
    mixed: bool
    name: str = ""
    product: bool = False


class Channel(_ChannelFields, _OnWires):
    """Apply one of some Kraus matrices K_k, chosen with probability ‖K_k ψ‖², and normalise.

    It is a named tuple as `Op` is, since a noisy circuit has as many.

    wires: ``wires[0]`` is the least significant bit of a matrix's row and column index.
    count: the number of matrices.
    operand: the place of their first entry in `Circuit.operands`, [count, 2^wires, 2^wires] in C order.
    mixed: whether every K_k is a multiple of a unitary matrix, so that probabilities do not depend on the state.
    name: for people only.
    product: whether every K_k is a Kronecker product of 2×2 matrices, one for each wire.
    """

    __slots__ = ()

    @property
    def streams(self) -> int:
        """One, which says which matrix is applied."""
        return 1

    def renumbered(self, numbers: PartNumbers) -> Channel:
        """Return it in the numbers of a part."""
        at = numbers.operand(self.operand, self.count << 2 * len(self.wires))
        return self._replace(wires=numbers.wires(self.wires), operand=at)


@dataclass(frozen=True, slots=True)
class Conditional(Answers):
    """Apply an operation if classical bits hold one of some values at this point of the circuit.

    clbits: ``clbits[0]`` is the least significant bit of a value; a bit that was not measured yet is 0.
    values: the values for which the operation is applied, ascending.
    """

    operation: Op
    clbits: tuple[int, ...]
    values: tuple[int, ...]

    @property
    def acts_on(self) -> int:
        """The wires of its operation."""
        return self.operation.acts_on

    @property
    def mixed_wires(self) -> int:
        """Those that its operation mixes."""
        return self.operation.mixed_wires

    @property
    def applies(self) -> Op:
        """Its operation."""
        return self.operation

    @property
    def required(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Its condition."""
        return self.clbits, self.values

    @property
    def read_bits(self) -> tuple[int, ...]:
        """The bits of its condition."""
        return self.clbits


@dataclass(frozen=True, slots=True)
class SetState(_OnWires, StateNode):
    """Put `wires`, which are all wires of the circuit, into the state of 2^n amplitudes at `operand`.

    The state before is discarded, whatever it was; classical bits keep their values.
    """

    wires: tuple[int, ...]
    operand: int

    @property
    def on_every_wire(self) -> bool:
        """It makes the state of all wires."""
        return True

    @property
    def in_order(self) -> bool:
        """Amplitudes are written in the order of the wires."""
        return True

    @property
    def beginning(self) -> tuple[tuple[int, ...], int]:
        """The wires and the operand of the state."""
        return self.wires, self.operand

    def describe(self) -> str:
        """Return in words what happens."""
        return "all wires are put into a given state, and the state before is discarded"


Unitary = Op | Permutation | Initialize
"""The instructions that a plan may hold."""

Instruction = (
    Op
    | Permutation
    | Initialize
    | SetState
    | Measure
    | Reset
    | Begin
    | Channel
    | Conditional
    | Save
    | Marker
    | Store
    | Record
)
"""Closed: every `match` over it ends in `assert_never`."""


def title_of(instruction: Instruction) -> str:
    """Return the name of an instruction for people."""
    return getattr(instruction, "name", "") or type(instruction).__name__.lower()
