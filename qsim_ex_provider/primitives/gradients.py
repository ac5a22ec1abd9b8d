"""Values and gradients of circuits of Qiskit, with respect to their parameters, by adjoint differentiation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from qiskit.circuit import Parameter, QuantumCircuit
from qiskit.primitives.containers.observables_array import ObservablesArray

from qsim_ex import Options, PauliSum, Simulator
from qsim_ex.errors import NotSupported, ParameterError
from qsim_ex.frameworks import DifferentiatedSweep, NamedGradient, NeedsNumbers, ParameterSweepBuilder, Probes
from qsim_ex.options import OptionKeywords
from qsim_ex_provider.primitives.estimator import EstimatorV2, pauli_sum, sparse_observables
from qsim_ex_provider.translation.circuits import known_translations, reading_of
from qsim_ex_provider.translation.library import emit
from qsim_ex_provider.translation.translator import Translator
from qsim_ex_provider.translation.walk import columns_of


def value_and_gradient(
    simulator: Simulator,
    circuit: QuantumCircuit,
    observables: object,
    values: ArrayLike,
    *,
    trajectories: int | None = None,
    seeds: int | Sequence[int] | None = None,
) -> NamedGradient:
    """Return expectation values and their derivatives with respect to all parameters of a circuit.

    observables: one of what `EstimatorV2` takes, or several in a list; all share the run. values: of the parameters in
    the order of ``circuit.parameters``, [parameters] or, for many points in one call, [points, parameters].
    trajectories, seeds: of circuits with mixtures of unitary matrices, as of `Simulator.gradient`.
    The result has `values` [points, observables], `jacobian` [points, observables, parameters], and `errors`, the
    standard errors of values where they are means over trajectories.
    Raises `ParameterError` for values of another shape, and what `Simulator.gradient` raises.
    """
    given = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if given.ndim != 2 or given.shape[1] != circuit.num_parameters or not np.isfinite(given).all():
        raise ParameterError(
            f"gradient: expected finite values of shape [points, {circuit.num_parameters}], one for each parameter of "
            f"circuit {circuit.name!r}, got an array of shape {np.shape(values)}; pass them in the order of "
            "circuit.parameters."
        )
    return differentiated(circuit).gradient(simulator, given, sums_of(observables), trajectories, seeds)


def sums_of(observables: object) -> list[PauliSum]:
    """Return one observable of Qiskit, or several, as the engine's."""
    array = ObservablesArray.coerce(observables)
    return [pauli_sum(one) for one in sparse_observables(array)]


def differentiated(circuit: QuantumCircuit) -> DifferentiatedSweep:
    """Return a circuit ready for values of its parameters, translated once as long as it is not changed.

    Raises `NotSupported` for a parameter in an operation that becomes a matrix, of which no derivative is known.
    """
    read = columns_of(circuit)
    reading = reading_of(circuit, read)
    known: DifferentiatedSweep | None = known_translations.get(circuit, "gradient", reading) if reading else None
    if known is not None:
        return known

    def translated(probes: Probes) -> ParameterSweepBuilder:
        builder = ParameterSweepBuilder(circuit.num_qubits, circuit.num_clbits)
        Translator(builder, emit, probes, without_phase=True).whole(circuit, read)
        return builder

    try:
        made = DifferentiatedSweep.of(translated, [parameter.name for parameter in circuit.parameters])
    except NeedsNumbers as error:
        raise NotSupported(
            f"gradient: expected parameters in gates of the gate table, got one in {error}; decompose the circuit."
        ) from error
    if reading is not None:
        known_translations.put(circuit, "gradient", reading, made, read.count)
    return made


def gradients_of(
    simulator: Simulator,
    circuits: Sequence[QuantumCircuit],
    observables: Sequence[object],
    values: Sequence[Sequence[float]],
    parameters: Sequence[Sequence[Parameter]],
) -> list[NDArray[np.float64]]:
    """Return the derivatives of many values, each of a circuit and an observable, with respect to some parameters.

    Points of one circuit and one observable, the same objects, are worked on together.
    """
    alike: dict[tuple[int, int], list[int]] = {}
    for number, pair in enumerate(zip(map(id, circuits), map(id, observables), strict=True)):
        alike.setdefault(pair, []).append(number)
    found: list[NDArray[np.float64]] = [np.empty(0)] * len(circuits)
    for members in alike.values():
        circuit, observable = circuits[members[0]], observables[members[0]]
        points = np.array([values[number] for number in members], dtype=np.float64)
        jacobian = value_and_gradient(simulator, circuit, observable, points).jacobian[:, 0]
        places = {parameter: k for k, parameter in enumerate(circuit.parameters)}
        for row, number in zip(jacobian, members, strict=True):
            found[number] = row[[places[parameter] for parameter in parameters[number]]]
    return found


def simulator_of(estimator: EstimatorV2 | None, options: OptionKeywords) -> Simulator:
    """Return a simulator with the options of an estimator, and others in their place."""
    known = Options() if estimator is None else estimator.options
    return Simulator(known, **options)
