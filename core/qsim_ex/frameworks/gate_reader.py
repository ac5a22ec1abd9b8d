"""The gates of a circuit of Qiskit as arrays, read by native code through Qiskit's C interface: core/native/qiskit.cpp.

No Python object is made for an instruction. The adapter hands over the addresses of Qiskit's functions, so nothing
here imports Qiskit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import PlacedGate, placed_gate
from qsim_ex.native import objects
from qsim_ex.native.library import address

Wires = tuple[int, ...]

_MOST_PARAMETERS, _MOST_ROWS = 4, 254
"""The parameters of a gate that has a row, and the rows that native code tells apart."""

_ROW_BITS, _WIRE_BITS = 8, 14
"""A key is the number of a row, and then for each wire its number and 1."""


@dataclass(frozen=True, eq=False, slots=True)
class ReadGates:
    """The gates of a circuit.

    reader: which read them. numbers: of each instruction which of `keys` it has; the largest integer of one that is no
    row of the gate table. keys: rows on wires, each once. parameters: of all gates, in order; starts: where those of
    each instruction begin. others: the places of the instructions that are no rows.
    """

    reader: GateReader
    numbers: NDArray[np.uint32]
    keys: NDArray[np.uint64]
    parameters: NDArray[np.float64]
    starts: NDArray[np.int64]
    others: Sequence[int]

    def same(self) -> tuple[object, ...]:
        """Return what is equal for two readings of equal gates, and for no others."""
        return self.numbers.tobytes(), self.keys.tobytes(), self.parameters.tobytes()

    def gates(self, begin: int, end: int) -> tuple[list[str], list[Wires], list[Sequence[float]]]:
        """Return the rows, wires and parameters of some gates, as `CircuitBuilder.gates` takes them."""
        keys = [self.reader.decoded(key) for key in self.keys[self.numbers[begin:end]].tolist()]
        starts = self.starts[begin : end + 1].tolist()
        given = [self.parameters[first:last].tolist() for first, last in pairwise(starts)]
        return [row for row, _ in keys], [wires for _, wires in keys], given

    def append(self, builder: CircuitBuilder, begin: int, end: int) -> set[int]:
        """Append some gates that follow one another, and return their wires; raises what `CircuitBuilder.gate` does."""
        numbers, keys = self.numbers[begin:end], self.keys
        if end - begin + len(self.others) < len(self.numbers):  # not all gates
            distinct, inverse = np.unique(numbers, return_inverse=True)
            numbers, keys = inverse.astype(np.uint32), keys[distinct]
        placed = self.reader.placed(keys.tolist(), builder.num_qubits)
        builder.placed_gates(placed, numbers, self.parameters[self.starts[begin] : self.starts[end]])
        return set().union(*[gate.wires for gate in placed])


class GateReader:
    """Reads circuits through Qiskit's C interface.

    functions: the addresses of qk_circuit_view_instruction, qk_circuit_instruction_kind, qk_param_kind and
    qk_param_as_real, and the bytes of a parameter. rows: of the gate table by Qiskit's names.
    """

    def __init__(self, functions: Sequence[int], rows: Mapping[str, str]) -> None:
        assert len(rows) <= _MOST_ROWS
        self._functions = np.array(functions, dtype=np.int64)
        self._rows = list(rows.values())
        names = [name.encode() for name in rows]
        self._names = np.frombuffer(b"".join(names), dtype=np.uint8)
        self._ends = np.array(list(accumulate(map(len, names))), dtype=np.int64)
        self._placed = lru_cache(maxsize=8)(_PlacedGates)  # by the number of qubits

    def read(self, circuit: int, count: int) -> ReadGates | None:
        """Return the gates of a circuit with `count` instructions, given by its address in Qiskit.

        None if a parameter is no finite number, or wires are too many: then Python has to look at the circuit.
        """
        numbers, keys = np.empty(count, dtype=np.uint32), np.empty(count, dtype=np.uint64)
        parameters, starts = np.empty(_MOST_PARAMETERS * count), np.empty(count + 1, dtype=np.int64)
        others = np.empty(count, dtype=np.int64)
        arrays = [address(array) for array in (numbers, keys, parameters, starts, others)]
        out = np.array([*arrays, 0, 0], dtype=np.int64)
        names = address(self._names), address(self._ends), len(self._rows)
        if _read()(circuit, count, address(self._functions), *names, address(out)):
            return None
        *_, num_keys, num_others = out.tolist()
        given = parameters[: starts[-1]].copy()
        return ReadGates(self, numbers, keys[:num_keys].copy(), given, starts, others[:num_others].tolist())

    def decoded(self, key: int) -> tuple[str, Wires]:
        """Return the row and the wires of a key."""
        row, rest, wires = self._rows[key & (1 << _ROW_BITS) - 1], key >> _ROW_BITS, []
        while rest:
            wires.append((rest & (1 << _WIRE_BITS) - 1) - 1)
            rest >>= _WIRE_BITS
        return row, tuple(wires)

    def placed(self, keys: Sequence[int], num_qubits: int) -> list[PlacedGate]:
        """Return the gates of some keys."""
        known = self._placed(self, num_qubits)
        return [known[key] for key in keys]


class _PlacedGates(dict[int, PlacedGate]):
    """Gates on wires by their keys, placed when they are first asked for."""

    def __init__(self, reader: GateReader, num_qubits: int) -> None:
        super().__init__()
        self._reader, self._num_qubits = reader, num_qubits

    def __missing__(self, key: int) -> PlacedGate:
        row, wires = self._reader.decoded(key)
        if len(self) >= _MOST_PLACED:
            self.clear()
        placed = self[key] = placed_gate(row, wires, self._num_qubits)
        return placed


_MOST_PLACED = 1 << 14


@lru_cache(maxsize=1)
def _read() -> Callable[..., int]:
    return objects.function("qiskit_gates", "pipppip")
