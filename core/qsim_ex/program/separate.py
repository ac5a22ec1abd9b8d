"""Separate parts: which wires must be simulated together, and which need no amplitudes at all.

Idle wires and what only reads them are left out (`simplified`). The others are in parts that are circuits of their own
(`partition`), with their own numbers of wires, bits and operands.

Nothing here depends on the numbers of a circuit, so circuits of one structure are separated alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import cast

import numpy as np

from qsim_ex.circuit.kept import Kept
from qsim_ex.circuit.ops import Begin, Instruction, wires_of
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.program.divide import levels_of
from qsim_ex.program.gates import Gates
from qsim_ex.program.live_ranges import LiveRange, LiveRanges
from qsim_ex.program.partition import Partition
from qsim_ex.program.parts import Parts
from qsim_ex.program.readings import Groups
from qsim_ex.program.renumbered import Renumbered
from qsim_ex.program.separation import How, SeparatePart, Separation
from qsim_ex.program.simplified import Placed, Simplifier


@Kept
def separation_of(
    structure: Structure, observed: bool = False, groups: Groups = (), how: How = "apart"
) -> Separation | None:
    """Return the separate parts of a structure; None if there is one part, with all wires.

    observed, groups: see `divide.program_of`. how: 'apart', or 'together' for one part of all wires that are not idle,
    or 'whole' for one of all wires. The shots of a seed are the same, since all three have the same instructions.
    """
    if structure.is_one_part(observed):
        return None
    if structure.has_control_flow:
        return _without_idle_wires(structure, groups, how)
    return _Separator(structure, observed, groups, how).separation()


def _without_idle_wires(structure: Structure, groups: Groups, how: How) -> Separation | None:
    """Return a circuit with control flow as one part without the wires that nothing acts on; None if there are none."""
    acted = 0
    for one in structure.acted:
        acted |= one
    n, clbits = structure.num_qubits, tuple(range(structure.num_clbits))
    wires = wires_of(acted)
    if how == "whole" or not 0 < len(wires) < n:
        return None
    numbered = Renumbered(wires, clbits, own=False)
    instructions = tuple([numbered.instruction(one, None) for one in structure.instructions])
    made = structure_of(len(wires), len(clbits), instructions)
    streams = tuple(range(structure.first_streams[-1]))
    part = SeparatePart(made, wires, clbits, clbits, None, streams, groups, wires)
    place = {wire: (0, k) for k, wire in enumerate(wires)}
    return Separation(n, len(clbits), (part,), place, structure.measures, ())


class _Separator:
    """Divides one circuit."""

    def __init__(self, structure: Structure, observed: bool, groups: Groups, how: How = "apart") -> None:
        self._structure, self._how = structure, how
        self._observed = observed
        self._groups = groups
        misread, together = {clbit for group in groups for clbit in group}, how != "apart" or structure.has_saves
        simplifier = Simplifier(structure, misread, together=together)
        self._placed, self._phases, self._gathers = simplifier.placed, tuple(simplifier.phases), simplifier.gathers
        self._saves = structure.has_saves
        self._ranges = LiveRanges(self._placed, groups, observed)
        self._partition = Partition(self._ranges, self._saves)

    def separation(self) -> Separation | None:
        """Return the parts; None if there is one with all wires."""
        num_qubits, num_clbits, partition = self._structure.num_qubits, self._structure.num_clbits, self._partition
        every = tuple(range(num_qubits)) if self._how == "whole" else tuple(sorted(self._ranges.last))
        if len(partition.places) == 1 and not partition.slots and len(self._ranges.last) == num_qubits:
            return None
        if not self._placed:
            clbits = tuple(range(num_clbits))
            nothing = SeparatePart(structure_of(len(every), num_clbits, ()), every, clbits, (), None, (), (), every)
            return self._separated((nothing,), {}, {})
        if self._how != "apart" or self._saves:
            return self._together(every)
        return self._apart()

    def _separated(
        self, parts: Sequence[SeparatePart], place: dict[int, tuple[int, int]], known: dict[int, tuple[int, int]]
    ) -> Separation:
        num_qubits, num_clbits = self._structure.num_qubits, self._structure.num_clbits
        return Separation(num_qubits, num_clbits, tuple(parts), place, self._structure.measures, self._phases, known)

    # --- all wires as one part ---------------------------------------------------------------------------------------

    @cached_property
    def _sequence(self) -> list[int | Begin]:
        """The places of all instructions in their order, and beginnings of live ranges that take turns with others."""
        found: list[int | Begin] = []
        at: dict[int, int] = {}
        begun = set[int]()
        for place in self._partition.order:
            slots = self._partition.slots.get(self._partition.of[place])
            for live in self._ranges.of[place]:
                if slots is not None and live not in begun and live in slots.taken:
                    end = self._ranges.every[slots.taken[live]].end
                    assert end is not None
                    found.append(Begin(self._ranges.every[live].wire, after=at[end]))
                begun.add(live)
            at[place] = len(found)
            found.append(place)
        return found

    @cached_property
    def _numbers(self) -> tuple[int, ...]:
        """The number of the part of each instruction of the sequence; () if there is one part."""
        if len(self._partition.places) == 1:
            return ()
        found: list[int] = []
        for one in reversed(self._sequence):
            found.append(self._partition.of[one] if isinstance(one, int) else found[-1])
        return tuple(reversed(found))

    def _instruction(self, one: int | Begin) -> Placed:
        return self._placed[one] if isinstance(one, int) else Placed(one, one.acts_on, 0)

    def _together(self, wires: tuple[int, ...]) -> Separation:
        """Return all instructions as one part with the given wires."""
        clbits = tuple(range(self._structure.num_clbits))
        numbered = Renumbered(wires, clbits, self._gathers)
        instructions: list[Instruction] = []
        streams: list[int] = []
        for placed in map(self._instruction, self._sequence):
            if isinstance(placed.instruction, Gates):
                instructions += numbered.gates(placed.instruction)
            else:
                instructions.append(numbered.instruction(placed.instruction, placed.entries))
            streams += placed.streams
        part = SeparatePart(
            structure=structure_of(len(wires), len(clbits), tuple(instructions)),
            wires=wires,
            clbits=clbits,
            final=tuple(sorted(self._ranges.wrote)),
            columns=np.array(numbered.columns, dtype=np.int64) if self._gathers else None,
            streams=tuple(streams),
            groups=self._groups,
            members=wires,
            parts=self._numbers,
        )
        number = {wire: k for k, wire in enumerate(wires)}
        place = {wire: (0, number[wire]) for wire, live in self._last().items() if not self._is_reset(live)}
        return self._separated((part,), place, {})

    def _last(self) -> dict[int, LiveRange]:
        """Return the last live range of each wire."""
        return {wire: self._ranges.every[live] for wire, live in self._ranges.last.items()}

    def _is_reset(self, live: LiveRange) -> bool:
        return live.end is not None and self._placed[live.end].instruction.resets

    # --- parts -------------------------------------------------------------------------------------------------------

    @cached_property
    def _levels(self) -> dict[int, int]:
        """How many branch points of the whole circuit the wires of each instruction have passed after it."""
        instructions = tuple([cast(Instruction, self._instruction(one).instruction) for one in self._sequence])
        whole = Structure(self._structure.num_qubits, self._structure.num_clbits, instructions)
        levels = levels_of(whole, self._observed, self._groups, self._numbers)
        return {one: level for one, level in zip(self._sequence, levels, strict=True) if isinstance(one, int)}

    def _apart(self) -> Separation:
        """Return the parts, each with its own wires."""
        num_clbits, ranges, partition = self._structure.num_clbits, self._ranges, self._partition
        level = lambda place: self._levels[place]  # noqa: E731
        parts = Parts(self._placed, ranges, partition, self._groups, num_clbits, self._gathers, level)
        place: dict[int, tuple[int, int]] = {}
        known: dict[int, tuple[int, int]] = {}
        for wire, number in ranges.last.items():
            live, part = ranges.every[number], parts.part[number]
            measured = live.origin if live.echoes else live.end
            if measured is not None and measured in parts.kept:
                known[wire] = partition.of[measured], parts.kept[measured]
            elif not self._is_reset(live):
                place[wire] = part, parts.wire[number]
        return self._separated(parts.made, place, known)
