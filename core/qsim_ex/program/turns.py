"""The turns of a segment: gates and matrices that depend on outcomes, one after the other.

A segment applies gates, and among them matrices that were chosen before, gates under conditions, and states of some
wires. What acts on other wires changes places, so that there are few turns, each as long as can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from qsim_ex.circuit.ops import wires_of
from qsim_ex.circuit.structure import straight_work
from qsim_ex.program.gathered import Gate, Piece, acted, is_gate, segment_from
from qsim_ex.program.program import Program, Segment

Turns = tuple[tuple[Piece, ...], ...]


def turns_of(segment: Segment) -> Turns:
    """Return the pieces of a segment by turns: gates, others, gates, …; what acts on one wire keeps its order.

    Operands are the circuit's. A turn may be empty.
    """
    turns: list[list[Piece]] = [[]]
    reached: dict[int, int] = {}
    for piece in segment.pieces:
        wires = wires_of(acted(piece))
        turn = max([reached.get(wire, 0) for wire in wires], default=0)
        turn += is_gate(piece) == turn % 2  # gates have those with even numbers
        while turn >= len(turns):
            turns.append([])
        turns[turn].append(piece)
        reached.update(dict.fromkeys(wires, turn))
    return tuple(map(tuple, turns))


def with_turns(segment: Segment, turns: Turns, others: Mapping[int, Sequence[Gate]]) -> Segment:
    """Return a segment with other gates in some of its turns, by their numbers; operands are the circuit's."""
    pieces = [piece for number, turn in enumerate(turns) for piece in others.get(number, turn)]
    return Segment(straight_work(pieces)) if segment.operands is None else segment_from(pieces)  # type: ignore[arg-type]


def with_segments(program: Program, others: Mapping[int, Segment]) -> Program:
    """Return a program with other segments as some of its nodes; all else is as it was, and so are its choices."""
    nodes = tuple([others.get(place, node) for place, node in enumerate(program.nodes)])
    return replace(program, make_nodes=lambda: nodes)
