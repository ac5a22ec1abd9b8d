"""Sums along directions: a marginal of wires that are sums of index bits, cut into pieces that a device adds up.

Σ |a[base ⊕ Σ v_j d_j ⊕ Σ t_i r_i]|² over t, for each v: the d_j are the directions of the wires that are asked for, the
r_i those that are summed over. A device walks along *lanes*, which are neighbours in memory, for each value of the
*steps*, which change no v; the *groups* are all other directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.steps.algebra import Span, image
from qsim_ex.steps.index_map import images


class Along(NamedTuple):
    """How a sum is walked through.

    lanes, groups, steps: directions; together they span those of the sum. summed: so many of the first lanes change no
    v. places: for each bit of a sum's number, those of the other lanes and then those of the groups, the v it changes.
    """

    lanes: tuple[int, ...]
    summed: int
    groups: tuple[int, ...]
    steps: tuple[int, ...]
    places: tuple[int, ...]

    def in_order(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sums, which are by group and lane, by v."""
        out = np.empty(len(sums), dtype=np.float64)
        out[images(self.places, np.arange(len(sums)))] = sums
        return out


@lru_cache(maxsize=256)
def along(directions: tuple[int, ...], rest: tuple[int, ...], most_lanes: int) -> Along:
    """Cut a sum for each value of `directions` over those of `rest` into pieces with at most 2^most_lanes lanes."""
    every = Span([*directions, *rest])
    asked = (1 << len(directions)) - 1
    kept: list[tuple[int, int]] = []  # lanes that change v, and how
    summed: list[int] = []
    seen = Span()
    for lane in _reduced([*directions, *rest])[:most_lanes]:
        place = every.reduced(lane)[1] & asked
        if seen.add(place):
            kept.append((lane, place))
        else:
            _, made = seen.reduced(place)
            summed.append(lane ^ image([lane for lane, _ in kept], made))
    units = [(direction, 1 << k) for k, direction in enumerate(directions)]
    groups = [(direction, place) for direction, place in units if seen.add(place)]
    walked = Span(summed)
    steps = [direction for direction in _reduced(rest) if walked.add(direction)]
    return Along(
        lanes=(*summed, *(lane for lane, _ in kept)),
        summed=len(summed),
        groups=tuple(direction for direction, _ in groups),
        steps=tuple(steps),
        places=tuple(place for _, place in (*kept, *groups)),
    )


def _reduced(directions: Sequence[int]) -> list[int]:
    """Return a basis of what directions span whose vectors have as low bits as there are, ascending."""
    rows: list[int] = []
    for direction in directions:
        for row in rows:
            direction = min(direction, direction ^ row)
        if direction:
            rows = [min(row, row ^ direction) for row in rows] + [direction]
    return sorted(rows)
