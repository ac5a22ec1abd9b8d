"""Instructions: the closed union of the operations of a circuit.

Bit order everywhere: little endian. ``mixes[0]`` is the least significant bit of a matrix's row and column
index, ``reads[0]`` the least significant bit of the number that selects its block.

`Structure` is the common part of circuits that differ in numbers alone, kept once. Everything that is derived from it
(its program, its plans) is looked up by the object's identity. So the instructions of a circuit are hashed and compared
once, when the circuit is made, and never again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, assert_never
from weakref import WeakValueDictionary

from qsim_ex.circuit import thresholds
from qsim_ex.circuit.control import MARKERS, ControlFlow, Marker, Record, Store
from qsim_ex.circuit.digest import digest_of
from qsim_ex.circuit.saves import Save as Save  # noqa: PLC0414 (so that it is an export: instructions are found here)
from qsim_ex.native.library import function


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

    A plan has none of them: `plain` makes classes of them. Eighth turns are known as far as `rewrite.controls`.
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

WITHOUT_EIGHTHS = bytes.maketrans(pattern("wWvV"), pattern("cccc"))
"""What `bytes.translate` makes classes of eighth turns with, and leaves other numbers known."""

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


class Op(NamedTuple):
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

    mixes: tuple[int, ...]
    reads: tuple[int, ...]
    when: When
    pattern: Pattern
    operand: int
    name: str = ""
    unitary: bool = True


@dataclass(frozen=True, slots=True)
class Permutation:
    """A basis permutation: the amplitude at value x of `wires` moves to value ``indices[x]``."""

    wires: tuple[int, ...]
    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Initialize:
    """Put `wires`, which are all |0>, into the state of 2^wires amplitudes at `operand`.

    cleared: whether operations before it have put the wires into |0>, so that no reset is needed.
    """

    wires: tuple[int, ...]
    operand: int
    cleared: bool = field(default=False, repr=False)  # as digests of structures are made of the text


@dataclass(frozen=True, slots=True, repr=False)
class Measure:
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


@dataclass(frozen=True, slots=True)
class Reset:
    """Put `wires` into |0>, whatever their state is."""

    wires: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    """Begin work on a wire after some branch points, and after those before another instruction; no state changes.

    `program.separate` puts it into circuits that it has divided, where lives of wires take turns. So random choices are
    made in the same order, however the circuit is divided.

    level: the number of branch points. after: the place of the other instruction; None without one.
    """

    wire: int
    level: int = 0
    after: int | None = None


class Channel(NamedTuple):
    """Apply one of some Kraus matrices K_k, chosen with probability ‖K_k ψ‖², and normalise.

    It is a named tuple as `Op` is, since a noisy circuit has as many.

    wires: ``wires[0]`` is the least significant bit of a matrix's row and column index.
    count: the number of matrices.
    operand: the place of their first entry in `Circuit.operands`, [count, 2^wires, 2^wires] in C order.
    mixed: whether every K_k is a multiple of a unitary matrix, so that probabilities do not depend on the state.
    name: for people only.
    product: whether every K_k is a Kronecker product of 2×2 matrices, one for each wire.
    """

    wires: tuple[int, ...]
    count: int  # type: ignore[assignment]  # tuples have a method of this name
    operand: int
    mixed: bool
    name: str = ""
    product: bool = False


@dataclass(frozen=True, slots=True)
class Conditional:
    """Apply an operation if classical bits hold one of some values at this point of the circuit.

    clbits: ``clbits[0]`` is the least significant bit of a value; a bit that was not measured yet is 0.
    values: the values for which the operation is applied, ascending.
    """

    operation: Op
    clbits: tuple[int, ...]
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SetState:
    """Put `wires`, which are all wires of the circuit, into the state of 2^n amplitudes at `operand`.

    The state before is discarded, whatever it was; classical bits keep their values.
    """

    wires: tuple[int, ...]
    operand: int


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


def wires_acted_on(instruction: Instruction) -> int:
    """Return the mask of all wires that an instruction mixes, reads, measures, or saves.

    A save of all wires returns 0, since it does not know how many there are: see `Save.depends_on`.
    """
    match instruction:
        case Op(mixes, reads, when):
            mask = mask_of(mixes) | when.mask
            for read in reads:
                mask |= read
            return mask
        case Permutation() | Initialize() | SetState() | Measure() | Reset() | Channel():
            return mask_of(instruction.wires)
        case Begin(wire):
            return 1 << wire
        case Conditional(operation):
            return wires_acted_on(operation)
        case Save():
            return mask_of(instruction.wires or ())
        case ControlFlow():
            return 0
        case _:
            assert_never(instruction)


# --- the structure of a circuit -------------------------------------------------------------------------------------


class Structure:
    """A circuit without its numbers; made by `structure_of`, which returns one object for equal structures."""

    def __init__(self, num_qubits: int, num_clbits: int, instructions: tuple[Instruction, ...]) -> None:
        self.num_qubits = num_qubits
        self.num_clbits = num_clbits
        self.instructions = instructions

    @cached_property
    def key(self) -> str:
        """A short digest that is the same in every process."""
        return digest_of((self.num_qubits, self.num_clbits, self.instructions), Op)

    @cached_property
    def kinds(self) -> frozenset[type]:
        """The classes of the instructions."""
        return frozenset(map(type, self.instructions))

    @property
    def is_certain(self) -> bool:
        """Whether gates and initial states are all there is, so that nothing is random."""
        return self.kinds <= {Op, Permutation, Initialize}

    @cached_property
    def has_control_flow(self) -> bool:
        """Whether there are blocks, loops, variables or records; a gate under a condition on few bits needs none."""
        return not self.kinds.isdisjoint((*MARKERS, Store, Record))

    @cached_property
    def gates_end(self) -> int:
        """The place after the last instruction that is no measurement."""
        end = len(self.instructions)
        while end and type(self.instructions[end - 1]) is Measure:
            end -= 1
        return end

    @cached_property
    def gate_wires(self) -> GateWires | None:
        """The wires of a circuit of operations with measurements at the end; None for another one, or a wide one."""
        end = self.gates_end
        if self.num_qubits > thresholds.now.native_wires or not {*map(type, self.instructions[:end])} <= {Op}:
            return None
        out = (ctypes.c_int64 * 3)()
        _wires_of_gates()(self.instructions, end, self.num_qubits, ctypes.addressof(out))
        return GateWires(*out)

    @cached_property
    def all_joined(self) -> bool:
        """Whether gates mix every wire and join all, and none is reset, or measured and then mixed again.

        Then all wires are simulated together.
        """
        if (wires := self.gate_wires) is not None:
            return self.gates_end > 0 and wires.mixed == (1 << self.num_qubits) - 1 and wires.groups < 2
        kinds = [*map(type, self.instructions)]
        if not {Op} <= {*kinds} <= {Op, Measure}:
            return False
        midway = Measure in kinds[: -1 - kinds[::-1].index(Op)]
        every = (1 << self.num_qubits) - 1
        mixed = measured = 0
        joined: list[int] = []  # disjoint masks of wires that gates have joined
        for instruction in self.instructions:
            if isinstance(instruction, Measure):
                measured |= mask_of(instruction.wires)
            elif isinstance(instruction, Op):
                own = mask_of(instruction.mixes)
                if own & measured:
                    return False
                mixed |= own
                acted = wires_acted_on(instruction)
                if not any(acted & ~mask == 0 for mask in joined) and acted:  # 0 is a global phase, which joins nothing
                    joined = _with(acted, joined)
                if mixed == every and joined == [every] and not midway:
                    return True
        return mixed == every and len(joined) < 2

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickling or copying returns the one object of the process.
        return structure_of, (self.num_qubits, self.num_clbits, self.instructions)


class GateWires(NamedTuple):
    """The wires of gates: masks of those that are mixed, and of those that are acted on; and how many groups they join.

    If all are joined, this is found without a look at further gates.
    """

    mixed: int
    touched: int
    groups: int


@lru_cache(maxsize=1)
def _wires_of_gates() -> Callable[..., int]:
    """Return the function of core/native/readers/structure.cpp."""
    return function("structure_wires")


def _with(acted: int, joined: list[int]) -> list[int]:
    """Return disjoint masks and one more, joined with those that it meets."""
    apart = [mask for mask in joined if not mask & acted]
    for mask in joined:
        acted |= mask if mask & acted else 0
    return [acted, *apart]


class _Contents:
    """The parts of a structure as a key that is hashed once."""

    __slots__ = ("_hash", "parts")

    def __init__(self, parts: tuple[int, int, tuple[Instruction, ...]]) -> None:
        self.parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Contents) and self.parts == other.parts


_known: WeakValueDictionary[_Contents, Structure] = WeakValueDictionary()


def structure_of(num_qubits: int, num_clbits: int, instructions: tuple[Instruction, ...]) -> Structure:
    """Return the structure of a circuit: the same object as long as an equal one is referenced."""
    key = _Contents((num_qubits, num_clbits, instructions))
    return _known.get(key) or _known.setdefault(key, Structure(num_qubits, num_clbits, instructions))
