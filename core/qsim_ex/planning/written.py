"""What is written out of a circuit's form: gates that do the same, in whatever basis the circuit was written.

One circuit is written for all bindings whose matrices have what those that were looked at have in common. Its numbers
are sums of phases of the circuit's (`planning.written_numbers`), so new bindings need nothing new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache, partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import ALWAYS, Entry, Op, When, mask_of, wires_of
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.native.library import address, function
from qsim_ex.planning.compiled import worked
from qsim_ex.planning.form import TOLERANCE, UNBOUNDED, FormInMaking, begun
from qsim_ex.planning.written_matrices import MATRIX, WrittenMatrices
from qsim_ex.planning.written_numbers import Combinations, Complex, WrittenNumbers
from qsim_ex.planning.written_rotations import Condition, RotationEntries, RotationPart, rotation

Integers = NDArray[np.int64]

NO_LIMIT = 1 << 62
"""Microseconds of a run that allow any number of changes of the frame."""


class Manner(IntEnum):
    """How a form is written out (`Manner` in planner/form/write/writer.hpp); the fastest by prediction is taken.

    LOCAL: gates around rotations are undone behind them; only H stay, where later rotations flip fewer wires then.
    MOVES: the same with CX. FRAMES: whatever makes a rotation diagonal stays. BACK: nothing does. BETWEEN: not the
    form, but what was read, whose gates on several wires stay; each wire has the frames that make them cheapest.
    CLUSTERS: what was read, with gates on the same few wires as one: phases under controls, and blocks on three wires.
    """

    LOCAL = 0
    MOVES = 1
    FRAMES = 2
    BACK = 3
    BETWEEN = 4
    CLUSTERS = 5


@dataclass(frozen=True, eq=False, slots=True)
class WrittenCircuit:
    """What is written out of a form: a structure, and how its numbers follow from those of the circuit.

    last: where the gates begin that are the Clifford operator at the end. Behind them stands a global phase.
    manner: in which it is written. again: writes the same form in another manner; None as `written_out`
    returns it.
    """

    structure: Structure
    numbers: WrittenNumbers
    last: int
    manner: Manner
    again: Callable[[Manner], WrittenCircuit | None] = field(repr=False)

    def circuit(self, operands: NDArray[np.complex128]) -> Circuit:
        """Return the circuit for some bindings, given by their operands, which fit."""
        return Circuit.of_structure(self.structure, self.numbers(operands))

    def without_last(self) -> Structure:
        """Return the structure without the operator at the end, whose numbers are the same."""
        return _without_last(self)

    def last_gates(self) -> tuple[Op, ...]:
        """Return the gates of the operator at the end, in order."""
        return cast(tuple[Op, ...], self.structure.instructions[self.last : -1])


@lru_cache(maxsize=64)
def _without_last(written: WrittenCircuit) -> Structure:
    instructions = written.structure.instructions
    return structure_of(written.structure.num_qubits, 0, (*instructions[: written.last], instructions[-1]))


def written_out(
    circuit: Circuit,
    tolerance: float = TOLERANCE,
    *,
    most_rotations: int = UNBOUNDED,
    microseconds: int = NO_LIMIT,
    manner: Manner = Manner.LOCAL,
    zeros: bool = False,
) -> WrittenCircuit | None:
    """Return the form of a circuit written out as gates, which do exactly what it does, or with `zeros` to |0…0⟩ alone.

    They are H, S, S†, X, Z, CX, CZ and SWAP, and rotations about Pauli strings that flip two wires at most, in a
    Clifford frame that changes where rotations need it. What is written is the same in whatever basis the circuit is
    given, if its form is. It is one circuit for all bindings of the given one. Arguments and errors are those of
    `form_of`. None if the form has blocks or more rotations than `most_rotations`, or if a matrix differs among
    bindings in its eigenvectors. Where the frame changes more often than a run of so many microseconds allows
    (`change_microseconds`), what is written is in the manner BETWEEN. Where there are too many rotations, but many
    gates are on the same few wires, it is in the manner CLUSTERS, and can be in no other.
    """
    made = begun(circuit, tolerance, most_rotations, zeros)
    if not made.run() or made.counts()[1]:
        return None
    written = _FormWritten(made, circuit.operands[0].copy(), tolerance, microseconds)
    return written(manner) or written(Manner.BETWEEN) or written(Manner.CLUSTERS)


class _FormWritten:
    """A form without blocks that is written out, in one manner or several."""

    def __init__(self, made: FormInMaking, operands: Complex, tolerance: float, microseconds: int) -> None:
        self._made, self._microseconds = made, microseconds
        self._numbers = partial(WrittenNumbers, operands, *_phases(made), tolerance)

    def __call__(self, manner: Manner) -> WrittenCircuit | None:
        """Return what is written in a manner; None if the frame changes too often, or there are too few clusters."""
        writer = function("writer_begin")(self._made.handle, self._microseconds, manner)
        try:
            return None if worked(writer, "writer") else self._read(writer, manner)
        finally:
            function("writer_free")(writer)

    def _read(self, writer: int, manner: Manner) -> WrittenCircuit:
        """Return what a writer has written."""
        count = int(function("writer_count")(writer))
        gates, angles = np.empty((count, 4), dtype=np.int64), np.empty(count + 1)
        function("writer_write")(writer, address(gates), address(angles))
        multiples = int(function("writer_multiples")(writer))
        places, by = np.empty((multiples, 2), dtype=np.int64), np.empty(multiples)
        function("writer_write_multiples")(writer, address(places), address(by))
        varies = np.isin(np.arange(count + 1), places[:, 0])
        eighths = _eighths(gates, angles[:-1], varies[:-1])
        angles[-1] -= angles[:-1][eighths > 0].sum() / 2
        numbered = np.append((gates[:, 0] >= _ROTATION) & (gates[:, 0] < MATRIX) & (eighths == 0), True)
        rows = np.cumsum(numbered) - 1  # of the angles, and of the global phase
        constant = np.flatnonzero(numbered)
        sums = Combinations.of(
            np.concatenate([rows[constant], rows[places[:, 0]]]),
            np.concatenate([np.full(len(constant), -1), places[:, 1]]),
            np.concatenate([angles[constant], by]),
        )
        last = int(function("writer_last")(writer))
        parts = list(_parts(gates, angles, varies, self._conditions(writer)))
        matrices = WrittenMatrices.of(gates, self._entries(writer), len(_constants()))
        structure, begin = _structure(self._made.num_wires, gates.tolist(), eighths.tolist(), parts, matrices, last)
        entries = RotationEntries.of(
            (row, part) for row, number in enumerate(constant[:-1].tolist()) for part in parts[number]
        )
        constants = np.concatenate([_constants(), matrices.numbers])
        return WrittenCircuit(structure, self._numbers(sums, entries, constants), begin, manner, self)

    @staticmethod
    def _entries(writer: int) -> Complex:
        found = np.empty(int(function("writer_entries")(writer)), dtype=np.complex128)
        function("writer_write_entries")(writer, address(found))
        return found

    @staticmethod
    def _conditions(writer: int) -> list[Condition]:
        found = np.empty((int(function("writer_conditions")(writer)), 2), dtype=np.int64)
        function("writer_write_conditions")(writer, address(found))
        return [Condition(parity, bool(value)) for parity, value in found.tolist()]


def _parts(
    gates: Integers, angles: NDArray[np.float64], varies: NDArray[np.bool_], conditions: list[Condition]
) -> Iterator[tuple[RotationPart, ...]]:
    """Yield for each gate the operations of its rotation, none for another gate."""
    halves = np.where((np.abs(np.abs(angles) - np.pi) < TOLERANCE) & ~varies, np.sign(angles), 0).astype(np.int64)
    at = 0
    for (kind, z, x, number), half in zip(gates.tolist(), halves.tolist(), strict=False):
        if kind < _ROTATION or kind >= MATRIX:
            yield ()
        else:
            under = tuple(conditions[at : at + number])
            yield rotation(x, z, under, half if number else 0)
        at += number


def _eighths(gates: Integers, angles: NDArray[np.float64], varies: NDArray[np.bool_]) -> Integers:
    """Return for each gate that is a phase of a parity by an odd multiple of π/4 that multiple, modulo 8; else 0."""
    turns = angles / (np.pi / 4)
    near = np.rint(turns).astype(np.int64)
    known = (gates[:, 0] == _ROTATION) & (gates[:, 2] == 0) & ~varies & (np.abs(turns - near) < TOLERANCE)
    found: Integers = np.where(known & (near % 2 == 1), near % 8, 0)
    return found


_GATES = ("h", "s", "sdg", "x", "z", "cx", "cz", "swap")
_ON_TWO = ("cx", "cz", "swap")
_EIGHTHS = ("t", "p_3_eighths", "p_5_eighths", "tdg")
_ROTATION = len(_GATES)


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
def _constants() -> Complex:
    """Return the operands of all gates without angles: those of the models, and behind them 1 and each eighth turn."""
    known = _models().operands[0]
    turned = [known[cast(Op, one).operand] for one in _models().instructions[_ROTATION + 1 :]]
    return np.concatenate([known, *([1, phase] for phase in turned)])


@lru_cache(maxsize=1 << 10)
def _eighth(turns: int, mask: int) -> Op:
    """Return the phase of a parity by an odd number of eighth turns, which is known to the planner."""
    number = turns // 2
    model = cast(Op, _models().instructions[_ROTATION + 1 + number])
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


def _structure(
    num_wires: int,
    gates: list[list[int]],
    eighths: list[int],
    parts: list[tuple[RotationPart, ...]],
    matrices: WrittenMatrices,
    last: int,
) -> tuple[Structure, int]:
    """Return the structure of gates as native code writes them (`Gate` in planner/form/write/writer.hpp), and a phase.

    eighths: see `_eighths`. parts: see `_parts`. matrices: those among the gates. last: the number of the gate with
    which the operator at the end begins, whose place is returned, too.
    """
    models, ops, new = _models(), list[Op](), tuple.__new__  # a named tuple's `_replace` takes five times as long
    phase = cast(Op, models.instructions[_ROTATION])
    place, begin, given = len(_constants()) + len(matrices.numbers), 0, iter(matrices.ops)
    for number, ((kind, wire, mask, _), turns) in enumerate(zip(gates, eighths, strict=True)):
        begin = len(ops) if number == last else begin
        if turns:
            ops.append(_eighth(turns, wire))
        elif kind >= MATRIX:
            ops.append(next(given))
        elif kind >= _ROTATION:
            for part in parts[number]:
                mixes, reads, when, pattern, _, name, unitary = part.op
                ops.append(new(Op, (mixes, reads, when, pattern, place, name, unitary)))
                place += len(pattern)
        elif _GATES[kind] in _ON_TWO:
            ops += [_placed(kind, (wire, other)) for other in wires_of(mask)]
        else:
            ops += [_placed(kind, (other,)) for other in wires_of(mask)]
    whole = structure_of(num_wires, 0, (*ops, phase._replace(operand=place)))
    return whole, begin if last < len(gates) else len(ops)


def _phases(made: FormInMaking) -> tuple[Integers, Combinations, Combinations]:
    """Return the places of numbers of a circuit that vary, the phases of its form, and what they make of these."""
    counts = np.empty(3, dtype=np.int64)
    function("form_varying")(made.handle, address(counts))
    num_phases, num_inputs, num_shares = counts.tolist()
    places = np.empty(2 * num_inputs + 3 * num_shares, dtype=np.int64)
    by = np.empty(num_inputs + num_shares, dtype=np.complex128)
    function("form_write_varying")(made.handle, address(places), address(by))
    phase, place = places[: 2 * num_inputs].reshape(-1, 2).T
    entry, of, conjugate = places[2 * num_inputs :].reshape(-1, 3).T
    first = of < 0  # what an entry has without a phase comes first
    shares = np.where(first, -1, of + num_phases * conjugate)
    entries = Combinations.of(np.cumsum(first) - 1, shares, by[num_inputs:])
    return entry[first], Combinations.of(phase, place, by[:num_inputs]), entries
