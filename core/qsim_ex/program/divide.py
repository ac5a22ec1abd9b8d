"""The divider: a circuit becomes a `Program`.

Measurements before the end, resets of used wires, and channels are **choices**: one of a few matrices is applied, and
which one is random. A mixed-unitary channel is chosen before the first segment runs. The probabilities of all others
depend on the state, and they are chosen at a **branch point**; work is divided so that there are few branch points: an
operation runs as early as its wires allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Literal, assert_never, cast

from qsim_ex.circuit import thresholds
from qsim_ex.circuit.control import ControlFlow
from qsim_ex.circuit.noise.readout import ReadoutErrors
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
    SetState,
    Structure,
    mask_of,
    wires_acted_on,
    wires_of,
)
from qsim_ex.circuit.saves import KINDS
from qsim_ex.errors import NotSupported
from qsim_ex.program.choices import Choice, Conditioned, Reading, num_streams
from qsim_ex.program.final_measurements import moved_to_the_end
from qsim_ex.program.gathered import Piece, segment_from
from qsim_ex.program.program import BranchPoint, Node, Program, RandomInstruction, Segment, Work
from qsim_ex.program.readings import Groups, ReadingTracker, reads_bits

Given = tuple[tuple[int, int], ...]
"""Classical bits that are known, each with the branch point of the whole circuit after which it is."""


@thresholds.depends
@lru_cache(maxsize=256)
def program_of(
    structure: Structure,
    observed: bool = False,
    touched: int = 0,
    groups: tuple[tuple[int, ...], ...] = (),
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
    if plain is None and structure.has_control_flow:
        from qsim_ex.program.loops import loop_program

        return loop_program(structure, observed, touched, groups)
    return plain or _Divider(structure, observed, touched, groups, parts, given).program()


def _gates_only(structure: Structure, touched: int) -> Program | None:
    """Return the program of gates with measurements at the end, which is one segment; None for another circuit."""
    instructions, end, wires = structure.instructions, structure.gates_end, structure.gate_wires
    if wires is None and not {*map(type, instructions[:end])} <= {Op, Permutation}:
        return None
    work = cast(tuple[Work, ...], instructions[:end])
    measured: dict[int, int] = {}
    for instruction in instructions[end:]:
        assert isinstance(instruction, Measure)
        if instruction.kept:
            return None
        for wire, clbit in zip(instruction.wires, instruction.clbits, strict=True):
            measured.pop(clbit, None)  # so that bits are in the order of their last measurements
            measured[clbit] = wire
    if wires is not None:
        touched |= wires.touched
    else:
        for acted in {wires_acted_on(piece) for piece in work}:
            touched |= acted
    level = _OpenSegment()
    level.work += work
    program = Program(
        levels=(level,),
        make_nodes=lambda: (Segment(work),),
        choices=(),
        early=(),
        readings=0,
        given=0,
        measured=measured,
        recorded={},
        read=frozenset(),
        has_measurement=end < len(instructions),
        touched=touched,
        first_random=None,
        branches=False,
        saves=(),
        memory={},
    )
    program.__dict__["nodes"] = program.make_nodes()  # planning needs them at once
    return program


def groups_of(structure: Structure, errors: ReadoutErrors) -> tuple[tuple[int, ...], ...]:
    """Return the groups of classical bits of readout errors for `program_of`; () for a circuit that reads no bits."""
    if not errors or not reads_bits(structure):
        return ()
    return tuple(sorted({error.clbits for error in errors}))


def levels_of(structure: Structure, observed: bool, groups: Groups, parts: tuple[int, ...]) -> list[int]:
    """Return how many branch points the wires of each instruction have passed after it; see `program_of`."""
    divider = _Divider(structure, observed, 0, groups, parts)
    divider.levels = []
    divider.program()
    return divider.levels


class _OpenSegment:
    """The work between two nodes that are no segments, and what follows it: choices and readings, or another node."""

    def __init__(self) -> None:
        self.work: list[Piece] = []
        self.end: Save | SetState | None = None
        self.choices: list[Choice] = []
        self.readings: list[Reading] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing happens, since the wires of other parts pass branch points here."""
        return not (self.work or self.choices or self.readings) and self.end is None

    def nodes(self) -> Iterable[Node]:
        """Yield the segment, with operands of its own, and the node after it, if there is one."""
        yield segment_from(self.work)
        if self.choices or self.readings:
            yield BranchPoint(tuple(self.choices), tuple(self.readings))
        if self.end is not None:
            yield self.end


class _Divider:
    """Puts every instruction into the first possible segment, given its wires; level k is segment k."""

    def __init__(
        self,
        structure: Structure,
        observed: bool,
        touched: int,
        groups: Groups,
        parts: tuple[int, ...],
        given: Given = (),
    ) -> None:
        self._structure = structure
        self._given = len(given)
        self._parts = parts
        self._observed = observed
        self._groups = groups
        self._open = [_OpenSegment()]
        self._level = [0] * structure.num_qubits  # the level that each wire has reached
        self._choices: list[Choice] = []
        self._used = self._touched = touched
        self._lowest = 0  # the level after the last save or state that is set, which nothing after it comes before
        self._memory: dict[str, tuple[int | None, ...]] = {}
        self._measured: dict[int, int] = {}
        self._recorded: dict[int, int] = {}
        # The level of each choice at a branch point, and of each bit that is read or given.
        self._decided_at = {-1 - k: level for k, (_, level) in enumerate(given)}
        self._recorded.update({clbit: -1 - k for k, (clbit, _) in enumerate(given)})
        self._reader = ReadingTracker(groups, structure.instructions, len(given)) if groups else None
        known = {id(one): one for one in structure.instructions}  # the same gates and channels come again and again
        acted = {key: wires_acted_on(one) for key, one in known.items()}
        self._acted = [acted[id(instruction)] for instruction in structure.instructions]
        for k, (clbit, level) in enumerate(given):
            self._at(level, 0).readings.append(Reading((clbit,), (None,), (-1 - k,), 0, last=False, given=k))
        self._first_random: RandomInstruction | None = None
        self._place = 0
        self._place_of: dict[Choice, int] = {}  # of measurements and resets
        # The level that the wires of each instruction have reached; if asked for, or if an instruction refers to it.
        self.levels: list[int] | None = [] if Begin in {*map(type, structure.instructions)} else None

    def program(self) -> Program:
        """Return the program of the whole structure."""
        instructions = self._structure.instructions
        together = (lambda clbits: clbits) if self._reader is None else self._reader.together
        final = moved_to_the_end(instructions, self._observed, together)
        for place, (instruction, acted, ended) in enumerate(zip(instructions, self._acted, final, strict=True)):
            self._place = place
            self._put(instruction, acted, ended)
            if self.levels is not None:
                self.levels.append(self._reached(acted))
        choices, reader = tuple(self._choices), self._reader
        read = {} if reader is None else reader.current()
        program = Program(
            levels=tuple(self._open),
            make_nodes=self._nodes,
            choices=choices,
            early=tuple(choice for choice in choices if choice.mixed),
            readings=self._given if reader is None else reader.columns,
            given=self._given,
            measured=self._measured,
            recorded={**self._recorded, **{bit: column for of in read.values() for bit, column in of.items()}},
            read=frozenset(read),
            has_measurement=any(isinstance(instruction, Measure) for instruction in instructions),
            touched=self._touched,
            first_random=self._first_random,
            branches=bool(choices) or bool(self._given) or bool(reader and reader.columns),
            saves=tuple(one.end for one in self._open if isinstance(one.end, Save)),
            memory=self._memory,
        )
        if not program.branches:  # planning needs them at once; trajectories may not need them at all
            program.__dict__["nodes"] = self._nodes()
        return program

    def _nodes(self) -> tuple[Node, ...]:
        """Return all segments and the nodes after them; without choices and readings operands are the circuit's."""
        if self._choices or self._given or (self._reader is not None and self._reader.columns):
            first, *others = self._open
            return (*first.nodes(), *(node for one in others if not one.is_empty for node in one.nodes()))
        nodes: list[Node] = []
        for one in self._open:
            nodes.append(Segment(_plain(one.work)))
            if one.end is not None:
                nodes.append(one.end)
        return tuple(nodes)

    def _put(self, instruction: Instruction, acted: int, ended: int) -> None:
        """Put one instruction into its segment.

        acted: mask of the instruction's wires. ended: mask of the wires whose measurement may be moved to the end.
        """
        match instruction:
            case Op() | Permutation():
                self._at(self._reached(acted), acted).work.append(instruction)
            case Channel():
                self._channel(instruction, acted)
            case Initialize(wires, _, cleared):
                if not cleared:
                    self._reset(wires, "initialising wires that were used before")
                self._at(self._reached(acted), acted).work.append(instruction)
            case Measure(wires, clbits, kept):
                if self._reader is not None:
                    self._reader.measured(clbits)
                for k, (wire, clbit) in enumerate(zip(wires, clbits, strict=True)):
                    self._measure(wire, clbit, k, kept[k] if kept else None, final=bool(ended >> wire & 1))
                return  # a measurement alone leaves |0⟩ as it is
            case Reset(wires):
                self._reset(wires, "reset of wires that were used before")
                return
            case Begin(wire, level, after):
                assert self.levels is not None
                self._at(max(level, self._reached(acted), 0 if after is None else self.levels[after]), acted)
                return
            case Conditional():
                self._conditional(instruction, acted)
            case SetState():
                self._end(instruction, self._reached(0))
            case Save():
                self._save(instruction)
                return  # a saved wire is not touched
            case ControlFlow():
                raise AssertionError("circuits with control flow are divided by `program.loops`")
            case _:
                assert_never(instruction)
        self._used |= acted
        self._touched |= acted

    def _save(self, save: Save) -> None:
        if KINDS[save.what].gates_only:
            _check_gates(self._structure.instructions[: self._place], save)
        level = self._reached(0)
        if save.by_memory:
            sources = tuple(self._source(clbit) for clbit in range(self._structure.num_clbits))
            self._memory[save.label] = sources
            level = max([level, *(1 + self._decided_at[source] for source in sources if source is not None)])
        self._end(save, level)

    def _end(self, node: Save | SetState, level: int) -> None:
        """Put a node after the work of a level, and all that follows after it."""
        self._at(level, 0).end = node
        self._level = [level + 1] * len(self._level)
        self._lowest = level + 1

    def _channel(self, channel: Channel, acted: int) -> None:
        self._random_here("a noise channel", acted)
        number, operand, count = len(self._choices), channel.operand, channel.count
        stream, mixed, product = self._stream(), channel.mixed, channel.product
        choice = Choice("channel", number, stream, channel.wires, operand, count, mixed, product)
        if choice.mixed:
            self._choices.append(choice)
            self._at(self._reached(acted), acted).work.append(choice)
        else:
            self._ask(choice, self._reached(acted))

    def _conditional(self, conditional: Conditional, acted: int) -> None:
        """Put an operation under a condition after the branch points of its bits; a bit without a choice is 0."""
        operation, values = conditional.operation, conditional.values
        sources = tuple(self._source(clbit) for clbit in conditional.clbits)
        decided = [1 + self._decided_at[source] for source in sources if source is not None]
        if decided:
            self._random_here("an operation under a classical condition", acted)
            level = max(self._reached(acted), *decided)
            self._at(level, acted).work.append(Conditioned(operation, sources, values))
        elif 0 in values:
            self._at(self._reached(acted), acted).work.append(operation)

    def _source(self, clbit: int) -> int | None:
        """Return the column with the value of a classical bit that a condition reads; None for a bit that is 0."""
        if self._reader is None or not self._reader.misreads(clbit):
            return self._recorded.get(clbit)
        reading, new = self._reader.reading(clbit, self._recorded)
        if new:
            found = [self._decided_at[source] for source in reading.sources if source is not None]
            level = max(found, default=self._lowest)
            self._at(level, 0).readings.append(reading)
            self._decided_at.update(dict.fromkeys(reading.columns, level))
        return reading.columns[reading.clbits.index(clbit)]

    def _measure(self, wire: int, clbit: int, number: int, kept: int | None, *, final: bool) -> None:
        self._measured.pop(clbit, None)
        self._recorded.pop(clbit, None)
        if final:
            self._measured[clbit] = wire
        elif self._used >> wire & 1:  # else it is |0⟩, and the bit is 0
            self._recorded[clbit] = len(self._choices)
            self._random_here("measurement in the middle of a circuit", 1 << wire)
            if kept is None:
                self._project("measure", wire, self._stream(number))
            else:
                self._recorded[kept] = len(self._choices)
                self._project("reset", wire, self._stream(number))
                self._used &= ~(1 << wire)  # it is |0⟩ now

    def _reset(self, wires: tuple[int, ...], feature: str) -> None:
        if used := mask_of(wires) & self._used:
            self._random_here(feature, used)
        for k, wire in enumerate(wires):
            if self._used >> wire & 1:
                self._project("reset", wire, self._stream(k))
                self._used &= ~(1 << wire)  # it is |0⟩ again

    def _project(self, kind: Literal["measure", "reset"], wire: int, stream: int) -> None:
        level = self._reached(1 << wire)
        while level < len(self._open) and self._is_full(self._open[level]):
            level += 1
        choice = Choice(kind, len(self._choices), stream, (wire,))
        self._place_of[choice] = self._place
        self._ask(choice, level)

    def _stream(self, wire: int = 0) -> int:
        """Return the stream of random numbers of this instruction, or of one of its wires."""
        return self._streams[self._place] + wire

    @cached_property
    def _streams(self) -> list[int]:
        """The first stream of random numbers of each instruction."""
        return list(accumulate(map(num_streams, self._structure.instructions), initial=0))

    def _is_full(self, segment: _OpenSegment) -> bool:
        """Return whether as many wires as possible are measured after a segment, of those that may be entangled.

        Wires of separate parts are not counted, so that a part is divided as it is when it runs alone.
        """
        measured = [choice for choice in segment.choices if choice.kind != "channel"]
        jointly = thresholds.now.jointly
        if len(measured) < jointly or not self._parts:
            return len(measured) >= jointly
        part = self._parts[self._place]
        return sum(self._parts[self._place_of[choice]] == part for choice in measured) >= jointly

    def _ask(self, choice: Choice, level: int) -> None:
        """Make a choice after the work of a level; the chosen matrix is the first work on its wires after that."""
        self._choices.append(choice)
        self._decided_at[choice.number] = level
        self._at(level, 0).choices.append(choice)
        self._at(level + 1, mask_of(choice.wires)).work.append(choice)

    def _random_here(self, feature: str, wires: int) -> None:
        if self._first_random is None:
            self._first_random = RandomInstruction(feature, self._place, wires)

    def _reached(self, wires: int) -> int:
        """Return the highest level of some wires; without wires (a global phase), the highest of all wires."""
        if len(self._open) == 1 and not self._lowest:
            return 0
        if not wires:
            return max(self._level, default=self._lowest)
        return max(self._level[wire] for wire in wires_of(wires))

    def _at(self, level: int, wires: int) -> _OpenSegment:
        """Return the segment of a level, and raise some wires to that level."""
        while len(self._open) <= level:
            self._open.append(_OpenSegment())
        if level:
            for wire in wires_of(wires):
                self._level[wire] = level
        return self._open[level]


def _plain(work: Iterable[object]) -> tuple[Work, ...]:
    """Return work that has no choices among it."""
    return tuple(piece for piece in work if isinstance(piece, Op | Permutation | Initialize))


def _check_gates(before: Sequence[Instruction], save: Save) -> None:
    """Raise `NotSupported` unless all instructions before a save are gates."""
    for place, instruction in enumerate(before):
        if not isinstance(instruction, Op | Permutation | Save):
            name = getattr(instruction, "name", "") or type(instruction).__name__.lower()
            raise NotSupported(
                f"expected only gates before the save of a {save.what} ({save.label!r}), got {name} as instruction "
                f"{place}; save it before that instruction, or save a density_matrix instead."
            )
