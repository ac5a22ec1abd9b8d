"""The structure of gates that native code has written, whose numbers stand once for all gates of a kind."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.many import append_ops
from qsim_ex.circuit.ops import ALWAYS, Entry, Instruction, Op, When, mask_of, wires_of
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.native.library import address, check_cancelled, function
from qsim_ex.planning.form import TOLERANCE
from qsim_ex.planning.written.matrices import FLIP, MATRIX, WrittenMatrices
from qsim_ex.planning.written.numbers import Complex
from qsim_ex.planning.written.rotations import Condition, RotationPart, conditions_of, rotation
from qsim_ex.planning.written.writer import GateRows

_GATES = ("h", "s", "sdg", "x", "z", "cx", "cz", "swap")
_ON_TWO = ("cx", "cz", "swap")
_EIGHTHS = ("t", "s", "p_3_eighths", "z", "p_5_eighths", "sdg", "tdg")
_AT_ONCE = 1 << 14
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


class _Rotated(NamedTuple):
    """The operations of a rotation that has an angle, which count entries from 0; their parts, and how many entries."""

    ops: tuple[Op, ...]
    parts: tuple[RotationPart, ...]
    size: int


@lru_cache(maxsize=1 << 14)
def _placed(kind: int, wire: int, mask: int) -> tuple[Op, ...]:
    """Return a gate on some wires; its numbers are those of the model, so that equal gates are one object."""
    model = cast(Op, _models().instructions[kind])

    def on(wires: tuple[int, ...]) -> Op:
        def moved(mask: int) -> int:
            return mask_of(tuple(wires[wire] for wire in wires_of(mask)))

        return model._replace(
            mixes=tuple(wires[wire] for wire in model.mixes),
            reads=tuple(map(moved, model.reads)),
            when=When(moved(model.when.mask), moved(model.when.value)),
        )

    return tuple([on((wire, other) if _GATES[kind] in _ON_TWO else (other,)) for other in wires_of(mask)])


class DistinctGates(NamedTuple):
    """The distinct ones among gates that native code has written.

    ops: the operations of each. sizes: how many entries those of a rotation that has an angle have, which count from 0;
    else 0. parts: of such rotations. numbers: which one each gate is. turns: of each gate that is a phase of a parity
    by a known multiple of π/4 that multiple, of each by π or −π under conditions 1 or −1, else 0. constants: the
    entries of all matrices, those of each matrix once.
    """

    ops: list[tuple[Op, ...]]
    sizes: list[int]
    parts: dict[int, tuple[RotationPart, ...]]
    numbers: NDArray[np.uint32]
    turns: NDArray[np.int64]
    constants: Complex

    @classmethod
    def of(cls, read: GateRows) -> DistinctGates:
        """Return those of gates."""
        matrices = WrittenMatrices(read.entries, len(constants()))
        numbers, turns, rows = _numbered(read, matrices.entries)
        ops, sizes, of_rotations = list[tuple[Op, ...]](), [0] * len(rows), dict[int, tuple[RotationPart, ...]]()
        for place, (kind, wire, mask, number, turn, condition, entry) in enumerate(rows):
            if kind < ROTATION:
                ops.append(_placed(kind, wire, mask))
                continue
            under = conditions_of(read.conditions, condition, number) if number else ()
            if kind >= MATRIX:
                ops.append((matrices.op(kind, wire, mask, under, entry),))
            elif turn and not number:
                ops.append((_eighth(turn, wire),))
            else:
                own = _under(kind, wire, mask, under, turn) if number else _rotated(wire, mask)
                ops.append(own.ops)
                sizes[place], of_rotations[place] = own.size, own.parts
        return cls(ops, sizes, of_rotations, numbers, turns, matrices.numbers())


def _numbered(
    read: GateRows, entries: Complex
) -> tuple[NDArray[np.uint32], NDArray[np.int64], list[tuple[int, int, int, int, int, int, int]]]:
    """Return which of the distinct gates each one is, and its turn, and a row for each of the distinct ones.

    Such a row is that of the gate, its turn, and where its conditions and its entries begin.
    """
    gates, places, count = read.gates, read.places, len(read.gates)
    numbers, turns = np.empty(count, dtype=np.uint32), np.empty(count, dtype=np.int64)
    rows = np.empty((count, 7), dtype=np.int64)
    given = address(gates), address(read.angles), count, address(places), len(places), address(read.conditions)
    made = address(turns), address(numbers), address(rows)
    known = function("distinct_gates")(*given, address(entries), TOLERANCE, *made)
    return numbers, turns, rows[:known].tolist()


@lru_cache(maxsize=1 << 14)
def _rotated(wire: int, mask: int) -> _Rotated:
    return _of_parts(rotation(mask, wire))


def _under(kind: int, wire: int, mask: int, conditions: tuple[Condition, ...], turn: int) -> _Rotated:
    """Return a rotation under conditions, or X under some."""
    parts = rotation(mask, wire, conditions, turn)
    return _of_parts(parts[:1] if kind == FLIP else parts)


def _of_parts(parts: tuple[RotationPart, ...]) -> _Rotated:
    if len(parts) == 1:
        return _Rotated((parts[0].op,), parts, len(parts[0].op.pattern))
    first, *others = [part.op for part in parts]  # of the others there is one at most, behind the first one's entries
    ops = first, *[other._replace(operand=len(first.pattern)) for other in others]
    return _Rotated(ops, parts, sum(len(op.pattern) for op in ops))


def structure_of_gates(num_wires: int, gates: DistinctGates, last: int) -> tuple[Structure, int]:
    """Return the structure of gates, and a phase.

    last: the number of the gate with which the operator at the end begins, whose place is returned, too.
    """
    ops, end = list[Instruction](), len(constants()) + len(gates.constants)
    made = tuple(gates.ops)
    for place in range(0, last, _AT_ONCE):
        check_cancelled()
        end = append_ops(ops, made, gates.sizes, gates.numbers[place : min(place + _AT_ONCE, last)], end)
    begin = len(ops)
    for place in range(last, len(gates.numbers), _AT_ONCE):
        check_cancelled()
        end = append_ops(ops, made, gates.sizes, gates.numbers[place : place + _AT_ONCE], end)
    phase = cast(Op, _models().instructions[ROTATION])
    return structure_of(num_wires, 0, (*ops, phase._replace(operand=end))), begin
