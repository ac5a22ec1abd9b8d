"""Many gates or matrices of a circuit, appended at once.

Of gates that leave global phases, as RZ and √X do, all phases are one operation behind the gates: in rz, sx and cz half
of all operations would be phases, and every look at a circuit would pass them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.matrices import UnitaryMatrix
from qsim_ex.circuit.ops import ALWAYS, Entry, Instruction, Op, Pattern, When
from qsim_ex.circuit.phases import PHASES, phase_of
from qsim_ex.circuit.placed_gate import OperandBuilder, PlacedGate, PlacedRow
from qsim_ex.circuit.rotations import phases
from qsim_ex.native.library import address, function, structure

Wires = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class RowGates:
    """What gates are: rows of the gate table, and operations that count their operands from 0.

    rows: fewer than 256, each once. ops: on wires 0, 1, … for each row, or, if gates are placed, of each gate; without
    the global phases that gates leave.
    """

    rows: tuple[PlacedRow, ...]
    ops: tuple[tuple[Op, ...], ...]
    placed: bool = False

    def __post_init__(self) -> None:
        assert len({row.name for row in self.rows}) == len(self.rows)  # the constants of a row are filled once

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """The rows as native code reads them, int64 [rows, 4]; shared operands have no place yet."""
        rows = [
            (row.qubits, row.parameters, *((row.size, _NOT_YET) if row.shared else (row.size - row.leaves_phase, _OWN)))
            for row in self.rows
        ]
        return np.array(rows, dtype=np.int64).reshape(-1, 4)

    @cached_property
    def eighths(self) -> NDArray[np.int64] | None:
        """The global phase that a gate of each row without parameters leaves, in π/8; None if no row leaves a phase.

        It stands for 0 in rows whose gates leave phases by angles of their own.
        """
        if not any(row.leaves_phase for row in self.rows):
            return None
        return np.array([_eighths(row.name) if row.leaves_phase and row.shared else 0 for row in self.rows])

    @classmethod
    def of(cls, gates: Sequence[PlacedGate]) -> tuple[RowGates, NDArray[np.uint64]]:
        """Return placed gates, and the key of each: the number of its row."""
        rows = tuple(dict.fromkeys([gate.row for gate in gates]))
        number_of = {row: number for number, row in enumerate(rows)}
        keys = np.array([number_of[gate.row] for gate in gates], dtype=np.uint64)
        return cls(rows, tuple([gate.without_phase for gate in gates]), placed=True), keys


_EIGHTH, _LARGE = np.pi / 8, 100.0
"""π/8, and from where on an angle is not added to others: the sum would lose what is beyond its last digit."""


@lru_cache(maxsize=256)
def _eighths(name: str) -> int:
    """Return the global phase that a gate without parameters leaves, in π/8, of which all are multiples."""
    angle = cast(float, phase_of(name, np.empty((1, 0))))
    assert round(angle / _EIGHTH) * _EIGHTH == angle
    return round(angle / _EIGHTH)


_AS_THEY_ARE, _OWN, _NOT_YET = -3, -2, -1
_Gates = structure(
    "rows num_rows keys num_keys numbers count parameters on_arguments num_qubits size touched "
    "offsets begins given given_begins counts"
)


def append_gates(
    instructions: list[Instruction],
    operands: OperandBuilder,
    gates: RowGates,
    keys: NDArray[np.uint64],
    numbers: NDArray[np.uint32],
    parameters: NDArray[np.float64],
    num_qubits: int,
) -> int | None:
    """Append gates, the k-th of which is that of ``keys[numbers[k]]``, and return the mask of the wires of keys.

    None, and nothing is appended, if they are none of the circuit's. keys: a row's number, and its wires if the gates
    are not placed (`frameworks.read_gates`). Operands have the places that they would have gate by gate.
    parameters: of all gates, finite, in order. num_qubits: at most 62 if gates are not placed.
    """
    rows = gates.columns.copy()
    for number, row in enumerate(gates.rows if operands.shared else ()):
        if row.shared and row.name in operands.shared:
            rows[number, -1] = operands.shared[row.name]
    size = len(gates.rows) + 1
    offsets, begins, given_begins, counts = np.empty((4, max(len(numbers), size)), dtype=np.int64)
    given = np.empty(len(parameters))
    arrays = address(offsets), address(begins), address(given), address(given_begins), address(counts)
    read = address(rows), len(rows), address(keys), len(keys), address(numbers), len(numbers), address(parameters)
    form = _Gates(*read, not gates.placed, num_qubits, operands.size, 0, *arrays)
    types = Op, When, ALWAYS
    if _append_operations()(instructions, *types, gates.ops, ctypes.addressof(form)):
        return None
    operands.size = form.size
    begins, given_begins = begins[:size], given_begins[:size]
    angles = list[NDArray[np.float64]]()
    for number in np.flatnonzero((rows[:, -1] >= 0) | (begins[1:] > begins[:-1])).tolist():
        row, place, begin, end = gates.rows[number], int(rows[number, -1]), begins[number], begins[number + 1]
        if place >= 0 and row.name not in operands.shared:
            operands.constant(row, place)
        elif begin < end:
            own = given[given_begins[number] : given_begins[number + 1]].reshape(end - begin, -1)
            operands.rows_of(row, offsets[begin:end], own)
            if row.leaves_phase:
                angles.append(cast("NDArray[np.float64]", phase_of(row.name, own)))
    if gates.eighths is not None:
        _append_phase(instructions, operands, gates.eighths * counts[: len(gates.rows)], angles)
    return int(form.touched)


def _append_phase(
    instructions: list[Instruction],
    operands: OperandBuilder,
    eighths: NDArray[np.int64],
    angles: list[NDArray[np.float64]],
) -> None:
    """Append the global phases that gates leave, as one operation, if one of them does.

    eighths: in π/8 those of gates without parameters, by their rows. angles: those that depend on parameters.
    """
    if not angles and not eighths.any():
        return
    total, entry = _EIGHTH * (int(eighths.sum()) % 16), np.ones(1, dtype=np.complex128)
    for some in angles:
        if max(some.max(), -some.min()) < _LARGE:
            total += float(some.sum())
        else:
            entry *= np.prod(phases(some))
    entry *= phases(np.array([total]))
    instructions.append(Op((), (), ALWAYS, bytes([Entry.COMPLEX]), operands.literal(entry), PHASES))


def append_ops(
    instructions: list[Instruction],
    ops: tuple[tuple[Op, ...], ...],
    sizes: Sequence[int],
    numbers: NDArray[np.uint32],
    end: int,
) -> int:
    """Append the operations of gates, of which the k-th has ``ops[numbers[k]]``; return where their operands end.

    sizes: of the operands of each, in which its operations count from 0; 0 if these say where their operands are. end:
    where operands end before. Fewer than 256 sizes may be distinct.
    """
    row_of = {size: row for row, size in enumerate(dict.fromkeys(sizes))}
    rows = np.array([(0, 0, size, _OWN if size else _AS_THEY_ARE) for size in row_of], dtype=np.int64).reshape(-1, 4)
    keys = np.array([row_of[size] for size in sizes], dtype=np.uint64)
    numbers = np.ascontiguousarray(numbers)
    places = np.empty((4, max(len(numbers), len(rows)) + 1), dtype=np.int64)  # which nobody asks for
    offsets, begins, given_begins, counts = map(address, places)
    read = address(rows), len(rows), address(keys), len(keys), address(numbers), len(numbers)
    form = _Gates(*read, 0, False, 0, end, 0, offsets, begins, 0, given_begins, counts)
    _append_operations()(instructions, Op, When, ALWAYS, ops, ctypes.addressof(form))
    return int(form.size)


@lru_cache(maxsize=1)
def _append_operations() -> Callable[..., int]:
    """Return the function of core/native/readers/operations.cpp."""
    return function("operations_append")


def append_matrices(
    instructions: list[Instruction],
    operands: OperandBuilder,
    matrices: Sequence[UnitaryMatrix],
    wires: Sequence[Wires],
    name: str,
) -> None:
    """Append checked matrices on checked wires."""
    begin = 0
    while begin < len(matrices):
        entries, end = matrices[begin].entries, begin + 1
        while end < len(matrices) and matrices[end].entries is entries:
            end += 1
        some, on, width = matrices[begin:end], wires[begin:end], entries.shape[1]
        places = range(operands.size, operands.size + len(some) * width, width)
        instructions += _alike(some, on, places, bytes([Entry.COMPLEX]) * width, name)
        offsets, rows = operands.alike(entries)
        offsets += places
        rows += [matrix.row for matrix in some]
        operands.size += len(some) * width
        begin = end


def _alike(
    matrices: Sequence[UnitaryMatrix], wires: Sequence[Wires], places: range, full: Pattern, name: str
) -> list[Instruction]:
    """Return the operations of matrices with one array of entries, all of which are diagonal or none."""
    new, given = tuple.__new__, zip(matrices, wires, places, strict=True)
    if matrices[0].pattern is None:
        return [
            new(Op, ((), tuple([1 << wire for wire in on]), ALWAYS, full, place, name, True)) for _, on, place in given
        ]
    return [new(Op, (on, (), ALWAYS, matrix.pattern, place, name, True)) for matrix, on, place in given]
