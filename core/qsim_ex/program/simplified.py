"""A circuit without what changes nothing: operations that read idle wires lose them, and bits that are 0 are left out.

A wire that no operation mixes and no noise touches is |0⟩ throughout, so it is a constant. Nothing here depends on the
numbers of a circuit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never, cast

from qsim_ex.circuit.control import ControlFlow
from qsim_ex.circuit.instruction import StateNode
from qsim_ex.circuit.ops import (
    Begin,
    Channel,
    Conditional,
    Initialize,
    Instruction,
    Measure,
    Op,
    Permutation,
    Reset,
    Save,
    wires_of,
)
from qsim_ex.circuit.structure import Structure
from qsim_ex.program.gates import Entries, Gates, OnDistinctWires, left_of, without_idle


@dataclass(frozen=True, eq=False, slots=True)
class Placed:
    """An instruction that is left of a circuit, or joined gates; each measures or resets one wire at most.

    acted: mask of its wires. stream: its first stream of random numbers. entries: the place of each of its operands in
    the circuit's; None if they stand together.
    """

    instruction: Instruction | Gates
    acted: int
    stream: int
    entries: Entries = None

    @property
    def wires(self) -> tuple[int, ...]:
        """The wires that it acts on, ascending."""
        return wires_of(self.acted)

    @property
    def streams(self) -> range:
        """Its streams of random numbers."""
        return range(self.stream, self.stream + self.instruction.streams)

    @property
    def clbits(self) -> tuple[int, ...]:
        """The classical bits that it reads or writes."""
        return self.instruction.read_bits or self.instruction.written_bits


class Simplifier:
    """Goes through a circuit instruction by instruction, and knows which wires are idle and which bits are 0.

    misread: the classical bits that may be read as 1 although they are 0.
    placed: the instructions that are left. phases: the places of operands whose product is a global phase.
    gathers: whether an operation has fewer operands than in the circuit.
    """

    def __init__(self, structure: Structure, misread: set[int], *, together: bool = False) -> None:
        """Go through a circuit. together: whether all gates are one that a circuit of nothing else begins with."""
        self.placed: list[Placed] = []
        self.phases: list[int] = []
        self.gathers = False
        self._misread = misread
        every, begin = structure.instructions, 0 if Permutation in structure.kinds else structure.gates_before
        gates = OnDistinctWires(cast(tuple[Op, ...], every[:begin])) if begin else None
        self._mixed = _mixed_live_ranges((*gates.first, *every[begin:]) if gates else every)
        self._resets = [0] * structure.num_qubits  # how often each wire was reset so far
        self._alive = 0  # the mask of the wires that are not idle until they are reset
        for wire, number in self._mixed:
            self._alive |= 0 if number else 1 << wire
        self._used = 0  # the mask of the wires that instructions act on since they were reset
        self._touched = 0  # of these, without those that were only measured
        self._random: set[int] = set()  # classical bits that may be 1
        self._stream = 0
        if gates is not None:
            for mask, joined in gates.joined(structure.num_qubits, self._alive, self.phases, together=together):
                self._put(joined, mask)
                self.gathers |= bool(joined.entries)
        acted = [one.acts_on for one in every[begin:]] if begin else structure.acted
        behind = zip(every[begin:], acted, structure.first_streams[begin:], strict=False)
        for instruction, wires, self._stream in behind:
            self._follow(instruction, wires)

    def _follow(self, instruction: Instruction, acted: int) -> None:
        match instruction:
            case Op():
                operation, entries = self._simplified(instruction)
                if operation is not None:
                    self._put(operation, acted if operation is instruction else operation.acts_on, entries)
            case Permutation() | Channel():
                self._put(instruction, acted)
            case Save():
                self._put(instruction, acted, touches=False)
            case Initialize(wires):
                self._reset(wires)
                self._put(instruction, acted)
            case Measure(wires, clbits):
                for k, (wire, clbit) in enumerate(zip(wires, clbits, strict=True)):
                    self._measure(wire, clbit, self._stream + k)
            case Reset(wires):
                self._reset(wires)
            case Conditional():
                self._conditional(instruction)
            case StateNode() | Begin():
                raise AssertionError("circuits with nodes on the state of all wires, and parts, are not separated")
            case ControlFlow():
                raise AssertionError("the parts of circuits with control flow stay together")
            case _:
                assert_never(instruction)

    def _put(self, one: Instruction | Gates, acted: int, entries: Entries = None, *, touches: bool = True) -> None:
        self._alive |= acted
        self._used |= acted
        self._touched |= acted if touches else 0
        self.placed.append(Placed(one, acted, self._stream, entries))

    def _reset(self, wires: Sequence[int]) -> None:
        for k, wire in enumerate(wires):
            self._resets[wire] += 1
            mixed = (wire, self._resets[wire]) in self._mixed
            self._alive = self._alive | 1 << wire if mixed else self._alive & ~(1 << wire)
            if self._used >> wire & 1:
                self._used &= ~(1 << wire)
                self._touched &= ~(1 << wire)
                self.placed.append(Placed(Reset((wire,)), 1 << wire, self._stream + k))

    def _measure(self, wire: int, clbit: int, stream: int) -> None:
        # Where a bit may be read as 1 although the wire is |0⟩, or held another value before, it has to be measured.
        if clbit in self._misread or clbit in self._random or self._alive >> wire & 1:
            if clbit in self._misread or self._touched >> wire & 1:
                self._random.add(clbit)
            else:
                self._random.discard(clbit)  # it is 0 from now on
            self._alive |= 1 << wire
            self._used |= 1 << wire
            self.placed.append(Placed(Measure((wire,), (clbit,)), 1 << wire, stream))

    def _conditional(self, conditional: Conditional) -> None:
        """Place an operation with the bits of its condition that may be 1."""
        operation, entries = self._simplified(conditional.operation)
        if operation is None:
            return
        read = [k for k, clbit in enumerate(conditional.clbits) if clbit in self._random]
        if len(read) == len(conditional.clbits):
            self._put(Conditional(operation, conditional.clbits, conditional.values), operation.acts_on, entries)
            return
        values = sorted(
            {
                sum((value >> k & 1) << new for new, k in enumerate(read))
                for value in conditional.values
                if not any(value >> k & 1 for k in range(len(conditional.clbits)) if k not in read)
            }
        )
        if not values:
            return
        if not read:
            self._put(operation, operation.acts_on, entries)
            return
        clbits = tuple(conditional.clbits[k] for k in read)
        self._put(Conditional(operation, clbits, tuple(values)), operation.acts_on, entries)

    def _simplified(self, op: Op) -> tuple[Op | None, Entries]:
        """Return an operation without the wires that it only reads while they are |0⟩; None if it changes nothing.

        A factor without wires is a global phase, which no measurement and no expectation value shows; its place is
        kept for amplitudes. Also return the places of the operation's operands, unless they still stand together.
        """
        left = left_of(op.mixes, op.reads, op.when, self._alive)
        if left is None:
            return None, None
        if not (op.mixes or left.reads or left.when.mask):
            self.phases.append(op.operand)
            return None, None
        found, entries = without_idle(op, left)
        self.gathers |= entries is not None
        return found, entries


Era = tuple[int, int]
"""A wire, and how often it was reset before."""


def _mixed_live_ranges(instructions: Sequence[Instruction]) -> set[Era]:
    """Return when an operation or noise mixes which wire; one whose control is always 0 mixes nothing."""
    resets: dict[int, int] = {}
    known = set[tuple[tuple[int, ...], int]]()  # since the last reset: a circuit has few pairs of wires and controls
    waiting: list[tuple[list[Era], list[Era]]] = []  # what is mixed if all of some others are
    for instruction in instructions:
        controls = 0
        match instruction:
            case Op(mixes, _, when) | Conditional(Op(mixes, _, when)):
                wires, controls = mixes, when.value
            case Reset(wires):
                resets.update((wire, resets.get(wire, 0) + 1) for wire in wires)
                known.clear()
                continue
            case Initialize(wires):
                resets.update((wire, resets.get(wire, 0) + 1) for wire in wires)
                known.clear()
            case Permutation(wires) | Channel(wires):
                pass
            case _:
                continue
        if (wires, controls) not in known:
            known.add((wires, controls))
            mixed = [(wire, resets.get(wire, 0)) for wire in wires]
            waiting.append((mixed, [(wire, resets.get(wire, 0)) for wire in wires_of(controls)]))
    found: set[Era] = set()
    before = -1
    while len(found) > before:
        before, left = len(found), []
        for mixed, needed in waiting:
            if found.issuperset(needed):
                found.update(mixed)
            else:
                left.append((mixed, needed))
        waiting = left
    return found
