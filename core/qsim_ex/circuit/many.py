"""Many gates or matrices of a circuit, appended at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import OperandBuilder, PlacedGate
from qsim_ex.circuit.matrices import UnitaryMatrix
from qsim_ex.circuit.ops import ALWAYS, Entry, Instruction, Op
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
    own = defaultdict[tuple[str, bool], list[int]](list)  # gates with operands of their own, by what computes them
    common = defaultdict[str, list[int]](list)  # gates that share those of their row
    for number, gate in enumerate(placed):
        if gate.shared:
            common[gate.row].append(number)
        else:
            own[gate.row, gate.of_factors].append(number)
    sizes = np.array([gate.size for gate in placed], dtype=np.int64)
    group = np.full(len(placed), -1, dtype=np.int64)
    for number, members in enumerate(own.values()):
        group[members] = number
    group = group[numbers]
    taken = np.where(group < 0, 0, sizes[numbers])
    new = {row: members for row, members in common.items() if row not in operands.shared}
    if new:  # their operands stand where the first of them is
        first = np.empty(len(placed), dtype=np.int64)
        first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
        begin = {row: int(first[members].min()) for row, members in new.items()}
        for row, place in begin.items():
            taken[place] = placed[new[row][0]].size
    ends = operands.size + np.cumsum(taken)
    offsets = ends - taken
    for row, members in new.items():
        operands.constant(placed[members[0]], int(offsets[begin[row]]))
    shared = np.full(len(placed), -1, dtype=np.int64)
    for row, members in common.items():
        shared[members] = operands.shared[row]
    counts = np.array([gate.parameters for gate in placed], dtype=np.int64)[numbers]
    starts = np.cumsum(counts) - counts
    for number, ((row, of_factors), members) in enumerate(own.items()):
        which = np.flatnonzero(group == number)
        given = parameters[np.add.outer(starts[which], np.arange(placed[members[0]].parameters))]
        operands.rows_of(row, of_factors, offsets[which], given)
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
    append, new = instructions.append, tuple.__new__
    entries, offsets, rows, width = None, list[int](), list[int](), 0
    for matrix, on in zip(matrices, wires, strict=True):
        if matrix.entries is not entries:
            entries = matrix.entries
            offsets, rows = operands.alike(entries)
            width = entries.shape[1]
        size = operands.size
        if matrix.pattern is None:
            reads, of = tuple([1 << wire for wire in on]), bytes([Entry.COMPLEX]) * width
            append(new(Op, ((), reads, ALWAYS, of, size, name, True)))
        else:
            append(new(Op, (on, (), ALWAYS, matrix.pattern, size, name, True)))
        offsets.append(size)
        rows.append(matrix.row)
        operands.size = size + width
