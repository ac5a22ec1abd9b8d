"""The program of a circuit, whose nodes are segments of straight-line work, branch points and saves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, Self, cast

from qsim_ex.circuit.instruction import StateNode
from qsim_ex.circuit.ops import Initialize, Instruction, Op, Permutation, Save
from qsim_ex.circuit.structure import Structure, straight_work
from qsim_ex.display.amounts import plural

if TYPE_CHECKING:
    from qsim_ex.circuit.classical import Expression
    from qsim_ex.program.choices import Choice, Conditioned, GatheredOperands, Reading

Work = Op | Permutation | Initialize
"""The operations of a plan."""


class ProgramNode:
    """A node that is neither work nor an instruction; it answers what these do."""

    __slots__ = ()
    work = None
    saved = None
    in_order = False
    beginning = None

    def resolved(self, labels: Sequence[int]) -> Self:  # noqa: ARG002 (for those that have labels)
        """Return it with the places of nodes that its labels stand for."""
        return self

    def describe(self) -> str:
        """Return in words what happens there; nothing where a description of the program says it as a whole."""
        return ""


@dataclass(frozen=True, eq=False, slots=True)
class Segment:
    """Straight-line work, for which there is one plan; it includes the matrices that were chosen before.

    work: its instructions, which are `Work`. Equal work is one object, so that a plan is found without reading it.
    operands: the layout of its operands; None if they are the circuit's.
    gathered: of what it was gathered, with the circuit's operands; None if that is its work.
    """

    work: Structure
    operands: GatheredOperands | None = None
    gathered: tuple[Work | Choice | Conditioned, ...] | None = None
    saved = None
    in_order = False
    beginning = None

    @property
    def pieces(self) -> tuple[Work | Choice | Conditioned, ...]:
        """Its work with the circuit's operands, and among it what depends on outcomes."""
        return cast(tuple[Work, ...], self.work.instructions) if self.gathered is None else self.gathered

    def resolved(self, labels: Sequence[int]) -> Segment:  # noqa: ARG002
        """Return itself, as it has no labels of other nodes."""
        return self


@dataclass(frozen=True, eq=False, slots=True)
class ColumnWrite:
    """The value of an expression on columns of outcomes that is written into other columns, bit by bit."""

    columns: tuple[int, ...]
    expression: Expression


@dataclass(frozen=True, eq=False, slots=True)
class RecordWrite:
    """The value in some columns, the least significant bit first, that is appended to the list of a label."""

    label: str
    columns: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class BranchPoint(ProgramNode):
    """A point at which choices are made that depend on the state; the segment after it applies the chosen matrices.

    choices: made one after another, as if each were applied at once. readings: made after the choices, of the bits that
        these measured. assignments: made after both, one after another. records: written after all of these.
    """

    choices: tuple[Choice, ...]
    readings: tuple[Reading, ...]
    assignments: tuple[ColumnWrite, ...] = ()
    records: tuple[RecordWrite, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Fork(ProgramNode):
    """Branches for which a condition does not hold go on at the node `otherwise`, all others at the next one."""

    condition: Expression
    otherwise: int

    def resolved(self, labels: Sequence[int]) -> Fork:
        """Return it with the place that its label stands for."""
        return replace(self, otherwise=labels[self.otherwise])

    def describe(self) -> str:
        """Return in words that shots part."""
        return "shots for which a condition does not hold go another way"


@dataclass(frozen=True, eq=False, slots=True)
class Jump(ProgramNode):
    """All branches go on at another node."""

    to: int

    def resolved(self, labels: Sequence[int]) -> Jump:
        """Return it with the place that its label stands for."""
        return Jump(labels[self.to])


@dataclass(frozen=True, eq=False, slots=True)
class RoundBegin(ProgramNode):
    """The begin of each round of a loop; depth: the number of loops around it."""

    depth: int

    def describe(self) -> str:
        """Return in words that a loop begins."""
        return "the rounds of a loop begin here"


@dataclass(frozen=True, eq=False, slots=True)
class Join(ProgramNode):
    """The point at which branches that went different ways come together; depth: the number of loops around it."""

    depth: int


Node = Segment | BranchPoint | StateNode | Fork | Jump | RoundBegin | Join
"""Closed: every `match` over it ends in `assert_never`."""


@dataclass(frozen=True, slots=True)
class RandomInstruction:
    """The first instruction with a random outcome: its description, its place, and the mask of its wires."""

    feature: str
    place: int
    wires: int


class Level(Protocol):
    """The work up to a branch point or a save, with the choices and readings that are made there."""

    @property
    def work(self) -> Sequence[Work | Choice | Conditioned]:
        """The work in order; among it choices, where a matrix is applied that was chosen before."""

    @property
    def choices(self) -> Sequence[Choice]:
        """The choices that are made after the work."""

    @property
    def readings(self) -> Sequence[Reading]:
        """The readings that are made after the choices."""

    @property
    def end(self) -> StateNode | None:
        """What happens after the work, if it is no branch point."""


@dataclass(frozen=True, eq=False)
class Program:
    """A circuit in the order of its execution.

    levels: the order of all work, choices and readings. make_nodes: makes `nodes`, which costs more than the rest, when
    they are first asked for.
    measured: classical bit -> the wire that is sampled into it at the end.
    has_measurement: whether there is a measurement, even of no wires.
    touched: returns the mask of the wires that may not be |0⟩ at the end, which few ask for.
    choices: all choices, by number. early: the choices that are made before the first segment runs.
    readings: the number of columns of given bits and of readings, beside those of the choices (see `Reading`).
    given: the number of bits that other parts of a circuit measure, whose columns are −1, −2, … .
    recorded: classical bit -> the column of the choice or reading that is written into it.
    read: groups of classical bits that are not misread at the end, since their last value was read at a branch point.
    first_random: the first instruction with a random outcome before the end; None if there is none.
    branches: whether shots may have different states: there are random outcomes, or bits are read, before the end.
    saves: the saves, in order. memory: for the label of each save by classical memory, the column of every classical
        bit there; None for a bit that is 0.
    loops: whether branches go different ways through the nodes, and some of these more than once. repeated: the labels
        of the saves in loops. instructions: those of the circuit.
    records: label -> the width of what is recorded under it. history: the columns with the number of the last record.
    """

    levels: Sequence[Level]
    make_nodes: Callable[[], tuple[Node, ...]]
    measured: dict[int, int]
    has_measurement: bool
    touched: Callable[[], int]
    choices: tuple[Choice, ...] = ()
    early: tuple[Choice, ...] = ()
    readings: int = 0
    given: int = 0
    recorded: Mapping[int, int] = field(default_factory=dict)
    read: frozenset[tuple[int, ...]] = frozenset()
    first_random: RandomInstruction | None = None
    branches: bool = False
    saves: tuple[Save, ...] = ()
    memory: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)
    loops: bool = False
    records: Mapping[str, int] = field(default_factory=dict)
    history: tuple[int, ...] = ()
    repeated: frozenset[str] = frozenset()
    instructions: tuple[Instruction, ...] = ()

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """At least one segment; any other node is followed by a segment if work follows."""
        return self.make_nodes()

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The segments, in order."""
        return tuple(map(self.segment_at, self.segment_places))

    @cached_property
    def segment_places(self) -> tuple[int, ...]:
        """The place of each segment among the nodes."""
        return tuple([place for place, node in enumerate(self.nodes) if node.work is not None])

    def segment_at(self, node: int) -> Segment:
        """Return the segment that is the node at a place."""
        segment = self.nodes[node]
        assert isinstance(segment, Segment)
        return segment

    @cached_property
    def read_together(self) -> dict[int, tuple[int, ...]]:
        """By the place of the first the places of expectation values that are saved one after the other."""
        found: dict[int, tuple[int, ...]] = {}
        first = None
        for place, node in enumerate(self.nodes):
            if node.saved is not None and node.saved.what == "expectation_value":
                first = place if first is None else first
                found[first] = (*found.get(first, ()), place)
            elif node.work is None or node.work.instructions:
                first = None
        return found

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the saves, in order."""
        return tuple(save.label for save in self.saves)

    @cached_property
    def whole(self) -> Segment:
        """All work as one segment, for a program without choices whose saves are ignored.

        Where the circuit sets the state, work before that is left out, and the segment begins in |0…0⟩.
        """
        work: list[Instruction] = []
        alone = len(self.segments) == 1  # so that its plan is found
        for node in self.nodes:
            if node.work is not None:
                work += node.work.instructions
            elif node.beginning is not None:
                work, alone = [Initialize(*node.beginning)], False
            elif node.saved is None:
                raise AssertionError(f"expected a program that is work, saves and states that are set, got {node!r}")
        return self.segments[0] if alone else Segment(straight_work(work))

    @cached_property
    def only_work_and_choices(self) -> bool:
        """Whether no state is saved or set on the way, and all branches go the same way."""
        return not self.loops and all(level.end is None for level in self.levels)

    @cached_property
    def branch_points(self) -> int:
        """The number of branch points."""
        return sum(bool(level.choices or level.readings) for level in self.levels)

    def describe(self, bits: float) -> list[str]:
        """Return lines of text on the choices and on how shots share states; bits: see `choices.entropy`."""
        early, asked = len(self.early), len(self.choices) - len(self.early)
        lines = []
        if early:
            channels = plural(early, "mixed-unitary channel")
            lines.append(f"{channels}, chosen before the first sweep: shots with equal choices share a state")
        if asked:
            choices = plural(asked, "measurement, reset or channel", "measurements, resets and channels")
            lines.append(
                f"the state decides {choices} in the middle, at {plural(self.branch_points, 'branch point')}, with an "
                f"entropy of about {bits:.3g} bits: up to 2^{bits:.3g} shots run as batches that fit in memory, more "
                "shots as one tree of branches; shots with equal choices so far share a state"
            )
        return lines
