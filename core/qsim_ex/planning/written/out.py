"""What is written out of a circuit's form: gates that do the same, in whatever basis the circuit was written.

One circuit is written for all bindings whose matrices have what those that were looked at have in common. Its numbers
are sums of phases of the circuit's (`written.numbers`), so new bindings need nothing new.
"""

from __future__ import annotations

import math
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
from qsim_ex.planning.written.numbers import Complex, WrittenNumbers, sums_of_angles
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
    nothing is left out because it is far more work than what is written in other manners.
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


_OF_READ, _OF_LOCAL = 2.4, {Manner.GROWN: 1.8, Manner.MOVES: 1.25, Manner.BACK: 1.25}
"""How many times as much work LOCAL may be as the least of what is read, and others as LOCAL, so that they may be the
fastest. Of 890 circuits and bases none takes more than 1.02 times as long as if all were planned; a lookup in a
table by unary iteration, drawn later, takes 2.3 times as long on a CPU (BACK)."""

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
    eigenvectors; in the manner CLUSTERS also where few gates are part of one and it is no less work than what stands
    between gates, which `within` some time nobody looks at. Where the frame changes too often, what is written is in
    the manner BETWEEN. Of a circuit that is written in one of these two from the beginning no form is found before
    another manner is asked for.
    """
    gates = _Gates(circuit, circuit.operands[0].copy(), tolerance, zeros)
    return gates(manner, limits) or (gates(Manner.BETWEEN, limits) if gates.form else None)


class _Gates:
    """The gates of a circuit, which are written out in one manner or several. It may be asked by several threads."""

    def __init__(self, circuit: Circuit, operands: Complex, tolerance: float, zeros: bool) -> None:
        self._given, self._operands, self._tolerance, self._zeros = circuit, operands, tolerance, zeros
        self._lock, self.form, self._refused = Lock(), cast("FormInMaking | None", None), set[int]()
        self._reading, self._read_only = Lock(), cast("FormInMaking | None", None)
        self._of_read = dict[Manner, Writer]()
        self._writing, self._local = Lock(), dict[WritingLimits, Writer | None]()

    def __call__(self, manner: Manner, limits: WritingLimits) -> WrittenCircuit | None:
        """Return what is written in a manner; None if it cannot be, or is more than the limits allow."""
        writer = self._writer(manner, limits)
        return self._written(writer, manner) if writer else None

    def again(self, manner: Manner, limits: WritingLimits) -> WrittenCircuit | None:
        """Return what is written in another manner; None also where that is no faster than in another one.

        That is if it is far more work, or the same gates as in the manner LOCAL.
        """
        writer = self._in_local(limits, free=False) if manner is Manner.LOCAL else self._writer(manner, limits)
        if not writer or (not limits.alone and self._is_no_faster(writer, manner, limits)):
            return None
        return self._written(writer, manner)

    def _is_no_faster(self, writer: Writer, manner: Manner, limits: WritingLimits) -> bool:
        """Return whether what is written is far more work than in others, or what LOCAL is compared with."""
        if writer.work() > self._most_work(manner, limits):
            return True
        local = self._in_local(limits, free=True) if manner in _OF_LOCAL else None
        same = local is not None and local.digest() == writer.digest()
        return same and not self._is_no_faster(cast(Writer, local), Manner.LOCAL, limits)

    def _most_work(self, manner: Manner, limits: WritingLimits) -> float:
        """Return how much work what is written in a manner may be so that it may be the fastest."""
        if manner is Manner.LOCAL:
            return _OF_READ * min((one.work() for one in self._of_read.values()), default=math.inf)
        if manner in _OF_LOCAL and (local := self._in_local(limits, free=True)):
            return _OF_LOCAL[manner] * local.work()
        return math.inf

    def _in_local(self, limits: WritingLimits, *, free: bool) -> Writer | None:
        """Return what has written in the manner LOCAL, once for all that ask; free: it may have been read by now."""
        with self._writing:
            known = self._local.get(limits)
            if limits not in self._local or (known and not known.handle and not free):
                self._local = {limits: self._writer(Manner.LOCAL, limits)}
            return self._local[limits]

    def _writer(self, manner: Manner, limits: WritingLimits) -> Writer | None:
        if manner in _OF_WHAT_IS_READ and self.form is None:
            with self._reading:
                made = self._read_only = self._read_only or self._made(limits.read // 2, only_read=True)
        else:
            with self._lock:
                if self.form is None and limits.rotations not in self._refused:
                    self.form = self._made(limits.rotations)
                    if self.form is None:
                        self._refused.add(limits.rotations)
                made = self.form
        if made is None or (manner is Manner.BETWEEN and made.counts()[1]):
            return None
        between = self._of_read.get(Manner.BETWEEN) if manner is Manner.CLUSTERS else None
        writer = Writer(made, limits.microseconds, manner, limits.within, between)
        if manner is not Manner.BETWEEN and not writer.run():
            return None
        if manner in _OF_WHAT_IS_READ:
            self._of_read[manner] = writer
        return writer

    def _written(self, writer: Writer, manner: Manner) -> WrittenCircuit:
        made = cast(FormInMaking, writer.made)
        rotations = 0 if made is self._read_only else made.counts()[0]
        parts = partial(self._parts, writer, [])
        return WrittenCircuit(writer.count, rotations, manner, self.again, parts, self._let_go)

    def _let_go(self, _: Manner) -> None:
        self.form, self._of_read, self._local = None, {}, {}

    def _made(self, most: int, *, only_read: bool = False) -> FormInMaking | None:
        if self._read_only and not only_read:
            if self._read_only.counts()[1]:
                return None
            made = FormInMaking.of_read(self._read_only, most)
        else:
            made = begun(self._given, self._tolerance, most, self._zeros, only_read=only_read)
        return made if made.run() and (only_read or not made.counts()[1]) else None

    def _parts(self, writer: Writer, read: list[GateRows]) -> WrittenParts:
        """Return what a writer has written; what was read of it is kept until objects are made, which may be ended."""
        check_cancelled()
        if not read:
            read.append(writer.rows())
        writer.free()  # before objects are made of what was read
        found = self._made_of(read[0])
        read.clear()
        return found

    def _made_of(self, read: GateRows) -> WrittenParts:
        distinct = DistinctGates.of(read)
        structure, begin = structure_of_gates(read.num_wires, distinct, read.last)
        check_cancelled()
        return WrittenParts(structure, cache(partial(self._numbers, read, distinct)), begin)

    def _numbers(self, read: GateRows, distinct: DistinctGates) -> WrittenNumbers:
        kinds, angles = read.gates[:, 0], read.angles.copy()
        alone = np.append((kinds == ROTATION) & (read.gates[:, 2] == 0), False)  # diagonal: phases, and a global one
        angles[-1] -= angles[alone].sum() / 2
        angles[alone] *= 2  # of whose half the entry is the phase
        known = (distinct.turns != 0) & (read.gates[:, 3] == 0)
        numbered = np.append((kinds >= ROTATION) & (kinds < MATRIX) & ~known, True)
        sums, constant = sums_of_angles(angles, read.places, read.by, alone, numbered), np.flatnonzero(numbered)
        of_rotations = RotationEntries.of(
            (row, part)
            for row, number in enumerate(distinct.numbers[constant[:-1]].tolist())
            for part in distinct.parts[number]
        )
        constant_entries = np.concatenate([constants(), distinct.constants])
        return WrittenNumbers(self._operands, *read.varying, self._tolerance, sums, of_rotations, constant_entries)
