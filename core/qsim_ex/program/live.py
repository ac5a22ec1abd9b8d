"""The columns of classical memory that are still read: branches that agree in these have the same future."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import assert_never

from qsim_ex.circuit.instruction import StateNode
from qsim_ex.circuit.ops import Save
from qsim_ex.program.choices import Choice
from qsim_ex.program.program import BranchPoint, Fork, Join, Jump, Node, Program, RoundBegin, Segment


@lru_cache(maxsize=64)
def live_columns(program: Program, sampled: bool) -> tuple[tuple[int, ...], ...]:
    """Return for each node of a program, and for its end, the columns that are read there or later, ascending.

    sampled: whether the classical bits at the end are read, and what is recorded. Columns are counted from the first,
    as NumPy does.
    """
    total = len(program.choices) + program.readings
    nodes = program.nodes
    at_end = _mask((*program.recorded.values(), *program.history), total) if sampled else 0
    live = [0] * len(nodes) + [at_end]
    changed = True
    while changed:  # once, and once more for each loop in a loop
        changed = False
        for place in reversed(range(len(nodes))):
            found = _before(nodes[place], place, live, program, total)
            changed |= found != live[place]
            live[place] = found
    return tuple([tuple([k for k in range(total) if mask >> k & 1]) for mask in live])


def _before(node: Node, place: int, live: Sequence[int], program: Program, total: int) -> int:
    """Return the mask of the columns that are read from a node on, from those of the nodes that follow."""
    after = live[place + 1]
    match node:
        case Segment():
            for piece in node.operands.inserted if node.operands is not None else ():
                after |= _mask((piece.number,) if isinstance(piece, Choice) else piece.sources, total)
        case BranchPoint():
            if after & _mask(program.history, total):
                for record in node.records:
                    after |= _mask(record.columns, total)
            for assignment in reversed(node.assignments):
                after = after & ~_mask(assignment.columns, total) | _mask(assignment.expression.columns, total)
            for reading in reversed(node.readings):
                after = after & ~_mask(reading.columns, total) | _mask(reading.sources, total)
            after &= ~_mask((choice.number for choice in node.choices), total)
        case Save():
            after |= _mask(program.memory.get(node.label, ()), total)
        case Fork():
            after |= live[node.otherwise] | _mask(node.condition.columns, total)
        case Jump():
            after = live[node.to]
        case StateNode() | RoundBegin() | Join():
            pass
        case _:
            assert_never(node)
    return after


def _mask(columns: Iterable[int | None], total: int) -> int:
    mask = 0
    for column in columns:
        if column is not None:
            mask |= 1 << column % total
    return mask
