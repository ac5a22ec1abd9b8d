"""The parts of a circuit as circuits of their own, each with the outcomes that it needs of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from qsim_ex.circuit.circuit import ONE_AT, ZERO_AT
from qsim_ex.circuit.ops import ALWAYS, Begin, Conditional, Instruction, Measure, Op, pattern
from qsim_ex.circuit.structure import structure_of
from qsim_ex.program.gates import Gates
from qsim_ex.program.live_ranges import LiveRanges
from qsim_ex.program.partition import Partition
from qsim_ex.program.readings import Groups
from qsim_ex.program.renumbered import Renumbered
from qsim_ex.program.separation import GivenBit, SeparatePart
from qsim_ex.program.simplified import Placed

_FLIP_ENTRIES = np.array([ZERO_AT, ONE_AT, ONE_AT, ZERO_AT])


class Parts:
    """The parts of a circuit, numbered, with what each of them keeps for others.

    made: the parts. part: the part of each live range. wire: its wire there, unless it only tells again what is kept.
    kept: for each measurement whose outcome is kept, the bit of its part that keeps it.
    """

    def __init__(
        self,
        placed: Sequence[Placed],
        ranges: LiveRanges,
        partition: Partition,
        groups: Groups,
        num_clbits: int,
        gathers: bool,
        level: Callable[[int], int],
    ) -> None:
        """Make all parts.

        gathers: whether operations have fewer operands than in the circuit. level: returns how many branch points of
        the whole circuit the wires of the instruction at a place have passed after it.
        """
        self.placed, self.ranges, self.partition, self.groups = placed, ranges, partition, groups
        self.gathers, self.level = gathers, level
        self.part = {live: partition.of[place] for place, mine in enumerate(ranges.of) for live in mine}
        self._next = {one.before: live for live, one in enumerate(ranges.every) if one.before is not None}
        self.kept = dict.fromkeys(self._outcomes_to_keep(), -1)
        made = [_Part(self, number) for number in range(len(partition.places))]
        if len(made) == 1:
            made[0].clbits = tuple(range(num_clbits))
        self.wire = {live: wire for one in made for live, wire in one.wire.items()}
        for one in made:
            one.number_kept_bits()
        self.made = tuple([one.made() for one in made])

    def repeats(self, place: int) -> int | None:
        """Return the measurement whose outcome, which is kept, one at the end would find again; None without one."""
        if place not in self.ranges.late:
            return None
        every, live = self.ranges.every, self.ranges.of[place][0]
        if every[live].echoes and every[live].origin in self.kept:
            return every[live].origin
        while every[live].end not in self.kept:  # nothing mixes the wire any more, so all find the same
            if live not in self._next:
                return None
            live = self._next[live]
        return every[live].end

    def _outcomes_to_keep(self) -> set[int]:
        """Return the measurements whose outcomes another part needs, or after which another takes the slot."""
        every, partition = self.ranges.every, self.partition
        found = set[int]()
        for place, read in self.ranges.read.items():
            found.update(one for one in read if partition.of[one] != partition.of[place])
        for live, part in self.part.items():
            origin = every[live].origin
            if origin is not None and (
                partition.of[origin] != part or (every[live].echoes and part in partition.slots)
            ):
                found.add(origin)
        for slots in partition.slots.values():
            ends = [every[live].end for live in slots.taken.values()]
            found.update(end for end in ends if end is not None and isinstance(self.placed[end].instruction, Measure))
        return found


class _Part:
    """One part, which is made when the numbers of the bits of all parts are known.

    clbits, wires: see `SeparatePart`. wire: the wire of each live range.
    """

    def __init__(self, of: Parts, number: int) -> None:
        self._of = of
        self._number = number
        self._places = [place for place in of.partition.places[number] if of.repeats(place) is None]
        every = of.ranges.every
        mine = dict.fromkeys(live for place in of.partition.places[number] for live in of.ranges.of[place])
        self.members = tuple(sorted({every[live].wire for live in mine}))
        slots = of.partition.slots.get(number)
        if slots is None:
            at = {wire: k for k, wire in enumerate(self.members)}
            self.wires, self.wire = self.members, {live: at[every[live].wire] for live in mine}
        else:
            self.wires, self.wire = slots.wires, slots.of
        measured = {clbit for place in self._places if self._measures(place) for clbit in of.placed[place].clbits}
        self._misread = [group for group in of.groups if not measured.isdisjoint(group)]
        measured.update(clbit for group in self._misread for clbit in group)
        self.clbits = tuple(sorted(measured))
        self._given: dict[int, int] = {}  # for each measurement of another part, the bit that has its outcome

    def _measures(self, place: int) -> bool:
        return isinstance(self._of.placed[place].instruction, Measure)

    def number_kept_bits(self) -> None:
        """Number the bits that keep outcomes, after the classical bits of the circuit."""
        self._free = len(self.clbits)
        for place in self._places:
            if place in self._of.kept:
                self._of.kept[place] = self._new_bit()

    def _new_bit(self) -> int:
        self._free += 1
        return self._free - 1

    def _bit(self, measured: int) -> int:
        """Return the bit with an outcome that is kept, here or in another part."""
        if self._of.partition.of[measured] == self._number:
            return self._of.kept[measured]
        if measured not in self._given:
            self._given[measured] = self._new_bit()
        return self._given[measured]

    def made(self) -> SeparatePart:
        """Return the part."""
        of = self._of
        own = of.gathers or len(of.partition.places) > 1 or bool(of.kept)
        self._numbered = Renumbered(self.wires, self.clbits, own)
        instructions: list[Instruction] = []
        streams: list[int] = []
        begun = set[int]()
        for place in self._places:
            placed = of.placed[place]
            for live in of.ranges.of[place]:
                if live not in begun:
                    begun.add(live)
                    self._numbered.put(of.ranges.every[live].wire, self.wire[live])
                    instructions += self._beginning(live)
            instructions += self._instructions(place, placed)
            streams += placed.streams
        local = {clbit: k for k, clbit in enumerate(self.clbits)}
        given = [
            GivenBit(bit, of.level(place) - 1, of.partition.of[place], of.kept[place])
            for place, bit in self._given.items()
        ]
        final: list[int] = []
        copied: list[tuple[int, int]] = []
        for clbit, place in of.ranges.wrote.items():
            if of.partition.of[place] == self._number:
                if (before := of.repeats(place)) is None:
                    final.append(local[clbit])
                else:
                    copied.append((clbit, of.kept[before]))
        return SeparatePart(
            structure=structure_of(len(self.wires), self._free, tuple(instructions)),
            wires=self.wires,
            clbits=self.clbits,
            final=tuple(sorted(final)),
            columns=np.array(self._numbered.columns, dtype=np.int64) if own else None,
            streams=tuple(streams),
            groups=tuple(tuple(local[clbit] for clbit in group) for group in self._misread),
            members=self.members,
            copied=tuple(copied),
            given=tuple(given),
        )

    def _instructions(self, place: int, placed: Placed) -> Sequence[Instruction]:
        of, numbered = self._of, self._numbered
        match placed.instruction:
            case Gates() as gates:
                return numbered.gates(gates)
            case Conditional(_, clbits) as conditional:
                local = {clbit: k for k, clbit in enumerate(self.clbits)}
                bits = {
                    clbit: local[clbit] if of.partition.of[measured] == self._number else self._bit(measured)
                    for clbit, measured in zip(clbits, of.ranges.read[place], strict=True)
                }
                return [numbered.instruction(conditional, placed.entries, bits)]
            case Measure() as measure if place in of.kept:
                return [numbered.instruction(replace(measure, kept=(of.kept[place],)), None)]
            case instruction:
                return [numbered.instruction(instruction, placed.entries)]

    def _beginning(self, live: int) -> list[Instruction]:
        """Return what brings a wire of the part, which is |0⟩, into the state in which a live range begins."""
        of, mine = self._of, self._of.ranges.every[live]
        if mine.origin is not None and mine.origin in of.kept:
            flip = Op((mine.wire,), (), ALWAYS, pattern("0110"), ZERO_AT, "x")
            clbit = of.placed[mine.origin].clbits[0]
            bits = {clbit: self._bit(mine.origin)}
            return [self._numbered.instruction(Conditional(flip, (clbit,), (1,)), _FLIP_ENTRIES, bits)]
        if mine.origin is None and mine.before is not None:
            before = of.ranges.every[mine.before]
            if (of.part[mine.before], of.wire[mine.before]) != (self._number, self.wire[live]):
                assert before.end is not None
                return [Begin(self.wire[live], of.level(before.end))]
        return []
