"""`QsimExSimulator`: what ``cirq.Simulator`` is to a Cirq program, with qsim-ex behind it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from itertools import islice
from time import perf_counter
from typing import Any, cast

import cirq
import numpy as np

import qsim_ex
from qsim_ex.circuit import check
from qsim_ex.errors import CircuitError, MeasurementError, NotSupported, OptionError, nearest
from qsim_ex.options import Options, Precision
from qsim_ex_cirq.final import FinalState
from qsim_ex_cirq.noise import noise_of
from qsim_ex_cirq.observables import pauli_sum, value_of
from qsim_ex_cirq.results import QsimExTrialResult, ResultDict, Vector, records_of
from qsim_ex_cirq.states import Initial, initial_of
from qsim_ex_cirq.sweep import translate_sweep
from qsim_ex_cirq.together import FINAL, SavedState, chunks, resolvers_of, run_together
from qsim_ex_cirq.translate import Translation, order_of

_PRECISIONS: dict[np.dtype[Any], Precision] = {
    np.dtype(np.complex64): "single",
    np.dtype(np.complex128): "double",
}
_OWN = ("dtype", "noise", "seed", "split_untangled_states")
ENGINE = tuple(field.name for field in fields(Options) if field.name not in ("precision", "seed"))
"""Fields of `qsim_ex.Options` that the simulator takes as they are."""
_KNOWN = (*_OWN, *ENGINE)


class QsimExSimulator(
    cirq.SimulatesSamples,
    cirq.SimulatesAmplitudes,
    cirq.SimulatesFinalState[QsimExTrialResult],
    cirq.SimulatesExpectationValues,
):
    """Simulates circuits of qubits exactly, on a GPU or on all cores of a CPU.

    Takes the place of ``cirq.Simulator``: the same constructor, the same methods, the same result types. Every
    result has an attribute `qsim_ex` besides, which says where and how it came about. An array of amplitudes is big
    endian by the qubit order, as everywhere in Cirq.

    dtype: complex64, as in Cirq, or complex128. seed: as in Cirq. noise: as in Cirq, a noise model, or a one-qubit
    channel that befalls every qubit after every moment.
    split_untangled_states: accepted for the sake of ``cirq.Simulator``; it never changed a result there, and the
    planner needs no advice.
    engine: any other field of `qsim_ex.Options`, such as ``device="gpu"``, ``devices=[0, 1, 2, 3]``,
    ``device_wires=28``, ``max_memory``, ``threads`` or ``progress``.

    Raises `OptionError` for an unknown option and for what is no noise.
    """

    def __init__(
        self,
        *,
        dtype: Any = np.complex64,
        noise: cirq.NOISE_MODEL_LIKE = None,
        seed: cirq.RANDOM_STATE_OR_SEED_LIKE = None,
        split_untangled_states: bool = True,
        **engine: Any,
    ) -> None:
        for name in engine:
            if name not in ENGINE:
                raise OptionError(f"there is no option {name!r}.{nearest(name, _KNOWN)} Known: {', '.join(_KNOWN)}.")
        self._noise = noise_of(noise)
        self._dtype = _dtype(dtype)
        self._given, self._draw = _seeds(seed)
        self._split_untangled_states = split_untangled_states
        self._engine = qsim_ex.Simulator(Options(precision=_PRECISIONS[self._dtype], **engine))

    @property
    def noise(self) -> cirq.NoiseModel:
        """What goes wrong in every run; `cirq.NO_NOISE` if nothing does."""
        return self._noise

    # --- samples -------------------------------------------------------------------------------------------------

    def run_sweep_iter(
        self, program: cirq.AbstractCircuit, params: cirq.Sweepable, repetitions: int = 1
    ) -> Iterator[ResultDict]:
        """Sample the measurements of a circuit for each set of parameters.

        Raises `ShotsError` unless `repetitions` is a whole number from 1 up (Cirq allows 0 here), and
        `MeasurementError` if nothing is measured.
        """
        shots = check.shots(repetitions)
        _require_measurement(program)
        for resolvers in chunks(params, cirq.num_qubits(program), self._dtype):
            yield from self._samples([program], [resolvers], shots)

    def run_batch(
        self,
        programs: Sequence[cirq.AbstractCircuit],
        params_list: Sequence[cirq.Sweepable] | None = None,
        repetitions: int | Sequence[int] = 1,
    ) -> Sequence[Sequence[ResultDict]]:
        """Sample several circuits, each for all points of its sweep; those of one structure are worked on together.

        A circuit, its parameters and its repetitions are paired as in Cirq. Raises what `run_sweep_iter` raises.
        """
        sweeps, each = self._normalize_batch_args(programs, params_list, repetitions)
        shots = [check.shots(one) for one in each]
        for program in programs:
            _require_measurement(program)
        resolvers = [list(resolvers_of(sweep)) for sweep in sweeps]
        if len(set(shots)) > 1:  # a batch has one number of shots
            pairs = zip(programs, resolvers, shots, strict=True)
            return [list(self._samples([program], [points], count)) for program, points, count in pairs]
        results = self._samples(programs, resolvers, shots[0]) if shots else iter(())
        return [list(islice(results, len(points))) for points in resolvers]

    async def run_batch_async(
        self,
        programs: Sequence[cirq.AbstractCircuit],
        params_list: Sequence[cirq.Sweepable] | None = None,
        repetitions: int | Sequence[int] = 1,
    ) -> Sequence[Sequence[ResultDict]]:
        """As `run_batch`."""
        return self.run_batch(programs, params_list, repetitions)

    def _run(
        self, circuit: cirq.AbstractCircuit, param_resolver: cirq.ParamResolver, repetitions: int
    ) -> dict[str, np.ndarray]:
        """Return {key: uint8 [repetitions, instances, qubits]}; Cirq's `SimulatesSamples` asks for this one method."""
        (result,) = self._samples([circuit], [[param_resolver]], check.shots(repetitions))
        return dict(result.records)

    def _samples(
        self,
        programs: Sequence[cirq.AbstractCircuit],
        resolvers: Sequence[Sequence[cirq.ParamResolver]],
        shots: int,
    ) -> Iterator[ResultDict]:
        """Sample circuits for their resolvers, all in one, each point with the next seed; results in their order."""
        pairs = zip(programs, resolvers, strict=True)
        translations = [one for program, points in pairs for one in self._translated(program, points)]
        points = [point for some in resolvers for point in some]
        seeds = [self._seed() for _ in points]
        if len(points) == 1:
            result = self._engine.run(translations[0].circuit, shots=shots, seed=seeds[0])
            yield _result_dict(points[0], translations[0], result)
            return
        found = run_together(self._engine, translations, seeds, shots=shots)
        for resolver, point in zip(points, found, strict=True):
            yield _result_dict(resolver, point.translation, point.batch[point.member])

    # --- states --------------------------------------------------------------------------------------------------

    def simulate_sweep_iter(
        self,
        program: cirq.AbstractCircuit,
        params: cirq.Sweepable,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
        initial_state: Any = None,
    ) -> Iterator[QsimExTrialResult]:
        """Return the final state for each set of parameters; measurements at the end collapse it, as in Cirq.

        initial_state: a basis value (first qubit most significant), amplitudes, one value for each qubit, or a
        `cirq.ProductState`. Raises `StateError` if it is none of these or not normalised.
        """
        order = order_of(program, qubit_order)
        for resolver, final in self._finals(program, params, order, initial_of(initial_state, order)):
            vector, qubits = final.vector(), final.translation.qubits
            about = final.result if isinstance(final, SavedState) else final.metadata()
            yield QsimExTrialResult(resolver, final.measurements, vector, qubits, about)

    def simulate_into_1d_array(
        self,
        program: cirq.AbstractCircuit,
        param_resolver: cirq.ParamResolverOrSimilarType = None,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
        initial_state: Any = None,
    ) -> tuple[cirq.ParamResolver, Vector, tuple[cirq.Qid, ...]]:
        """Return the resolver, the final amplitudes [2^n] and the qubit order, as ``qsimcirq`` does."""
        result = self.simulate(program, param_resolver, qubit_order, initial_state)
        return result.params, result.final_state_vector, tuple(result.qubit_map)

    def simulate_moment_steps(self, *_: Any, **__: Any) -> Iterator[Any]:
        """Not supported yet: the engine reorders gates, so the state between two moments never exists."""
        raise NotSupported(
            "simulate_moment_steps is not supported yet: simulate circuit[:k] for the state after k moments."
        )

    # --- numbers -------------------------------------------------------------------------------------------------

    def compute_amplitudes_sweep_iter(
        self,
        program: cirq.AbstractCircuit,
        bitstrings: Sequence[int],
        params: cirq.Sweepable,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
    ) -> Iterator[Sequence[complex]]:
        """Return the amplitudes of basis values (first qubit most significant) for each set of parameters."""
        if np.ndim(bitstrings) != 1:
            raise CircuitError(
                f"bitstrings: a 1-dimensional list of whole numbers is wanted, got shape {np.shape(bitstrings)}."
            )
        values = [check.count(value, "a bitstring") for value in bitstrings]
        order = order_of(program, qubit_order)
        if max(values, default=0) >> len(order):
            raise CircuitError(
                f"bitstrings: {max(values)} is out of range, {len(order)} qubits have the values 0 to "
                f"{(1 << len(order)) - 1}."
            )
        for _, final in self._finals(program, params, order, 0):
            yield final.amplitudes(values).tolist()

    def simulate_expectation_values_sweep_iter(
        self,
        program: cirq.AbstractCircuit,
        observables: cirq.PauliSumLike | list[cirq.PauliSumLike],
        params: cirq.Sweepable,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
        initial_state: Any = None,
        permit_terminal_measurements: bool = False,
    ) -> Iterator[list[float]]:
        """Return the exact expectation value of each observable for each set of parameters.

        Measurements at the end are refused with `MeasurementError`, as in Cirq; if they are permitted, the values
        are those of the collapsed state. A value is complex only if a coefficient is.
        """
        if not permit_terminal_measurements and program.are_any_measurements_terminal():
            raise MeasurementError(
                "the circuit ends in measurements, which collapse the state. If that is meant, set "
                "permit_terminal_measurements=True."
            )
        wanted = observables if isinstance(observables, list) else [observables]
        order = order_of(program, qubit_order)
        sums = [pauli_sum(observable, order) for observable in wanted]
        for row in self._values(program, params, order, initial_of(initial_state, order), sums):
            yield [cast(float, value_of(value, one)) for value, one in zip(row.tolist(), sums, strict=True)]

    # --- what these are made of ----------------------------------------------------------------------------------

    def _translated(self, program: cirq.AbstractCircuit, resolvers: Sequence[cirq.ParamResolver]) -> list[Translation]:
        return translate_sweep(program, resolvers, noise=self._noise, sampled=True)

    def _values(
        self,
        program: cirq.AbstractCircuit,
        params: cirq.Sweepable,
        order: tuple[cirq.Qid, ...],
        initial: Initial,
        sums: Sequence[qsim_ex.PauliSum],
    ) -> Iterator[np.ndarray]:
        """The expectation values of each point: means over trajectories where the circuit leaves something to chance.

        Where it is measured at its end they are those of the state that was found.
        """
        if program.has_measurements() or not isinstance(initial, int):
            for _, final in self._finals(program, params, order, initial):
                assert isinstance(final, FinalState)  # which measured states and those from a vector are
                yield final.expectation(sums)
            return
        for resolvers in chunks(params, len(order), self._dtype):
            translations = translate_sweep(program, resolvers, order, noise=self._noise, initial=initial)
            seeds = [self._seed() for _ in resolvers]
            if len(resolvers) > 1 or translations[0].leaves_to_chance:
                for point in run_together(self._engine, translations, seeds, observables=sums):
                    yield point.batch.values[point.member]
            else:
                with self._engine.state(translations[0].circuit) as state:
                    yield state.expectation(sums)

    def _finals(
        self,
        program: cirq.AbstractCircuit,
        params: cirq.Sweepable,
        order: tuple[cirq.Qid, ...],
        initial: Initial,
    ) -> Iterator[tuple[cirq.ParamResolver, FinalState | SavedState]]:
        """The state at the end of each point, measured where the circuit says so; it lives until the next is asked for.

        Points are worked on together where there are several and they begin in a basis state. Where the circuit leaves
        something to chance, each is one trajectory.
        """
        basis, vector = (initial, None) if isinstance(initial, int) else (0, initial)
        how: dict[str, Any] = {"noise": self._noise, "from_zero": vector is None, "initial": basis, "label": FINAL}
        for resolvers in chunks(params, len(order), self._dtype):
            began = perf_counter()
            translations = translate_sweep(program, resolvers, order, **how)
            timings = {"translate": perf_counter() - began}
            seeds = [self._seed() for _ in resolvers]
            alone = len(resolvers) == 1 and not translations[0].leaves_to_chance
            if alone or vector is not None:
                circuits = ((one, one.sweep.circuit(k)) for one in translations for k in range(one.sweep.count))
                for resolver, (translation, circuit), seed in zip(resolvers, circuits, seeds, strict=True):
                    with self._engine.state(circuit, initial=vector) as state:
                        yield resolver, FinalState(state, translation, seed, timings, began)
                continue
            for resolver, point in zip(resolvers, run_together(self._engine, translations, seeds), strict=True):
                saved = SavedState(point)
                if not point.translation.measured:
                    yield resolver, saved
                    continue
                with self._engine.state(num_wires=len(order)) as state:
                    state.set(saved.vector())
                    yield resolver, FinalState(state, point.translation, saved.result.seed, timings, began)

    def _seed(self) -> int:
        """Return the seed of one run; a simulator with a seed gives the same runs in the same order.

        A number that was given as the seed is the seed of the first run, so the engine, or another framework's
        simulator, draws the same shots from it.
        """
        with suppress(IndexError):  # and not a check first, which two threads could pass
            return self._given.popleft()
        return int(self._draw(1 << 62, dtype=np.int64))


def _require_measurement(program: cirq.AbstractCircuit) -> None:
    """Raise `MeasurementError` for a circuit that has nothing to sample."""
    if not program.has_measurements():
        raise MeasurementError("the circuit has no measurements to sample; append cirq.measure(...).")


def _result_dict(resolver: cirq.ParamResolver, translation: Translation, result: qsim_ex.Result) -> ResultDict:
    records = records_of(translation.measurements, result.bits(), result.seed)
    return ResultDict(params=resolver, records=records, engine_result=result)


def _seeds(seed: Any) -> tuple[deque[int], Callable[..., Any]]:
    """Return the seed of the first run, if it was given, and what draws those of the others."""
    try:
        generator: Any = cirq.value.parse_random_state(seed)
        draw = generator.integers if isinstance(generator, np.random.Generator) else generator.randint
    except (ValueError, TypeError, AttributeError) as error:
        raise OptionError(f"seed={seed!r}: a number, a random state of NumPy, or None is wanted ({error}).") from error
    return deque([int(seed)] if isinstance(seed, int | np.integer) else []), draw


def _dtype(given: Any) -> np.dtype[Any]:
    for dtype in _PRECISIONS:
        with suppress(TypeError):  # what NumPy raises for what is no dtype at all
            if np.dtype(given) == dtype:
                return dtype
    raise OptionError(f"dtype={given!r}: numpy.complex64 or numpy.complex128 is wanted.")
