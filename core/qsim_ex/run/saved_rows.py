"""The rows in which values of saves come, and values whose number is not known before: of rounds, of classical bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.saves import Save, SaveValues
from qsim_ex.display.amounts import human
from qsim_ex.errors import OutOfMemory
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


class EachPass:
    """The value of every trajectory in every round, in this order: [passes, …], or grouped by the classical bits.

    room: the bytes that all values may have; they are not known before, as the number of rounds is not.
    """

    def __init__(self, save: Save, sizes: SavedSizes, room: int) -> None:
        self._by_memory = save.by_memory
        self._sizes = sizes
        self._room = room
        self._found: dict[tuple[int, ...], tuple[SaveValues, NDArray[np.uint8]]] = {}

    def add(self, rows: SavedRows) -> None:
        """Keep the value of each branch for all of its trajectories."""
        needed = (len(self._found) + len(rows.branch_of)) * self._sizes.value_bytes
        if needed > self._room:
            raise OutOfMemory(
                f"saves in {len(self._found)} rounds of a loop need {human(needed)}; the host has "
                f"{human(self._room)} free. Save a mean instead, fewer wires, or behind the loop."
            )
        each = zip(*rows.each(), rows.branch_of, strict=True)
        for binding, trajectory, branch in ((int(b), int(t), int(of)) for b, t, of in each):
            self._found[binding, trajectory, *rows.rounds] = rows.values[branch].copy(), rows.memory[branch].copy()

    def arrays(self) -> Arrays:
        """Return bindings, trajectories and rounds, values and classical bits, one row for each pass."""
        s, keys = self._sizes, list(self._found)
        values = np.array([value for value, _ in self._found.values()], dtype=s.dtype)
        memory = np.array([bits for _, bits in self._found.values()], dtype=np.uint8)
        return {
            "": values.reshape(len(keys), *s.shape),
            "memory": memory.reshape(len(keys), s.memory_bytes),
            "places": np.array(keys, dtype=np.int64).reshape(len(keys), -1 if keys else 0),
        }

    def load(self, found: Arrays) -> None:
        """Put in the passes of an earlier run."""
        s, count = self._sizes, len(found["places"])
        places = fitting(found, "places", np.int64, (count, found["places"].shape[-1]), 0)
        values = fitting(found, "", s.dtype, (count, *s.shape))
        bits = fitting(found, "memory", np.uint8, (count, s.memory_bytes))
        if len(places) and (places.shape[1] < 2 or (places[:, :2] >= (s.bindings, s.trajectories)).any()):
            raise ValueError(f"expected places among {s.bindings} bindings of {s.trajectories} trajectories")
        for place, value, memory in zip(places.tolist(), values, bits, strict=True):
            self._found[tuple(place)] = value, memory
        if len(self._found) != len(places):
            raise ValueError("expected each pass once")

    def result(self) -> list[Any]:
        """Return for each binding the values [passes, …], or classical bits -> [passes, …]."""
        each: list[list[tuple[SaveValues, NDArray[np.uint8]]]] = [[] for _ in range(self._sizes.bindings)]
        for (binding, *_), one in sorted(self._found.items(), key=lambda one: one[0]):
            each[binding].append(one)
        return [self._one(passes) for passes in each]

    def _one(self, passes: Sequence[tuple[SaveValues, NDArray[np.uint8]]]) -> SaveValues | dict[int, SaveValues]:
        s = self._sizes
        values = np.array([value for value, _ in passes], dtype=s.dtype).reshape(len(passes), *s.shape)
        if not self._by_memory:
            return values
        keys = [int.from_bytes(memory.tobytes(), "little") for _, memory in passes]
        return {key: values[[k for k, one in enumerate(keys) if one == key]] for key in sorted(set(keys))}


class ByMemory:
    """For each value of the classical bits the first value, the mean or the sum of its trajectories, or a list of one.

    room: the bytes that all values may have; they are not known before, as the classical bits are not.
    """

    def __init__(self, save: Save, sizes: SavedSizes, room: int) -> None:
        self._how = save.how
        self._sizes = sizes
        self._room = room
        self._counted = Counted(sizes)
        self._values: dict[tuple[int, bytes], SaveValues] = {}
        self._numbers: dict[tuple[int, bytes], int] = {}  # how many trajectories, or for "c_single" the first one

    def add(self, rows: SavedRows) -> None:
        """Put in the value of each branch under its classical bits."""
        first = np.full(len(rows.binding), self._sizes.trajectories)
        np.minimum.at(first, rows.branch_of, rows.trajectories)
        weights = self._counted.new(rows)
        for b, (binding, weight) in enumerate(zip(rows.binding.tolist(), weights.tolist(), strict=True)):
            key = binding, rows.memory[b].tobytes()
            if self._how == "c_single":
                if first[b] <= self._numbers.get(key, self._sizes.trajectories - 1):
                    self._put(key, rows.values[b], int(first[b]))
            elif weight and key in self._values:
                self._values[key] += weight * rows.values[b]
                self._numbers[key] += weight
            elif weight:
                self._put(key, weight * rows.values[b], weight)

    def _put(self, key: tuple[int, bytes], value: SaveValues, number: int) -> None:
        needed = (len(self._values) + (key not in self._values)) * self._sizes.value_bytes
        if needed > self._room:
            raise OutOfMemory(
                f"saves for {len(self._values)} values of the classical bits need {human(needed)}; the host has "
                f"{human(self._room)} free. Save fewer wires, or without a value for each of the classical bits."
            )
        self._values[key], self._numbers[key] = np.array(value, dtype=self._sizes.dtype), number

    def arrays(self) -> Arrays:
        """Return bindings, classical bits, values and numbers, one row for each entry."""
        s, keys = self._sizes, list(self._values)
        memory = np.frombuffer(b"".join(key for _, key in keys), dtype=np.uint8)
        return {
            "": np.array(list(self._values.values()), dtype=s.dtype).reshape(len(keys), *s.shape),
            "memory": memory.reshape(len(keys), s.memory_bytes),
            "binding": np.array([binding for binding, _ in keys], dtype=np.int64),
            "numbers": np.array([self._numbers[key] for key in keys], dtype=np.int64),
            **self._counted.arrays(),
        }

    def load(self, found: Arrays) -> None:
        """Put in the entries of an earlier run."""
        self._counted.load(found)
        s, count = self._sizes, len(found["binding"])
        least, most = (0, s.trajectories - 1) if self._how == "c_single" else (1, self._counted.most())
        bindings = fitting(found, "binding", np.int64, (count,), 0, s.bindings - 1)
        numbers = fitting(found, "numbers", np.int64, (count,), least, most)
        values = fitting(found, "", s.dtype, (count, *s.shape))
        bits = fitting(found, "memory", np.uint8, (count, s.memory_bytes))
        for binding, memory, value, number in zip(bindings.tolist(), bits, values, numbers.tolist(), strict=True):
            self._put((binding, memory.tobytes()), value, number)
        if len(self._values) != len(bindings):
            raise ValueError("expected each value of the classical bits once")

    def result(self) -> list[dict[int, SaveValues]]:
        """Return for each binding a dictionary: classical bits -> value, in increasing order of the bits."""
        found: list[dict[int, SaveValues]] = [{} for _ in range(self._sizes.bindings)]
        for (binding, memory), value in sorted(self._values.items(), key=lambda one: one[0][1][::-1]):
            number = self._numbers[binding, memory] if self._how == "c_average" else 1
            value = value / number if number > 1 else value
            found[binding][int.from_bytes(memory, "little")] = value[None] if self._how == "c_list" else value
        return found
