"""Expectation values of Cirq's circuits with their derivatives with respect to all symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex import ParameterSweepBuilder, PauliSum, Simulator
from qsim_ex.errors import NotSupported, ParameterError
from qsim_ex.frameworks import DifferentiatedSweep, NeedsNumbers, Probes
from qsim_ex_cirq.translation.circuits import order_of, translator_of
from qsim_ex_cirq.translation.noise import noisy_operations
from qsim_ex_cirq.translation.sweep import ResolverColumns, number_or_column


@dataclass(frozen=True, eq=False)
class ValuesAndGradients:
    """Expectation values at all points of a sweep, and their derivatives.

    values: float64 [points, observables]. gradients: float64 [points, observables, symbols]. symbols: their names.
    errors: the standard errors of values that are means over trajectories; None where they are exact.
    """

    values: NDArray[np.float64]
    gradients: NDArray[np.float64]
    symbols: tuple[str, ...]
    errors: NDArray[np.float64] | None = None


def differentiated(
    program: cirq.AbstractCircuit, qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT
) -> DifferentiatedSweep:
    """Return a circuit ready for values of its symbols, whose `names` are those of the symbols in ascending order.

    Qubit k of n in the order is wire n − 1 − k. Raises `NotSupported` for a symbol in a gate that becomes a matrix.
    """
    order = order_of(program, qubit_order)

    def translated(probes: Probes) -> ParameterSweepBuilder:
        translator = translator_of(order, True, ParameterSweepBuilder, partial(number_or_column, probes))
        operations = noisy_operations(program, cirq.NO_NOISE, False)
        translator.operations(operations, lambda op: not cirq.is_parameterized(op))
        assert isinstance(translator.builder, ParameterSweepBuilder)
        return translator.builder

    try:
        return DifferentiatedSweep.of(translated, sorted(cirq.parameter_names(program)))
    except NeedsNumbers as error:
        raise NotSupported(
            f"gradient: expected symbols in gates of the gate table, got another: {error}; decompose the circuit."
        ) from error


def values_and_gradients(
    simulator: Simulator,
    program: cirq.AbstractCircuit,
    params: cirq.Sweepable,
    order: tuple[cirq.Qid, ...],
    sums: Sequence[PauliSum],
    trajectories: int | None,
    seed: Callable[[], int],
) -> ValuesAndGradients:
    """Return values and derivatives; see `QsimExSimulator.simulate_expectation_values_and_gradients`.

    seed: returns that of the next point.
    """
    sweep, resolvers = differentiated(program, order), list(cirq.to_resolvers(params))
    columns = ResolverColumns(resolvers)
    try:
        given = np.array([columns[name] for name in sweep.names]).reshape(len(sweep.names), len(resolvers)).T
    except NeedsNumbers as error:
        raise ParameterError(f"gradient: expected a number for each symbol, but {error}; give one.") from error
    seeds = None if trajectories is None else [seed() for _ in resolvers]
    found = sweep.gradient(simulator, given, sums, trajectories, seeds)
    return ValuesAndGradients(found.values, found.jacobian, sweep.names, found.errors)
