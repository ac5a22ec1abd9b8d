"""`Simulator`, which runs circuits and returns results; every method is a call into `run` or `state`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Unpack

from numpy.typing import ArrayLike

from qsim_ex.circuit import check
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise.readout import ReadoutErrors, without
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.comm import connection, launcher
from qsim_ex.deployment.assign import Assigner, assign
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.display.bar import interactive
from qsim_ex.display.described import shown_options, with_options
from qsim_ex.display.log import LOGGER
from qsim_ex.errors import CircuitError, OptionError, other_circuit
from qsim_ex.execution.progress import LONG_WORK, MANY_GATES, work_of
from qsim_ex.later import later
from qsim_ex.native.library import cancelled_by
from qsim_ex.options import OptionKeywords, Options
from qsim_ex.options.methods import USUAL
from qsim_ex.result import BatchResult, Result
from qsim_ex.run.differentiating import Differentiating
from qsim_ex.run.pipeline import BatchCall, run_by_method
from qsim_ex.run.request import own_bindings
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.circuit import observables as sums
    from qsim_ex.comm import agreed
    from qsim_ex.deployment import elsewhere
    from qsim_ex.display import explanation
    from qsim_ex.planning.cost import summary as plan_summary
    from qsim_ex.program import one_state
    from qsim_ex.run import log, preview, repeated, spread, to_state
    from qsim_ex.state import vector
else:
    elsewhere = later("qsim_ex.deployment.elsewhere")
    explanation = later("qsim_ex.display.explanation")
    plan_summary = later("qsim_ex.planning.cost.summary")
    preview = later("qsim_ex.run.preview")
    repeated = later("qsim_ex.run.repeated")
    spread = later("qsim_ex.run.spread")
    to_state = later("qsim_ex.run.to_state")
    vector = later("qsim_ex.state.vector")
    agreed = later("qsim_ex.comm.agreed")
    sums = later("qsim_ex.circuit.observables")
    one_state = later("qsim_ex.program.one_state")
    log = later("qsim_ex.run.log")

_BAR_WIRES = 16
"""New states of fewer wires are not asked whether they need a bar, which would cost each of them a microsecond."""


@with_options(Options)
class Simulator(Differentiating):
    """Runs circuits with given options: ``Simulator(device="cpu", precision="single")``.

    It holds no state vector, so threads may share it. Raises `OptionError` for an option that does not exist.
    """

    def __init__(self, options: Options | None = None, **changes: Unpack[OptionKeywords]) -> None:
        if not isinstance(options, Options | None):
            raise OptionError(
                f"expected qsim_ex.Options or None, got {options!r}; pass options by their names, as in "
                "Simulator(device='cpu')."
            )
        self.options = (options or Options()).with_(changes) if changes or options is None else options
        self._assigner = Assigner(self.options)
        processes = self.options.processes
        self._alone = processes == "never" or (processes == "auto" and launcher.LAUNCHED is None)
        self._repeated: repeated.RepeatedCircuit | None = None  # made by the first call of `state`
        asks = self.options.progress or None, self.options.watch, self.options.checkpoint
        self._quiet = asks == (None, None, None) and USUAL[self.options.method].instead_of_state is None
        self._may_show = self.options.progress is None

    def __repr__(self) -> str:
        return shown_options("Simulator", self.options)

    def __reduce__(self) -> tuple[object, ...]:
        # A pickle holds the options alone, since assignments to devices are those of this process.
        return type(self), (self.options,)

    def placement(self, num_wires: int) -> Assignment:
        """Return the devices and the placement of a state of `num_wires` wires, with the reason.

        With the method 'density_matrix' it is that of a density matrix. Raises `OutOfMemory`, `DeviceError`.
        """
        wires = check.count(num_wires, "num_wires")
        index_bits = USUAL[self.options.method].index_bits
        if not index_bits:
            raise OptionError(
                f"placement: expected a method with amplitudes, got method={self.options.method!r}, which has none to "
                "place; use method='statevector'."
            )
        return assign(index_bits * wires, self.options)

    def run(
        self,
        circuit: Circuit,
        shots: int | None = None,
        seed: int | None = None,
        cancel: threading.Event | None = None,
        readout: ReadoutErrors = (),
    ) -> Result:
        """Run a circuit from |0…0> and sample its measurements.

        shots: None samples nothing; the result holds only saved states then. seed: the options' seed if None, and a
        fresh one if that is None too; the result holds it. cancel: an event that ends the run between two steps.
        readout: readout errors of measured bits, see `circuit.noise.readout`.
        Raises before it allocates memory: `ShotsError`, `MeasurementError` if there are shots and no measurement,
        `NotSupported` for a feature of later versions, `OutOfMemory`, `DeviceError`; later only `Cancelled`.
        """
        seeds = None if seed is None else (seed,)
        return self.run_batch(circuit, shots=shots, seeds=seeds, cancel=cancel, readout=readout)[0]

    def run_batch(
        self,
        circuit: Circuit,
        bindings: Bindings | ArrayLike | None = None,
        *,
        shots: int | None = None,
        seeds: int | Sequence[int] | None = None,
        observables: Sequence[sums.PauliSum] = (),
        trajectories: int | None = None,
        cancel: threading.Event | None = None,
        readout: ReadoutErrors = (),
    ) -> BatchResult:
        """Run many circuits of one structure: they are planned once, and small states are simulated together.

        circuit: it has the structure. bindings: the operands of each circuit, complex128 [bindings, total] (see
        `Bindings`); the operands of `circuit`, one binding, if None. shots: for each binding; None samples nothing.
        seeds: one for each binding, with which its shots are those of `run` with that seed; or one from which all seeds
        are derived, the options' seed if None, or else a fresh one.
        observables: their expectation values are taken after the last instruction; measurements at the end of the
        circuit do not change them. trajectories: the number of trajectories whose mean an expectation value is, if the
        circuit has random outcomes; the number of shots, or 1,000, if None. Shots of few noisy wires are drawn from
        their density matrix, unless it is given. readout: readout errors of measured bits, see `circuit.noise`.
        Raises what `run` raises, and `CircuitError`, `OptionError`, `WireError` for arguments that do not match.
        """
        _require_circuit(circuit)
        if observables:
            sums.require_sums(observables)
        bound = own_bindings(circuit) if bindings is None else bindings
        bound = bound if isinstance(bound, Bindings) else Bindings.of(bound)
        readout = without(readout, circuit.structure.unwritten_bits) if readout else ()
        asked = shots, seeds, observables, trajectories, cancel, readout
        call = BatchCall(self._assigner, self.options, circuit, bound, *asked)
        several = launcher.LAUNCHED or connection.CONNECTED.is_set()
        turn = connection.in_turn(self.options.processes) if several else nullcontext()
        with nullcontext() if cancel is None else cancelled_by(cancel), turn:
            shared = not isinstance(self.options.processes, str) and spread.shared_out(call)
            result = spread.run_shared(call) if shared else run_by_method(call)
        if LOGGER.isEnabledFor(logging.INFO):
            log.log_run(circuit, result)
        return result

    def state(
        self,
        circuit: Circuit | None = None,
        *,
        num_wires: int | None = None,
        initial: int | ArrayLike | None = None,
        cancel: threading.Event | None = None,
    ) -> vector.StateVector:
        """Return the state vector after all unitary instructions of a circuit; measurements at its end are ignored.

        num_wires: the circuit's by default. initial: a basis value or amplitudes in place of |0…0>.
        The caller owns the state vector: ``with simulator.state(circuit) as state:`` frees its memory at the end.
        """
        began = perf_counter()
        state = self._state(circuit, num_wires, initial, cancel)
        if LOGGER.isEnabledFor(logging.INFO):
            log.log_state(circuit, state, perf_counter() - began)
        return state

    def _state(
        self,
        circuit: Circuit | None,
        num_wires: int | None,
        initial: int | ArrayLike | None,
        cancel: threading.Event | None,
    ) -> vector.StateVector:
        """Return the state vector after a circuit; see `state`."""
        where = None
        if num_wires is None:
            if circuit is None:
                raise CircuitError("state: expected a circuit or num_wires, got neither; pass one of them.")
            _require_circuit(circuit)
            num_wires = circuit.num_qubits
            if self._quiet and cancel is None and initial is None and not self._shows_bar(circuit):
                where = self._assigner.one(num_wires) if self._alone else self._assigned(circuit, num_wires)
                if where.grows:
                    if self._repeated is None:
                        self._repeated = repeated.RepeatedCircuit(self.options)
                    return self._repeated(circuit, where)
        with connection.in_turn(self.options.processes):
            return self._made(circuit, num_wires, initial, cancel, where)

    def _made(
        self,
        circuit: Circuit | None,
        num_wires: int,
        initial: int | ArrayLike | None,
        cancel: threading.Event | None,
        where: Assignment | None,
    ) -> vector.StateVector:
        """Return a state vector of its own; where: its assignment, if that is known."""
        num_wires = check.count(num_wires, "num_wires")
        if circuit is not None:  # raise what it raises before memory is allocated
            one_state.unitary_program(circuit.structure, 0 if initial is None else (1 << num_wires) - 1)
        where = where or self._assigned(circuit, num_wires)
        if self.options.checkpoint is not None:
            if circuit is None or initial is not None or num_wires != circuit.num_qubits:
                raise OptionError(
                    "expected a circuit that begins in |0…0⟩ on all wires of the state with checkpoint=…, got another "
                    "beginning; put it into the circuit, or save the state with StateVector.save."
                )
            return to_state.run_to_state(self.options, where, circuit, cancel)
        state = vector.StateVector(num_wires, options=self.options, initial=initial, where=where)
        try:
            return state if circuit is None else state.apply(circuit, cancel)
        except BaseException:
            state.close()
            raise

    def _assigned(self, circuit: Circuit | None, num_wires: int) -> Assignment:
        """Return the assignment of a state; processes that share it compare its circuit at the same time."""
        if circuit is None or self._alone:
            return self._assigner.one(num_wires)
        where = self._assigner.one(num_wires, partial(agreed.asked_of, circuit))
        return where if where.ranks is None else replace(where, compared=circuit)

    def _shows_bar(self, circuit: Circuit) -> bool:
        """Return whether new states of a circuit may take so long that a bar should appear."""
        count = len(circuit.instructions)
        if not self._may_show or (circuit.num_qubits < _BAR_WIRES and count < MANY_GATES):
            return False
        return (count >= MANY_GATES or work_of(circuit.num_qubits, count, 1) >= LONG_WORK) and interactive()

    def explain(
        self, circuit: Circuit, machine: elsewhere.Cluster | None = None, observables: Sequence[sums.PauliSum] = ()
    ) -> explanation.Explanation:
        """Return the plan of a circuit in words: steps, and bytes moved. It allocates no memory and runs nothing.

        machine: another machine to plan for, in place of this one and of the options for devices and processes.
        observables: those of `run_batch`, whose passes over the state are counted too. The result is a `str`, which a
        notebook and `rich` show as a table.
        """
        _require_circuit(circuit)
        sums.require_sums(observables)
        return preview.explain(circuit, self.options, machine, observables)

    def plans(self, circuit: Circuit) -> list[Plan]:
        """Return the plans that a run of a circuit follows, one for each part between two saves; runs nothing.

        GPUs need not be on this machine: set the options `device` or `devices`, and `max_memory` or `device_wires`.
        """
        _require_circuit(circuit)
        return preview.plans(circuit, self.options)

    def summary(self, circuit: Circuit, machine: elsewhere.Cluster | None = None) -> plan_summary.PlanSummary:
        """Return the costs of a run of a circuit: sweeps, phases, bytes moved, multiply-adds; runs nothing.

        machine: as in `explain`.
        """
        _require_circuit(circuit)
        return preview.summary(circuit, self.options, machine)


def _require_circuit(given: object) -> None:
    """Raise `CircuitError` for what is no circuit of the engine, with what runs it."""
    if not isinstance(given, Circuit):
        raise other_circuit(given, "a qsim_ex.Circuit")
