"""The values of saves so far: how those of several trajectories are put together, one class for each way.

A branch may pass a save more than once, since branches without room begin again from |0…0⟩, and a run that goes on
from a checkpoint may repeat work. So what is added up remembers which trajectories have been counted. A save in a loop
is passed in each round: means and sums are over all passes, and a value of a single trajectory is that of its last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.saves import Save, SaveValues
from qsim_ex.display.amounts import human
from qsim_ex.errors import OutOfMemory
from qsim_ex.execution.checkpoints import Arrays, fitting
from qsim_ex.placement.index_bits import integers
from qsim_ex.run.saved_rows import Counted, Numbers, SavedRows, SavedSizes, copy


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
        copy(self._values, found, "")

    def result(self) -> SaveValues:
        """Return the values, [bindings, …]."""
        return self._values


class AddedValues:
    """The sum over the trajectories of each binding, or their mean: [bindings, …]."""

    def __init__(self, save: Save, sizes: SavedSizes) -> None:
        self._mean = save.how == "average"
        self._sums = np.zeros((sizes.bindings, *sizes.shape), dtype=sizes.dtype)
        self._counted = Counted(sizes)

    def add(self, rows: SavedRows) -> None:
        """Add the value of each branch once for each of its trajectories that is not counted yet."""
        weights = self._counted.new(rows)
        np.add.at(self._sums, rows.binding, _weighted(rows.values, weights))

    def arrays(self) -> Arrays:
        """Return the sums, and which trajectories are counted."""
        return {"": self._sums, **self._counted.arrays()}

    def load(self, found: Arrays) -> None:
        """Put in the sums of an earlier run."""
        copy(self._sums, found, "")
        self._counted.load(found)

    def result(self) -> SaveValues:
        """Return the sums or the means, [bindings, …]; the mean of no trajectory, after a condition, is NaN."""
        with np.errstate(invalid="ignore"):
            return self._sums / columns_of(self._counted.passes(), self._sums) if self._mean else self._sums


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
        copy(self._values, found, "")
        copy(self._memory, found, "memory")

    def result(self) -> SaveValues | list[dict[int, SaveValues]]:
        """Return the values [bindings, trajectories, …], or for each binding classical bits -> [trajectories, …]."""
        if not self._by_memory:
            return self._values
        found = []
        for values, memory in zip(self._values, self._memory, strict=True):
            keys = np.array(integers(memory), dtype=object)
            found.append({key: values[np.flatnonzero(keys == key)] for key in sorted(set(keys.tolist()))})
        return found


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
    """For each value of the classical bits the first value, the mean or the sum of its trajectories.

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
            found[binding][int.from_bytes(memory, "little")] = value / number if number > 1 else value
        return found


def saved_values(save: Save, sizes: SavedSizes, free: int, *, repeated: bool = False) -> SavedValues:
    """Return what collects the values of a save; free: the bytes that are free on the host; repeated: in a loop."""
    if repeated and save.how in ("list", "c_list"):
        return EachPass(save, sizes, free)
    match save.how:
        case "single":
            return FirstValues(save, sizes)
        case "average" | "accum":
            return AddedValues(save, sizes)
        case "list" | "c_list":
            return EachValue(save, sizes)
        case "c_single" | "c_average" | "c_accum":
            return ByMemory(save, sizes, free)


def num_values(save: Save, sizes: SavedSizes) -> int:
    """Return how many values of a save are kept, as far as it is known before the run."""
    each = save.how in ("list", "c_list")
    return sizes.bindings * (sizes.trajectories if each else 1)


def bytes_of(save: Save, sizes: SavedSizes) -> int:
    """Return the bytes of these values."""
    return num_values(save, sizes) * sizes.value_bytes


def _weighted(values: SaveValues, weights: Numbers) -> SaveValues:
    found: SaveValues = values * columns_of(weights, values)
    return found


def columns_of(numbers: Numbers, of: SaveValues) -> SaveValues:
    """Return one number for each row, in the shape in which NumPy multiplies rows by them."""
    return numbers.reshape(-1, *(1,) * (of.ndim - 1))
