"""Shots that chose alike so far share a state: a branch. What chooses, and how branches divide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.program.kraus import Kraus, numbers
from qsim_ex.program.program import Program

Floats = NDArray[np.float64]
Values = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Branches:
    """Sets of shots, each of one binding and with the same choices so far.

    binding: of each branch, int64 [branches], counted from the first of the bindings at hand.
    shots, begins: branch b has the shots ``shots[begins[b] : begins[b + 1]]``, ascending, counted from the first.
    outcomes: which matrix each choice of the program took, and in the last columns the bits that were read, uint8
        [branches, choices + readings]; scales: what the matrix is multiplied by.
    row: in which row of the states at hand the branch is, or from which it is to be copied.
    decided: up to this node all branch points are decided, by an earlier visit.
    """

    binding: Values
    shots: Values
    begins: Values
    outcomes: NDArray[np.uint8]
    scales: Floats
    row: Values
    decided: int = 0

    def __len__(self) -> int:
        return len(self.binding)

    @property
    def counts(self) -> Values:
        """How many shots each branch has."""
        return np.diff(self.begins)

    @property
    def branch_of(self) -> Values:
        """The branch of each of `shots`."""
        return np.repeat(np.arange(len(self)), self.counts)

    @property
    def in_place(self) -> bool:
        """Whether every branch is in the row of its own number."""
        return bool((self.row == np.arange(len(self))).all())

    @property
    def may_divide(self) -> bool:
        """Whether a branch point may make more of them."""
        return len(self.shots) > len(self)

    def chosen(self, branches: Values) -> Branches:
        """Some of the branches, in the order in which they are named."""
        counts = self.counts[branches]
        begins = np.concatenate(([0], np.cumsum(counts)))
        at = np.repeat(self.begins[:-1][branches] - begins[:-1], counts) + np.arange(begins[-1])
        return replace(
            self,
            binding=self.binding[branches],
            shots=self.shots[at],
            begins=begins,
            outcomes=self.outcomes[branches],
            scales=self.scales[branches],
            row=self.row[branches],
        )

    def singles(self) -> Branches:
        """A branch for every shot."""
        of = self.branch_of
        return replace(
            self, binding=self.binding[of], begins=np.arange(len(of) + 1), outcomes=self.outcomes[of],
            scales=self.scales[of], row=self.row[of],
        )  # fmt: skip

    def settled(self) -> Branches:
        """The same, once their states are in the rows of their numbers."""
        return replace(self, row=np.arange(len(self)))

    def without(self, done: NDArray[np.bool_]) -> Branches:
        """The branches without some shots; done: of each of `shots`. Branches that have none left are gone."""
        kept = ~done
        counts = np.add.reduceat(kept, self.begins[:-1], dtype=np.int64) if len(self) else np.zeros(0, dtype=np.int64)
        left = np.flatnonzero(counts)
        begins = np.concatenate(([0], np.cumsum(counts[left])))
        return replace(self.chosen(left), shots=self.shots[kept], begins=begins)

    def divided(
        self, at: Sequence[int], outcomes: NDArray[np.integer], scales: Floats | float = 1.0
    ) -> tuple[Branches, Values]:
        """Branches after something was decided, and which each comes from.

        at: the columns that are written. outcomes, scales: of each shot, [shots, columns].
        """
        scales = np.broadcast_to(scales, outcomes.shape)
        if not self.may_divide:
            made, factors = self.outcomes.copy(), self.scales.copy()
            made[:, at], factors[:, at] = outcomes, scales
            return replace(self, outcomes=made, scales=factors), np.arange(len(self))
        of = self.branch_of.astype(">u8").view(np.uint8).reshape(-1, 8)  # sorts as the numbers do, before all else
        rows = np.ascontiguousarray(np.concatenate([of, outcomes.astype(np.uint8)], axis=1))
        keys = rows.view(np.dtype((np.void, rows.shape[1]))).reshape(-1)
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(which, kind="stable")
        parent = self.branch_of[first]
        made, factors = self.outcomes[parent], self.scales[parent]
        made[:, at], factors[:, at] = outcomes[first], scales[first]
        begins = np.concatenate(([0], np.cumsum(np.bincount(which, minlength=len(first)))))
        after = replace(
            self, binding=self.binding[parent], shots=self.shots[order], begins=begins, outcomes=made, scales=factors,
            row=self.row[parent],
        )  # fmt: skip
        return after, parent


def first_branches(
    program: Program, kraus: Sequence[Sequence[Kraus]], seeds: Sequence[int], first: int, shots: int
) -> Branches:
    """The branches before anything runs: shots of a binding that chose alike from all mixed-unitary channels.

    kraus: for each binding, of each choice. seeds: of each binding. first, shots: the first shot, and how many.
    """
    bindings, early = len(seeds), program.early
    whole = _undecided(bindings, len(program.choices) + program.readings, shots)
    if not early:
        return whole
    outcomes = np.empty((bindings * shots, len(early)), dtype=np.uint8)
    scales = np.empty(outcomes.shape)
    for b, seed in enumerate(seeds):
        at = slice(b * shots, (b + 1) * shots)
        for column, choice in enumerate(early):
            one = kraus[b][choice.number]
            found = one.mixed(numbers(seed, 1 + choice.number, first, shots))
            outcomes[at, column], scales[at, column] = found, one.mean[found] ** -0.5
    return whole.divided([choice.number for choice in early], outcomes, scales)[0].settled()


@lru_cache(maxsize=16)
def _undecided(bindings: int, columns: int, shots: int) -> Branches:
    """A branch for each binding, with all of its shots; nobody writes to arrays of branches."""
    return Branches(
        binding=np.arange(bindings),
        shots=np.tile(np.arange(shots), bindings),
        begins=np.arange(bindings + 1) * shots,
        outcomes=np.zeros((bindings, columns), dtype=np.uint8),
        scales=np.ones((bindings, columns)),
        row=np.arange(bindings),
    )


def uniforms(branches: Branches, seeds: Sequence[int], key: int, begin: int, shots: int) -> Floats:
    """The random number of every shot of some branches; begin, shots: the first shot at hand, and how many."""
    found = np.empty(len(branches.shots))
    of = branches.binding[branches.branch_of]  # ascending, since branches divide where they stand
    first, last = int(of[0]), int(of[-1])
    ends = np.searchsorted(of, np.arange(first, last + 2))
    for binding in range(first, last + 1):
        mine = slice(ends[binding - first], ends[binding - first + 1])
        if mine.start < mine.stop:
            found[mine] = numbers(seeds[binding], key, begin, shots)[branches.shots[mine]]
    return found
