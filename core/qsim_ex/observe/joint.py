"""Shots of states in separate parts: the basis values that the state of all wires would give for the same numbers.

The wires of several parts are drawn in the order in which `sampling` draws those of one state, the highest first. A
shot carries one number in [0, 1) along: what is left of it after a wire was drawn chooses the next one, whichever part
it belongs to. Probabilities of small parts are held as tables, so that any number of parts may take turns; the state of
a large part is asked while it is in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import When
from qsim_ex.errors import StateError
from qsim_ex.observe import sampling
from qsim_ex.placement.base import States

Floats = NDArray[np.float64]
Values = NDArray[np.int64]

_FURTHER = 1 << 62
"""The key of the random numbers for further wires: this plus how many were used before."""

_BELOW_ONE = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True, slots=True)
class Run:
    """Wires of one part that are drawn one after another: its next `count` wires, downwards.

    fresh: the key of the new numbers with which this begins; None to go on with the numbers of the wires above.
    last: whether no wire is drawn after it.
    """

    part: int
    count: int
    fresh: int | None
    last: bool = False


def runs_of(order: Sequence[tuple[int, bool]], last: int) -> list[Run]:
    """Return the runs that draw wires in an order of parts, highest wire first.

    order: for each wire its part, and whether it may be 1 at the end. last: the number of wires to draw.
    """
    found: list[Run] = []
    used, numbers = 0, 0
    for part, group in groupby(order[:last], key=lambda one: one[0]):
        wires = list(group)
        mixed = sum(mixed for _, mixed in wires)
        fresh = None
        if used and used + mixed > thresholds.now.chosen_wires:
            used, numbers = 0, numbers + 1
            fresh = _FURTHER + numbers
        used += mixed
        found.append(Run(part, len(wires), fresh))
    return [*found[:-1], replace(found[-1], last=True)] if found else []


class ProbabilityTable:
    """The running sums of the probabilities of basis values, for the final states of parts with one structure."""

    def __init__(self) -> None:
        self._sums: list[Floats] = []
        self._rows = 0

    def add(self, states: States) -> int:
        """Add the probabilities of states; return the row of the first one. Raises `StateError`."""
        amplitudes = states.read()
        weights = amplitudes.real.astype(np.float64) ** 2 + amplitudes.imag.astype(np.float64) ** 2
        ends = np.zeros((len(weights), weights.shape[1] + 1))
        np.cumsum(weights, axis=1, out=ends[:, 1:])
        if not ((ends[:, -1] > 0) & (ends[:, -1] < np.inf)).all():
            raise StateError(
                "a state whose squared norm is 0 or not finite cannot be sampled; set normalised amplitudes first."
            )
        self._sums.append(ends)
        self._rows += len(ends)
        return self._rows - len(ends)

    @property
    def ends(self) -> Floats:
        """The running sums of all states, [states, 2^n + 1]."""
        if len(self._sums) > 1:
            self._sums = [np.concatenate(self._sums)]
        return self._sums[0]


class JointDraw:
    """The shots of some bindings, of which some wires are drawn already.

    tables: the table of each part that has one. rows: for each of these parts the row of each shot, int64
    [bindings, shots], or [bindings, 1] if all shots of a binding share one.
    """

    def __init__(self, sizes: Sequence[int], seeds: Sequence[int], shots: int) -> None:
        self.tables: dict[int, ProbabilityTable] = {}
        self.rows: dict[int, Values] = {}
        self._seeds = seeds
        self._shots = shots
        self._left = list(sizes)
        self._numbers = sampling.uniforms_of(seeds, 0, shots)
        self._drawn = [np.zeros((len(seeds), shots), dtype=np.int64) for _ in sizes]

    def draw(self, runs: Sequence[Run], part: int | None = None, some: LiveShots | None = None) -> None:
        """Draw the wires of some runs for all shots, or for some shots; those of `part` from states in memory."""
        binding, shot = np.indices(self._numbers.shape) if some is None else (some.binding, some.shot)
        binding, shot = binding.reshape(-1), shot.reshape(-1)
        left = dict(enumerate(self._left))
        numbers = self._numbers[binding, shot]
        for run in runs:
            if run.fresh is not None:
                numbers = sampling.uniforms_of(self._seeds, run.fresh, self._shots)[binding, shot]
            drawn = self._drawn[run.part][binding, shot]
            if run.part == part:
                assert some is not None
                states, rows, below = some.states, some.row, left[run.part] - run.count
                if run.last and left[run.part] == states.num_wires:  # nobody needs what is left of the numbers
                    found = sampling.draw_states(states, rows, numbers) >> below
                else:
                    found, numbers = _by_states(states, rows, drawn, numbers, left[run.part], run.count)
            else:
                of = self.rows[run.part]
                rows = of[binding, shot if of.shape[1] > 1 else 0]
                found, numbers = _by_table(self.tables[run.part].ends, rows, drawn, numbers, left[run.part], run.count)
            left[run.part] -= run.count
            self._drawn[run.part][binding, shot] = found
        self._numbers[binding, shot] = numbers

    def values(self, part: int) -> Values:
        """Return the basis values of a part, int64 [bindings, shots]; wires that were not drawn are 0."""
        return self._drawn[part] << self._left[part]

    def passed(self, runs: Sequence[Run]) -> None:
        """Note that the wires of some runs are drawn for all shots."""
        for run in runs:
            self._left[run.part] -= run.count


@dataclass(frozen=True, eq=False, slots=True)
class LiveShots:
    """Some shots whose states are in memory: shot k is ``shot[k]`` of ``binding[k]``, in row ``row[k]`` of `states`."""

    states: States
    row: Values
    binding: Values
    shot: Values


def _by_table(
    ends: Floats, rows: Values, drawn: Values, numbers: Floats, left: int, count: int
) -> tuple[Values, Floats]:
    """Draw the next `count` of `left` wires by bisection; return the values and what is left of the numbers."""
    low = left - count
    begin = drawn << left
    floor, top = ends[rows, begin], ends[rows, begin + (1 << left)]
    targets = np.minimum(floor + numbers * (top - floor), np.nextafter(top, -1))
    found = np.zeros_like(drawn)
    for k in reversed(range(count)):
        middle = found | 1 << k
        found = np.where(ends[rows, begin + (middle << low)] <= targets, middle, found)
    floor, top = ends[rows, begin + (found << low)], ends[rows, begin + (found + 1 << low)]
    return drawn << count | found, np.clip((targets - floor) / (top - floor), 0, _BELOW_ONE)


def _by_states(
    states: States, rows: Values, drawn: Values, numbers: Floats, left: int, count: int
) -> tuple[Values, Floats]:
    """Draw the next `count` of `left` wires from the marginals of states, a few wires at a time."""
    drawn, numbers = drawn.copy(), numbers.copy()
    while count:
        order = np.lexsort((drawn, rows))
        keys = np.stack([rows[order], drawn[order]])
        changes = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
        begins = np.concatenate(([0], changes))
        weights = _conditional(states, keys[0, begins], keys[1, begins], left, count)
        prefix = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(order)))
        norms = weights.sum(axis=1)
        for edge in (norms.min(), norms.max()):
            sampling.require_norm(float(edge))
        found, rest = sampling.choose_in_rows(weights, prefix, numbers[order] * norms[prefix])
        most = int(weights.shape[1]).bit_length() - 1
        numbers[order] = np.clip(rest / weights[prefix, found], 0, _BELOW_ONE)
        drawn[order] = drawn[order] << most | found
        left, count = left - most, count - most
    return drawn, numbers


def _conditional(states: States, rows: Values, prefixes: Values, left: int, count: int) -> Floats:
    """Return the marginals of the next wires, at most `count` of `left`, behind each prefix: [prefixes, 2^wires].

    A question to a device takes about as long for one prefix as for many, so few alone are asked for one by one: else
    one marginal includes the wires that are drawn, or, behind many wires, all amplitudes behind prefixes are read.
    """
    now, n, many = thresholds.now, states.num_wires, len(prefixes)
    most = min(count, now.shared_marginal_wires - (n - left))
    shared = states.rows << n - left + most if most > 0 else 1 << n
    if many > now.prefixes_one_by_one:
        # To find an amplitude's place and to copy it takes about as long as to sum up sixteen where they are.
        if states.single is not None and many << left <= min(now.sums_at_once, shared >> 4):
            return _from_amplitudes(states, prefixes, left, count)
        if most > 0 and shared <= now.sums_at_once:
            return states.marginals(range(left - most, n)).reshape(states.rows, -1, 1 << most)[rows, prefixes]
    of = [states.single if states.single is not None else states.row(int(row)) for row in rows]
    most = min(count, of[0].marginal_wires, max(1, now.sums_at_once.bit_length() - 1 - many.bit_length()))
    wires, above = range(left - most, left), (1 << n) - (1 << left)
    questions = zip(of, prefixes.tolist(), strict=True)
    return np.stack([one.marginal(wires, When(above, prefix << left)) for one, prefix in questions])


def _from_amplitudes(states: States, prefixes: Values, left: int, count: int) -> Floats:
    """Return the marginals of `count` of `left` wires behind prefixes, out of all amplitudes there."""
    values = (prefixes << left)[:, None] | np.arange(1 << left)
    found = states.gather(values.reshape(-1), range(states.num_wires))[0]
    shares = found.real.astype(np.float64) ** 2 + found.imag.astype(np.float64) ** 2
    return np.asarray(shares.reshape(len(prefixes), 1 << count, -1).sum(axis=2))
