"""Units of work: some bindings and shots, and all their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.noise.readout import ReadoutErrors
from qsim_ex.observe.readout import key_of
from qsim_ex.program.choices import Choice, Reading
from qsim_ex.program.kraus import Kraus, channels_of, every_kraus
from qsim_ex.program.program import Program
from qsim_ex.run.request import Request

Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """The bindings from `begin` up to `end`, each with `shots` trajectories from `first` on."""

    begin: int
    end: int
    first: int
    shots: int


@dataclass(frozen=True, eq=False, slots=True)
class BatchInputs:
    """The numbers of the bindings of a unit of work.

    operands: complex128 [bindings, total]. seeds: one for each binding. first, shots: the first shot of the unit, and
    their number. kraus: for each binding, the matrices of each choice. readout: the readout errors of classical bits.
    alike: whether all bindings choose among the same matrices. streams, clbits: see `Request`.
    given: the bits that other parts have measured, uint8 [bindings, shots, bits]; None if there are none.
    rounds: the present round of each loop around a choice, from the outermost.
    """

    operands: Complex
    seeds: Sequence[int]
    first: int
    shots: int
    kraus: Sequence[Sequence[Kraus]]
    readout: ReadoutErrors
    alike: bool
    streams: Sequence[Sequence[int]] | None = None
    clbits: Sequence[int] | None = None
    given: NDArray[np.uint8] | None = None
    rounds: tuple[int, ...] = ()

    @classmethod
    def of(cls, program: Program, operands: Complex, seeds: Sequence[int], unit: WorkUnit, request: Request) -> Self:
        """Return the inputs of some bindings; bindings with equal channels share their matrices."""
        kraus: list[Sequence[Kraus]] = []
        if program.choices:
            known: dict[bytes, list[Kraus]] = {}
            slices = _channels(program)
            for row in operands:
                key = b"".join(row[at].tobytes() for at in slices)
                if key not in known:
                    known[key] = every_kraus(program, row)
                kraus.append(known[key])
        alike = all(one is kraus[0] for one in kraus)
        streams = None if request.streams is None else request.streams[unit.begin : unit.end]
        given = request.given
        if given is not None:
            given = given[unit.begin : unit.end, unit.first : unit.first + unit.shots]
        return cls(
            operands, seeds, unit.first, unit.shots, kraus, request.readout, alike, streams, request.clbits, given
        )

    def keys(self, choice: Choice) -> list[int]:
        """Return for each binding the key of a choice's random numbers; key 0 is that of the shots at the end."""
        if self.streams is None:
            return [self._in_round(1 + choice.stream)] * len(self.seeds)
        return [self._in_round(1 + streams[choice.stream]) for streams in self.streams]

    def reading_key(self, reading: Reading) -> int:
        """Return the key of the random numbers of a reading."""
        clbits = reading.clbits if self.clbits is None else tuple(self.clbits[clbit] for clbit in reading.clbits)
        return self._in_round(key_of(clbits, None if reading.last else reading.measurement))

    def _in_round(self, key: int) -> int:
        """Return the key of random numbers in the present rounds of loops, each of which has numbers of its own."""
        for number in self.rounds:
            key = _mixed(key ^ _mixed(number + 1))
        return key


_WORD = (1 << 64) - 1


def _mixed(number: int) -> int:
    """Return 64 bits that depend on all bits of a number, as splitmix64 does (Steele et al., OOPSLA 2014)."""
    number = number + 0x9E3779B97F4A7C15 & _WORD
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _WORD
    return number ^ number >> 31


def _channels(program: Program) -> list[slice]:
    """Return the slices of a circuit's operands that hold the matrices of channels."""
    return [
        slice(channel.operand, channel.operand + channel.count * 4 ** len(channel.wires))
        for channel in channels_of(program)[0]
        if channel.kind == "channel"
    ]
