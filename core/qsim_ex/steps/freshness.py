"""How steps change which positions are fresh: the one rule, for those who plan, check, cost and run them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from qsim_ex.circuit.ops import mask_of
from qsim_ex.steps.step import Clear, Shuffle, Spread, Step, Sweep, Wide


def written(step: Step) -> int:
    """The positions of which a step writes the zeros: they are not fresh after it."""
    match step:
        case Sweep(tile=tile):
            return mask_of(tile)
        case Clear(fresh):
            return fresh
        case Wide() | Shuffle() | Spread():  # only sweeps know of fresh positions, so none is local here
            return 0
        case _:
            assert_never(step)


def fresh_after(fresh: int, steps: Iterable[Step]) -> int:
    """The mask of the positions that are fresh after some steps, of those that were fresh before them."""
    for step in steps:
        fresh &= ~written(step)
    return fresh
