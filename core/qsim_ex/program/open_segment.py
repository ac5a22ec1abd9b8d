"""A segment while it is collected, and the branch point or the save behind it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import assert_never

import numpy as np

from qsim_ex.circuit.ops import ALWAYS, Entry, Initialize, Op, Pattern, Permutation, Save, pattern
from qsim_ex.program.choices import Choice, Conditioned, Reading
from qsim_ex.program.program import BranchPoint, GatheredOperands, Node, Segment, Work

_PROJECTION, _RESET = pattern("r00r"), pattern("rr00")

Piece = Work | Choice | Conditioned
"""What is collected: work, what was chosen before, and work under a condition."""


class OpenSegment:
    """The work between two branch points or saves, and what is behind it: choices and readings, or a label."""

    def __init__(self) -> None:
        self.work: list[Piece] = []
        self.label: str | None = None
        self.choices: list[Choice] = []
        self.readings: list[Reading] = []

    def nodes(self) -> Iterable[Node]:
        """The segment and the node behind it, if there is one."""
        yield segment_from(self.work)
        if self.choices or self.readings:
            yield BranchPoint(tuple(self.choices), tuple(self.readings))
        if self.label is not None:
            yield Save(self.label)


@lru_cache(maxsize=1024)
def segment_of(choices: tuple[Choice, ...]) -> Segment:
    """The work of applying what some choices chose, and nothing else."""
    return segment_from(choices)


def segment_from(collected: Iterable[Piece]) -> Segment:
    """Give work operands of its own, so that equal work shares a plan wherever it stands in a circuit."""
    taken = _Taken()
    work: list[Work] = []
    waiting: list[tuple[int, Choice | Conditioned]] = []
    for piece in collected:
        match piece:
            case Choice() | Conditioned():
                waiting.append((len(work), piece))
            case Op():
                work.append(piece._replace(operand=taken.place(piece.operand, len(piece.pattern))))
            case Initialize(wires, operand):
                work.append(Initialize(wires, taken.place(operand, 1 << len(wires))))
            case Permutation():
                work.append(piece)
            case _:
                assert_never(piece)
    ops, total = _applied(waiting, 2 + len(taken.operands))
    for at, op in reversed(ops):
        work.insert(at, op)
    inserted = tuple(piece for _, piece in waiting)
    return Segment(tuple(work), GatheredOperands(np.array(taken.operands, dtype=np.int64), inserted, total))


class _Taken:
    """The operands of the circuit that a segment takes, each group of them once."""

    def __init__(self) -> None:
        self.operands: list[int] = []
        self._places: dict[tuple[int, int], int] = {}

    def place(self, operand: int, count: int) -> int:
        """Where `count` operands of the circuit stand among those of the segment, which begin with 0 and 1."""
        if (operand, count) not in self._places:
            self._places[operand, count] = 2 + len(self.operands)
            self.operands.extend(range(operand, operand + count))
        return self._places[operand, count]


def _applied(waiting: list[tuple[int, Choice | Conditioned]], total: int) -> tuple[list[tuple[int, Op]], int]:
    """The operations that apply what is chosen, each with its place in the work; and how many operands there are then.

    total: how many there are before: matrices that are chosen stand behind all others.
    """
    ops = []
    for at, piece in waiting:
        match piece:
            case Conditioned(operation):
                ops.append((at, operation._replace(operand=total, pattern=piece.classes())))
                total += piece.width
            case Choice():
                for wires in piece.groups:
                    ops.append((at, Op(wires, (), ALWAYS, _classes(piece, len(wires)), total, piece.kind, piece.mixed)))
                    total += 4 ** len(wires)
            case _:
                assert_never(piece)
    return ops, total


def _classes(choice: Choice, num_wires: int) -> Pattern:
    """The classes of the entries of whatever is chosen."""
    match choice.kind:
        case "measure":
            return _PROJECTION
        case "reset":
            return _RESET
        case "channel":
            return bytes([Entry.COMPLEX]) * (1 << 2 * num_wires)
        case _:
            assert_never(choice.kind)
