"""`EstimatorV2`: Qiskit's estimator on the engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from qiskit.primitives import BaseEstimatorV2, DataBin, PrimitiveJob, PrimitiveResult, PubResult
from qiskit.primitives.containers.estimator_pub import EstimatorPub
from qiskit.quantum_info import SparseObservable

from qsim_ex import Options, PauliString, PauliSum, Simulator
from qsim_ex.errors import OptionError
from qsim_ex_provider.pubs import base_seed, coerced, engine_options, seed_sequence, swept
from qsim_ex_provider.sweep import Separate, Sweep


class EstimatorV2(BaseEstimatorV2):
    """Expectation values of observables on qsim-ex's state vectors.

    default_precision: the standard error of a PUB where neither it nor `run` names one. With 0 values are exact; with
    another one, normal noise of that standard deviation is added to them, and `stds` says so.
    seed: the same seed gives the same noise; fresh for each call of `run` if None. All other options are those of
    `qsim_ex.Options`; `precision` is the amplitudes', 'double' or 'single'. Raises `OptionError`.
    """

    def __init__(self, *, default_precision: float = 0.0, **options: Any) -> None:
        self._default_precision = _checked(default_precision, "default_precision")
        self._options = engine_options(options, "default_precision")

    @property
    def default_precision(self) -> float:
        """The standard error of a PUB where nothing else is said."""
        return self._default_precision

    @property
    def options(self) -> Options:
        """The engine's options."""
        return self._options

    def run(self, pubs: Iterable[Any], *, precision: float | None = None) -> PrimitiveJob:
        """Estimate PUBs ``(circuit, observables)``, ``(…, values)`` or ``(…, values, precision)``, in the background.

        Observables and values of parameters are broadcast against one another. A circuit is translated and planned
        once, runs once for each binding, and is asked for all observables of the binding together. Measurements at
        its end are ignored.
        What is wrong with PUBs is raised here (`CircuitError`, `ParameterError`, `OptionError`), and what shows only
        when they run by the job's `result`: `NotSupported`, `OutOfMemory`, `DeviceError`.
        """
        default = self._default_precision if precision is None else _checked(precision, "precision")
        work = []
        for number, given in enumerate(pubs):
            pub = coerced(EstimatorPub, given, number, default, 2)
            _checked(pub.precision, f"PUB {number}: precision")
            sums = [_pauli_sum(one) for one in pub.observables.sparse_observables_array().reshape(-1)]
            work.append(_Work(pub, swept(pub.circuit, pub.parameter_values), sums))
        job = PrimitiveJob(_run, work, Simulator(self._options))
        job._submit()
        return job


@dataclass(frozen=True, slots=True)
class _Work:
    pub: EstimatorPub
    sweep: Sweep | Separate
    sums: Sequence[PauliSum]


def _run(work: Sequence[_Work], simulator: Simulator) -> PrimitiveResult:
    base = base_seed(simulator.options)
    found = [_estimate(one, simulator, seed_sequence(base, number)) for number, one in enumerate(work)]
    return PrimitiveResult(found, metadata={"version": 2, "seed": base})


def _estimate(work: _Work, simulator: Simulator, seeds: np.random.SeedSequence) -> PubResult:
    """All bindings of one PUB; each runs once and is asked for the observables that it meets."""
    begin = perf_counter()
    pub, precision = work.pub, float(work.pub.precision)
    bindings = np.arange(work.sweep.count).reshape(pub.parameter_values.shape)
    observables = np.arange(len(work.sums)).reshape(pub.observables.shape)
    pairs = [flat.reshape(-1) for flat in np.broadcast_arrays(bindings, observables)]
    order = np.argsort(pairs[0], kind="stable")  # the places of the result, binding by binding
    places = np.split(order, np.searchsorted(pairs[0][order], np.arange(1, work.sweep.count)))
    values = np.zeros(pub.size)
    where: dict[str, Any] = {}
    if pub.size:
        for bound, asked in zip(work.sweep.circuits(), places, strict=True):
            with simulator.state(bound) as state:
                values[asked] = state.expectation([work.sums[k] for k in pairs[1][asked]])
                where = {"device": state.device.name, "placement": state.where.deployment.kind}
    evs = values.reshape(pub.shape)
    if precision:
        evs = np.asarray(np.random.default_rng(seeds).normal(evs, precision))
    about = {"precision": simulator.options.precision, **where, "seconds": perf_counter() - begin}
    metadata = {"target_precision": precision, "circuit_metadata": pub.circuit.metadata, **about}
    data = DataBin(evs=evs, stds=np.full(pub.shape, precision), shape=pub.shape)
    return PubResult(data, metadata=metadata)


def _pauli_sum(observable: SparseObservable) -> PauliSum:
    """An observable of Qiskit; projectors among its letters are expanded into Pauli strings."""
    terms = observable.as_paulis().to_sparse_list()
    return PauliSum(tuple(PauliString.parse(letters, wires, float(c.real)) for letters, wires, c in terms))


def _checked(precision: Any, name: str) -> float:
    """A standard error; raises `OptionError`."""
    if isinstance(precision, bool) or not isinstance(precision, int | float | np.number) or not 0 <= precision < np.inf:
        raise OptionError(f"{name}={precision!r}: a standard error is wanted, 0 (exact) or more.")
    return float(precision)
