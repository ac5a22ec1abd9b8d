"""The parts of a course: the work between two stops, collected and then given operands of its own."""

from __future__ import annotations

from functools import lru_cache
from typing import assert_never

import numpy as np

from qsim_ex.circuit.ops import ALWAYS, Entry, Initialize, Op, Pattern, Permutation, pattern
from qsim_ex.course import Choice, Conditioned, Part
from qsim_ex.program import Segment, Work

_PROJECTION, _RESET = pattern("r00r"), pattern("rr00")


class Level:
    """The work between two stops, while it is collected."""

    def __init__(self) -> None:
        self.work: list[Work | Choice | Conditioned] = []
        self.label: str | None = None
        self.stop: list[Choice] = []


@lru_cache(maxsize=1024)
def part_of(choices: tuple[Choice, ...]) -> Part:
    """The work of applying what some choices chose, and nothing else."""
    level = Level()
    level.work += choices
    return part_from(level)


def plain_part(work: tuple[Work, ...], label: str | None) -> Part:
    """Work among which nothing is chosen, with the circuit's own operands."""
    return Part(Segment(work, label), None, (), 0, label, ())


def part_from(level: Level) -> Part:
    """Give the work of a level operands of its own, so that equal levels are equal work and share a plan."""
    taken = _Taken()
    work: list[Work] = []
    waiting: list[tuple[int, Choice | Conditioned]] = []
    for piece in level.work:
        match piece:
            case Choice() | Conditioned():
                waiting.append((len(work), piece))
            case Op():
                work.append(piece._replace(operand=taken.place(piece.operand, len(piece.pattern))))
            case Initialize(wires, operand):
                work.append(Initialize(wires, taken.place(operand, 1 << len(wires))))
            case Permutation():
                work.append(piece)
    ops, total = _applied(waiting, 2 + len(taken.operands))
    for at, op in reversed(ops):
        work.insert(at, op)
    take, chosen = np.array(taken.operands, dtype=np.int64), tuple(choice for _, choice in waiting)
    return Part(Segment(tuple(work), level.label), take, chosen, total, level.label, tuple(level.stop))


class _Taken:
    """The operands of the circuit that a part takes, each group of them once."""

    def __init__(self) -> None:
        self.operands: list[int] = []
        self._places: dict[tuple[int, int], int] = {}

    def place(self, operand: int, count: int) -> int:
        """Where `count` operands of the circuit stand among those of the part, which begin with 0 and 1."""
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
