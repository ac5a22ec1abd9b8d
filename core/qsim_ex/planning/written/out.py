"""What is written out of a circuit's form: gates that do the same, in whatever basis the circuit was written.

One circuit is written for all bindings whose matrices have what those that were looked at have in common. Its numbers
are sums of phases of the circuit's (`written.numbers`), so new bindings need nothing new.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache, lru_cache, partial
from threading import Lock
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Op
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.native.library import check_cancelled
from qsim_ex.planning.form import TOLERANCE, UNBOUNDED, FormInMaking, begun
from qsim_ex.planning.written.matrices import MATRIX
from qsim_ex.planning.written.numbers import Combinations, Complex, WrittenNumbers
from qsim_ex.planning.written.rotations import RotationEntries
from qsim_ex.planning.written.structure import ROTATION, DistinctGates, constants, structure_of_gates
from qsim_ex.planning.written.writer import GateRows, Writer, WrittenParts

Integers = NDArray[np.int64]


class WritingLimits(NamedTuple):
    """How much a form may be so that it is written.

    rotations: the most that it may have; UNBOUNDED for any number. microseconds: the length of the run in whose place
    it is written; where the frame changes more often than that allows (`change_microseconds`), it is given up. read:
    the most rotations that a circuit may be, quarter turns, too, of which what stands between its gates is written.
    within: the microseconds of a first run within which clusters are looked for (`clustered_entries`). alone: whether
    nobody asks for LOCAL, with which GROWN is compared else.
    """

    rotations: int = UNBOUNDED
    microseconds: int = 1 << 62
    read: int = UNBOUNDED
    within: int = UNBOUNDED
    alone: bool = False


class Manner(IntEnum):
    """How a form is written out (`Manner` in planner/form/write/writer.hpp); the fastest by prediction is taken.

    LOCAL: gates around rotations are undone behind them; only H stay, where later rotations flip fewer wires then.
    MOVES: the same with CX. GROWN: of |0…0⟩ alone; a rotation by which the state grows turns one wire that is 0, and
    what final wires are read as is diagonal as soon as it can be. BACK: nothing stays. BETWEEN: not the
    form, but what was read, whose gates on several wires stay; each wire has the frames that make them cheapest.
    CLUSTERS: what was read, with gates on the same few wires as one: phases under controls, and blocks on three wires.
    """

    LOCAL = 0
    MOVES = 1
    GROWN = 2
    BACK = 3
    BETWEEN = 4
    CLUSTERS = 5


_MANY = 4
"""How many times as many operations as LOCAL GROWN may have, so that it may be faster. Where it was the fastest, in 180
circuits and bases, 3.1 were the most; others with more than 4 took 1.2 to 360 times as long as the fastest."""

_OF_WHAT_IS_READ = Manner.BETWEEN, Manner.CLUSTERS
"""Those that need no more than what was read."""


@dataclass(frozen=True, eq=False)
class WrittenCircuit:
    """What is written out of a form: a structure, and how its numbers follow from those of the circuit.

    count: returns how many gates there are, about; what stands between gates is written when that is asked. rotations:
        those of the form; 0 if it was only read. manner: in which it is written. again: writes the same in another
        manner; None if the form is more than some limits allow, or has blocks. made: makes the parts of what native
        code has written, once, when one of them is asked for. keep: lets go of the form, and of what is kept in other
        manners.
    """

    count: Callable[[], int] = field(repr=False)
    rotations: int
    manner: Manner
    again: Callable[[Manner, WritingLimits], WrittenCircuit | None] = field(repr=False)
    made: Callable[[], WrittenParts] = field(repr=False)
    keep: Callable[[Manner], None] = field(repr=False)

    _kept: list[WrittenParts] = field(default_factory=list, init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    @property
    def num_gates(self) -> int:
        """How many gates there are, about."""
        return self.count()

    @property
    def parts(self) -> WrittenParts:
        """The parts, which are made now or were before."""
        if not self._kept:
            with self._lock:
                if not self._kept:
                    self._kept.append(self.made())
        return self._kept[0]

    @property
    def structure(self) -> Structure:
        """The structure."""
        return self.parts.structure

    @property
    def numbers(self) -> WrittenNumbers:
        """Its numbers, as a function of those of the circuit."""
        return self.parts.numbers()

    @property
    def last(self) -> int:
        """Where the gates begin that are the Clifford operator at the end; behind them stands a global phase."""
        return self.parts.last

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
    limits: WritingLimits = WritingLimits(),  # noqa: B008  (it is immutable)
    manner: Manner = Manner.LOCAL,
    zeros: bool = False,
) -> WrittenCircuit | None:
    """Return the form of a circuit written out as gates, which do exactly what it does, or with `zeros` to |0…0⟩ alone.

    They are H, S, S†, X, Z, CX, CZ and SWAP, and rotations about Pauli strings that flip two wires at most, in a
    Clifford frame that changes where rotations need it. What is written is the same in whatever basis the circuit is
    given, if its form is. It is one circuit for all bindings of the given one. Arguments and errors are those of
    `form_of`. None if the form has blocks or more rotations than it may, or if a matrix differs among bindings in its
    eigenvectors; in the manner CLUSTERS also where few gates are part of one and no fewer turns are left than between
    gates, which `within` some time nobody looks at. Where the frame changes too often, what is written is in the manner
    BETWEEN. Of a circuit that is written in one of these two from the beginning no form is found before another manner
    is asked for.
    """
    gates = _Gates(circuit, circuit.operands[0].copy(), tolerance, zeros)
    return gates(manner, limits) or (gates(Manner.BETWEEN, limits) if gates.form else None)


class _Gates:
    """The gates of a circuit, which are written out in one manner or several. It may be asked by several threads."""

    def __init__(self, circuit: Circuit, operands: Complex, tolerance: float, zeros: bool) -> None:
        self._given, self._operands, self._tolerance, self._zeros = circuit, operands, tolerance, zeros
        self._lock, self.form = Lock(), cast("FormInMaking | None", None)
        self._reading, self._read_only = Lock(), cast("FormInMaking | None", None)
        self._counting, self._counts = Lock(), dict[WritingLimits, int]()

    def __call__(self, manner: Manner, limits: WritingLimits) -> WrittenCircuit | None:
        """Return what is written in a manner; None if it cannot be, or is more than the limits allow."""
        writer = self._writer(manner, limits)
        return self._written(writer, manner) if writer else None

    def again(self, manner: Manner, limits: WritingLimits) -> WrittenCircuit | None:
        """Return what is written in another manner; None also where growing late takes many more operations."""
        if manner is Manner.LOCAL:
            with self._counting:
                writer = self._local(limits)
        else:
            writer = self._writer(manner, limits)
        if writer and manner is Manner.GROWN and not limits.alone:
            with self._counting:
                if limits not in self._counts:
                    self._local(limits)
            if 0 < _MANY * self._counts[limits] < writer.operations():
                return None
        return self._written(writer, manner) if writer else None

    def _local(self, limits: WritingLimits) -> Writer | None:
        """Return what has written in the manner LOCAL; its operations are counted, none if that is given up."""
        writer = self._writer(Manner.LOCAL, limits)
        self._counts[limits] = writer.operations() if writer else 0
        return writer

    def _writer(self, manner: Manner, limits: WritingLimits) -> Writer | None:
        if manner in _OF_WHAT_IS_READ and self.form is None:
            with self._reading:
                made = self._read_only = self._read_only or self._made(limits.read // 2, only_read=True)
        else:
            with self._lock:
                made = self.form = self.form or self._made(limits.rotations)
        if made is None:
            return None
        writer = Writer(made, limits.microseconds, manner, limits.within)
        return writer if manner is Manner.BETWEEN or writer.run() else None

    def _written(self, writer: Writer, manner: Manner) -> WrittenCircuit:
        made = cast(FormInMaking, writer.made)
        rotations = 0 if made is self._read_only else made.counts()[0]
        parts = partial(self._parts, writer, [])
        return WrittenCircuit(writer.count, rotations, manner, self.again, parts, self._let_go)

    def _let_go(self, _: Manner) -> None:
        self.form = None

    def _made(self, most: int, *, only_read: bool = False) -> FormInMaking | None:
        made = begun(self._given, self._tolerance, most, self._zeros, only_read=only_read)
        return made if made.run() and not made.counts()[1] else None

    def _parts(self, writer: Writer, read: list[GateRows]) -> WrittenParts:
        """Return what a writer has written; what was read of it is kept until objects are made, which may be ended."""
        check_cancelled()
        if not read:
            read.append(GateRows.of(writer))
        writer.free()  # before objects are made of what was read
        found = self._made_of(read[0])
        read.clear()
        return found

    def _made_of(self, read: GateRows) -> WrittenParts:
        gates, angles, places, by, conditions, matrices, varying, num_wires, last = read
        angles, varies = angles.copy(), np.zeros(len(angles), dtype=np.bool_)
        varies[places[:, 0]] = True
        eighths = _eighths(gates, angles[:-1], varies[:-1])
        alone = np.append((gates[:, 0] == ROTATION) & (gates[:, 2] == 0), False)  # diagonal: phases, and a global one
        angles[-1] -= angles[alone].sum() / 2
        angles[alone] *= 2  # of whose half the entry is the phase
        numbered = np.append((gates[:, 0] >= ROTATION) & (gates[:, 0] < MATRIX) & (eighths == 0), True)
        distinct = DistinctGates.of(gates, eighths, _halves(angles[:-1], varies[:-1]), conditions, matrices)
        structure, begin = structure_of_gates(num_wires, distinct, matrices, last)
        check_cancelled()

        def numbers() -> WrittenNumbers:
            sums, constant = _sums(angles, places, by, alone, numbered), np.flatnonzero(numbered)
            entries = RotationEntries.of(
                (row, part)
                for row, number in enumerate(distinct.numbers[constant[:-1]].tolist())
                for part in distinct.distinct[number].parts
            )
            known = np.concatenate([constants(), matrices.numbers])
            return WrittenNumbers(self._operands, *varying, self._tolerance, sums, entries, known)

        return WrittenParts(structure, cache(numbers), begin)


def _sums(
    angles: NDArray[np.float64],
    places: Integers,
    by: NDArray[np.float64],
    alone: NDArray[np.bool_],
    numbered: NDArray[np.bool_],
) -> Combinations:
    """Return the angles that gates have numbers of, and the global phase, as combinations of phases.

    angles: without what varies, the global phase last. places, by: of an angle and a phase, and its multiple of that.
    alone: angles that are twice those of gates, of which the global phase takes half; numbered: what is asked for.
    """
    turned = alone[places[:, 0]]
    places, by = np.concatenate([places, places[turned]]), np.concatenate([by * (1 + turned), -by[turned] / 2])
    places[len(turned) :, 0] = len(angles) - 1
    rows, constant = np.cumsum(numbered) - 1, np.flatnonzero(numbered)
    return Combinations.of(
        np.concatenate([rows[constant], rows[places[:, 0]]]),
        np.concatenate([np.full(len(constant), -1), places[:, 1]]),
        np.concatenate([angles[constant], by]),
    )


def _halves(angles: NDArray[np.float64], varies: NDArray[np.bool_]) -> Integers:
    """Return for each gate by an angle of π or −π, which is known, 1 or −1; else 0."""
    near = (np.abs(np.abs(angles) - np.pi) < TOLERANCE) & ~varies
    found: Integers = np.where(near, np.sign(angles), 0).astype(np.int64)
    return found


def _eighths(gates: Integers, angles: NDArray[np.float64], varies: NDArray[np.bool_]) -> Integers:
    """Return for each gate that is a phase of a parity by a known multiple of π/4 that multiple, modulo 8; else 0."""
    turns = angles / (np.pi / 4)
    near = np.rint(turns).astype(np.int64)
    known = (gates[:, 0] == ROTATION) & (gates[:, 2] == 0) & ~varies & (np.abs(turns - near) < TOLERANCE)
    found: Integers = np.where(known, near % 8, 0)
    return found
