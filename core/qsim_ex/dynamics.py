"""What a circuit leaves to chance, and what can be planned between: a circuit as a `Course`.

Measurements that something follows, resets of used wires, and channels are **choices**: one of a few matrices is
applied, and which one is a matter of chance. A mixed-unitary channel is chosen before anything runs. All others ask
the state, at a **stop**; work is divided so that few stops are needed: an operation runs as early as its wires allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, assert_never

from qsim_ex.circuit.ops import (
    Channel,
    Conditional,
    Initialize,
    Instruction,
    Measure,
    Op,
    Permutation,
    Reset,
    Save,
    mask_of,
    wires_of,
)
from qsim_ex.circuit.structure import Structure
from qsim_ex.course import Choice, Conditioned, Course, Part
from qsim_ex.parts import Level, part_from, plain_part
from qsim_ex.program import Work, wires_acted_on

JOINTLY = 10
"""Most wires that are measured or reset at one stop: their joint probabilities are 2^10 numbers for each state."""


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
    parts = (plain_part(tuple(work), None),)
    return Course(parts, (), (), measured, {}, has_measurement=ends, num_gates=len(work), goes_on=False)


class _Divider:
    """Puts every instruction on the first level that its wires have reached."""

    def __init__(self, structure: Structure, *, observed: bool) -> None:
        self._structure = structure
        self._observed = observed
        self._levels = [Level()]
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
            parts: tuple[Part, ...] = (plain_part(work, level.label),)
        else:
            parts = tuple(part_from(level) for level in self._levels)
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
            case Channel():
                self._channel(instruction, acted)
            case Conditional():
                self._conditional(instruction, acted)
            case Save(label):
                level = self._reached(0)
                self._at(level, 0).label = label
                self._level = [level + 1] * len(self._level)
                self._saved = level + 1
            case _:
                assert_never(instruction)
        self._used |= acted

    def _channel(self, channel: Channel, acted: int) -> None:
        number, operand, count = len(self._choices), channel.operand, channel.count
        choice = Choice("channel", number, channel.wires, operand, count, channel.mixed, channel.product)
        if choice.mixed:
            self._choices.append(choice)
            self._at(self._reached(acted), acted).work.append(choice)
        else:
            self._stop(choice, self._reached(acted))

    def _conditional(self, conditional: Conditional, acted: int) -> None:
        """What depends on a choice comes behind its stop; of other bits it is known here that they are 0."""
        operation, values = conditional.operation, conditional.values
        sources = tuple(map(self._recorded.get, conditional.clbits))
        decided = [1 + self._stop_of[source] for source in sources if source is not None]
        if decided:
            level = max(self._reached(acted), *decided)
            self._at(level, acted).work.append(Conditioned(operation, sources, values))
        elif 0 in values:
            self._at(self._reached(acted), acted).work.append(operation)

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

    def _at(self, level: int, wires: int) -> Level:
        """A level, which some wires have reached from now on."""
        while len(self._levels) <= level:
            self._levels.append(Level())
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
