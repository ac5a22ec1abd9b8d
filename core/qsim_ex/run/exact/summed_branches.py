"""Branches of density matrices that have the same future: which they are, and the sums of their density matrices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from qsim_ex.placement.batch import Batch
from qsim_ex.program.gathered import added
from qsim_ex.run.branches import Branches
from qsim_ex.run.context import ExecutionContext
from qsim_ex.steps.layout import Layout

Numbers = NDArray[np.int64]

_ONES = np.array([[1, 1, 0, 0]], dtype=np.complex128)


def pairs_of(branches: Branches, live: tuple[int, ...]) -> Numbers:
    """Return rows of branches that agree in some columns, the two of each pair next to each other."""
    keys = np.concatenate([branches.binding.astype(">u8")[:, None].view(np.uint8), branches.outcomes[:, live]], axis=1)
    _, which = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(which.reshape(-1), kind="stable")
    sorted_keys = which.reshape(-1)[order]
    found: list[int] = []
    for place in _first_of_pairs(sorted_keys.tolist()):
        found += [int(order[place]), int(order[place + 1])]
    return np.array(found, dtype=np.int64)


def summed_branches(way: ExecutionContext, states: Batch, branches: Branches, pairs: Numbers) -> tuple[Batch, Branches]:
    """Return states and branches with one row for each pair of rows, the sum of both, before the rows in no pair.

    The given states are released.
    """
    alone = np.setdiff1d(np.arange(len(branches)), pairs)
    summed = _sums_of(way, states, pairs)
    together = Batch.joined([summed, states.take(alone)]) if len(alone) else summed
    way.machine.end(states)
    return together, branches.chosen(np.concatenate([pairs[::2], alone])).settled()


def _sums_of(way: ExecutionContext, states: Batch, pairs: Numbers) -> Batch:
    """Return the sum of each pair of rows: two rows of n wires are one row of n + 1 wires."""
    machine, n = way.machine, states.num_wires
    both = states.take(pairs)
    whole = Batch.over(both.device, both.buffer, _with_top(both.layout))
    plan = machine.plan_for(added(n), whole.layout, 0)
    for _, part in whole.parts(max(1, machine.rows // 2)):
        machine.run(part, plan, _ONES, way.ticker.check)
    whole.layout, whole.fresh = plan.end, plan.left
    whole.arrange(_with_top(both.layout))  # the sums are where the highest bit is 0
    found = Batch.over(both.device, whole.buffer, both.layout).take(np.arange(0, len(pairs), 2))
    both.release()
    whole.release()
    return found


def _with_top(layout: Layout) -> Layout:
    """Return a layout with one more wire, on the highest index bit."""
    return Layout((*layout.address, len(layout)), layout.flip)


def _first_of_pairs(keys: list[int]) -> Iterator[int]:
    """Yield the places at which two equal keys begin, no key in two pairs."""
    place = 0
    while place + 1 < len(keys):
        if keys[place] == keys[place + 1]:
            yield place
            place += 1
        place += 1
