"""Measurements of a circuit: each instance of a key, and the classical bits that it is read from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import CircuitBuilder
from qsim_ex.errors import MeasurementError

Confusion = Mapping[tuple[int, ...], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Measurement:
    """One instance of a key: bit k of its record is ``clbits[k]``, confused and then inverted where asked.

    confusion: for each tuple of positions k the matrix of probabilities [true value, read value], big endian.
    """

    key: str
    clbits: tuple[int, ...]
    invert: tuple[bool, ...] = ()
    confusion: Confusion | None = None


class _Instance(NamedTuple):
    """A measurement whose classical bits are not known yet: it has the numbers of its reads."""

    key: str
    reads: tuple[int, ...]
    invert: tuple[bool, ...]
    confusion: Confusion | None


class Read(NamedTuple):
    """One instance of a key that has been measured: its classical bits, and how many instances the key has so far."""

    clbits: tuple[int, ...]
    invert: tuple[bool, ...]
    confusion: Confusion | None
    instances: int


class Readings:
    """Reads of wires, each waiting until something else acts on its wire.

    What still waits at the end is measured there, all at once, wire w into classical bit w: then all shots are drawn
    from one state. What cannot wait is measured into a classical bit of its own, from `builder.num_clbits` on. A wire
    that is read again while it waits is measured once.
    """

    def __init__(self, builder: CircuitBuilder) -> None:
        self._builder = builder
        self._widths: dict[str, int] = {}  # key -> how many qubits it is measured on
        self._instances: list[_Instance] = []
        self._clbits: list[int] = []  # of each read
        self._waiting: dict[int, int] = {}  # wire -> its read

    def read(self, gate: cirq.MeasurementGate, wires: tuple[int, ...]) -> None:
        """Note a measurement; raises `MeasurementError` for a key that was measured on another number of qubits."""
        key = str(gate.mkey)
        width = self._widths.setdefault(key, len(wires))
        if width != len(wires):
            raise MeasurementError(f"the key {key!r} is measured on {width} qubits and again on {len(wires)}.")
        reads = tuple(self._number(wire) for wire in wires)
        self._instances.append(_Instance(key, reads, gate.full_invert_mask(), gate.confusion_map or None))

    def _number(self, wire: int) -> int:
        if wire not in self._waiting:
            self._waiting[wire] = len(self._clbits)
            self._clbits.append(wire)  # unless something acts on it
        return self._waiting[wire]

    def measure(self, wires: Iterable[int]) -> None:
        """Measure those of some wires that wait, before something acts on them."""
        ready = [wire for wire in wires if wire in self._waiting]
        if not ready:
            return
        first = self._builder.num_clbits
        clbits = list(range(first, first + len(ready)))
        self._builder.num_clbits += len(ready)
        self._builder.measure(ready, clbits)
        for wire, clbit in zip(ready, clbits, strict=True):
            self._clbits[self._waiting.pop(wire)] = clbit

    def now(self, key: str, index: int) -> Read | None:
        """An instance of a key, measured now if it still waits; None if there is none of that number."""
        instances = [one for one in self._instances if one.key == key]
        if not -len(instances) <= index < len(instances):
            return None
        one = instances[index]
        self.measure([wire for wire, read in self._waiting.items() if read in one.reads])
        return Read(tuple(self._clbits[read] for read in one.reads), one.invert, one.confusion, len(instances))

    def end(self) -> tuple[int, ...]:
        """Measure all wires that still wait, and return them, ascending."""
        wires = tuple(sorted(self._waiting))
        if wires:
            self._builder.measure(wires, wires)
        return wires

    def measurements(self) -> tuple[Measurement, ...]:
        """All measurements in the order of the circuit, once it has ended."""
        return tuple(
            Measurement(one.key, tuple(self._clbits[read] for read in one.reads), one.invert, one.confusion)
            for one in self._instances
        )
