"""The divider of circuits with control flow: blocks, loops and variables become forks, jumps and joins.

What stands between two markers is a `stretch.Stretch`, which is divided into segments once, whatever number of rounds
it is part of. A block that holds nothing but gates, which every branch can do at once, is no fork: its gates are under
a condition on a flag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from qsim_ex.circuit.control import (
    MARKERS,
    ControlFlow,
    Else,
    End,
    If,
    Leave,
    NextRound,
    Once,
    Record,
    Store,
    While,
    ends_of,
)
from qsim_ex.circuit.ops import (
    Conditional,
    Instruction,
    Measure,
    Op,
    Save,
    Structure,
    mask_of,
    wires_acted_on,
)
from qsim_ex.program.gathered import segment_from
from qsim_ex.program.program import Fork, Join, Jump, Node, Program, RandomInstruction, RoundBegin, Segment
from qsim_ex.program.readings import Groups
from qsim_ex.program.stretch import Shared, Stretch


def loop_program(structure: Structure, observed: bool, touched: int, groups: Groups) -> Program:
    """Return the program of a structure with control flow; see `divide.program_of`."""
    return _LoopDivider(structure, observed, touched, groups).program()


@dataclass(slots=True)
class _Block:
    """A block that is open: where a round begins, and the labels of its else part and of its end."""

    marker: If | While | Once
    head: int
    otherwise: int
    end: int


class _LoopDivider:
    """Goes through a circuit with markers once; nodes name places by labels until all places are known."""

    def __init__(self, structure: Structure, observed: bool, touched: int, groups: Groups) -> None:
        self._structure = structure
        self._instructions = structure.instructions
        self._observed = observed
        self._shared = Shared(structure.instructions, structure.num_clbits, touched, groups)
        self._ends = ends_of(structure.instructions)
        self._nodes: list[Node] = []
        self._labels: list[int] = []  # the node of each label
        self._blocks: list[_Block] = []
        self._depth = 0  # of loops
        self._repeated: set[str] = set()  # the labels of saves in loops
        self._stretch = Stretch(self._shared, alone=True)

    def program(self) -> Program:
        """Return the program."""
        instructions, shared = self._instructions, self._shared
        gates_only = self._gates_only()
        last = self._last_marker(gates_only)
        final = _moved_to_the_end(instructions, last + 1, self._observed, shared.together)
        inside = 0  # how many blocks of gates are open
        for place, instruction in enumerate(instructions):
            if inside or place in gates_only:
                inside += self._gates(place, instruction)
            elif isinstance(instruction, MARKERS):
                self._marker(place, instruction)
            else:
                if self._depth and isinstance(instruction, Save):
                    self._repeated.add(instruction.label)
                self._stretch.put(place, instruction, final[place - last - 1] if place > last else 0)
        stretch = self._stretch
        self._nodes += stretch.nodes(last=True)
        if not any(isinstance(node, Segment) for node in self._nodes):
            self._nodes.append(segment_from(()))
        nodes = tuple([self._resolved(node) for node in self._nodes])
        recorded = {c: column for c in sorted(shared.written) if (column := stretch.column(c)) is not None}
        first = next(place for place, one in enumerate(instructions) if isinstance(one, ControlFlow))
        every = (1 << self._structure.num_qubits) - 1
        return Program(
            levels=tuple(shared.levels),
            make_nodes=lambda: nodes,
            choices=tuple(shared.choices),
            early=tuple(choice for choice in shared.choices if choice.mixed),
            readings=shared.memory.count,
            given=0,
            measured=shared.measured,
            recorded={clbit: column for clbit, column in recorded.items() if clbit not in shared.measured},
            read=frozenset(shared.read),
            has_measurement=measures(instructions),
            touched=shared.touched & every,
            first_random=RandomInstruction("a block, a loop or a variable", first, every),
            branches=True,
            saves=tuple(node for node in nodes if isinstance(node, Save)),
            memory=shared.saved,
            loops=True,
            records={one.label: one.value.width for one in instructions if isinstance(one, Record)},
            history=shared.memory.history,
            repeated=frozenset(self._repeated),
        )

    # --- markers -----------------------------------------------------------------------------------------------------

    def _marker(self, place: int, marker: Instruction) -> None:
        """Append the nodes of a marker."""
        self._nodes += self._stretch.nodes(last=False)
        match marker:
            case If(condition):
                block = self._opened(marker)
                self._nodes.append(Fork(condition.lowered(self._shared.memory.columns), block.otherwise))
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
                    self._nodes.append(Fork(condition.lowered(self._shared.memory.columns), block.end))
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
        self._stretch = Stretch(self._shared, alone=not self._blocks)

    def _opened(self, marker: If | While | Once) -> _Block:
        """Open a block, whose first node is the next one."""
        self._labels += [len(self._nodes), -1, -1]
        at = len(self._labels)
        self._blocks.append(_Block(marker, at - 3, at - 2, at - 1))
        return self._blocks[-1]

    def _close(self, block: _Block) -> None:
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

    def _resolved(self, node: Node) -> Node:
        """Return a node with the places that its labels stand for."""
        match node:
            case Fork(_, label):
                return replace(node, otherwise=self._labels[label])
            case Jump(label):
                return Jump(self._labels[label])
            case _:
                return node

    def _use(self, place: int) -> None:
        """Note that all wires of a loop may be in any state when a round begins."""
        for instruction in self._instructions[place : self._ends[place]]:
            acted = wires_acted_on(instruction)
            self._shared.used |= acted
            self._shared.touched |= acted

    # --- blocks of gates ---------------------------------------------------------------------------------------------

    def _gates_only(self) -> set[int]:
        """Return the places of all `If` whose blocks, `Else` included, hold nothing but gates."""
        found: set[int] = set()
        other = [0]  # how many instructions up to a place are no gates and belong to no block of gates
        plain = (Op, Conditional, If, Else, End)
        for instruction in self._instructions:
            other.append(other[-1] + (not isinstance(instruction, plain)))
        for place, instruction in enumerate(self._instructions):
            if isinstance(instruction, If):
                end = self._ends[place]
                if isinstance(self._instructions[end], Else):
                    end = self._ends[end]
                if other[end] == other[place]:
                    found.add(place)
        return found

    def _gates(self, place: int, instruction: Instruction) -> int:
        """Put an instruction of a block of gates; return by how much the number of open blocks changes."""
        match instruction:
            case If(condition):
                self._stretch.begin(condition)
                return 1
            case Else():
                self._stretch.otherwise()
            case End():
                self._stretch.end()
                return -1
            case _:
                self._stretch.put(place, instruction, 0)
        return 0

    def _last_marker(self, gates_only: set[int]) -> int:
        """Return the place of the last marker outside of blocks of gates; −1 without one."""
        last, inside = -1, 0
        for place, instruction in enumerate(self._instructions):
            if isinstance(instruction, If) and (inside or place in gates_only):
                inside += 1
            elif inside:
                inside -= isinstance(instruction, End)
            elif isinstance(instruction, MARKERS):
                last = place
        return last


def measures(instructions: tuple[Instruction, ...]) -> bool:
    """Return whether there is a measurement, or a store into classical bits."""
    return any(isinstance(one, Measure) or (isinstance(one, Store) and one.writes_bits) for one in instructions)


def _moved_to_the_end(
    instructions: tuple[Instruction, ...], first: int, observed: bool, together: Callable[[Iterable[int]], set[int]]
) -> list[int]:
    """Return for each instruction from `first` on the mask of wires whose measurement there is moved to the end.

    together: returns those of some bits that are misread, and all others that are misread with them.
    """
    later, found = 0, []
    needed: set[int] = set()  # bits that are read before they are written again, or misread before a store writes one
    for instruction in reversed(instructions[first:]):
        found.append(~later)
        match instruction:
            case Measure(wires, clbits):
                kept = tuple([wire for wire, clbit in zip(wires, clbits, strict=True) if clbit in needed])
                found[-1] &= ~mask_of(kept)
                needed.difference_update(clbits)
            case Conditional(operation, clbits):
                needed.update(clbits)
                later |= wires_acted_on(operation) if observed else mask_of(operation.mixes)
            case Op(mixes) if not observed:
                later |= mask_of(mixes)
            case Store(target, value):
                written = target.value if target.op == "bits" else ()
                needed.difference_update(written)
                needed.update(together(written))
                needed.update(value.clbits)
            case If(condition) | Record(_, condition):
                needed.update(condition.clbits)
            case Save():
                later = -1
            case _:
                later |= wires_acted_on(instruction)
    found.reverse()
    return found
