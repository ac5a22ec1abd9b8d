"""The values of saves so far: how those of several trajectories are put together, one class for each way.

A branch may pass a save more than once, since branches without room begin again from |0…0⟩, and a run that goes on
from a checkpoint may repeat work. So what is added up remembers which trajectories have been counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.saves import Save
from qsim_ex.devices.memory import human
from qsim_ex.errors import OutOfMemory
from qsim_ex.execution.checkpoints import Arrays
from qsim_ex.placement.bits import integers

Values = NDArray[Any]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class SavedRows:
    """The values of some branches at a save, and the trajectories that each branch stands for.

    values: [branches, …]. binding: of each branch. memory: the classical bits of each branch, uint8 [branches, bytes],
    bit c is bit c % 8 of byte c // 8. branch_of: the branch of each trajectory. trajectories: their numbers.
    """

    values: Values
    binding: Numbers
    memory: NDArray[np.uint8]
    branch_of: Numbers
    trajectories: Numbers

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


class SavedValues(Protocol):
    """The values of one save so far."""

    def add(self, rows: SavedRows) -> None:
        """Put in the values of some branches."""

    def arrays(self) -> Arrays:
        """Return everything as arrays, for a checkpoint; the main one has the name ''."""

    def load(self, found: Arrays) -> None:
        """Put in the arrays of an earlier run; raises `ValueError` for arrays that do not fit."""

    def result(self) -> Any:
        """Return the values of all bindings; item b is that of binding b."""


class FirstValues:
    """The value of the first trajectory of each binding: [bindings, …]."""

    def __init__(self, save: Save, sizes: SavedSizes) -> None:  # noqa: ARG002
        self._values = np.zeros((sizes.bindings, *sizes.shape), dtype=sizes.dtype)

    def add(self, rows: SavedRows) -> None:
        """Keep the value of the branch that has trajectory 0."""
        first = rows.branch_of[rows.trajectories == 0]
        self._values[rows.binding[first]] = rows.values[first]

    def arrays(self) -> Arrays:
        """Return the values."""
        return {"": self._values}

    def load(self, found: Arrays) -> None:
        """Put in the values of an earlier run."""
        _copy(self._values, found[""])

    def result(self) -> Values:
        """Return the values, [bindings, …]."""
        return self._values


class AddedValues:
    """The sum over the trajectories of each binding, or their mean: [bindings, …]."""

    def __init__(self, save: Save, sizes: SavedSizes) -> None:
        self._mean = save.how == "average"
        self._sums = np.zeros((sizes.bindings, *sizes.shape), dtype=sizes.dtype)
        self._counted = np.zeros((sizes.bindings, sizes.trajectories), dtype=np.bool_)

    def add(self, rows: SavedRows) -> None:
        """Add the value of each branch once for each of its trajectories that is not counted yet."""
        weights = _new(self._counted, rows)
        np.add.at(self._sums, rows.binding, _weighted(rows.values, weights))

    def arrays(self) -> Arrays:
        """Return the sums, and which trajectories are counted."""
        return {"": self._sums, "counted": self._counted}

    def load(self, found: Arrays) -> None:
        """Put in the sums of an earlier run."""
        _copy(self._sums, found[""])
        _copy(self._counted, found["counted"])

    def result(self) -> Values:
        """Return the sums or the means, [bindings, …]; the mean of no trajectory, after a condition, is NaN."""
        with np.errstate(invalid="ignore"):
            return self._sums / _columns(self._counted.sum(axis=1), self._sums) if self._mean else self._sums


class EachValue:
    """The value of every trajectory: [bindings, trajectories, …], or grouped by the classical bits."""

    def __init__(self, save: Save, sizes: SavedSizes) -> None:
        each = sizes.bindings, sizes.trajectories
        self._by_memory = save.by_memory
        self._values = np.zeros((*each, *sizes.shape), dtype=sizes.dtype)
        self._memory = np.zeros((*each, sizes.memory_bytes), dtype=np.uint8)

    def add(self, rows: SavedRows) -> None:
        """Keep the value of each branch for all of its trajectories."""
        self._values[rows.each()] = rows.values[rows.branch_of]
        self._memory[rows.each()] = rows.memory[rows.branch_of]

    def arrays(self) -> Arrays:
        """Return the values and the classical bits."""
        return {"": self._values, "memory": self._memory}

    def load(self, found: Arrays) -> None:
        """Put in the values of an earlier run."""
        _copy(self._values, found[""])
        _copy(self._memory, found["memory"])

    def result(self) -> Values | list[dict[int, Values]]:
        """Return the values [bindings, trajectories, …], or for each binding classical bits -> [trajectories, …]."""
        if not self._by_memory:
            return self._values
        found = []
        for values, memory in zip(self._values, self._memory, strict=True):
            keys = np.array(integers(memory), dtype=object)
            found.append({key: values[np.flatnonzero(keys == key)] for key in sorted(set(keys.tolist()))})
        return found


class ByMemory:
    """For each value of the classical bits the first value, the mean or the sum of its trajectories.

    room: the bytes that all values may have; they are not known before, as the classical bits are not.
    """

    def __init__(self, save: Save, sizes: SavedSizes, room: int) -> None:
        self._how = save.how
        self._sizes = sizes
        self._room = room
        self._counted = np.zeros((sizes.bindings, sizes.trajectories), dtype=np.bool_)
        self._values: dict[tuple[int, bytes], Values] = {}
        self._numbers: dict[tuple[int, bytes], int] = {}  # how many trajectories, or for "c_single" the first one

    def add(self, rows: SavedRows) -> None:
        """Put in the value of each branch under its classical bits."""
        first = np.full(len(rows.binding), self._sizes.trajectories)
        np.minimum.at(first, rows.branch_of, rows.trajectories)
        weights = _new(self._counted, rows)
        for b, (binding, weight) in enumerate(zip(rows.binding.tolist(), weights.tolist(), strict=True)):
            key = binding, rows.memory[b].tobytes()
            if self._how == "c_single":
                if first[b] < self._numbers.get(key, self._sizes.trajectories):
                    self._put(key, rows.values[b], int(first[b]))
            elif weight and key in self._values:
                self._values[key] += weight * rows.values[b]
                self._numbers[key] += weight
            elif weight:
                self._put(key, weight * rows.values[b], weight)

    def _put(self, key: tuple[int, bytes], value: Values, number: int) -> None:
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
            "counted": self._counted,
        }

    def load(self, found: Arrays) -> None:
        """Put in the entries of an earlier run."""
        _copy(self._counted, found["counted"])
        parts = found["binding"].tolist(), found["memory"], found[""], found["numbers"].tolist()
        for binding, memory, value, number in zip(*parts, strict=True):
            _copy(np.empty(self._sizes.shape, dtype=self._sizes.dtype), value)
            self._put((binding, memory.tobytes()), value, number)

    def result(self) -> list[dict[int, Values]]:
        """Return for each binding a dictionary: classical bits -> value, in increasing order of the bits."""
        found: list[dict[int, Values]] = [{} for _ in range(self._sizes.bindings)]
        for (binding, memory), value in sorted(self._values.items(), key=lambda one: one[0][1][::-1]):
            number = self._numbers[binding, memory] if self._how == "c_average" else 1
            found[binding][int.from_bytes(memory, "little")] = value / number if number > 1 else value
        return found


def saved_values(save: Save, sizes: SavedSizes, free: int) -> SavedValues:
    """Return what collects the values of a save; free: the bytes that are free on the host."""
    match save.how:
        case "single":
            return FirstValues(save, sizes)
        case "average" | "accum":
            return AddedValues(save, sizes)
        case "list" | "c_list":
            return EachValue(save, sizes)
        case "c_single" | "c_average" | "c_accum":
            return ByMemory(save, sizes, free)


def bytes_of(save: Save, sizes: SavedSizes) -> int:
    """Return the bytes of all values of a save, as far as they are known before the run."""
    each = save.how in ("list", "c_list")
    return sizes.bindings * (sizes.trajectories if each else 1) * sizes.value_bytes


def _new(counted: NDArray[np.bool_], rows: SavedRows) -> Numbers:
    """Return how many trajectories of each branch are not counted yet, and count them."""
    found = np.bincount(rows.branch_of[~counted[rows.each()]], minlength=len(rows.binding))
    counted[rows.each()] = True
    return found


def _weighted(values: Values, weights: Numbers) -> Values:
    found: Values = values * _columns(weights, values)
    return found


def _columns(numbers: Numbers, of: Values) -> Values:
    """Return one number for each row, in the shape in which NumPy multiplies rows by them."""
    return numbers.reshape(-1, *(1,) * (of.ndim - 1))


def _copy(mine: Values, theirs: Any) -> None:
    if theirs.shape != mine.shape or theirs.dtype != mine.dtype:
        raise ValueError(f"expected {mine.dtype} {list(mine.shape)}, got {theirs.dtype} {list(theirs.shape)}")
    mine[...] = theirs


def classical_memory(columns: tuple[int | None, ...], outcomes: NDArray[np.uint8], num_bytes: int) -> NDArray[np.uint8]:
    """Return the classical bits of each branch, packed: uint8 [branches, bytes].

    columns: of each bit the column of `outcomes` [branches, columns] that holds it; None for a bit that is 0.
    """
    found = np.zeros((len(outcomes), num_bytes), dtype=np.uint8)
    for clbit, column in enumerate(columns):
        if column is not None:
            found[:, clbit // 8] |= outcomes[:, column] << clbit % 8
    return found
