"""A circuit as separate parts and idle wires: what `separate` makes of a structure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.noise.readout import ReadoutError, ReadoutErrors
from qsim_ex.circuit.structure import Structure
from qsim_ex.program.divide import program_of
from qsim_ex.program.program import Program
from qsim_ex.program.readings import Groups

How = Literal["apart", "together", "whole"]


@dataclass(frozen=True, slots=True)
class GivenBit:
    """A classical bit of a part that another part measures.

    level: the branch point of the whole circuit at which it is known. part: the number of the other part.
    kept: the other part's bit that keeps it.
    """

    clbit: int
    level: int
    part: int
    kept: int


@dataclass(frozen=True, eq=False, slots=True)
class SeparatePart:
    """Some wires of a circuit that no other wires are entangled with, as a circuit of their own.

    structure: the instructions on these wires, with wires and classical bits numbered anew.
    wires: the circuit's wire of each wire of the part, ascending; the last one, where some take turns.
    clbits: the circuit's classical bit of each classical bit of the part, ascending. Bits of the part beyond these keep
        outcomes of measurements, or are given.
    final: the classical bits of the part whose last value in the circuit is the part's.
    columns: the place in the circuit's operands of each operand of the part; None if they are the same.
    streams: the circuit's stream of random numbers of each stream of the part (see `Choice.stream`).
    groups: the groups of misread classical bits in the part's own numbers (see `divide.program_of`).
    members: the circuit's wires in the part, ascending. parts: see `divide.program_of`.
    copied: pairs of a classical bit of the circuit and the part's bit that keeps its last value.
    given: the bits of the part that earlier parts measure.
    """

    structure: Structure
    wires: tuple[int, ...]
    clbits: tuple[int, ...]
    final: tuple[int, ...]
    columns: NDArray[np.int64] | None
    streams: tuple[int, ...]
    groups: Groups
    members: tuple[int, ...]
    parts: tuple[int, ...] = ()
    copied: tuple[tuple[int, int], ...] = ()
    given: tuple[GivenBit, ...] = ()

    def program(self, observed: bool) -> Program:
        """Return the program of the part; observed: see `divide.program_of`."""
        given = tuple([(bit.clbit, bit.level) for bit in self.given])
        return program_of(self.structure, observed, 0, self.groups, self.parts, given)

    def readout(self, errors: ReadoutErrors) -> ReadoutErrors:
        """Return the readout errors of the part's bits, in the part's numbers."""
        place = {clbit: k for k, clbit in enumerate(self.clbits)}
        return tuple(
            ReadoutError(tuple(place[clbit] for clbit in error.clbits), error.matrix, error.measurement)
            for error in errors
            if all(clbit in place for clbit in error.clbits)
        )


@dataclass(frozen=True, eq=False, slots=True)
class Separation:
    """A circuit as separate parts and constants.

    parts: in the order of their lowest wires. place: for each wire the part and the part's wire that hold its last
    state; wires that are |0⟩ at the end because nothing mixed them are missing. measures: whether the circuit measures
    anything.
    phases: the places of operands whose product is the global phase that no part has.
    known: for each wire whose last state is the outcome of a measurement, and in no part, the part and the part's bit
    that keeps it.
    """

    num_qubits: int
    num_clbits: int
    parts: tuple[SeparatePart, ...]
    place: dict[int, tuple[int, int]]
    measures: bool
    phases: tuple[int, ...]
    known: dict[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def alone(self) -> SeparatePart | None:
        """The only part, if each of its wires is one wire of the circuit; else None."""
        (first, *others) = self.parts
        return None if others or len(first.wires) < len(first.members) or self.known else first

    @property
    def idle(self) -> int:
        """The number of wires that take no memory."""
        return self.num_qubits - len({wire for part in self.parts for wire in part.members})

    def describe(self) -> str:
        """Return a sentence on the parts and the idle wires."""
        sizes = sorted((len(part.wires) for part in self.parts), reverse=True)
        turns = (
            "" if all(len(part.wires) == len(part.members) for part in self.parts) else ", on which others take turns"
        )
        listed = ", ".join(map(str, sizes[:_LISTED])) + (", …" if len(sizes) > _LISTED else "")
        idle = f"idle wires, which take no memory: {self.idle} of {self.num_qubits}"
        if len(sizes) < 2:
            return f"{idle}; simulated: {sum(sizes)}{turns}"
        return f"{len(sizes)} separate parts of {listed} wires are simulated one after another{turns}; {idle}"

    def facts(self) -> dict[str, Any]:
        """Return what a result reports of the separation."""
        return {
            "separation": self.describe(),
            "parts": [list(part.members) for part in self.parts],
            "idle_wires": self.idle,
        }


_LISTED = 8
"""Parts whose sizes `Separation.describe` lists."""
