"""The request of a run (shots, observables, trajectories, readout errors), checked before anything else; then its work.

A unit of work is some bindings and shots, with all their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise.readout import ReadoutErrors, check_groups
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.saves import SAVE_KINDS, Save
from qsim_ex.errors import CircuitError, MeasurementError, NotSupported, OptionError, WireError
from qsim_ex.later import later
from qsim_ex.observe.readout import key_of
from qsim_ex.program.program import Program

if TYPE_CHECKING:
    from qsim_ex.circuit.observables import PauliSum
    from qsim_ex.program import choices
    from qsim_ex.program.choices import Choice, Kraus, Reading
    from qsim_ex.program.separation import Separation
else:
    choices = later("qsim_ex.program.choices")

Complex = NDArray[np.complex128]

TRAJECTORIES = 1_000
"""The default number of trajectories whose mean an expectation value or a saved average is."""


class IsAsked(Protocol):
    """What a request is checked against: what is saved, and whether something is random before the end."""

    @property
    def saves(self) -> tuple[Save, ...]:
        """The saves, in their order."""

    @property
    def branches(self) -> bool:
        """Whether something is random before the measurements at the end."""


@dataclass(frozen=True, eq=False, slots=True)
class Request:
    """The request of a run, for each of its bindings.

    shots: None samples nothing. trajectories: their number if the program has branches, else 1.
    observables: their expectation values are taken. readout: the readout errors of classical bits.
    streams: for each binding, the key of each stream of random numbers (see `Answers.streams`); the stream's own
        number if None. clbits: the circuit's classical bit of each bit of the program; None if they are the same.
    given: the bits that other parts of the circuit have measured, uint8 [bindings, trajectories, bits].
    """

    shots: int | None
    observables: tuple[PauliSum, ...]
    trajectories: int
    readout: ReadoutErrors
    streams: Sequence[Sequence[int]] | None = None
    clbits: Sequence[int] | None = None
    given: NDArray[np.uint8] | None = None


def checked_request(
    program: IsAsked,
    circuit: Circuit,
    bound: Bindings,
    shots: int | None,
    observables: Sequence[PauliSum],
    trajectories: int | None,
    readout: ReadoutErrors,
    measures: bool,
    keeps: str | None = None,
) -> Request:
    """Check the arguments of a run and return them as a request.

    measures: whether the circuit measures anything, be it idle wires that the program leaves out. keeps: the method, if
    there are saves that it alone keeps.

    Raises `ShotsError`, `MeasurementError`, `NoiseError`, `CircuitError`, `OptionError`, `WireError`, `NotSupported`.
    """
    for save in program.saves:
        if (only := SAVE_KINDS[save.what].method) not in (None, keeps):
            raise NotSupported(
                f"save: expected a value that amplitudes have, got what={save.what!r}, which method={only!r} alone "
                "keeps; use that method for circuits that it can run, or save another value."
            )
    if readout:
        check_groups(readout, circuit.num_clbits)
    widest = max((one.num_wires() for one in observables), default=0)
    _check_operands(circuit, bound)
    if widest > circuit.num_qubits:
        raise WireError(
            f"expected observables on wires 0 <= w < {circuit.num_qubits}, got one on wire {widest - 1}; use other "
            "wires or a circuit with more wires."
        )
    if trajectories is not None:
        trajectories = check.count(trajectories, "trajectories")
        if trajectories < 1:
            raise OptionError("expected trajectories >= 1, got 0; leave it out for the default.")
    if shots is not None:
        shots = check.shots(shots)
        if not measures:
            raise MeasurementError(
                f"expected a measurement for shots={shots}, got a circuit that measures nothing; add a measurement."
            )
        if trajectories not in (None, shots):
            raise OptionError(
                f"expected trajectories={shots}, since every shot is a trajectory, got trajectories={trajectories} "
                f"with shots={shots}; leave trajectories out."
            )
        trajectories = shots
    if trajectories is None:
        means = bool(observables) or any(save.averages for save in program.saves)
        trajectories = TRAJECTORIES if means else 1
    return Request(shots, tuple(observables), trajectories if program.branches else 1, readout)


def _check_operands(circuit: Circuit, bound: Bindings) -> None:
    if bound.count < 1:
        raise CircuitError("expected at least one binding, got none; leave bindings out for the circuit's own numbers.")
    wanted, found = circuit.operands.shape[1], bound.operands(0, 1).shape
    if found != (1, wanted):
        raise CircuitError(
            f"expected operands [bindings, {wanted}] of this structure, got {found} for one binding; pass operands of "
            "circuits with this structure."
        )


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
                    known[key] = choices.every_kraus(program, row)
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
        for channel in choices.channels_of(program)[0]
        if channel.kind == "channel"
    ]


def without_idle_wires(
    separation: Separation, circuit: Circuit, bound: Bindings, request: Request
) -> tuple[Circuit, Bindings, Request]:
    """Return a circuit without its idle wires, with its numbers and the request for it."""
    (part,) = separation.parts
    places = {wire: place for wire, (_, place) in separation.place.items()}
    observables = tuple(one.without_idle(places) for one in request.observables)
    request = replace(request, observables=observables, streams=[part.streams] * bound.count)
    columns = part.columns
    if columns is None:
        return Circuit.of_structure(part.structure, circuit.operands), bound, request
    taken = Bindings(bound.count, lambda begin, end: bound.operands(begin, end)[:, columns])
    return Circuit.of_structure(part.structure, circuit.operands[:, columns]), taken, request


def own_bindings(circuit: Circuit) -> Bindings:
    """Return a circuit's own operands as its bindings."""
    operands = circuit.operands
    return Bindings(len(operands), lambda begin, end: operands[begin:end])
