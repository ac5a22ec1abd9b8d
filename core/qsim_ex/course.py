"""A circuit as trajectories run it: a `Course` of parts, and the choices that are made between and before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Entry, Op, Pattern
from qsim_ex.program import Segment


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """One of some matrices, to be chosen and applied.

    kind: 'measure' (|0⟩⟨0| or |1⟩⟨1|), 'reset' (|0⟩⟨0| or |0⟩⟨1|), or 'channel'.
    number: its place among the choices of the circuit, which its random numbers are keyed by.
    wires: one for a measurement or reset. operand, count: of a channel, see `ops.Channel`.
    mixed: whether it is chosen before anything runs. product: whether each matrix is a product of 2×2 matrices.
    """

    kind: Literal["measure", "reset", "channel"]
    number: int
    wires: tuple[int, ...]
    operand: int = 0
    count: int = 2
    mixed: bool = False
    product: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """The same for choices among the same matrices."""
        return self.kind, self.operand, self.count, len(self.wires), self.product

    @property
    def width(self) -> int:
        """How many numbers stand among the operands."""
        return sum(4 ** len(wires) for wires in self.groups)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The wires of each operation that it becomes: one for each wire if it is a product."""
        return tuple((wire,) for wire in self.wires) if self.product else (self.wires,)


@dataclass(frozen=True, eq=False, slots=True)
class Conditioned:
    """An operation that is applied, or not, by what was chosen before: among the operands stands its matrix or 1.

    sources: for each bit of the condition the number of the measurement that it holds; None for a bit that is 0.
    values: those at which the operation is applied.
    """

    operation: Op
    sources: tuple[int | None, ...]
    values: tuple[int, ...]

    @property
    def width(self) -> int:
        """How many numbers stand among the operands."""
        return len(self.operation.pattern)

    def holds(self, outcomes: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Whether the condition holds, for choices [branches, choices]."""
        value = np.zeros(len(outcomes), dtype=np.int64)
        for k, source in enumerate(self.sources):
            if source is not None:
                value |= outcomes[:, source].astype(np.int64) << k
        return np.isin(value, self.values)

    def identity(self) -> NDArray[np.complex128]:
        """The numbers that stand there where the condition does not hold."""
        size = 1 << len(self.operation.mixes)
        return np.tile(np.eye(size, dtype=np.complex128).reshape(-1), self.width // size**2)

    def classes(self) -> Pattern:
        """What is known of entries that are an operation's or those of 1."""
        known = []
        for entry, is_one in zip(self.operation.pattern, self.identity() == 1, strict=True):
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


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Straight-line work, among it the matrices that were chosen before it.

    segment: the work, with operands of its own: first 0 and 1, then the circuit's operands `take`, then the matrices
        that were chosen, in the order of `chosen`, each of its `width`; `total` in all.
        They are the circuit's where `take` is None.
    label: under which the state is saved after it. stop: what is then chosen by asking the state.
    """

    segment: Segment
    take: NDArray[np.int64] | None
    chosen: tuple[Choice | Conditioned, ...]
    total: int
    label: str | None
    stop: tuple[Choice, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Course:
    """A circuit as trajectories run it.

    parts: at least one; the last has no stop.
    choices: all of them, by number. early: those that are made before anything runs.
    measured: classical bit -> the wire that is sampled into it at the end.
    recorded: classical bit -> the number of the choice that is written into it.
    has_measurement: whether there is a measurement at all, be it of no wires.
    num_gates: operations and permutations, as the circuit has them.
    goes_on: whether something follows on a measured wire, though it may leave nothing to chance.
    """

    parts: tuple[Part, ...]
    choices: tuple[Choice, ...]
    early: tuple[Choice, ...]
    measured: dict[int, int]
    recorded: dict[int, int]
    has_measurement: bool
    num_gates: int
    goes_on: bool

    @property
    def dynamic(self) -> bool:
        """Whether it is more than straight-line work with measurements at its end."""
        return bool(self.choices) or self.goes_on

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The work of each part."""
        return tuple(part.segment for part in self.parts)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the saved states, in order."""
        return tuple(part.label for part in self.parts if part.label is not None)

    def describe(self, bits: float) -> list[str]:
        """What is left to chance and how shots share states, in words; bits: see `chance.entropy`."""
        early, asked = len(self.early), len(self.choices) - len(self.early)
        lines = []
        if early:
            lines.append(
                f"{early} mixed-unitary channels are chosen before anything runs: shots that chose alike share a state"
            )
        if asked:
            lines.append(
                f"{asked} measurements in the middle, resets and channels ask the state, at {self.stops} stops; they "
                f"are worth about {bits:.3g} bits: up to 2^{bits:.3g} shots run as batches of as many as there is room "
                "for, more of them as one tree of branches; shots with the same choices so far share a state"
            )
        return lines

    @property
    def stops(self) -> int:
        """How often the state is asked on the way."""
        return sum(bool(part.stop) for part in self.parts)
