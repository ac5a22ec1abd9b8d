"""The request of a run (shots, observables, trajectories, readout errors), checked before anything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise.readout import ReadoutErrors, check_groups
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.saves import SAVE_KINDS, Save
from qsim_ex.errors import CircuitError, MeasurementError, NotSupported, OptionError, WireError

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
