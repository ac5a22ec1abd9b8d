"""What is written out of a circuit's form: gates that do the same, in whatever basis the circuit was written.

One circuit is written for all bindings whose matrices have what those that were looked at have in common. Its numbers
are sums of phases of the circuit's (`planning.written_numbers`), so new bindings need nothing new.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import ALWAYS, Op, When, mask_of, wires_of
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.native.library import address, function
from qsim_ex.planning.compiled import worked
from qsim_ex.planning.form import TOLERANCE, UNBOUNDED, FormInMaking, begun
from qsim_ex.planning.written_numbers import Combinations, WrittenNumbers

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class WrittenCircuit:
    """What is written out of a form: a structure, and how its numbers follow from those of the circuit.

    last: where the gates begin that are the Clifford operator at the end. Behind them stands a global phase.
    """

    structure: Structure
    numbers: WrittenNumbers
    last: int

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
    circuit: Circuit, tolerance: float = TOLERANCE, *, most_rotations: int = UNBOUNDED, most_changes: int = UNBOUNDED
) -> WrittenCircuit | None:
    """Return the form of a circuit written out as gates, which do exactly what it does.

    They are H, S, S†, X, Z, CX, CZ and phases of parities in a Clifford frame that changes where rotations need it.
    What is written is the same in whatever basis the circuit is given, if its form is. It is one circuit for all
    bindings of the given one. Arguments and errors are those of `form_of`. None if the form has blocks or more
    rotations than `most_rotations`, if its frame changes more often than `most_changes`, or if a matrix differs among
    bindings in its eigenvectors.
    """
    made = begun(circuit, tolerance, most_rotations)
    if not made.run() or made.counts()[1]:
        return None
    writer = function("writer_begin")(made.handle, most_changes)
    try:
        return None if worked(writer, "writer") else _read(circuit, made, writer, tolerance)
    finally:
        function("writer_free")(writer)


_GATES = ("h", "s", "sdg", "x", "z", "cx", "cz")
_PHASE = len(_GATES)


@lru_cache(maxsize=1)
def _models() -> Circuit:
    """Return a circuit with one gate of each kind, a phase of a parity, and a global phase."""
    builder = CircuitBuilder(2)
    for name in _GATES:
        builder.gate(name, (0, 1) if name.startswith("c") else (0,))
    return builder.pauli_rotation(1.0, "ZZ", (0, 1)).global_phase(1.0).build()


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


def _structure(num_wires: int, gates: list[list[int]], last: int) -> tuple[Structure, int]:
    """Return the structure of gates as native code writes them (`Gate` in planner/form/writer.hpp), and a phase.

    last: the number of the gate with which the operator at the end begins, whose place is returned, too.
    """
    models, ops = _models(), list[Op]()
    turn, phase = cast(tuple[Op, Op], models.instructions[_PHASE:])
    place, begin = models.operands.shape[1], 0
    for number, (kind, wire, mask) in enumerate(gates):
        begin = len(ops) if number == last else begin
        if kind == _PHASE:
            ops.append(Op((), (mask,), ALWAYS, turn.pattern, place, turn.name))
            place += 2
        elif _GATES[kind].startswith("c"):
            ops += [_placed(kind, (wire, other)) for other in wires_of(mask)]
        else:
            ops += [_placed(kind, (other,)) for other in wires_of(mask)]
    whole = structure_of(num_wires, 0, (*ops, phase._replace(operand=place)))
    return whole, begin if last < len(gates) else len(ops)


def _read(circuit: Circuit, made: FormInMaking, writer: int, tolerance: float) -> WrittenCircuit:
    """Return what a writer has written."""
    count = int(function("writer_count")(writer))
    gates, angles = np.empty((count, 3), dtype=np.int64), np.empty(count + 1)
    function("writer_write")(writer, address(gates), address(angles))
    multiples = int(function("writer_multiples")(writer))
    places, by = np.empty((multiples, 2), dtype=np.int64), np.empty(multiples)
    function("writer_write_multiples")(writer, address(places), address(by))
    numbered = np.append(gates[:, 0] == _PHASE, True)
    rows = np.cumsum(numbered) - 1  # of the angles, and of the global phase
    constant = np.flatnonzero(numbered)
    sums = Combinations.of(
        np.concatenate([rows[constant], rows[places[:, 0]]]),
        np.concatenate([np.full(len(constant), -1), places[:, 1]]),
        np.concatenate([angles[constant], by]),
    )
    phases, entries, varying = _phases(made)
    constants = _models().operands[0]
    numbers = WrittenNumbers(circuit.operands[0].copy(), varying, phases, entries, sums, constants, tolerance)
    last = int(function("writer_last")(writer))
    structure, begin = _structure(circuit.num_qubits, gates.tolist(), last)
    return WrittenCircuit(structure, numbers, begin)


def _phases(made: FormInMaking) -> tuple[Combinations, Combinations, Integers]:
    """Return the phases of a form, what they make of numbers of the circuit that vary, and the places of these."""
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
    return Combinations.of(phase, place, by[:num_inputs]), entries, entry[first]
