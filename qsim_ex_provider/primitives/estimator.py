"""`EstimatorV2`: Qiskit's estimator on the engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from qiskit.primitives import BaseEstimatorV2, DataBin, PrimitiveJob, PrimitiveResult, PubResult
from qiskit.primitives.containers.estimator_pub import EstimatorPub
from qiskit.primitives.containers.observables_array import ObservablesArray
from qiskit.quantum_info import SparseObservable, SparsePauliOp

from qsim_ex import Options, PauliString, PauliSum, Simulator
from qsim_ex.errors import OptionError
from qsim_ex.frameworks import (
    BindingGroup,
    JobRuns,
    Remembered,
    check,
    counted,
    derived_seeds,
    digest,
    observable_groups,
    random_generator,
    shown,
    with_options,
)
from qsim_ex.options import OptionKeywords
from qsim_ex_provider.one_thread import in_turn
from qsim_ex_provider.primitives.jobs import Job
from qsim_ex_provider.primitives.options import ESTIMATOR, primitive_options
from qsim_ex_provider.primitives.pubs import changed, coerced, listed, translate_pub, where_of


@with_options(Options)
class EstimatorV2(BaseEstimatorV2):
    """Expectation values of observables on qsim-ex's state vectors.

    default_precision: the standard error of a PUB where neither it nor `run` names one; 0 if None. With 0 values are
    exact; with another one, normal noise of that standard deviation is added to them, and `stds` says so.
    trajectories: of how many a value is the mean where something in a circuit is random; `stds` holds its standard
    error. None leaves it to the engine: values of few noisy qubits are exact, and others means over 1,000.
    noise_model: as of the backend, a `NoiseModel` of qiskit_aer.noise or of qsim_ex. Readout
    errors change values where conditions read what was measured.
    backend: a backend whose options are taken where no others are given; one that is not of qsim-ex is simulated, see
    `QsimExBackend.from_backend`. mode: the same, as users of qiskit-ibm-runtime write it. options: a dictionary or an
    object with options, which may be in `backend_options` and `run_options`, as users of Aer write them.
    seed: the same seed gives the same noise; fresh for each call of `run` if None. All other options are those of
    `qsim_ex.Options`; `precision` is the amplitudes', 'double' or 'single'. Raises `OptionError`.
    """

    def __init__(
        self,
        mode: object = None,
        *,
        default_precision: float | None = None,
        trajectories: int | None = None,
        noise_model: Any = None,
        backend: object = None,
        options: object = None,
        **engine_options: Unpack[OptionKeywords],
    ) -> None:
        own = {"default_precision": default_precision, "trajectories": trajectories, "noise_model": noise_model}
        keywords = {**own, **engine_options}
        chosen = primitive_options(ESTIMATOR, keywords, backend=backend, mode=mode, options=options)
        self._default_precision = _checked(chosen.own.get("default_precision", 0.0), "default_precision")
        number = chosen.own.get("trajectories")
        self._trajectories = None if number is None else check.shots(number, "trajectories")
        self._noise = chosen.own["noise_model"]
        self._options = chosen.engine
        self._simulator = Simulator(chosen.engine)

    @classmethod
    def from_backend(cls, backend: Any, **options: Any) -> Self:
        """Return an estimator with a backend's options and noise; options: more of the constructor's.

        A backend that is not of qsim-ex, fake or real, is simulated with its noise: transpile circuits for it first.
        """
        return cls(backend=backend, **options)

    def __repr__(self) -> str:
        own = {
            "default_precision": (self._default_precision, 0.0),
            "trajectories": (self._trajectories, None),
            "noise_model": (self._noise, None),
        }
        return shown("EstimatorV2", **own, **changed(self._options))

    @property
    def default_precision(self) -> float:
        """The standard error of a PUB that names none."""
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
        translated = []
        for number, given in enumerate(listed(pubs, "(circuit, observables)")):
            pub, sums = _with_sums(given, number, default)
            groups = translate_pub(pub.circuit, pub.parameter_values, self._noise)
            translated.append(_EstimatedPub(pub, groups, sums))
        job = Job(_run, translated, self._simulator, self._trajectories)
        job._submit(in_turn(self._options), self)
        return job


@dataclass(frozen=True, slots=True)
class _EstimatedPub:
    """A PUB, its bindings, and its observables, translated."""

    pub: EstimatorPub
    groups: Sequence[BindingGroup]
    sums: Sequence[PauliSum]

    def key(self) -> tuple[object, ...]:
        """Return what tells its values from others."""
        return (*(group.key() for group in self.groups), *self.sums)


_FIRST = np.zeros(1, dtype=np.intp)

_TRAJECTORIES = 0
"""The place within a PUB of the random choices of its circuit; the noise of a precision has the place of the PUB."""


def _run(pubs: Sequence[_EstimatedPub], simulator: Simulator, trajectories: int | None) -> PrimitiveResult:
    runs, options = JobRuns(simulator), simulator.options
    wires = max((one.pub.circuit.num_qubits for one in pubs), default=0)
    most = sum(one.pub.size * len(one.groups) for one in pubs)
    seed = runs.begin(lambda: digest(trajectories, *(one.key() for one in pubs)), most, options.seed, wires)
    found = []
    with counted(options.progress, "PUBs", len(pubs)) as ended:
        for number, one in enumerate(pubs):
            found.append(_estimate(one, runs, trajectories, seed, number))
            ended()
    runs.end()
    return PrimitiveResult(found, metadata={"version": 2, "seed": seed})


def _estimate(estimated: _EstimatedPub, runs: JobRuns, trajectories: int | None, seed: int, number: int) -> PubResult:
    """Estimate all values of PUB `number`, with the noise that its precision asks for."""
    begin = perf_counter()
    pub, precision = estimated.pub, float(estimated.pub.precision)
    values, errors, where = _exact(estimated, runs, trajectories, seed, number)
    evs, stds = values.reshape(pub.shape), np.hypot(errors, precision).reshape(pub.shape)
    if precision:
        evs = np.asarray(random_generator(seed, number).normal(evs, precision))
    about = {"precision": runs.options.precision, **where, "seconds": perf_counter() - begin}
    metadata = {"target_precision": precision, "circuit_metadata": pub.circuit.metadata, **about}
    return PubResult(DataBin(evs=evs, stds=stds, shape=pub.shape), metadata=metadata)


def _exact(
    estimated: _EstimatedPub, runs: JobRuns, trajectories: int | None, seed: int, number: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[str, object]]:
    """Return values and errors, float64 [size of the PUB], and where they were found.

    Each binding runs once, and is asked for the distinct observables that it meets and few others.
    """
    pub = estimated.pub
    certain = all(group.template.structure.is_certain for group in estimated.groups)
    count = pub.parameter_values.size  # seeds take time, and where nothing is random they change nothing
    seeds = np.zeros(count, dtype=np.uint64) if certain else derived_seeds(seed, count, number, _TRAJECTORIES)
    if count == len(estimated.sums) == 1:  # a loop that asks for one value after another
        distinct, pairs = estimated.sums, [_FIRST, _FIRST]
    else:
        distinct, pairs = _pairs(estimated)
    values, errors = np.zeros(pub.size), np.zeros(pub.size)
    where: dict[str, object] = {}
    for alike in observable_groups(*pairs):
        observables = [distinct[k] for k in alike.observables.tolist()]
        for group in estimated.groups:
            some = group.among(alike.bindings)
            if not len(some):
                continue
            asked: dict[str, object] = {"observables": observables, "trajectories": trajectories}
            result = some.run(runs.next(), seeds[some.places].tolist(), **asked)
            at, rows, columns = alike.of(np.array(some.places))
            values[at], errors[at] = result.values[rows, columns], result.errors[rows, columns]
            where = where_of(result)
    return values, errors, where


def _pairs(estimated: _EstimatedPub) -> tuple[Sequence[PauliSum], list[NDArray[np.intp]]]:
    """Return the distinct observables, and for each value of a PUB its binding and the number of its observable."""
    pub = estimated.pub
    numbers: dict[PauliSum, int] = {}
    of = np.array([numbers.setdefault(one, len(numbers)) for one in estimated.sums], dtype=np.intp)
    bindings = np.arange(pub.parameter_values.size).reshape(pub.parameter_values.shape)
    broadcast = np.broadcast_arrays(bindings, of.reshape(pub.observables.shape))
    return list(numbers), [flat.reshape(-1) for flat in broadcast]


def pauli_sum(observable: SparseObservable) -> PauliSum:
    """Return an observable of Qiskit as the engine's; projectors among its letters become Pauli strings."""
    terms = observable.as_paulis().to_sparse_list()
    return PauliSum(tuple(PauliString.parse(letters, wires, float(c.real)) for letters, wires, c in terms))


def _checked(precision: object, name: str) -> float:
    """Return a standard error; raises `OptionError`."""
    if isinstance(precision, bool) or not isinstance(precision, int | float | np.number) or not 0 <= precision < np.inf:
        stored = "; EstimatorV2(precision='single') is how amplitudes are stored" * isinstance(precision, str)
        raise OptionError(f"expected a standard error {name} >= 0, got {precision!r}; pass 0 for exact values{stored}.")
    return float(precision)


# --- observables that are asked for again -----------------------------------------------------------------------------


def _with_sums(given: Any, number: int, default: float) -> tuple[EstimatorPub, Sequence[PauliSum]]:
    """Return PUB `number` as Qiskit's class, checked, with its observables as the engine's."""
    contents = _contents(given)
    known = None if contents is None else _known_observables.get(given[1], "observables", contents)
    pub = coerced(EstimatorPub, given if known is None else (given[0], known.array, *given[2:]), number, default, 2)
    _checked(pub.precision, f"PUB {number}: precision")
    if known is not None:
        return pub, known.sums
    sums = [pauli_sum(one) for one in sparse_observables(pub.observables)]
    if contents is not None:
        made = _Observables(pub.observables, sums)
        _known_observables.put(given[1], "observables", contents, made, contents.shape[0])
    return pub, sums


def sparse_observables(observables: ObservablesArray) -> Iterable[SparseObservable]:
    """Return the observables of a PUB, one after the other."""
    if hasattr(observables, "sparse_observables_array"):
        found: NDArray[Any] = observables.sparse_observables_array()
        return found.reshape(-1)
    # Qiskit 2.0 has dictionaries, from a label to its coefficient.
    each = np.asarray(observables, dtype=object).reshape(-1)
    return [SparseObservable.from_list(list(one.items())) for one in each]


class _Contents(NamedTuple):
    """All that an observable of Qiskit consists of; it may be changed at any time, so this is read each time."""

    shape: tuple[int, ...]
    paulis: bytes
    phases: bytes
    coefficients: bytes


class _Observables(NamedTuple):
    """The observables of a PUB: as Qiskit's array, which nobody else has, and as the engine's."""

    array: ObservablesArray
    sums: Sequence[PauliSum]


_known_observables = Remembered()
"""The observables of PUBs that have one, by the object that the user has."""


def _contents(pub: object) -> _Contents | None:
    """Return the contents of a PUB's observable; None if it is not one sum of Pauli strings with numbers."""
    if not (isinstance(pub, tuple) and len(pub) > 1 and type(pub[1]) is SparsePauliOp):
        return None
    paulis, coefficients = pub[1].paulis, pub[1].coeffs
    if coefficients.dtype != complex:
        return None
    strings = paulis.x.tobytes() + paulis.z.tobytes()
    return _Contents(paulis.x.shape, strings, paulis.phase.tobytes(), coefficients.tobytes())
