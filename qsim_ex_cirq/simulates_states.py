"""The part of the simulator that answers with states: at the end of a circuit, and after each of its moments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import cirq
import numpy as np

from qsim_ex import Simulator
from qsim_ex.errors import OptionError, OutOfMemory
from qsim_ex.frameworks import later
from qsim_ex_cirq.final_states import SavedFinalState
from qsim_ex_cirq.resolvers import resolvers_of, together_or_each
from qsim_ex_cirq.results import QsimExTrialResult, Vector
from qsim_ex_cirq.runner import End, SweepRunner
from qsim_ex_cirq.states import Initial, initial_of
from qsim_ex_cirq.translation.circuits import has_loop, order_of
from qsim_ex_cirq.translation.noise import noisy_moments
from qsim_ex_cirq.variables import point_by_point
from qsim_ex_cirq.wires import say_in_qids

if TYPE_CHECKING:
    from qsim_ex_cirq import moment_steps
else:
    moment_steps = later("qsim_ex_cirq.moment_steps")


class SimulatesStates(cirq.SimulatesIntermediateStateVector["moment_steps.QsimExStepResult"]):
    """Simulates circuits to their ends or moment by moment, with an engine and a runner of sweeps."""

    _engine: Simulator
    _runner: SweepRunner

    @point_by_point
    def simulate_sweep_iter(
        self,
        program: cirq.AbstractCircuit,
        params: cirq.Sweepable,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
        initial_state: object = None,
    ) -> Iterator[QsimExTrialResult]:
        """Return the final state for each set of parameters; measurements collapse it, as in Cirq.

        Where noise, measurements or resets make the state random, it is that of one trajectory. Of a key that is
        measured again and again, the result holds the last value.
        initial_state: a basis value (first qubit most significant), amplitudes, one value for each qubit, or a
        `cirq.ProductState`. Raises `StateError` if it is none of these or not normalised.
        """
        order = order_of(program, qubit_order)

        def followed(resolver: cirq.ParamResolver) -> QsimExTrialResult:
            return self._followed(program, resolver, order, initial_state)

        if has_loop(program):
            yield from map(followed, resolvers_of(params))
            return
        initial = initial_of(initial_state, order)
        yield from together_or_each(lambda points: self._results(program, points, order, initial), params, followed)

    def _results(
        self, program: cirq.AbstractCircuit, params: cirq.Sweepable, order: tuple[cirq.Qid, ...], initial: Initial
    ) -> Iterator[QsimExTrialResult]:
        for resolver, final in self._finals(program, params, order, initial):
            vector, qubits, levels = final.vector(), final.translation.qubits, final.translation.levels
            vector = vector if levels is None else levels.cut(vector)
            about = final.result if isinstance(final, SavedFinalState) else final.metadata()
            yield QsimExTrialResult(resolver, final.measurements, vector, qubits, about)

    def _finals(
        self, program: cirq.AbstractCircuit, params: cirq.Sweepable, order: tuple[cirq.Qid, ...], initial: Initial
    ) -> Iterator[tuple[cirq.ParamResolver, End]]:
        try:
            yield from self._runner.states(program, params, order, initial)
        except OutOfMemory as error:
            say_in_qids(error, order)
            raise

    def _followed(
        self,
        program: cirq.AbstractCircuit,
        resolver: cirq.ParamResolver,
        order: tuple[cirq.Qid, ...],
        initial_state: object,
    ) -> QsimExTrialResult:
        """Return the final state of a circuit that one state goes through, moment by moment.

        Of one with a loop that a measurement ends, or with operations that say only how they act on a state.
        """
        *_, step = self.simulate_moment_steps(program, resolver, order, initial_state)
        records = {
            key: np.array(value, dtype=np.min_scalar_type(max(value, default=0)))
            for key, value in step.measurements.items()
        }
        return QsimExTrialResult(resolver, records, step.state_vector(copy=True), order, step.metadata())

    def simulate_into_1d_array(
        self,
        program: cirq.AbstractCircuit,
        param_resolver: cirq.ParamResolverOrSimilarType = None,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
        initial_state: object = None,
    ) -> tuple[cirq.ParamResolver, Vector, tuple[cirq.Qid, ...]]:
        """Return the resolver, the final amplitudes [2^n] and the qubit order, as ``qsimcirq`` does."""
        result = self.simulate(program, param_resolver, qubit_order, initial_state)
        return result.params, result.final_state_vector, tuple(result.qubit_map)

    @point_by_point
    def simulate_moment_steps(
        self,
        circuit: cirq.AbstractCircuit,
        param_resolver: cirq.ParamResolverOrSimilarType = None,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
        initial_state: object = None,
    ) -> Iterator[moment_steps.QsimExStepResult]:
        """Yield the state after each moment, as in Cirq."""
        return super().simulate_moment_steps(circuit, param_resolver, order_of(circuit, qubit_order), initial_state)

    def _create_partial_simulation_state(
        self, initial_state: Any, qubits: Sequence[cirq.Qid], classical_data: cirq.ClassicalDataStore
    ) -> cirq.StateVectorSimulationState:
        """Return the state that `simulate_moment_steps` leads through the moments."""
        if self._engine.options.checkpoint is not None:
            raise OptionError(
                "simulate_moment_steps runs a circuit in pieces, and a checkpoint belongs to one run; leave out "
                "checkpoint, or use simulate."
            )
        how: dict[str, Any] = {"prng": self._prng, "classical_data": classical_data}
        try:
            return moment_steps.QsimExSimulationState(self._engine, qubits, initial_state=initial_state, **how)
        except OutOfMemory as error:
            say_in_qids(error, qubits)
            raise

    def _core_iterator(
        self,
        circuit: cirq.AbstractCircuit,
        sim_state: Any,
        all_measurements_are_terminal: bool = False,
    ) -> Iterator[moment_steps.QsimExStepResult]:
        """Yield the state after each moment with its noise; states of Cirq's own go through Cirq's iterator."""
        if (
            all_measurements_are_terminal
            or not len(circuit)
            or not isinstance(sim_state, moment_steps.QsimExSimulationState)
        ):
            yield from super()._core_iterator(circuit, sim_state, all_measurements_are_terminal)
            return
        circuit = cirq.resolve_parameters(circuit, getattr(sim_state, "param_resolver", None))  # since Cirq 1.8
        for number, moment in enumerate(noisy_moments(circuit, self._noise)):
            sim_state.moment(number, moment)
            yield self._create_step_result(sim_state)

    def _create_step_result(self, sim_state: Any) -> moment_steps.QsimExStepResult:
        """Return what `simulate_moment_steps` yields after each moment."""
        return moment_steps.QsimExStepResult(sim_state, self._dtype)
