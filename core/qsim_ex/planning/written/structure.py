"""The structure of gates that native code has written, whose numbers stand once for all gates of a kind."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

import numpy as np

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import ALWAYS, Entry, Op, When, mask_of, wires_of
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.native.library import check_cancelled
from qsim_ex.planning.written.matrices import MATRIX, WrittenMatrices
from qsim_ex.planning.written.numbers import Complex
from qsim_ex.planning.written.rotations import RotationPart

_GATES = ("h", "s", "sdg", "x", "z", "cx", "cz", "swap")
_ON_TWO = ("cx", "cz", "swap")
_EIGHTHS = ("t", "s", "p_3_eighths", "z", "p_5_eighths", "sdg", "tdg")
_AT_ONCE = 256
"""Gates between two looks whether anybody still wants their structure."""

ROTATION = len(_GATES)
"""The kind of gates that are rotations; those below are in the order of these names."""


@lru_cache(maxsize=1)
def _models() -> Circuit:
    """Return a circuit with one gate of each kind, a phase of a parity, and a global phase."""
    builder = CircuitBuilder(2)
    for name in _GATES:
        builder.gate(name, (0, 1) if name in _ON_TWO else (0,))
    builder.global_phase(1.0)
    for name in _EIGHTHS:
        builder.gate(name, (0,))
    return builder.build()


@lru_cache(maxsize=1)
def constants() -> Complex:
    """Return the operands of all gates without angles: those of the models, and behind them 1 and each eighth turn."""
    known = _models().operands[0]
    turned = [known[cast(Op, one).operand] for one in _models().instructions[ROTATION + 1 :]]
    return np.concatenate([known, *([1, phase] for phase in turned)])


@lru_cache(maxsize=1 << 10)
def _eighth(turns: int, mask: int) -> Op:
    """Return the phase of a parity by some eighth turns, which is known to the planner."""
    number = turns - 1
    model = cast(Op, _models().instructions[ROTATION + 1 + number])
    if mask.bit_count() == 1:
        return model._replace(when=When(mask, mask))
    place = _models().operands.shape[1] + 2 * number
    return Op((), (mask,), ALWAYS, bytes([Entry.ONE]) + model.pattern, place, model.name)


@lru_cache(maxsize=1 << 14)
def _placed(kind: int, wires: tuple[int, ...]) -> Op:
    """Return a gate on some wires; its numbers are those of the model, so that equal gates are one object."""
    model = cast(Op, _models().instructions[kind])

    def moved(mask: int) -> int:
        return mask_of(tuple(wires[wire] for wire in wires_of(mask)))

    return model._replace(
        mixes=tuple(wires[wire] for wire in model.mixes),
        reads=tuple(map(moved, model.reads)),
        when=When(moved(model.when.mask), moved(model.when.value)),
    )


def structure_of_gates(
    num_wires: int,
    columns: list[list[int]],
    eighths: list[int],
    parts: list[tuple[RotationPart, ...]],
    matrices: WrittenMatrices,
    last: int,
) -> tuple[Structure, int]:
    """Return the structure of gates as native code writes them (`Gate` in planner/form/write/writer.hpp), and a phase.

    columns: those of the gates. eighths: see `_eighths`. parts: see `_parts`. matrices: those among the gates. last:
    the number of the gate with which the operator at the end begins, whose place is returned, too.
    """
    models, ops, new = _models(), list[Op](), tuple.__new__  # a named tuple's `_replace` takes five times as long
    phase = cast(Op, models.instructions[ROTATION])
    place, begin, given = len(constants()) + len(matrices.numbers), 0, iter(matrices.ops)
    for number, (kind, wire, mask, _, turns) in enumerate(zip(*columns, eighths, strict=True)):
        if not number % _AT_ONCE:
            check_cancelled()
        begin = len(ops) if number == last else begin
        if turns:
            ops.append(_eighth(turns, wire))
        elif kind >= MATRIX:
            ops.append(next(given))
        elif kind >= ROTATION:
            for part in parts[number]:
                mixes, reads, when, pattern, _, name, unitary = part.op
                ops.append(new(Op, (mixes, reads, when, pattern, place, name, unitary)))
                place += len(pattern)
        elif _GATES[kind] in _ON_TWO:
            ops += [_placed(kind, (wire, other)) for other in wires_of(mask)]
        else:
            ops += [_placed(kind, (other,)) for other in wires_of(mask)]
    whole = structure_of(num_wires, 0, (*ops, phase._replace(operand=place)))
    return whole, begin if last < len(eighths) else len(ops)
