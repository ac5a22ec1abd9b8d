"""`EstimatorV2`: Qiskit's estimator on the engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qiskit.primitives import BaseEstimatorV2, DataBin, PrimitiveJob, PrimitiveResult, PubResult
from qiskit.primitives.containers.estimator_pub import EstimatorPub
from qiskit.quantum_info import SparseObservable

from qsim_ex import Options, PauliString, PauliSum
from qsim_ex.circuit import check
from qsim_ex.errors import OptionError
from qsim_ex_provider.asked import groups
from qsim_ex_provider.noise import noise_of
from qsim_ex_provider.pubs import Runs, Swept, coerced, engine_options, seed_sequence, swept
from qsim_ex_provider.work import digest


class EstimatorV2(BaseEstimatorV2):
    """Expectation values of observables on qsim-ex's state vectors.

    default_precision: the standard error of a PUB where neither it nor `run` names one. With 0 values are exact; with
    another one, normal noise of that standard deviation is added to them, and `stds` says so.
    trajectories: of how many a value is the mean where a circuit leaves something to chance; `stds` holds its standard
    error. None leaves the number to the engine, which takes 1,000.
    noise_model: as of the backend, a `NoiseModel` of qiskit_aer.noise or of `qsim_ex.circuit.noise.model`. Readout
    errors change values where conditions read what was measured.
    seed: the same seed gives the same noise; fresh for each call of `run` if None. All other options are those of
    `qsim_ex.Options`; `precision` is the amplitudes', 'double' or 'single'. Raises `OptionError`.
    """

    def __init__(
        self,
        *,
        default_precision: float = 0.0,
        trajectories: int | None = None,
        noise_model: Any = None,
        **options: Any,
    ) -> None:
        self._default_precision = _checked(default_precision, "default_precision")
        self._trajectories = None if trajectories is None else check.shots(trajectories)
        self._noise = noise_of(noise_model)
        self._options = engine_options(options, "default_precision", "trajectories", "noise_model")

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
        once, and runs once for each binding; bindings are worked on together. Measurements at its end are ignored.
        What is wrong with PUBs is raised here (`CircuitError`, `ParameterError`, `OptionError`), and what shows only
        when they run by the job's `result`: `NotSupported`, `OutOfMemory`, `DeviceError`.
        """
        default = self._default_precision if precision is None else _checked(precision, "precision")
        work = []
        for number, given in enumerate(pubs):
            pub = coerced(EstimatorPub, given, number, default, 2)
            _checked(pub.precision, f"PUB {number}: precision")
            sums = [_pauli_sum(one) for one in pub.observables.sparse_observables_array().reshape(-1)]
            work.append(_Work(pub, swept(pub.circuit, pub.parameter_values, self._noise), sums))
        job = PrimitiveJob(_run, work, self._options, self._trajectories)
        job._submit()
        return job


@dataclass(frozen=True, slots=True)
class _Work:
    pub: EstimatorPub
    swept: Swept
    sums: Sequence[PauliSum]


def _run(work: Sequence[_Work], options: Options, trajectories: int | None) -> PrimitiveResult:
    most = sum(one.pub.size * len(one.swept.families) for one in work)  # runs that there may be
    runs = Runs(options, lambda: digest(trajectories, *((one.swept.key(), *one.sums) for one in work)), most)
    found = [_estimate(one, runs, trajectories, seed_sequence(runs.seed, k)) for k, one in enumerate(work)]
    runs.end()
    return PrimitiveResult(found, metadata={"version": 2, "seed": runs.seed})


def _estimate(work: _Work, runs: Runs, trajectories: int | None, seeds: np.random.SeedSequence) -> PubResult:
    """All bindings of one PUB, their values with the noise that its precision asks for."""
    begin = perf_counter()
    pub, precision = work.pub, float(work.pub.precision)
    values, errors, where = _exact(work, runs, trajectories, _seeds(seeds, pub.parameter_values.size))
    evs, stds = values.reshape(pub.shape), np.hypot(errors, precision).reshape(pub.shape)
    if precision:
        evs = np.asarray(np.random.default_rng(seeds).normal(evs, precision))
    about = {"precision": runs.options.precision, **where, "seconds": perf_counter() - begin}
    metadata = {"target_precision": precision, "circuit_metadata": pub.circuit.metadata, **about}
    return PubResult(DataBin(evs=evs, stds=stds, shape=pub.shape), metadata=metadata)


def _exact(
    work: _Work, runs: Runs, trajectories: int | None, seeds: NDArray[np.uint64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[str, Any]]:
    """Values and errors, float64 [size of the PUB], and where they were found.

    Each binding runs once, and is asked for the distinct observables that it meets and few others.
    """
    pub = work.pub
    numbers: dict[PauliSum, int] = {}  # of the distinct observables
    of = np.array([numbers.setdefault(one, len(numbers)) for one in work.sums], dtype=np.intp)
    bindings = np.arange(pub.parameter_values.size).reshape(pub.parameter_values.shape)
    pairs = [flat.reshape(-1) for flat in np.broadcast_arrays(bindings, of.reshape(pub.observables.shape))]
    distinct, values, errors = list(numbers), np.zeros(pub.size), np.zeros(pub.size)
    where: dict[str, Any] = {}
    for group in groups(*pairs):
        for family in work.swept.families:
            some = family.of(np.flatnonzero(np.isin(family.place, group.bindings)))
            if not len(some):
                continue
            result = runs.simulator().run_batch(
                some.template,
                some.bindings(),
                seeds=seeds[some.place].tolist(),
                observables=[distinct[k] for k in group.observables.tolist()],
                trajectories=trajectories,
                readout=work.swept.readout_errors,
            )
            at, rows, columns = group.of(some.place)
            values[at], errors[at] = result.values[rows, columns], result.errors[rows, columns]
            where = {"device": result.device, "placement": result.placement}
            if result.trajectories is not None:
                where["trajectories"] = result.trajectories
    return values, errors, where


def _seeds(seeds: np.random.SeedSequence, count: int) -> NDArray[np.uint64]:
    """A seed for each binding, for what a circuit leaves to chance; apart from the noise that a precision adds."""
    assert isinstance(seeds.entropy, int)
    apart = np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, 0))
    return apart.generate_state(count, np.uint64).astype(np.uint64, copy=False)


def _pauli_sum(observable: SparseObservable) -> PauliSum:
    """An observable of Qiskit; projectors among its letters are expanded into Pauli strings."""
    terms = observable.as_paulis().to_sparse_list()
    return PauliSum(tuple(PauliString.parse(letters, wires, float(c.real)) for letters, wires, c in terms))


def _checked(precision: Any, name: str) -> float:
    """A standard error; raises `OptionError`."""
    if isinstance(precision, bool) or not isinstance(precision, int | float | np.number) or not 0 <= precision < np.inf:
        raise OptionError(f"{name}={precision!r}: a standard error is wanted, 0 (exact) or more.")
    return float(precision)
