"""Segments with chosen matrices among their work, and the layout of their operands."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, assert_never

import numpy as np

from qsim_ex.circuit.ops import ALWAYS, Entry, Initialize, Op, Pattern, Permutation, mask_of, pattern
from qsim_ex.circuit.structure import straight_work
from qsim_ex.program.choices import Choice, Conditioned, GatheredOperands
from qsim_ex.program.program import Segment, Work

_PROJECTION, _RESET = pattern("r00r"), pattern("rr00")

Gate = Op | Permutation

Piece = Work | Choice | Conditioned
"""One piece of a segment: work, a choice that was made before, or work under a condition."""


@lru_cache(maxsize=1024)
def segment_of(choices: tuple[Choice, ...]) -> Segment:
    """Return a segment that applies the chosen matrices of some choices, and nothing else."""
    return segment_from(choices)


@lru_cache(maxsize=64)
def added(wire: int) -> Segment:
    """Return a segment that adds the amplitudes at 1 of a wire to those at 0; its operands are 1, 1, 0, 0."""
    return Segment(straight_work([Op((wire,), (), ALWAYS, pattern("rr00"), 0, "add", unitary=False)]))


def segment_from(collected: Iterable[Piece]) -> Segment:
    """Return a segment with operands of its own, so that equal work shares a plan at any place of a circuit.

    Matrices that are chosen follow all other operands.
    """
    pieces, taken = tuple(collected), _Taken()
    places = [taken.place_of(piece) for piece in pieces]
    work: list[Work] = []
    inserted: list[Choice | Conditioned] = []
    total = 2 + len(taken.operands)
    for piece, place in zip(pieces, places, strict=True):
        match piece:
            case Op():
                work.append(piece._replace(operand=place))
            case Choice():
                inserted.append(piece)
                for wires in piece.groups:
                    work.append(Op(wires, (), ALWAYS, _classes(piece.kind, len(wires)), total, piece.kind, piece.mixed))
                    total += 4 ** len(wires)
            case Conditioned(operation):
                inserted.append(piece)
                work.append(operation._replace(operand=total, pattern=piece.classes()))
                total += piece.width
            case Initialize(wires):
                work.append(Initialize(wires, place))
            case Permutation():
                work.append(piece)
            case _:
                assert_never(piece)
    operands = GatheredOperands(np.array(taken.operands, dtype=np.int64), tuple(inserted), total)
    return Segment(straight_work(work), operands, pieces)


def is_gate(piece: Piece) -> bool:
    """Return whether a piece is a gate, whatever has happened before."""
    return isinstance(piece, Permutation) or (isinstance(piece, Op) and piece.unitary)


def acted(piece: Piece) -> int:
    """Return the mask of the wires that a piece acts on."""
    match piece:
        case Choice(wires=wires):
            return mask_of(wires)
        case Conditioned(operation):
            return operation.acts_on
        case _:
            return piece.acts_on


def moved(gates: Iterable[Gate], places: int) -> tuple[Gate, ...]:
    """Return gates whose operands begin so many places later."""
    return tuple([one._replace(operand=places + one.operand) if isinstance(one, Op) else one for one in gates])


class _Taken:
    """The circuit's operands that a segment uses, each group once."""

    def __init__(self) -> None:
        self.operands: list[int] = []
        self._places: dict[tuple[int, int], int] = {}

    def place_of(self, piece: Piece) -> int:
        """Return where the circuit's operands of a piece are among those of the segment; 0 if it has none."""
        match piece:
            case Op():
                return self.place(piece.operand, len(piece.pattern))
            case Initialize(wires, operand):
                return self.place(operand, 1 << len(wires))
            case _:
                return 0

    def place(self, operand: int, count: int) -> int:
        """Return where `count` of the circuit's operands are among those of the segment, which begin with 0 and 1."""
        if (operand, count) not in self._places:
            self._places[operand, count] = 2 + len(self.operands)
            self.operands.extend(range(operand, operand + count))
        return self._places[operand, count]


@lru_cache(maxsize=64)
def _classes(kind: Literal["measure", "reset", "channel"], num_wires: int) -> Pattern:
    """Return the classes of the entries of the chosen matrix, which hold for every matrix of a choice of this kind."""
    match kind:
        case "measure":
            return _PROJECTION
        case "reset":
            return _RESET
        case "channel":
            return bytes([Entry.COMPLEX]) * (1 << 2 * num_wires)
        case _:
            assert_never(kind)
