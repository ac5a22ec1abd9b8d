"""The values of saves so far: how those of several trajectories are put together, one class for each way; their memory.

A branch may pass a save more than once, since branches without room begin again from |0…0⟩, and a run that goes on
from a checkpoint may repeat work. So what is added up remembers which trajectories have been counted. A save in a loop
is passed in each round: means and sums are over all passes, and a value of a single trajectory is that of its last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.saves import SAVE_KINDS, Save, SaveValues
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.memory import require, require_on_host, state_bytes
from qsim_ex.execution.checkpoints import Arrays
from qsim_ex.later import later
from qsim_ex.options import Options
from qsim_ex.placement.index_bits import integers
from qsim_ex.program.program import Program
from qsim_ex.run.request import Request
from qsim_ex.run.saved_rows import ByMemory, Counted, EachPass, Numbers, SavedRows, SavedSizes, copy

if TYPE_CHECKING:
    from qsim_ex.deployment import rooms
    from qsim_ex.run import unitary
else:
    rooms = later("qsim_ex.deployment.rooms")
    unitary = later("qsim_ex.run.unitary")


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


def saved_values(save: Save, sizes: SavedSizes, free: int, *, repeated: bool = False) -> SavedValues:
    """Return what collects the values of a save; free: the bytes that are free on the host; repeated: in a loop."""
    if repeated and save.how in ("list", "c_list"):
        return EachPass(save, sizes, free)
    match save.how:
        case "single":
            return FirstValues(save, sizes)
        case "average" | "accum":
            return AddedValues(save, sizes)
        case "c_list" if sizes.trajectories == 1:  # which may be a density matrix, of all values of the bits
            return ByMemory(save, sizes, free)
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


def collected(
    circuit: Circuit, program: Program, request: Request, count: int, where: Assignment, options: Options
) -> dict[str, SavedValues]:
    """Return what collects the values of each save; raises `OutOfMemory` if they do not fit into the host's memory."""
    n, free = circuit.num_qubits, where.host_free
    width = -(-circuit.num_clbits // 8)
    sizes = {
        save: SavedSizes(count, request.trajectories, save.shape(n), save.dtype(options.dtype), width)
        for save in program.saves
    }
    states = sum(num_values(save, of) for save, of in sizes.items() if save.what == "statevector")
    if states and where.ranks is not None:
        rooms.require_on_hosts(where.ranks, "a state vector that is saved", states * state_bytes(n, options.dtype))
    elif states:
        require(n, options.dtype, [("the host", free)], states=states + where.device.in_host_memory)
    others = {save: of for save, of in sizes.items() if save.what != "statevector"}
    if others:
        named = ", ".join(repr(save.label) for save in others)
        require_on_host(f"what is saved as {named}", sum(bytes_of(save, of) for save, of in others.items()), free)
    if any(SAVE_KINDS[save.what].gates_only for save in others):
        unitary.place_unitary(n, options)
    return {
        save.label: saved_values(save, of, free, repeated=save.label in program.repeated) for save, of in sizes.items()
    }
