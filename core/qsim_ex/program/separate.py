"""Separate parts: which wires must be simulated together, and which need no amplitudes at all.

A wire that no operation mixes and no noise touches is |0⟩ throughout, so it is a constant and takes no memory. Wires
that no operation, no condition and no save joins are in a product state, so each such part is a circuit of its own. A
reset ends the life of a wire: what follows may belong to another part than what went before.

Nothing here depends on the numbers of a circuit, so circuits of one structure are separated alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

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
    SetState,
    Structure,
    When,
    mask_of,
    structure_of,
    wires_acted_on,
    wires_of,
)
from qsim_ex.program.choices import num_streams
from qsim_ex.program.divide import levels_of
from qsim_ex.program.renumbered import Renumbered
from qsim_ex.program.separation import Groups, How, SeparatePart, Separation

Entries = NDArray[np.int64] | None


@lru_cache(maxsize=256)
def separation_of(
    structure: Structure, observed: bool = False, groups: Groups = (), how: How = "apart"
) -> Separation | None:
    """Return the separate parts of a structure; None if there is one part, with all wires.

    observed, groups: see `divide.program_of`. how: 'apart', or 'together' for one part of all wires that are not idle,
    or 'whole' for one of all wires. The shots of a seed are the same, since all three have the same instructions.
    """
    if _needs_all_wires(structure.instructions):
        return None
    saves = any(isinstance(instruction, Save) for instruction in structure.instructions)
    if how == "apart" and saves:
        how = "together"  # a save is read from one state
    return _Separator(structure, observed, groups).separation(how)


def _needs_all_wires(instructions: Sequence[Instruction]) -> bool:
    """Return whether a state of all wires is set, or saved as a whole."""
    every = (i for i in instructions if isinstance(i, SetState) or (isinstance(i, Save) and not i.wires))
    return next(every, None) is not None


def parts_of_instructions(structure: Structure, groups: Groups) -> list[int]:
    """Return the number of the part of each instruction; −1 for those that no part needs."""
    found = [-1] * len(structure.instructions)
    if not _needs_all_wires(structure.instructions):
        separator = _Separator(structure, False, groups)
        separator.follow()
        for placed in separator.placed:
            found[placed.at] = separator.root(placed.lives[0])
    return found


@dataclass(slots=True)
class _Placed:
    """An instruction with the life of each of its wires, and its first stream of random numbers.

    at: its place in the circuit. entries: the place of each of its operands in the circuit's; None if they stand
    together.
    """

    instruction: Instruction
    lives: tuple[int, ...]
    stream: int
    at: int
    entries: Entries = None


_ZERO = -1
"""The life that wrote a classical bit which is surely 0."""


class _Separator:
    """Follows the wires of a circuit instruction by instruction; each life of a wire is a node that instructions join.

    A life of a wire begins with the circuit or after a reset. A wire is idle in a life in which nothing mixes it.
    """

    def __init__(self, structure: Structure, observed: bool, groups: Groups) -> None:
        self._structure = structure
        self._observed = observed
        self._at = 0  # the place of the present instruction
        self._groups = groups
        self._misread = {clbit for group in groups for clbit in group}
        self._parents: list[int] = []  # of each life: a forest of joined lives
        self.wires: list[int] = []  # of each life
        self._life: dict[int, int] = {}  # the present life of each wire that is not idle and was used already
        self._mixed = _mixed_lives(structure.instructions)
        self._resets = [0] * structure.num_qubits  # how often each wire was reset so far
        self._alive = 0  # the mask of the wires that are not idle in their present lives
        for wire, number in self._mixed:
            self._alive |= 0 if number else 1 << wire
        self._written: dict[int, int] = {}  # the life whose measurement wrote each classical bit last
        self._writers: dict[int, set[int]] = {}  # all lives that write each classical bit
        self.placed: list[_Placed] = []
        self._levels: dict[int, int] = {}  # of lives that follow one in another part
        self._stream = 0
        self._phases: list[int] = []
        self._gathers = False  # whether an operation has fewer operands than in the circuit

    def follow(self) -> None:
        """Follow all instructions, and join the lives that conditions on misread bits join."""
        for place, instruction in enumerate(self._structure.instructions):
            self._at = place
            self._follow(instruction)
        self._join_misread()

    def separation(self, how: How) -> Separation | None:
        """Return the parts; None if there is one with all wires."""
        self.follow()
        num_qubits, num_clbits = self._structure.num_qubits, self._structure.num_clbits
        members: dict[int, list[int]] = {}
        for number, placed in enumerate(self.placed):
            members.setdefault(self.root(placed.lives[0]), []).append(number)
        if (len(members) == 1 and len(set(self.wires)) == num_qubits) or not num_qubits:
            return None
        if how != "apart" and members:
            for life in range(1, len(self._parents)):
                self.join(0, life)
            members = {0: list(range(len(self.placed)))}
        measures = any(isinstance(one, Measure) for one in self._structure.instructions)
        if not members:
            wires = tuple(range(num_qubits)) if how == "whole" else ()
            clbits = tuple(range(num_clbits))
            nothing = SeparatePart(structure_of(len(wires), num_clbits, ()), wires, clbits, (), None, (), ())
            return Separation(num_qubits, num_clbits, (nothing,), {}, measures, tuple(self._phases))
        order = self._order(members)
        if len(order) > 1:
            self._levels = self._begin_levels()
        alone = len(members) == 1
        parts = tuple(self._part(root, members[root], alone, how == "whole") for root in order)
        place = {}
        for wire, life in self._life.items():
            number = order[self.root(life)]
            place[wire] = number, parts[number].wires.index(wire)
        return Separation(num_qubits, num_clbits, parts, place, measures, tuple(self._phases))

    def _begin_levels(self) -> dict[int, int]:
        """Return after how many branch points of the whole circuit the lives begin that follow one in another part.

        Choices of entangled wires are then made in the order of the whole circuit.
        """
        later: dict[int, int] = {}  # a life -> the place in `placed` of the reset before it
        ended: dict[int, tuple[int, int]] = {}  # a wire -> its life that ended, and where
        for number, placed in enumerate(self.placed):
            for life in placed.lives:
                before, place = ended.get(wire := self.wires[life], (life, 0))
                if before != life and life not in later and self.root(before) != self.root(life):
                    later[life] = place
                if isinstance(placed.instruction, Reset):
                    ended[wire] = life, number
        if not later:
            return {}
        whole = separation_of(self._structure, self._observed, self._groups, "whole")
        assert whole is not None
        levels = levels_of(whole.parts[0].structure, self._observed, whole.parts[0].groups)
        return {life: levels[place] for life, place in later.items()}

    def _order(self, members: Iterable[int]) -> dict[int, int]:
        """Return the number of each part, by its root: parts are in the order of their lowest wires."""
        lowest: dict[int, int] = {}
        for life, wire in enumerate(self.wires):
            root = self.root(life)
            lowest[root] = min(wire, lowest.get(root, wire))
        return {root: number for number, root in enumerate(sorted(members, key=lambda root: (lowest[root], root)))}

    # --- following the wires -----------------------------------------------------------------------------------------

    def _follow(self, instruction: Instruction) -> None:
        match instruction:
            case Op():
                operation, entries = self._simplified(instruction)
                if operation is not None:
                    self._put(operation, wires_acted_on(operation), 0, entries=entries)
            case Permutation(wires):
                self._put(instruction, mask_of(wires), 0)
            case Channel(wires):
                self._put(instruction, mask_of(wires), 1)
            case Initialize(wires):
                stream = self._stream
                self._end(wires, [stream + k for k in range(len(wires))])
                self._put(instruction, mask_of(wires), len(wires))
            case Measure(wires, clbits):
                for k, (wire, clbit) in enumerate(zip(wires, clbits, strict=True)):
                    self._measure(wire, clbit, self._stream + k)
                self._stream += len(wires)
            case Reset(wires):
                self._end(wires, [self._stream + k for k in range(len(wires))])
                self._stream += len(wires)
            case Conditional():
                self._conditional(instruction)
            case Save():
                self._put(instruction, wires_acted_on(instruction), 0)
            case SetState():
                raise AssertionError("circuits that set the state of all wires are not separated")
            case _:
                assert_never(instruction)

    def _put(
        self, instruction: Instruction, acted: int, streams: int, also: Sequence[int] = (), entries: Entries = None
    ) -> None:
        """Place an instruction on the present lives of its wires, which it joins with each other and with `also`."""
        lives = tuple([self._living(wire) for wire in wires_of(acted)])
        for other in (*lives[1:], *also):
            self.join(lives[0], other)
        self.placed.append(_Placed(instruction, lives, self._stream, self._at, entries))
        self._stream += streams

    def _living(self, wire: int) -> int:
        life = self._life.get(wire)
        if life is None:
            life = self._life[wire] = len(self._parents)
            self._alive |= 1 << wire
            self._parents.append(life)
            self.wires.append(wire)
        return life

    def _end(self, wires: Sequence[int], streams: Sequence[int]) -> None:
        """End the lives of wires by a reset."""
        for wire, stream in zip(wires, streams, strict=True):
            self._resets[wire] += 1
            mixed = (wire, self._resets[wire]) in self._mixed
            self._alive = self._alive | 1 << wire if mixed else self._alive & ~(1 << wire)
            if (life := self._life.pop(wire, None)) is not None:
                self.placed.append(_Placed(Reset((wire,)), (life,), stream, self._at))

    def _measure(self, wire: int, clbit: int, stream: int) -> None:
        # Where a bit may be read as 1 although the wire is |0⟩, or held another value before, it has to be measured.
        needed = clbit in self._misread or self._written.get(clbit, _ZERO) != _ZERO
        life = self._living(wire) if needed or self._alive >> wire & 1 else _ZERO
        self._written[clbit] = life
        if life != _ZERO:
            self._writers.setdefault(clbit, set()).add(life)
            self.placed.append(_Placed(Measure((wire,), (clbit,)), (life,), stream, self._at))

    def _conditional(self, conditional: Conditional) -> None:
        """Place an operation with the measurements that its condition reads; bits that are surely 0 are left out."""
        operation, entries = self._simplified(conditional.operation)
        if operation is None:
            return
        known = [self._written.get(clbit, _ZERO) for clbit in conditional.clbits]
        read = [k for k, life in enumerate(known) if life != _ZERO]
        values = sorted(
            {
                sum((value >> k & 1) << new for new, k in enumerate(read))
                for value in conditional.values
                if not any(value >> k & 1 for k in range(len(known)) if k not in read)
            }
        )
        if not values:
            return
        acted = wires_acted_on(operation)
        if not read:
            self._put(operation, acted, 0, entries=entries)
            return
        clbits = tuple(conditional.clbits[k] for k in read)
        self._put(Conditional(operation, clbits, tuple(values)), acted, 0, [known[k] for k in read], entries)

    def _join_misread(self) -> None:
        """Join all measurements into bits that are misread together, since conditions read them together."""
        for group in self._groups:
            writers = [life for clbit in group for life in sorted(self._writers.get(clbit, ()))]
            for other in writers[1:]:
                self.join(writers[0], other)

    def root(self, life: int) -> int:
        """Return the life that stands for all lives that are joined with one."""
        while self._parents[life] != life:
            self._parents[life] = self._parents[self._parents[life]]
            life = self._parents[life]
        return life

    def join(self, one: int, other: int) -> None:
        """Join two lives."""
        first, second = sorted((self.root(one), self.root(other)))
        self._parents[second] = first

    # --- operations on wires that are |0⟩ ----------------------------------------------------------------------------

    def _simplified(self, op: Op) -> tuple[Op | None, Entries]:
        """Return an operation without the wires that it only reads while they are |0⟩; None if it changes nothing.

        A factor without wires is a global phase, which no measurement and no expectation value shows; its place is
        kept for amplitudes. Also return the places of the operation's operands, unless they still stand together.
        """
        alive = self._alive
        if not (op.when.mask | _union(op.reads)) & ~alive:
            if op.mixes or op.reads or op.when.mask:
                return op, None
            self._phases.append(op.operand)
            return None, None
        if op.when.value & ~alive:
            return None, None  # a control is 0 where 1 is required
        when = When(op.when.mask & alive, op.when.value)
        reads = [read & alive for read in op.reads]
        kept = tuple(dict.fromkeys(read for read in reads if read))
        if not (op.mixes or kept or when.mask):
            self._phases.append(op.operand)
            return None, None
        entries = _entries(reads, kept, 4 ** len(op.mixes))
        pattern = bytes([op.pattern[entry] for entry in entries.tolist()])
        found = op._replace(reads=kept, when=when, pattern=pattern)
        if np.array_equal(entries, np.arange(len(entries))):
            return found, None
        self._gathers = True
        return found, op.operand + entries

    # --- the parts ---------------------------------------------------------------------------------------------------

    def _part(self, root: int, members: Sequence[int], alone: bool, whole: bool) -> SeparatePart:
        """Return the circuit of some instructions.

        alone: it is the only part, with the circuit's classical bits. whole: it has all wires of the circuit.
        """
        every = range(self._structure.num_qubits) if whole else None
        wires = tuple(every or sorted({self.wires[life] for number in members for life in self.placed[number].lives}))
        written = {clbit for number in members for clbit in _clbits(self.placed[number].instruction)}
        misread = [group for group in self._groups if not written.isdisjoint(group)]
        written.update(clbit for group in misread for clbit in group)
        clbits = tuple(range(self._structure.num_clbits)) if alone else tuple(sorted(written))
        own = self._gathers or not alone
        numbered = Renumbered(wires, clbits, own)
        instructions, streams = [], []
        for number in members:
            placed = self.placed[number]
            for life in placed.lives:
                if (level := self._levels.pop(life, 0)) and not whole:
                    instructions.append(numbered.instruction(Reset((self.wires[life],), level), None))
                    streams.append(placed.stream)
            instructions.append(numbered.instruction(placed.instruction, placed.entries))
            streams += [placed.stream + k for k in range(num_streams(placed.instruction))]
        final = tuple(
            k
            for k, clbit in enumerate(clbits)
            if (life := self._written.get(clbit, _ZERO)) != _ZERO and self.root(life) == root
        )
        place = {clbit: k for k, clbit in enumerate(clbits)}
        groups = tuple(tuple(place[clbit] for clbit in group) for group in misread)
        return SeparatePart(
            structure=structure_of(len(wires), len(clbits), tuple(instructions)),
            wires=wires,
            clbits=clbits,
            final=final,
            columns=np.array(numbered.columns, dtype=np.int64) if own else None,
            streams=tuple(streams),
            groups=groups,
        )


Life = tuple[int, int]
"""A wire, and how often it was reset before."""


def _mixed_lives(instructions: Sequence[Instruction]) -> set[Life]:
    """Return the lives in which an operation or noise mixes a wire; one whose control is always 0 mixes nothing."""
    resets: dict[int, int] = {}
    waiting: list[tuple[list[Life], list[Life]]] = []  # lives that are mixed if all of some others are
    for instruction in instructions:
        controls: tuple[int, ...] = ()
        match instruction:
            case Op(mixes, _, when) | Conditional(Op(mixes, _, when)):
                wires, controls = mixes, wires_of(when.value)
            case Reset(wires):
                resets.update((wire, resets.get(wire, 0) + 1) for wire in wires)
                continue
            case Initialize(wires):
                resets.update((wire, resets.get(wire, 0) + 1) for wire in wires)
            case Permutation(wires) | Channel(wires):
                pass
            case _:
                continue
        mixed = [(wire, resets.get(wire, 0)) for wire in wires]
        waiting.append((mixed, [(wire, resets.get(wire, 0)) for wire in controls]))
    found: set[Life] = set()
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


def _entries(reads: Sequence[int], kept: Sequence[int], block: int) -> NDArray[np.int64]:
    """Return which entries of an operation are left if it reads only `kept`; an empty read is 0, equal ones are equal.

    block: the number of entries for each value of the reads.
    """
    blocks = []
    for value in range(1 << len(kept)):
        parity = {read: value >> k & 1 for k, read in enumerate(kept)}
        blocks.append(sum(parity.get(read, 0) << k for k, read in enumerate(reads)))
    return (np.array(blocks)[:, None] * block + np.arange(block)).reshape(-1)


def _union(masks: Sequence[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _clbits(instruction: Instruction) -> tuple[int, ...]:
    return instruction.clbits if isinstance(instruction, Measure | Conditional) else ()
