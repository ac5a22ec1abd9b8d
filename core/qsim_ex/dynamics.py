"""What a circuit leaves to chance, and what can be planned between: a circuit as a `Course`.

Measurements that something follows, resets of used wires, and channels are **choices**: one of a few matrices is
applied, and which one is a matter of chance. A mixed-unitary channel is chosen before anything runs. All others ask
the state, at a **stop**; work is divided so that few stops are needed: an operation runs as early as its wires allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import (
    ALWAYS,
    Channel,
    Conditional,
    Entry,
    Initialize,
    Instruction,
    Measure,
    Op,
    Pattern,
    Permutation,
    Reset,
    Save,
    mask_of,
    pattern,
    wires_of,
)
from qsim_ex.circuit.structure import Structure
from qsim_ex.program import Segment, Work, wires_acted_on

JOINTLY = 10
"""Most wires that are measured or reset at one stop: their joint probabilities are 2^10 numbers for each state."""

_PROJECTION, _RESET = pattern("r00r"), pattern("rr00")


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


@lru_cache(maxsize=256)
def course_of(structure: Structure, *, observed: bool = False) -> Course:
    """Divide a circuit; circuits of one structure have one course, the same object.

    A measurement of a wire that nothing mixes afterwards is left to the end, where all shots of a state are drawn at
    once. observed: the state at the end is looked at, where such a measurement shows; only those that nothing follows
    on their wires are left to the end, and out of the state.
    """
    return _straight(structure) or _Divider(structure, observed=observed).course()


def _straight(structure: Structure) -> Course | None:
    """The course of operations with measurements behind all of them, which most circuits are; None of any other."""
    work: list[Work] = []
    measured: dict[int, int] = {}
    ends = False
    for instruction in structure.instructions:
        if isinstance(instruction, Op | Permutation) and not ends:
            work.append(instruction)
        elif isinstance(instruction, Measure):
            measured.update(zip(instruction.clbits, instruction.wires, strict=True))
            ends = True
        else:
            return None
    part = Part(Segment(tuple(work), None), None, (), 0, None, ())
    return Course((part,), (), (), measured, {}, has_measurement=ends, num_gates=len(work), goes_on=False)


class _Level:
    """The work between two stops, while it is collected."""

    def __init__(self) -> None:
        self.work: list[Work | Choice | Conditioned] = []
        self.label: str | None = None
        self.stop: list[Choice] = []


class _Divider:
    """Puts every instruction on the first level that its wires have reached."""

    def __init__(self, structure: Structure, *, observed: bool) -> None:
        self._structure = structure
        self._observed = observed
        self._levels = [_Level()]
        self._level = [0] * structure.num_qubits  # of each wire
        self._choices: list[Choice] = []
        self._used = 0
        self._saved = 0
        self._measured: dict[int, int] = {}
        self._recorded: dict[int, int] = {}
        self._stop_of: dict[int, int] = {}  # the level of each choice that asks

    def course(self) -> Course:
        instructions = self._structure.instructions
        for instruction, ended in zip(instructions, self._ended(), strict=True):
            self._put(instruction, ended)
        if len(self._levels) == 1 and not self._choices:
            level = self._levels[0]
            work = tuple(piece for piece in level.work if not isinstance(piece, Choice | Conditioned))
            parts: tuple[Part, ...] = (Part(Segment(work, level.label), None, (), 0, level.label, ()),)
        else:
            parts = tuple(_part(level) for level in self._levels)
        return Course(
            parts=parts,
            choices=tuple(self._choices),
            early=tuple(choice for choice in self._choices if choice.mixed),
            measured=self._measured,
            recorded=self._recorded,
            has_measurement=any(isinstance(instruction, Measure) for instruction in instructions),
            num_gates=sum(isinstance(instruction, Op | Permutation | Conditional) for instruction in instructions),
            goes_on=_goes_on(instructions),
        )

    def _put(self, instruction: Instruction, ended: int) -> None:
        """ended: mask of the wires that a measurement may leave to the end."""
        acted = wires_acted_on(instruction)
        match instruction:
            case Op() | Permutation():
                self._at(self._reached(acted), acted).work.append(instruction)
            case Initialize(wires):
                self._reset(wires)
                self._at(self._reached(acted), acted).work.append(instruction)
            case Measure(wires, clbits):
                for wire, clbit in zip(wires, clbits, strict=True):
                    self._measure(wire, clbit, final=bool(ended >> wire & 1))
                return  # a measurement alone leaves |0⟩ as it is
            case Reset(wires):
                self._reset(wires)
                return
            case Channel(wires, count, operand, mixed, _, product):
                choice = Choice("channel", len(self._choices), wires, operand, count, mixed, product)
                if mixed:
                    self._choices.append(choice)
                    self._at(self._reached(acted), acted).work.append(choice)
                else:
                    self._stop(choice, self._reached(acted))
            case Conditional(operation, clbits, values):
                sources = tuple(map(self._recorded.get, clbits))
                decided = [1 + self._stop_of[source] for source in sources if source is not None]
                if decided:
                    level = max(self._reached(acted), *decided)
                    self._at(level, acted).work.append(Conditioned(operation, sources, values))
                elif 0 in values:
                    self._at(self._reached(acted), acted).work.append(operation)
            case Save(label):
                level = self._reached(0)
                self._at(level, 0).label = label
                self._level = [level + 1] * len(self._level)
                self._saved = level + 1
            case _:
                assert_never(instruction)
        self._used |= acted

    def _ended(self) -> list[int]:
        """For each instruction, the mask of wires whose measurement there can be left to the end.

        What only reads a wire commutes with measuring it. What a condition depends on must be known before.
        """
        later, found = 0, []
        wanted: set[int] = set()  # classical bits that a condition looks at before they are written again
        for instruction in reversed(self._structure.instructions):
            found.append(~later)
            match instruction:
                case Measure(wires, clbits):
                    found[-1] &= ~mask_of(tuple(w for w, c in zip(wires, clbits, strict=True) if c in wanted))
                    wanted.difference_update(clbits)
                case Conditional(operation, clbits):
                    wanted.update(clbits)
                    later |= wires_acted_on(operation) if self._observed else mask_of(operation.mixes)
                case Op(mixes) if not self._observed:
                    later |= mask_of(mixes)
                case Save():
                    later = (1 << self._structure.num_qubits) - 1  # what is saved is the state after the measurement
                case _:
                    later |= wires_acted_on(instruction)
        return found[::-1]

    def _measure(self, wire: int, clbit: int, *, final: bool) -> None:
        self._measured.pop(clbit, None)
        self._recorded.pop(clbit, None)
        if final:
            self._measured[clbit] = wire
        elif self._used >> wire & 1:  # else it is |0⟩, and the bit is 0
            self._recorded[clbit] = len(self._choices)
            self._project("measure", wire)

    def _reset(self, wires: Sequence[int]) -> None:
        for wire in wires:
            if self._used >> wire & 1:
                self._project("reset", wire)
                self._used &= ~(1 << wire)  # it is |0⟩ again

    def _project(self, kind: Literal["measure", "reset"], wire: int) -> None:
        level = self._reached(1 << wire)
        while level < len(self._levels) and sum(c.kind != "channel" for c in self._levels[level].stop) >= JOINTLY:
            level += 1
        self._stop(Choice(kind, len(self._choices), (wire,)), level)

    def _stop(self, choice: Choice, level: int) -> None:
        """Make a choice after the work of a level; what it chose is the first work on its wires behind."""
        self._choices.append(choice)
        self._stop_of[choice.number] = level
        self._at(level, 0).stop.append(choice)
        self._at(level + 1, mask_of(choice.wires)).work.append(choice)

    def _reached(self, wires: int) -> int:
        """The level that all of some wires have reached; without wires (a global phase), that all wires have."""
        if not wires:
            return max(self._level, default=self._saved)
        return max(self._level[wire] for wire in wires_of(wires))

    def _at(self, level: int, wires: int) -> _Level:
        """A level, which some wires have reached from now on."""
        while len(self._levels) <= level:
            self._levels.append(_Level())
        for wire in wires_of(wires):
            self._level[wire] = level
        return self._levels[level]


def _goes_on(instructions: Sequence[Instruction]) -> bool:
    """Whether something follows on a measured wire or looks at a bit, or the state is saved after a measurement."""
    measured = 0
    for instruction in instructions:
        match instruction:
            case Measure(wires):
                measured |= mask_of(wires)
            case Conditional():
                return True
            case Save():
                if measured:
                    return True
            case _:
                if wires_acted_on(instruction) & measured:
                    return True
    return False


@lru_cache(maxsize=1024)
def part_of(choices: tuple[Choice, ...]) -> Part:
    """The work of applying what some choices chose, and nothing else."""
    level = _Level()
    level.work += choices
    return _part(level)


def _part(level: _Level) -> Part:
    """Give the work of a level operands of its own, so that equal levels are equal work and share a plan."""
    places: dict[tuple[int, int], int] = {}
    take: list[int] = []

    def put(operand: int, count: int) -> int:
        """Where `count` operands of the circuit stand among those of this part."""
        if (operand, count) not in places:
            places[operand, count] = 2 + len(take)
            take.extend(range(operand, operand + count))
        return places[operand, count]

    work: list[Work] = []
    waiting: list[tuple[int, Choice | Conditioned]] = []
    for piece in level.work:
        match piece:
            case Choice() | Conditioned():
                waiting.append((len(work), piece))
            case Op():
                work.append(piece._replace(operand=put(piece.operand, len(piece.pattern))))
            case Initialize(wires, operand):
                work.append(Initialize(wires, put(operand, 1 << len(wires))))
            case Permutation():
                work.append(piece)
    total, ops = 2 + len(take), []
    for at, piece in waiting:
        match piece:
            case Conditioned(operation):
                ops.append((at, operation._replace(operand=total, pattern=piece.classes())))
                total += piece.width
            case Choice():
                for wires in piece.groups:
                    ops.append((at, Op(wires, (), ALWAYS, _classes(piece, len(wires)), total, piece.kind, piece.mixed)))
                    total += 4 ** len(wires)
    for at, op in reversed(ops):
        work.insert(at, op)
    chosen = tuple(choice for _, choice in waiting)
    return Part(
        Segment(tuple(work), level.label), np.array(take, dtype=np.int64), chosen, total, level.label, tuple(level.stop)
    )


def _classes(choice: Choice, num_wires: int) -> Pattern:
    """The classes of the entries of whatever is chosen."""
    match choice.kind:
        case "measure":
            return _PROJECTION
        case "reset":
            return _RESET
        case "channel":
            return bytes([Entry.COMPLEX]) * (1 << 2 * num_wires)
        case _:
            assert_never(choice.kind)
