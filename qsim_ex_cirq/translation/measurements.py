"""Measurements of a circuit: each instance of a key, and the classical bits that it is read from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING, NamedTuple

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex import CircuitBuilder, frameworks
from qsim_ex.errors import MeasurementError, NoiseError, NotSupported
from qsim_ex.frameworks import ReadoutError, ReadoutErrors, confusion, later
from qsim_ex_cirq.wires import shape_in_words

if TYPE_CHECKING:
    from qsim_ex.frameworks import Expression
    from qsim_ex_cirq.qudits import digits
    from qsim_ex_cirq.qudits.levels import Levels
else:
    digits = later("qsim_ex_cirq.qudits.digits")

Confusion = Mapping[tuple[int, ...], NDArray[np.float64]]

_CHOICE = (-1,)
"""Stands for the levels of the qubits of a key that is a channel's."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """One instance of a key: bit k of its record is ``clbits[k]``, inverted where asked.

    is_choice: whether the record is that of a channel with a key: the number of the chosen matrix, most significant bit
    first. shape: the levels of each measured qid where one has not two; its record consists of digits then, each of
    which has the next ⌈log₂ d⌉ classical bits, most significant first.
    """

    key: str
    clbits: tuple[int, ...]
    invert: tuple[bool, ...] = ()
    is_choice: bool = False
    shape: tuple[int, ...] | None = None


class _PendingMeasurement(NamedTuple):
    """A measurement whose classical bits are not known yet: it has the numbers of its reads.

    confusion: for each tuple of positions k the matrix of probabilities [true value, read value], big endian.
    levels: of the measured qids; None if each has two.
    """

    key: str
    reads: tuple[int, ...]
    invert: tuple[bool, ...]
    confusion: Confusion
    is_choice: bool = False
    levels: Levels | None = None

    def error(self, positions: tuple[int, ...], matrix: NDArray[np.float64]) -> tuple[list[int], NDArray[np.float64]]:
        """Return the reads that are confused together, lowest bit first, and the probabilities of their values."""
        if self.levels is None:
            return [self.reads[k] for k in reversed(positions)], confusion(matrix, len(positions))
        wide = digits.confused(matrix, self.levels, positions)
        reads = [read for k in positions for read in self.reads[self.levels.bits[k]]]
        return reads[::-1], confusion(wide, len(reads))


class MeasuredKey(NamedTuple):
    """One instance of a key that has been measured: its classical bits, and how many instances the key has so far.

    is_choice: see `Measurement`. levels: of the measured qids; None if each has two.
    """

    clbits: tuple[int, ...]
    invert: tuple[bool, ...]
    instances: int
    is_choice: bool = False
    levels: Levels | None = None

    def packed(self) -> Expression:
        """Return the bits of the record, those of the first qubit the most significant."""
        return self.number() if self.levels is None else digits.packed(self)

    def number(self) -> Expression:
        """Return the record as a number, the first qubit most significant."""
        if self.levels is not None:
            return digits.number(self)
        if not self.clbits:  # a channel with one matrix
            return frameworks.Expression.constant(0, 1)
        bits = frameworks.Expression.of_bits(self.clbits[::-1])
        inverted = sum(inverted << k for k, inverted in enumerate(reversed(self.invert)))
        return bits.binary("xor", frameworks.Expression.constant(inverted, bits.width)) if inverted else bits

    def digit(self, index: int) -> Expression:
        """Return the record of one qubit; a channel's is one number. Raises `MeasurementError` for another index."""
        count = 1 if self.is_choice else len(self.invert)
        if not -count <= index < count:
            raise MeasurementError(
                f"expected an index from 0 to {count - 1} into a measured key, got {index}; use one of its qubits."
            )
        if self.is_choice:
            return self.number()
        if self.levels is not None:
            return digits.digit(self, index)
        return MeasuredKey((self.clbits[index],), (self.invert[index],), 1).number()


@dataclass(slots=True)
class _LoopedKey:
    """A key that is measured in a loop: its last record, and how many there are before the first loop.

    clbits: those of the last record, the first most significant, inverted already. levels: see `MeasuredKey`.
    """

    before: int
    clbits: tuple[int, ...] = ()
    is_choice: bool = False
    levels: Levels | None = None

    def last(self, index: int) -> MeasuredKey:
        """Return the last record; raises `NotSupported` for another one, which may be of any round."""
        if index != -1:
            raise NotSupported(
                f"expected a condition on the last record of a key that is measured in a loop, got index {index}; use "
                "index -1."
            )
        count = len(self.clbits) if self.levels is None else len(self.levels.shape)
        return MeasuredKey(self.clbits, (False,) * count, 1, self.is_choice, self.levels)


class PendingMeasurements:
    """Reads of wires, each waiting until something else acts on its wire.

    Wires that still wait at the end are measured there, all at once, wire w into classical bit w: then all shots are
    drawn from one state. A wire that cannot wait is measured into a classical bit of its own, from
    `builder.num_clbits` on. A wire that is read again while it waits is measured once, unless one of both reads is
    misread: the other one must not see that, so each has a classical bit of its own.
    """

    def __init__(self, builder: CircuitBuilder) -> None:
        self._builder = builder
        self._shapes: dict[str, tuple[int, ...]] = {}  # key -> the levels of the qubits that it is measured on
        self._instances: list[_PendingMeasurement] = []
        self._clbits: list[int] = []  # of each read
        self._waiting: dict[int, int] = {}  # wire -> its read
        self._confused: dict[int, tuple[int, ...]] = {}  # wire whose waiting read is confused -> all confused with it
        self._looped: dict[str, _LoopedKey] = {}

    def read(self, gate: cirq.MeasurementGate, wires: tuple[int, ...], levels: Levels | None = None) -> None:
        """Note a measurement; raises `MeasurementError` for a key that was measured on other numbers of levels.

        levels: of the measured qids; None if each has two.
        """
        key, shape = str(gate.mkey), (2,) * len(wires) if levels is None else levels.shape
        before = self._shapes.setdefault(key, shape)
        if before != shape:
            again = f"{_measured_on(before)} and again on {shape_in_words(shape)}"
            raise MeasurementError(f"the key {key!r} is {again}; give each a key of its own.")
        confused = _confused(gate, wires, levels) if gate.confusion_map else {}
        reads = tuple(self._number(wire, confused.get(wire, ())) for wire in wires)
        self._append(_PendingMeasurement(key, reads, gate.full_invert_mask(), gate.confusion_map, False, levels))

    def _append(self, one: _PendingMeasurement) -> None:
        self._instances.append(one)
        if one.key in self._looped:
            self._record(one)

    def _number(self, wire: int, confused: tuple[int, ...]) -> int:
        """Return the number of a read of a wire; confused: the wires that are confused together with it."""
        if confused or wire in self._confused:
            self.measure([wire])
        if confused:
            self._confused[wire] = confused
        if wire not in self._waiting:
            self._waiting[wire] = len(self._clbits)
            self._clbits.append(wire)  # unless something acts on it
        return self._waiting[wire]

    def record_choice(self, key: str, clbits: tuple[int, ...]) -> None:
        """Note the choice of a channel with a key, which stands in some classical bits, the first most significant.

        Raises `MeasurementError` for a key that was measured.
        """
        if self._shapes.setdefault(key, _CHOICE) != _CHOICE:
            before = _measured_on(self._shapes[key])
            raise MeasurementError(f"the key {key!r} is {before} and again by a channel; give each a key of its own.")
        first = len(self._clbits)
        self._clbits.extend(clbits)
        reads = tuple(range(first, len(self._clbits)))
        self._append(_PendingMeasurement(key, reads, (False,) * len(reads), {}, is_choice=True))

    def measure(self, wires: Iterable[int]) -> None:
        """Measure those of some wires that wait, and all that are confused with them, before something acts on them."""
        asked = dict.fromkeys(one for wire in wires for one in self._confused.get(wire, (wire,)))
        ready = [wire for wire in asked if wire in self._waiting]
        if not ready:
            return
        first = self._builder.num_clbits
        clbits = list(range(first, first + len(ready)))
        self._builder.num_clbits += len(ready)
        self._builder.measure(ready, clbits)
        for wire, clbit in zip(ready, clbits, strict=True):
            self._clbits[self._waiting.pop(wire)] = clbit
            self._confused.pop(wire, None)

    def now(self, key: str, index: int) -> MeasuredKey | None:
        """Return an instance of a key, measured now if it still waits; None if there is none of that number."""
        instances = [one for one in self._instances if one.key == key]
        if instances and key in self._looped and not 0 <= index < self._looped[key].before:
            return self._looped[key].last(index)
        if not -len(instances) <= index < len(instances):
            return None
        clbits = self._measured(instances[index])
        one = instances[index]
        return MeasuredKey(clbits, one.invert, len(instances), one.is_choice, one.levels)

    def _measured(self, one: _PendingMeasurement) -> tuple[int, ...]:
        """Return the classical bits of a measurement, which is done now if it still waits."""
        self.measure([wire for wire, read in self._waiting.items() if read in one.reads])
        return tuple(self._clbits[read] for read in one.reads)

    def begin_loop(self, keys: Iterable[str]) -> None:
        """Begin a loop that measures some keys, of which every record is kept from now on."""
        for key in keys:
            if key not in self._looped:
                before = [one for one in self._instances if one.key == key]
                self._looped[key] = _LoopedKey(len(before))
                for one in before:
                    self._record(one)

    def _record(self, one: _PendingMeasurement) -> None:
        """Append a measurement to the records of its key, and keep its value where conditions look for it."""
        value = MeasuredKey(self._measured(one), one.invert, 1, one.is_choice, one.levels).packed()
        key = self._looped[one.key]
        if not key.clbits:
            first = self._builder.num_clbits
            self._builder.num_clbits += value.width
            key.clbits = tuple(range(first, first + value.width))
            key.is_choice, key.levels = one.is_choice, one.levels
        self._builder.store(self._builder.bits(key.clbits[::-1]), value)
        self._builder.record(one.key, value)

    def end(self) -> tuple[int, ...]:
        """Measure all wires that still wait, and return them, ascending."""
        wires = tuple(sorted(self._waiting))
        if wires:
            self._builder.measure(wires, wires)
        return wires

    @property
    def looped(self) -> Mapping[str, bool]:
        """The keys that are measured in loops, and whether each is a channel's."""
        return {key: one.is_choice for key, one in self._looped.items()}

    def measurements(self) -> tuple[Measurement, ...]:
        """Return all measurements in the order of the circuit, once it has ended."""
        return tuple(
            Measurement(
                one.key,
                tuple(self._clbits[read] for read in one.reads),
                one.invert,
                one.is_choice,
                None if one.levels is None else one.levels.shape,
            )
            for one in self._instances
        )

    def readout_errors(self) -> ReadoutErrors:
        """Return the readout errors of the classical bits, once the circuit has ended."""
        errors = [
            one.error(positions, matrix) for one in self._instances for positions, matrix in one.confusion.items()
        ]
        return tuple(ReadoutError(tuple(self._clbits[read] for read in reads), matrix) for reads, matrix in errors)


def _confused(gate: cirq.MeasurementGate, wires: tuple[int, ...], levels: Levels | None) -> dict[int, tuple[int, ...]]:
    """Return for each wire that is confused all wires that are confused with it."""
    of = [wires[k : k + 1] for k in range(len(wires))] if levels is None else [wires[one] for one in levels.bits]
    groups = [tuple(chain.from_iterable([of[k] for k in group])) for group in _groups(gate)]
    return {wire: group for group in groups for wire in group}


def _groups(gate: cirq.MeasurementGate) -> Sequence[tuple[int, ...]]:
    """Return the tuples of positions in a gate's confusion map; raises `NoiseError` for one that is in two."""
    groups: Sequence[tuple[int, ...]] = list(gate.confusion_map)
    for one, other in combinations(groups, 2):
        if shared := set(one) & set(other):
            raise NoiseError(
                f"the confusion map of the key {str(gate.mkey)!r} has qubit {min(shared)} in {one} and in {other}, and "
                "nothing says which comes first; give one matrix for all qubits that are confused together."
            )
    return groups


def _measured_on(shape: tuple[int, ...]) -> str:
    return "measured by a channel" if shape == _CHOICE else f"measured on {shape_in_words(shape)}"
