"""Live ranges of wires: from a known basis state to the next one, and what joins them or makes one depend on others.

A live range ends with a reset, or with a measurement that is made before the end of a run. The next one of the wire
begins in a basis state, so it may belong to another part of the circuit, or be held in another wire of a part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qsim_ex.program.division import moved_to_the_end
from qsim_ex.program.readings import Groups
from qsim_ex.program.simplified import Placed


@dataclass(eq=False, slots=True)
class LiveRange:
    """A live range of a wire; places are those of instructions.

    before: that of the wire before this one; None for its first one. origin: the place of the measurement with whose
    outcome it begins; None if it begins as |0⟩. end: the place of the reset or measurement that ends it; None if it
    lasts to the end. echoes: whether it is only measured, at the end, so that it tells its origin again.
    touched: whether it may not be |0⟩. held: whether it is measured at the end into a misread bit.
    """

    wire: int
    before: int | None
    origin: int | None
    end: int | None = None
    echoes: bool = False
    touched: bool = False
    held: bool = False


class LiveRanges:
    """The live ranges of all wires of a circuit.

    every: all of them. of: for each place the live range of each of its wires. read: for each place the places of the
    measurements whose bits its condition reads. wrote: for each classical bit the place that wrote it last.
    last: for each wire its last live range. late: the measurements that are made at the end of a run, into bits that
    conditions do not misread.
    """

    def __init__(self, placed: Sequence[Placed], groups: Groups, observed: bool) -> None:
        self.every: list[LiveRange] = []
        self.of: list[tuple[int, ...]] = []
        self.read: dict[int, tuple[int, ...]] = {}
        self.wrote: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.late = set[int]()
        self._placed = placed
        self._group = {clbit: group for group in groups for clbit in group}
        every = [one.instruction for one in placed]
        final = moved_to_the_end(every, [one.acted for one in placed], observed, self._group)
        current: dict[int, int] = {}
        ended: dict[int, int] = {}  # wires between two live ranges
        for place, one in enumerate(placed):
            ranges = []
            for wire in one.wires:
                if wire not in current:
                    current[wire] = self.last[wire] = self._begin(wire, ended.get(wire))
                ranges.append(current[wire])
            self.of.append(tuple(ranges))
            self._follow(place, one, bool(final[place] & one.acted))
            if self.every[ranges[0]].end is not None:
                ended[one.wires[0]] = current.pop(one.wires[0])

    def _begin(self, wire: int, before: int | None) -> int:
        origin = None
        if before is not None and self._placed[end := self._end(before)].clbits:
            origin = end
        self.every.append(LiveRange(wire, before, origin, echoes=origin is not None, touched=origin is not None))
        return len(self.every) - 1

    def _follow(self, place: int, one: Placed, final: bool) -> None:
        """Note what an instruction does to the live ranges and bits at its place."""
        mine = self.every[self.of[place][0]]
        if one.instruction.written_bits:
            (clbit,) = one.instruction.written_bits
            self.wrote[clbit] = place
            if final and clbit not in self._group:
                self.late.add(place)
            else:
                mine.echoes = False
                mine.held |= final
            if not final and mine.touched and not mine.held:
                mine.end = place
            return
        if one.instruction.resets:
            mine.end = place
        if one.instruction.read_bits:
            self.read[place] = tuple(self.wrote[clbit] for clbit in one.instruction.read_bits)
        for live in self.of[place]:
            self.every[live].echoes = False
            self.every[live].touched |= one.instruction.saved is None

    def _end(self, live: int) -> int:
        end = self.every[live].end
        assert end is not None
        return end

    @property
    def ends(self) -> bool:
        """Whether a live range ends."""
        return any(live.end is not None for live in self.every)

    def joins(self) -> Iterator[tuple[int, int]]:
        """Yield pairs that are in one part: an operation joins them, or that their bits are misread together.

        So does a condition on a misread bit, which is read once for all, or on one that ends no live range. A live
        range that echoes another goes with that.
        """
        for ranges in self.of:
            for other in ranges[1:]:
                yield ranges[0], other
        writers: dict[tuple[int, ...], int] = {}  # a live range that writes a bit of a group
        for place, one in enumerate(self._placed):
            if one.instruction.written_bits and (group := self._group.get(one.clbits[0])):
                yield writers.setdefault(group, self.of[place][0]), self.of[place][0]
        for place, read in self.read.items():
            for clbit, measured in zip(self._placed[place].clbits, read, strict=True):
                writer = self.of[measured][0]
                if clbit in self._group or self.every[writer].end != measured:
                    yield writer, self.of[place][0]
        for number, live in enumerate(self.every):
            if live.echoes and live.origin is not None:
                yield self.of[live.origin][0], number

    def follows(self) -> Iterator[tuple[int, int]]:
        """Yield pairs of live ranges of which the second depends on a bit that was measured at the end of the first."""
        for place, read in self.read.items():
            for measured in read:
                yield self.of[measured][0], self.of[place][0]
        for number, live in enumerate(self.every):
            if live.origin is not None:
                yield self.of[live.origin][0], number

    def order(self) -> list[int]:
        """Return the places in an order in which live ranges begin as late as possible: before what ends one of them,
        only what that needs.
        """
        needs = self._needs()
        found: list[int] = []
        done = [False] * len(needs)
        ends = [live.end for live in self.every if live.end is not None]
        for last in (*sorted(ends), *range(len(needs))):
            cone, waiting = set[int](), [last]
            while waiting:
                if not done[place := waiting.pop()] and place not in cone:
                    cone.add(place)
                    waiting += needs[place]
            for place in sorted(cone):
                done[place] = True
                found.append(place)
        return found

    def _needs(self) -> list[list[int]]:
        """Return for each place the earlier ones that must stay before it."""
        wires: dict[int, int] = {}  # the last place on each wire
        wrote: dict[tuple[int, ...], int] = {}
        read: dict[tuple[int, ...], list[int]] = {}
        needs = []
        for place, one in enumerate(self._placed):
            mine = [wires[wire] for wire in one.wires if wire in wires]
            wires.update(dict.fromkeys(one.wires, place))
            for clbit in one.clbits:
                group = self._group.get(clbit, (clbit,))
                mine += [wrote[group]] if group in wrote else []
                if one.instruction.written_bits or clbit in self._group:
                    mine += read.pop(group, [])
                    wrote[group] = place
                else:
                    read.setdefault(group, []).append(place)
            needs.append(mine)
        return needs
