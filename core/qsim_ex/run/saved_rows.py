"""The rows in which values of saves come, their sizes, and which trajectories of them have been counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.saves import SaveValues
from qsim_ex.execution.checkpoints import Arrays, fitting

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class SavedRows:
    """The values of some branches at a save, and the trajectories that each branch stands for.

    values: [branches, …]. binding: of each branch. memory: the classical bits of each branch, uint8 [branches, bytes],
    bit c is bit c % 8 of byte c // 8. branch_of: the branch of each trajectory. trajectories: their numbers.
    rounds: the present round of each loop around the save.
    """

    values: SaveValues
    binding: Numbers
    memory: NDArray[np.uint8]
    branch_of: Numbers
    trajectories: Numbers
    rounds: tuple[int, ...] = ()

    def each(self) -> tuple[Numbers, Numbers]:
        """Return the place [binding, trajectory] of each trajectory."""
        return self.binding[self.branch_of], self.trajectories


@dataclass(frozen=True, slots=True)
class SavedSizes:
    """The sizes of a save's values: of how many bindings and trajectories, and the shape and type of each."""

    bindings: int
    trajectories: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    memory_bytes: int

    @property
    def value_bytes(self) -> int:
        """The bytes of one value."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


class Counted:
    """Which trajectories of each binding have been counted, in each round of the loops around a save."""

    def __init__(self, sizes: SavedSizes) -> None:
        self._shape = sizes.bindings, sizes.trajectories
        self._of: dict[tuple[int, ...], NDArray[np.bool_]] = {(): np.zeros(self._shape, dtype=np.bool_)}

    def new(self, rows: SavedRows) -> Numbers:
        """Return how many trajectories of each branch are not counted yet, and count them."""
        if rows.rounds not in self._of:
            self._of[rows.rounds] = np.zeros(self._shape, dtype=np.bool_)
        counted = self._of[rows.rounds]
        found = np.bincount(rows.branch_of[~counted[rows.each()]], minlength=len(rows.binding))
        counted[rows.each()] = True
        return found

    def passes(self) -> Numbers:
        """Return how often each binding has passed the save."""
        found: Numbers = np.sum([one.sum(axis=1) for one in self._of.values()], axis=0)
        return found

    def most(self) -> int:
        """Return how often all trajectories of a binding can have passed the save in the rounds so far."""
        return self._shape[1] * len(self._of)

    def arrays(self) -> Arrays:
        """Return an array for each round, whose name ends in the numbers of the rounds, and which rounds there are."""
        found = {"_".join(["counted", *map(str, rounds)]): one for rounds, one in self._of.items()}
        return {**found, **({"rounds": np.array(list(self._of)[1:], dtype=np.int64)} if len(self._of) > 1 else {})}

    def load(self, found: Arrays) -> None:
        """Put in the arrays of an earlier run."""
        copy(self._of[()], found, "counted")
        if "rounds" in found or any(name.startswith("counted_") for name in found):
            rounds = fitting(found, "rounds", np.int64, np.atleast_2d(found["rounds"]).shape, 0)
            for one in map(tuple, rounds.tolist()):
                self._of[one] = fitting(found, "_".join(["counted", *map(str, one)]), np.bool_, self._shape).copy()
            if not len(rounds) + 1 == len(self._of) == sum(name.startswith("counted") for name in found):
                raise ValueError(f"rounds: expected those of all arrays, got {rounds.tolist()!r:.60}")


def copy(mine: SaveValues, found: Arrays, name: str) -> None:
    """Copy an array of an earlier run into one of the same shape and type; raises `ValueError` for others."""
    mine[...] = fitting(found, name, mine.dtype, mine.shape)
