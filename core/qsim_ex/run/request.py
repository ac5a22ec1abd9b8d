"""What is asked of every binding of a run, checked before anything else happens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qsim_ex.circuit import check
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise.readout import ReadoutErrors, check_groups
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.errors import CircuitError, MeasurementError, NotSupported, OptionError, WireError
from qsim_ex.program.program import Program

TRAJECTORIES = 1_000
"""How many trajectories an expectation value is the mean of, where nothing is said."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of every binding.

    shots: None samples nothing. trajectories: how many are run where shots may part, 1 where they cannot.
    observables: their expectation values are taken. readout: how classical bits are misread.
    """

    shots: int | None
    observables: tuple[PauliSum, ...]
    trajectories: int
    readout: ReadoutErrors


def checked_request(
    program: Program,
    circuit: Circuit,
    bound: Bindings,
    shots: int | None,
    observables: Sequence[PauliSum],
    trajectories: int | None,
    readout: ReadoutErrors,
) -> Request:
    """The request; raises `ShotsError`, `MeasurementError`, `NoiseError`, `CircuitError`, `OptionError`, `WireError`.

    `NotSupported` for states that are saved in several trajectories.
    """
    if readout:
        check_groups(readout, circuit.num_clbits)
    _check_operands(circuit, bound)
    widest = max((one.num_wires() for one in observables), default=0)
    if widest > circuit.num_qubits:
        raise WireError(f"an observable acts on wire {widest - 1}, the circuit has {circuit.num_qubits} wires.")
    if trajectories is not None:
        trajectories = check.count(trajectories, "trajectories")
        if trajectories < 1:
            raise OptionError("expected trajectories >= 1, got 0; leave it out for the default.")
    if shots is not None:
        shots = check.shots(shots)
        if not program.has_measurement:
            raise MeasurementError("shots were asked for, but the circuit measures nothing; add a measurement.")
        if trajectories not in (None, shots):
            raise OptionError(f"shots={shots} and trajectories={trajectories}: every shot is a trajectory of its own.")
        trajectories = shots
    if trajectories is None:
        trajectories = TRAJECTORIES if observables else 1
    if program.choices and program.labels and trajectories != 1:
        raise NotSupported(
            f"the circuit saves a state ({program.labels[0]!r}) and leaves something to chance (noise, or a "
            f"measurement or reset that something follows), so each of {trajectories} trajectories ends in another "
            "state. Ask for one shot, or for expectation values."
        )
    return Request(shots, tuple(observables), trajectories if program.branches else 1, readout)


def _check_operands(circuit: Circuit, bound: Bindings) -> None:
    if bound.count < 1:
        raise CircuitError("expected at least one binding, got none; leave bindings out for the circuit's own numbers.")
    wanted, found = circuit.operands.shape[1], bound.operands(0, 1).shape
    if found != (1, wanted):
        raise CircuitError(f"expected operands [bindings, {wanted}] of this structure, got {found} for one binding.")
