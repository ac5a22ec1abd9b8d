"""Gates of a framework's circuit that native code has read: rows of the gate table on wires, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import PlacedGate, placed_gate
from qsim_ex.native.library import address

Wires = tuple[int, ...]


class Measured(NamedTuple):
    """Wires that are measured one after another, and the classical bit of each."""

    wires: Wires
    clbits: Wires


ROW_BITS, WIRE_BITS = 8, 14
"""A key is the number of a row, and then for each wire its number and 1."""

MOST_ROWS = (1 << ROW_BITS) - 2
"""The rows that native code tells apart."""

_MOST_PARAMETERS, _MOST_WIRES = 4, 4  # of a gate that has a row
_FEW = 16  # so many gates are appended one by one: looking at all together takes longer


class PlacedRows:
    """Rows of the gate table, by a reader's own numbers, on wires; remembers the gates that it has placed."""

    def __init__(self, rows: Sequence[str]) -> None:
        assert len(rows) <= MOST_ROWS
        self._rows = rows
        self._placed = lru_cache(maxsize=8)(_PlacedGates)  # by the number of qubits

    def decoded(self, key: int) -> tuple[str, Wires]:
        """Return the row and the wires of a key."""
        row, rest, wires = self._rows[key & (1 << ROW_BITS) - 1], key >> ROW_BITS, []
        while rest:
            wires.append((rest & (1 << WIRE_BITS) - 1) - 1)
            rest >>= WIRE_BITS
        return row, tuple(wires)

    def placed(self, keys: Sequence[int], num_qubits: int) -> list[PlacedGate]:
        """Return the gates of some keys."""
        known = self._placed(self, num_qubits)
        return [known[key] for key in keys]


class _PlacedGates(dict[int, PlacedGate]):
    """Gates on wires by their keys, placed when they are first asked for."""

    def __init__(self, rows: PlacedRows, num_qubits: int) -> None:
        super().__init__()
        self._rows, self._num_qubits = rows, num_qubits

    def __missing__(self, key: int) -> PlacedGate:
        row, wires = self._rows.decoded(key)
        if len(self) >= _MOST_PLACED:
            self.clear()
        placed = self[key] = placed_gate(row, wires, self._num_qubits)
        return placed


_MOST_PLACED = 1 << 14


@dataclass(frozen=True, eq=False, slots=True)
class ReadGates:
    """The gates of a circuit, and its measurements where native code reads them.

    rows: which the keys name. numbers: of each instruction which of `keys` it has; the largest integer of one that is
    no row of the gate table. keys: rows on wires, each once. parameters: of all gates, in order; starts: where those
    of each instruction begin. others: the places of the instructions that are neither rows nor in `measured`.
    measured [measurements, 3]: of each measurement of one wire its place, its wire and its classical bit;
    −1 stand for those of a barrier.
    """

    rows: PlacedRows
    numbers: NDArray[np.uint32]
    keys: NDArray[np.uint64]
    parameters: NDArray[np.float64]
    starts: NDArray[np.int64]
    others: Sequence[int]
    measured: NDArray[np.int64]

    @classmethod
    def read(cls, rows: PlacedRows, count: int, read: Callable[[int], int]) -> ReadGates | None:
        """Return `count` instructions as native code reads them; None if Python has to look at them.

        read: is given the address of the arrays (core/native/read_gates.hpp), and returns 0 if all went well.
        """
        numbers, keys = np.empty(count, dtype=np.uint32), np.empty(count, dtype=np.uint64)
        parameters, starts = np.empty(_MOST_PARAMETERS * count), np.empty(count + 1, dtype=np.int64)
        others, measured = np.empty(count, dtype=np.int64), np.empty((count, 3), dtype=np.int64)
        arrays = [address(array) for array in (numbers, keys, parameters, starts, others, measured)]
        out = np.array([*arrays, 0, 0, 0], dtype=np.int64)
        if read(address(out)):
            return None
        *_, num_keys, num_others, num_measured = out.tolist()
        given = parameters[: starts[-1]].copy()
        found = others[:num_others].tolist(), measured[:num_measured].copy()
        return cls(rows, numbers, keys[:num_keys].copy(), given, starts, *found)

    def on(self, wires: Sequence[int]) -> ReadGates:
        """Return the same gates on other wires: wire w becomes ``wires[w]``."""
        to = np.array([0, *[wire + 1 for wire in wires]], dtype=np.uint64)
        keys = self.keys & np.uint64((1 << ROW_BITS) - 1)
        for place in range(_MOST_WIRES):
            shift = np.uint64(ROW_BITS + WIRE_BITS * place)
            keys |= to[self.keys >> shift & np.uint64((1 << WIRE_BITS) - 1)] << shift
        measured = self.measured.copy()
        measured[:, 1] = [wires[wire] if wire >= 0 else -1 for wire in measured[:, 1].tolist()]
        return ReadGates(self.rows, self.numbers, keys, self.parameters, self.starts, self.others, measured)

    def same(self) -> tuple[object, ...]:
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
        if end - begin <= _FEW:
            names, on, given = self.gates(begin, end)
            builder.gates(names, on, given)
            return set().union(*on)
        numbers, keys = self.numbers[begin:end], self.keys
        if end - begin + len(self.others) + len(self.measured) < len(self.numbers):  # not all gates
            distinct, inverse = np.unique(numbers, return_inverse=True)
            numbers, keys = inverse.astype(np.uint32), keys[distinct]
        placed = self.rows.placed(keys.tolist(), builder.num_qubits)
        builder.placed_gates(placed, numbers, self.parameters[self.starts[begin] : self.starts[end]])
        return set().union(*[gate.wires for gate in placed])
