"""Many gates or matrices of a circuit, appended at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import OperandBuilder, PlacedGate
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.matrices import UnitaryMatrix
from qsim_ex.circuit.ops import ALWAYS, Entry, Instruction, Op, Pattern
from qsim_ex.native import objects
from qsim_ex.native.library import address

Wires = tuple[int, ...]


def append_gates(
    instructions: list[Instruction],
    operands: OperandBuilder,
    placed: Sequence[PlacedGate],
    numbers: NDArray[np.uint32],
    parameters: NDArray[np.float64],
) -> None:
    """Append gates, the k-th of which is ``placed[numbers[k]]``.

    Operands have the places that they would have gate by gate. parameters: of all gates, finite, in order.
    """
    number_of = np.array([gate.row.number for gate in placed], dtype=np.int64)
    rows = number_of[numbers]  # of all gates
    kinds = {gate.row.number: gate for gate in placed}  # for each row a gate
    common = [gate for gate in kinds.values() if gate.row.shared]  # which share the operands of their row
    size_of, parameters_of = np.zeros((2, len(GATES)), dtype=np.int64)
    for gate in kinds.values():
        size_of[gate.row.number] = 0 if gate.row.shared else gate.row.size
        parameters_of[gate.row.number] = gate.row.parameters
    taken = size_of[rows]
    begin = {gate: int(np.argmax(rows == gate.row.number)) for gate in common if gate.row.name not in operands.shared}
    for gate, place in begin.items():  # their operands stand where the first of them is
        taken[place] = gate.row.size
    ends = operands.size + np.cumsum(taken)
    offsets = ends - taken
    for gate, place in begin.items():
        operands.constant(gate, int(offsets[place]))
    shared_of = np.full(len(GATES), -1, dtype=np.int64)
    for gate in common:
        shared_of[gate.row.number] = operands.shared[gate.row.name]
    counts = parameters_of[rows]
    starts = np.cumsum(counts) - counts
    for gate in kinds.values():
        if not gate.row.shared:
            which = np.flatnonzero(rows == gate.row.number)
            given = parameters[starts[which, None] + np.arange(gate.row.parameters)]
            operands.rows_of(gate.row.name, gate.row.of_factors, offsets[which], given)
    sizes, shared = size_of[number_of], shared_of[number_of]
    ops = tuple([gate.ops for gate in placed])
    arrays = address(sizes), address(shared), address(numbers), address(offsets)
    _append_operations()(instructions, Op, tuple, ops, *arrays, len(numbers))
    operands.size = int(ends[-1])


@lru_cache(maxsize=1)
def _append_operations() -> Callable[..., int]:
    """Return the function of core/native/operations.cpp."""
    return objects.function("operations_append", "ooooppppi")


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
