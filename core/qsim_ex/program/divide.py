"""The divider: a circuit becomes a `Program`.

Measurements before the end, resets of used wires, and channels are **choices**: one of a few matrices is applied, and
which one is random. A mixed-unitary channel is chosen before the first segment runs. The probabilities of all others
depend on the state, and they are chosen at a **branch point**; work is divided so that there are few branch points: an
operation runs as early as its wires allow. A circuit without control flow is one basic block (`basic_block`); markers
of control flow become nodes between blocks (`control_flow`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, cast

from qsim_ex.circuit.kept import Kept
from qsim_ex.circuit.ops import Begin, Measure, Op, Permutation, Save
from qsim_ex.circuit.structure import Structure
from qsim_ex.later import later
from qsim_ex.program.division import Division, Given, OpenLevel, moved_to_the_end
from qsim_ex.program.program import Node, Program, Segment, Work

if TYPE_CHECKING:
    from qsim_ex.circuit.noise.readout import ReadoutErrors
    from qsim_ex.program import basic_block, control_flow
    from qsim_ex.program.readings import Groups
else:
    control_flow = later("qsim_ex.program.control_flow")
    basic_block = later("qsim_ex.program.basic_block")


@Kept
def program_of(
    structure: Structure,
    observed: bool = False,
    touched: int = 0,
    groups: Groups = (),
    parts: tuple[int, ...] = (),
    given: Given = (),
) -> Program:
    """Return the program of a structure; it is the same object for equal arguments.

    A measurement of a wire that no later operation mixes is moved to the end, where all shots of a state are drawn at
    once. observed: whether expectation values of the state at the end are taken; then only a measurement that no
    operation on its wire follows is moved to the end, and it leaves the state as it is. touched: mask of the wires that
    may not be |0⟩ at the beginning. groups: classical bits with a readout error, each group together, for conditions on
    them; see `groups_of`. parts: the number of the separate part of each instruction; () if all are of one part. given:
    the classical bits that other parts measure, each with the branch point at which it is known. Raises `NotSupported`
    for a condition on a group of bits of which not all were measured, and for the save of a unitary after something
    that is no gate.
    """
    plain = None if parts or given else _gates_only(structure, touched)
    return plain or _Divider(structure, observed, touched, groups, parts, given).program()


def _gates_only(structure: Structure, touched: int) -> Program | None:
    """Return the program of gates with measurements at the end, which is one segment; None for another circuit."""
    instructions, end = structure.instructions, structure.gates_end
    if not structure.kinds <= {Op, Permutation, Measure}:
        return None
    measured_last = Measure not in structure.kinds or structure.gate_wires is not None
    if not measured_last and not {*map(type, instructions[:end])} <= {Op, Permutation}:
        return None
    work = instructions[:end]
    measured: dict[int, int] = {}
    for instruction in instructions[end:]:
        assert isinstance(instruction, Measure)
        if instruction.kept:
            return None
        for wire, clbit in zip(instruction.wires, instruction.clbits, strict=True):
            measured.pop(clbit, None)  # so that bits are in the order of their last measurements
            measured[clbit] = wire
    level, segment = OpenLevel([*cast(tuple[Work, ...], work)]), Segment(structure.before_measurements)
    program = Program(
        levels=(level,),
        make_nodes=lambda: (segment,),
        measured=measured,
        has_measurement=end < len(instructions),
        touched=lambda: touched | _touched_by_gates(structure),
        instructions=instructions,
    )
    program.__dict__.update(nodes=program.make_nodes(), segment_places=(0,))  # planning needs them at once
    return program


def _touched_by_gates(structure: Structure) -> int:
    """Return the mask of the wires on which the gates of a structure act that ends with measurements."""
    if structure.gate_wires is not None:
        return structure.gate_wires.touched
    return reduce(or_, {*structure.acted[: structure.gates_end]}, 0)


def groups_of(structure: Structure, errors: ReadoutErrors) -> Groups:
    """Return the groups of classical bits of readout errors for `program_of`; () for a circuit that reads no bits."""
    if not errors or not structure.reads_bits:
        return ()
    return tuple(sorted({error.clbits for error in errors}))


def levels_of(structure: Structure, observed: bool, groups: Groups, parts: tuple[int, ...]) -> list[int]:
    """Return how many branch points the wires of each instruction have passed after it; see `program_of`."""
    divider = _Divider(structure, observed, 0, groups, parts, keeps_levels=True)
    divider.divide()
    return divider.levels


class _Divider:
    """Goes through one circuit, once.

    levels: how many branch points the wires of each instruction have passed after it, if that is kept: if it is asked
    for, or if an instruction refers to it.
    """

    def __init__(
        self,
        structure: Structure,
        observed: bool,
        touched: int,
        groups: Groups,
        parts: tuple[int, ...],
        given: Given = (),
        *,
        keeps_levels: bool = False,
    ) -> None:
        self._structure = structure
        self._observed = observed
        self._division = Division(structure, touched, groups, parts, given)
        self._flow = control_flow.ControlFlowNodes(self._division) if structure.has_control_flow else None
        self._block = basic_block.BasicBlock(self._division, alone=True) if self._flow is None else self._flow.block
        self._keeps_levels = keeps_levels or Begin in structure.kinds
        self.levels: list[int] = self._block.levels_after

    def divide(self) -> None:
        """Put every instruction into the first possible level, given its wires and bits."""
        structure, flow, block = self._structure, self._flow, self._block
        last = -1 if flow is None else flow.last
        put: Callable[..., None] = block.put if flow is None else flow.put
        every = structure.instructions, structure.acted
        after = every if flow is None else (every[0][last + 1 :], every[1][last + 1 :])
        final = [0] * (last + 1) + moved_to_the_end(*after, self._observed, self._division.group_of)
        for place, (one, acted, ended) in enumerate(zip(structure.instructions, structure.acted, final, strict=True)):
            put(place, one, acted, ended)
            if self._keeps_levels:
                self.levels.append(block.levels.reached(acted))

    def program(self) -> Program:
        """Return the program of the whole structure."""
        self.divide()
        structure, division, flow = self._structure, self._division, self._flow
        if flow is None:
            block, make_nodes, first_random, loops = self._block, self._nodes, division.first_random, False
            division.levels = block.levels.every
        else:
            nodes = flow.nodes()
            block, make_nodes, first_random, loops = flow.block, lambda: nodes, flow.first_random(), True
        read = {} if division.reader is None else division.reader.current()
        touched = division.touched & (1 << structure.num_qubits) - 1
        program = Program(
            levels=tuple(division.levels),
            make_nodes=make_nodes,
            choices=tuple(division.choices),
            early=tuple(choice for choice in division.choices if choice.mixed),
            readings=division.columns,
            given=len(division.given),
            measured=division.measured,
            recorded=division.recorded(block.value) | {bit: one for of in read.values() for bit, one in of.items()},
            read=frozenset((*division.read, *read)),
            has_measurement=structure.measures,
            touched=lambda: touched,
            first_random=first_random,
            branches=loops or self._branches,
            saves=tuple(one.end for one in division.levels if isinstance(one.end, Save)),
            memory=division.saved,
            loops=loops,
            records=division.memory.records,
            history=division.memory.history,
            repeated=frozenset(() if flow is None else flow.repeated),
            instructions=structure.instructions,
        )
        if not program.branches:  # planning needs them at once; trajectories may not need them at all
            program.__dict__["nodes"] = self._nodes()
        return program

    @property
    def _branches(self) -> bool:
        """Whether shots may have different states in a circuit without control flow."""
        return bool(self._division.choices) or self._division.columns > 0

    def _nodes(self) -> tuple[Node, ...]:
        """Return the nodes of a circuit that is one block; without choices and readings operands are the circuit's."""
        nodes: list[Node] = []
        for level in self._block.levels.every:
            if not self._branches:
                nodes.append(level.plain())
            elif not level.is_empty or not nodes:
                nodes.append(level.segment())
            nodes += level.nodes()
        return tuple(nodes)
