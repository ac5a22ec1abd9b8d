"""The nodes of control flow: blocks, loops and variables become forks, jumps and joins between basic blocks.

What stands between two markers is divided into segments once, whatever number of rounds it is part of. A block that
holds nothing but gates, which every branch can do at once, is no fork: its gates are under a condition on a flag.
"""

from __future__ import annotations

from dataclasses import dataclass

from qsim_ex.circuit.control import (
    MARKERS,
    ControlFlow,
    Else,
    End,
    If,
    Leave,
    NextRound,
    Once,
    While,
    ends_of,
)
from qsim_ex.circuit.ops import Conditional, Instruction, Op
from qsim_ex.program.division import Division
from qsim_ex.program.flow_block import FlowBlock
from qsim_ex.program.gathered import segment_from
from qsim_ex.program.program import Fork, Join, Jump, Node, RandomInstruction, RoundBegin


@dataclass(slots=True)
class _OpenBlock:
    """A block that is open: where a round begins, and the labels of its else part and of its end."""

    marker: If | While | Once
    head: int
    otherwise: int
    end: int


class ControlFlowNodes:
    """Goes through a circuit with markers once; nodes name places by labels until all places are known.

    block: the present basic block. repeated: the labels of saves in loops.
    last: the place of the last marker that is a node, behind which measurements may be moved to the end.
    """

    def __init__(self, division: Division) -> None:
        self._division = division
        self._structure = division.structure
        self._ends = ends_of(self._structure.instructions)
        self._nodes: list[Node] = []
        self._labels: list[int] = []  # the node of each label
        self._blocks: list[_OpenBlock] = []
        self._depth = 0  # of loops
        self._inside = 0  # how many blocks of gates are open
        self._gates_only = self._blocks_of_gates()
        self.repeated: set[str] = set()
        self.block = FlowBlock(division, alone=True)
        self.last = self._last_marker()

    def put(self, place: int, instruction: Instruction, acted: int, final: int) -> None:
        """Put one instruction; see `BasicBlock.put`."""
        if self._inside or place in self._gates_only:
            self._inside += self._put_gate(place, instruction, acted)
        elif isinstance(instruction, MARKERS):
            self._marker(place, instruction)
        else:
            if self._depth and instruction.saved is not None:
                self.repeated.add(instruction.saved.label)
            self.block.put(place, instruction, acted, final)

    def nodes(self) -> tuple[Node, ...]:
        """Return all nodes, after the last instruction."""
        self._end_block(last=True)
        if not any(node.work is not None for node in self._nodes):
            self._nodes.append(segment_from(()))
        return tuple([node.resolved(self._labels) for node in self._nodes])

    def first_random(self) -> RandomInstruction:
        """Return the first instruction of control flow, behind which the state is taken for random."""
        first = next(place for place, one in enumerate(self._structure.instructions) if isinstance(one, ControlFlow))
        return RandomInstruction("a block, a loop or a variable", first, (1 << self._structure.num_qubits) - 1)

    def _end_block(self, *, last: bool) -> None:
        self._nodes += self.block.nodes(last=last)
        self._division.levels += self.block.levels.every

    # --- markers -----------------------------------------------------------------------------------------------------

    def _marker(self, place: int, marker: Instruction) -> None:
        """Append the nodes of a marker."""
        self._end_block(last=False)
        memory = self._division.memory
        match marker:
            case If(condition):
                block = self._opened(marker)
                self._nodes.append(Fork(condition.lowered(memory.columns), block.otherwise))
            case Else():
                block = self._blocks[-1]
                self._nodes.append(Jump(block.end))
                self._place(block.otherwise)
            case While(condition):
                self._use(place)
                block = self._opened(marker)
                self._nodes.append(RoundBegin(self._depth))
                self._depth += 1
                if condition is not None:
                    self._nodes.append(Fork(condition.lowered(memory.columns), block.end))
            case Once():
                self._opened(marker)
            case Leave(blocks):
                around = [block for block in reversed(self._blocks) if not isinstance(block.marker, If)]
                self._nodes.append(Jump(around[blocks].end))
            case NextRound():
                block = next(block for block in reversed(self._blocks) if isinstance(block.marker, While))
                self._nodes.append(Jump(block.head))
            case End():
                self._close(self._blocks.pop())
            case _:
                raise AssertionError(f"expected a marker, got {marker!r}")
        self.block = FlowBlock(self._division, alone=not self._blocks)

    def _opened(self, marker: If | While | Once) -> _OpenBlock:
        """Open a block, whose first node is the next one."""
        self._labels += [len(self._nodes), -1, -1]
        at = len(self._labels)
        self._blocks.append(_OpenBlock(marker, at - 3, at - 2, at - 1))
        return self._blocks[-1]

    def _close(self, block: _OpenBlock) -> None:
        if isinstance(block.marker, While):
            self._nodes.append(Jump(block.head))
            self._depth -= 1
        self._place(block.end)
        if self._labels[block.otherwise] < 0:
            self._place(block.otherwise)
        self._nodes.append(Join(self._depth))

    def _place(self, label: int) -> None:
        """Put a label at the next node."""
        self._labels[label] = len(self._nodes)

    def _use(self, place: int) -> None:
        """Note that all wires of a loop may be in any state when a round begins."""
        for acted in self._structure.acted[place : self._ends[place]]:
            self._division.used |= acted
            self._division.touched |= acted

    # --- blocks of gates ---------------------------------------------------------------------------------------------

    def _blocks_of_gates(self) -> set[int]:
        """Return the places of all `If` whose blocks, `Else` included, hold nothing but gates."""
        found: set[int] = set()
        other = [0]  # how many instructions up to a place are no gates and belong to no block of gates
        plain = (Op, Conditional, If, Else, End)
        instructions = self._structure.instructions
        for instruction in instructions:
            other.append(other[-1] + (not isinstance(instruction, plain)))
        for place, instruction in enumerate(instructions):
            if isinstance(instruction, If):
                end = self._ends[place]
                if isinstance(instructions[end], Else):
                    end = self._ends[end]
                if other[end] == other[place]:
                    found.add(place)
        return found

    def _put_gate(self, place: int, instruction: Instruction, acted: int) -> int:
        """Put an instruction of a block of gates; return by how much the number of open blocks changes."""
        match instruction:
            case If(condition):
                self.block.begin(condition)
                return 1
            case Else():
                self.block.otherwise()
            case End():
                self.block.end()
                return -1
            case _:
                self.block.put(place, instruction, acted, 0)
        return 0

    def _last_marker(self) -> int:
        """Return the place of the last marker outside of blocks of gates; −1 without one."""
        last, inside = -1, 0
        for place, instruction in enumerate(self._structure.instructions):
            if isinstance(instruction, If) and (inside or place in self._gates_only):
                inside += 1
            elif inside:
                inside -= isinstance(instruction, End)
            elif isinstance(instruction, MARKERS):
                last = place
        return last
