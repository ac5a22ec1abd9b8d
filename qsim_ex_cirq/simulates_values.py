"""The part of the simulator that answers with numbers: amplitudes, expectation values and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import cirq
import numpy as np

from qsim_ex import Simulator
from qsim_ex.errors import CircuitError, NotSupported, OutOfMemory
from qsim_ex.frameworks import check, later
from qsim_ex_cirq.resolvers import together_or_each
from qsim_ex_cirq.runner import Estimates, SweepRunner, estimates_of
from qsim_ex_cirq.states import initial_of
from qsim_ex_cirq.translation.circuits import order_of
from qsim_ex_cirq.translation.observables import PauliSumLike, pauli_sums, require_no_end
from qsim_ex_cirq.variables import point_by_point
from qsim_ex_cirq.wires import in_words, levels_of, say_in_qids

if TYPE_CHECKING:
    from qsim_ex_cirq import gradients, moment_steps
else:
    gradients, moment_steps = later("qsim_ex_cirq.gradients"), later("qsim_ex_cirq.moment_steps")


class SimulatesValues(cirq.SimulatesAmplitudes, cirq.SimulatesExpectationValues):
    """Computes numbers of the final states of circuits, with an engine and a runner of sweeps."""

    _engine: Simulator
    _runner: SweepRunner
    _noise: cirq.NoiseModel
    simulate_moment_steps: Callable[..., Iterator[moment_steps.QsimExStepResult]]

    @point_by_point
    def compute_amplitudes_sweep_iter(
        self,
        program: cirq.AbstractCircuit,
        bitstrings: Sequence[int],
        params: cirq.Sweepable,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
    ) -> Iterator[Sequence[complex]]:
        """Return the amplitudes of basis values (first qubit most significant) for each set of parameters.

        They are those of the state that `simulate` gives: of one trajectory, where something is random.
        """
        if np.ndim(bitstrings) != 1:
            raise CircuitError(
                f"expected bitstrings as a 1-dimensional list of whole numbers, got shape {np.shape(bitstrings)}."
            )
        values = [check.count(value, "a bitstring") for value in bitstrings]
        order = order_of(program, qubit_order)
        levels = levels_of(order)
        size = 1 << len(order) if levels is None else levels.size
        if max(values, default=0) >= size:
            raise CircuitError(f"expected bitstrings from 0 to {size - 1} for {in_words(order)}, got {max(values)}.")
        if levels is not None:
            values = [levels.value(value) for value in values]

        def followed(resolver: cirq.ParamResolver) -> Sequence[complex]:
            *_, step = self.simulate_moment_steps(program, resolver, order)
            found: list[complex] = step.engine_state().amplitudes(values).tolist()
            return found

        try:
            yield from together_or_each(
                lambda points: self._runner.amplitudes(program, points, order, values), params, followed
            )
        except OutOfMemory as error:
            say_in_qids(error, order)
            raise

    def simulate_expectation_values_sweep_iter(
        self,
        program: cirq.AbstractCircuit,
        observables: PauliSumLike | list[PauliSumLike],
        params: cirq.Sweepable,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
        initial_state: object = None,
        permit_terminal_measurements: bool = False,
    ) -> Iterator[list[float]]:
        """Return the expectation value of each observable for each set of parameters.

        It is exact, or, where noise, resets or measurements on the way make it random, the mean over
        `trajectories` of the simulator; ``cirq.Simulator`` gives the values of a single trajectory. For standard
        errors see `simulate_expectation_estimates_sweep`. A value is complex only if a coefficient is.
        Measurements at the end are refused with `MeasurementError`, as in Cirq; if they are permitted and nothing else
        is random, the values are those of one collapsed state, as there. (A Pauli measurement stands on the
        way, since the state is turned back after it.)
        """
        given = (program, observables, params, qubit_order, initial_state, permit_terminal_measurements)
        for estimates in self._estimates(*given):
            yield estimates.values

    def simulate_expectation_estimates_sweep(
        self,
        program: cirq.AbstractCircuit,
        observables: PauliSumLike | list[PauliSumLike],
        params: cirq.Sweepable = None,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
        initial_state: object = None,
        permit_terminal_measurements: bool = False,
    ) -> list[Estimates]:
        """Return what `simulate_expectation_values_sweep` does, with standard errors and the number of trajectories."""
        given = (program, observables, params, qubit_order, initial_state, permit_terminal_measurements)
        return list(self._estimates(*given))

    def simulate_expectation_values_and_gradients(
        self,
        program: cirq.AbstractCircuit,
        observables: PauliSumLike | list[PauliSumLike],
        params: cirq.Sweepable = None,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
    ) -> gradients.ValuesAndGradients:
        """Return expectation values and their derivatives with respect to all symbols, for all points of a sweep.

        They are exact, by adjoint differentiation, which takes little more than three runs however many symbols there
        are; many points share one call. Of circuits with mixtures of unitary matrices they are those of the mean over
        `trajectories` of the simulator, if it was given, with the seed that a run of the values would have. The circuit
        begins in |0…0⟩. Exponents are in half turns, and derivatives per unit of the symbol.
        Raises `NotSupported` for a simulator with noise, for circuits whose final state is random, and for symbols in
        gates that become matrices, `CircuitError` for coefficients that are not real.
        """
        if self._noise is not cirq.NO_NOISE:
            raise NotSupported("gradient: expected a simulator without noise, got a noise model; leave it out.")
        order = order_of(program, qubit_order)
        sums = pauli_sums(observables, order)
        runner = self._runner
        return gradients.values_and_gradients(
            self._engine, program, params, order, sums, runner.trajectories, runner.seed
        )

    @point_by_point
    def _estimates(
        self,
        program: cirq.AbstractCircuit,
        observables: PauliSumLike | list[PauliSumLike],
        params: cirq.Sweepable,
        qubit_order: cirq.QubitOrderOrList,
        initial_state: object,
        permit_terminal_measurements: bool,
    ) -> Iterator[Estimates]:
        order = order_of(program, qubit_order)
        require_no_end(program, permitted=permit_terminal_measurements)
        sums = pauli_sums(observables, order)
        initial = initial_of(initial_state, order)

        def followed(resolver: cirq.ParamResolver) -> Estimates:
            *_, step = self.simulate_moment_steps(program, resolver, order, initial_state)
            return estimates_of(step.engine_state(), sums, 1)

        try:
            yield from together_or_each(
                lambda points: self._runner.estimates(program, points, order, initial, sums), params, followed
            )
        except OutOfMemory as error:
            say_in_qids(error, order)
            raise
