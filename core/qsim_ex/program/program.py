"""A circuit as it is run: a `Program`, whose nodes are straight-line work, branch points and saves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Initialize, Op, Permutation, Save
from qsim_ex.program.choices import Choice, Conditioned, Reading

Work = Op | Permutation | Initialize
"""What a plan is made of."""


@dataclass(frozen=True, eq=False, slots=True)
class GatheredOperands:
    """How the operands of a segment are put together: 0 and 1, some of the circuit's, and what was chosen.

    taken: which of the circuit's operands follow the constants 0 and 1.
    inserted: what stands behind them, each of its `width`: matrices that were chosen, operations under a condition.
    total: how many there are.
    """

    taken: NDArray[np.int64]
    inserted: tuple[Choice | Conditioned, ...]
    total: int


@dataclass(frozen=True, eq=False, slots=True)
class Segment:
    """Straight-line work, which one plan does; the matrices that were chosen before are among it.

    Segments are compared by identity, so that a plan is found without looking at the work.
    operands: how its operands are put together; None where they are the circuit's.
    """

    work: tuple[Work, ...]
    operands: GatheredOperands | None = None


@dataclass(frozen=True, eq=False, slots=True)
class BranchPoint:
    """Where the state is asked and shots part: what was chosen is applied by the segment behind.

    choices: made one after another, as if each were applied at once. readings: made after them, of bits they found.
    """

    choices: tuple[Choice, ...]
    readings: tuple[Reading, ...]


Node = Segment | BranchPoint | Save
"""Closed: every `match` over it ends in `assert_never`."""


@dataclass(frozen=True, slots=True)
class LeftToChance:
    """The first instruction after which there is no one state: what it is, its place, and the mask of its wires."""

    feature: str
    place: int
    wires: int


@dataclass(frozen=True, eq=False)
class Program:
    """A circuit as it is run.

    nodes: at least one segment; a save or a branch point is followed by a segment where work follows.
    choices: all of them, by number. early: those that are made before anything runs.
    readings: how many columns they take beside those of the choices (see `Reading`).
    measured: classical bit -> the wire that is sampled into it at the end.
    recorded: classical bit -> the column of the choice or reading that is written into it.
    read: groups of classical bits whose last value was read at a branch point, and is not to be misread again.
    has_measurement: whether there is a measurement at all, be it of no wires.
    touched: mask of the wires that may not be |0⟩ at the end.
    chance: what first leaves the state to chance; None where nothing does.
    """

    nodes: tuple[Node, ...]
    choices: tuple[Choice, ...]
    early: tuple[Choice, ...]
    readings: int
    measured: dict[int, int]
    recorded: dict[int, int]
    read: frozenset[tuple[int, ...]]
    has_measurement: bool
    touched: int
    chance: LeftToChance | None

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The work, in order."""
        return tuple(node for node in self.nodes if isinstance(node, Segment))

    @cached_property
    def whole(self) -> Segment:
        """All work in one segment, for a state that is not saved on the way, of a program without choices."""
        if len(self.segments) == 1:
            return self.segments[0]
        return Segment(tuple(piece for segment in self.segments for piece in segment.work))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the saved states, in order."""
        return tuple(node.label for node in self.nodes if isinstance(node, Save))

    @cached_property
    def branches(self) -> bool:
        """Whether shots may part: something is left to chance before the end, or bits are read on the way."""
        return bool(self.choices) or self.readings > 0

    @cached_property
    def branch_points(self) -> int:
        """How often the state is asked on the way."""
        return sum(isinstance(node, BranchPoint) for node in self.nodes)

    def describe(self, bits: float) -> list[str]:
        """What is left to chance and how shots share states, in words; bits: see `kraus.entropy`."""
        early, asked = len(self.early), len(self.choices) - len(self.early)
        lines = []
        if early:
            lines.append(
                f"{early} mixed-unitary channels are chosen before anything runs: shots that chose alike share a state"
            )
        if asked:
            lines.append(
                f"{asked} measurements in the middle, resets and channels ask the state, at {self.branch_points} "
                f"branch points; they are worth about {bits:.3g} bits: up to 2^{bits:.3g} shots run as batches of as "
                "many as there is room for, more of them as one tree of branches; shots with the same choices so far "
                "share a state"
            )
        return lines
