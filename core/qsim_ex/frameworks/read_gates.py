"""Gates of a framework's circuit that native code has read: rows of the gate table on wires, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.many import RowGates
from qsim_ex.circuit.ops import wires_of
from qsim_ex.circuit.placed_gate import on_arguments
from qsim_ex.circuit.quarters import QuarterKeys
from qsim_ex.native.library import address, function

Wires = tuple[int, ...]


class Measured(NamedTuple):
    """Wires that are measured one after another, and the classical bit of each."""

    wires: Wires
    clbits: Wires


ROW_BITS, WIRE_BITS = 8, 14
"""A key is the number of a row, and then for each wire its number and 1."""

MOST_ROWS = (1 << ROW_BITS) - 2
"""The rows that native code tells apart."""

_MOST_PARAMETERS = 5  # of a gate that has a row


class ReadRows:
    """Rows of the gate table, each once, by a reader's own numbers."""

    def __init__(self, rows: Sequence[str]) -> None:
        self._quarters = QuarterKeys(rows, ROW_BITS)
        self._rows = (*rows, *self._quarters.added)
        assert len(set(self._rows)) == len(self._rows) <= MOST_ROWS  # the constants of a row are filled once

    def decoded(self, key: int) -> tuple[str, Wires]:
        """Return the row and the wires of a key."""
        row, rest, wires = self._rows[key & (1 << ROW_BITS) - 1], key >> ROW_BITS, []
        while rest:
            wires.append((rest & (1 << WIRE_BITS) - 1) - 1)
            rest >>= WIRE_BITS
        return row, tuple(wires)

    @property
    def quarters(self) -> QuarterKeys:
        """What puts other rows in place of quarter turns."""
        return self._quarters

    @cached_property
    def gates(self) -> RowGates:
        """Their operations."""
        placed = [on_arguments(GATES[name]) for name in self._rows]
        return RowGates(tuple([gate.row for gate in placed]), tuple([gate.without_phase for gate in placed]))


@dataclass(frozen=True, eq=False, slots=True)
class ReadGates:
    """The gates of a circuit, and its measurements where native code reads them.

    rows: which the keys name. numbers: of each instruction which of `keys` it has; the largest integer of one that is
    no row of the gate table. keys: rows on wires, each once. parameters: of all gates, in order; starts: where those
    of each instruction begin. others: the places of the instructions that are neither rows nor in `measured`;
    other_keys: of these keys with wires alone, 0 where these are none, or more than a key has.
    measured [measurements, 3]: of each measurement of one wire its place, its wire and its classical bit;
    −1 stand for those of a barrier.
    """

    rows: ReadRows
    numbers: NDArray[np.uint32]
    keys: NDArray[np.uint64]
    parameters: NDArray[np.float64]
    starts: NDArray[np.int64]
    others: Sequence[int]
    other_keys: NDArray[np.uint64]
    measured: NDArray[np.int64]

    @classmethod
    def read(cls, rows: ReadRows, count: int, read: Callable[[int], int]) -> ReadGates | None:
        """Return `count` instructions as native code reads them; None if Python has to look at them.

        read: is given the address of the arrays (core/native/readers/read_gates.hpp), and returns 0 if all went well.
        """
        numbers, keys = np.empty(count, dtype=np.uint32), np.empty(count, dtype=np.uint64)
        parameters, starts = np.empty(_MOST_PARAMETERS * count), np.empty(count + 1, dtype=np.int64)
        others, measured = np.empty(count, dtype=np.int64), np.empty((count, 3), dtype=np.int64)
        other_keys = np.empty(count, dtype=np.uint64)
        arrays = [address(array) for array in (numbers, keys, parameters, starts, others, other_keys, measured)]
        out = np.array([*arrays, 0, 0, 0], dtype=np.int64)
        if read(address(out)):
            return None
        *_, num_keys, num_others, num_measured = out.tolist()
        given = parameters[: starts[-1]].copy()
        found = others[:num_others].tolist(), other_keys[:num_others].copy(), measured[:num_measured].copy()
        return cls(rows, numbers, keys[:num_keys].copy(), given, starts, *found)

    def on(self, wires: Sequence[int]) -> ReadGates:
        """Return the same gates on other wires: wire w becomes ``wires[w]``."""
        to = np.array(wires, dtype=np.int64)
        keys, other_keys = _moved(self.keys, to), _moved(self.other_keys, to)
        measured = self.measured
        if len(measured):
            measured = measured.copy()
            measured[:, 1] = [wires[wire] if wire >= 0 else -1 for wire in measured[:, 1].tolist()]
        of = self.rows, self.numbers, keys, self.parameters, self.starts, self.others, other_keys
        return ReadGates(*of, measured)

    def other_wires(self) -> list[Wires]:
        """Return the wires of the instructions at `others`: () where these are none, or more than a key has.

        Equal wires are one object.
        """
        found: list[Wires] = []
        function("keys_wires")(address(self.other_keys), len(self.other_keys), found)
        return found

    def same(self) -> tuple[bytes, bytes, bytes, bytes]:
        """Return what is equal for two readings of equal gates, and for no others."""
        return self.numbers.tobytes(), self.keys.tobytes(), self.parameters.tobytes(), self.measured.tobytes()

    def measurements(self) -> dict[int, Measured]:
        """Return measurements that follow one another, by the place of the first.

        A barrier parts measurements; it has no wires.
        """
        if not len(self.measured):
            return {}
        places, wires, clbits = self.measured.T.tolist()
        begins, count = [0], len(places)
        if places[-1] - places[0] >= count or min(wires) < 0:
            begins += [k for k in range(1, count) if places[k] - places[k - 1] > 1 or -1 in wires[k - 1 : k + 1]]
        found = {}
        for begin, end in pairwise([*begins, count]):
            mine = slice(begin, end if wires[begin] >= 0 else begin)
            found[places[begin]] = Measured(tuple(wires[mine]), tuple(clbits[mine]))
        return found

    def gates(self, begin: int, end: int) -> tuple[list[str], list[Wires], list[Sequence[float]]]:
        """Return the rows, wires and parameters of some gates, as `CircuitBuilder.gates` takes them."""
        keys = [self.rows.decoded(key) for key in self.keys[self.numbers[begin:end]].tolist()]
        starts = self.starts[begin : end + 1].tolist()
        given = [self.parameters[first:last].tolist() for first, last in pairwise(starts)]
        return [row for row, _ in keys], [wires for _, wires in keys], given

    def append(self, builder: CircuitBuilder, begin: int, end: int) -> set[int]:
        """Append some gates that follow one another, and return their wires; raises what `CircuitBuilder.gate` does."""
        limits = thresholds.now
        if end - begin >= limits.gates_at_once and builder.num_qubits <= limits.native_wires:
            numbers, keys = self.numbers[begin:end], self.keys
            if end - begin + len(self.others) + len(self.measured) < len(self.numbers):  # not all gates
                distinct, inverse = np.unique(numbers, return_inverse=True)
                numbers, keys = inverse.astype(np.uint32), keys[distinct]
            first = self.starts[begin]
            parameters = self.parameters[first : self.starts[end]]
            if builder.num_qubits >= limits.quarter_wires:
                starts = self.starts[begin:end] - first
                keys, numbers, parameters = self.rows.quarters.replaced(keys, numbers, parameters, starts)
            wires = builder.row_gates(self.rows.gates, keys, numbers, parameters)
            if wires is not None:
                return set(wires_of(wires))
        names, on, given = self.gates(begin, end)
        builder.gates(names, on, given)
        return set().union(*on)


def _moved(keys: NDArray[np.uint64], to: NDArray[np.int64]) -> NDArray[np.uint64]:
    moved = np.empty_like(keys)
    function("keys_moved")(address(keys), len(keys), address(to), address(moved))
    return moved
