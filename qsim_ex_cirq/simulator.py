"""`QsimExSimulator`: what ``cirq.Simulator`` is to a Cirq program, with qsim-ex behind it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
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
from qsim_ex_cirq.results import Bits, QsimExTrialResult, ResultDict, Vector, records_of
from qsim_ex_cirq.states import initial_of
from qsim_ex_cirq.translate import order_of, translate

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
        if not program.has_measurements():
            raise MeasurementError("the circuit has no measurements to sample; append cirq.measure(...).")
        for resolver in cirq.to_resolvers(params):
            records, result = self._sample(program, resolver, shots)
            yield ResultDict(params=resolver, records=records, engine_result=result)

    def _run(
        self, circuit: cirq.AbstractCircuit, param_resolver: cirq.ParamResolver, repetitions: int
    ) -> dict[str, np.ndarray]:
        """Return {key: uint8 [repetitions, instances, qubits]}; Cirq's `SimulatesSamples` asks for this one method."""
        return dict(self._sample(circuit, param_resolver, check.shots(repetitions))[0])

    def _sample(
        self, program: cirq.AbstractCircuit, resolver: cirq.ParamResolver, shots: int
    ) -> tuple[dict[str, Bits], qsim_ex.Result]:
        translation = translate(program, resolver, noise=self._noise, sampled=True)
        seed = self._seed()
        result = self._engine.run(translation.circuit, shots=shots, seed=seed)
        return records_of(translation.measurements, result.bits(), seed), result

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
        for resolver in cirq.to_resolvers(params):
            with self._final(program, resolver, qubit_order, initial_state) as final:
                yield QsimExTrialResult(
                    resolver, final.measurements, final.vector(), final.translation.qubits, final.metadata()
                )

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
        for resolver in cirq.to_resolvers(params):
            with self._final(program, resolver, qubit_order) as final:
                yield final.state.amplitudes(values).tolist()

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
        for resolver in cirq.to_resolvers(params):
            with self._final(program, resolver, order, initial_state) as final:
                values = final.state.expectation(sums)
            yield [cast(float, value_of(value, one)) for value, one in zip(values.tolist(), sums, strict=True)]

    # --- what these are made of ----------------------------------------------------------------------------------

    def _final(
        self,
        program: cirq.AbstractCircuit,
        resolver: cirq.ParamResolver,
        qubit_order: cirq.QubitOrderOrList,
        initial_state: Any = None,
    ) -> FinalState:
        """Run a circuit to its end, measurements included."""
        began = perf_counter()
        qubits = order_of(program, qubit_order)
        initial = initial_of(initial_state, qubits)
        from_zero = isinstance(initial, int) and initial == 0
        translation = translate(program, resolver, qubits, from_zero=from_zero, noise=self._noise)
        translated = perf_counter()
        state = self._engine.state(translation.circuit, initial=None if from_zero else initial)
        try:
            return FinalState(state, translation, self._seed(), {"translate": translated - began}, began)
        except BaseException:
            state.close()
            raise

    def _seed(self) -> int:
        """Return the seed of one run; a simulator with a seed gives the same runs in the same order.

        A number that was given as the seed is the seed of the first run, so the engine, or another framework's
        simulator, draws the same shots from it.
        """
        with suppress(IndexError):  # and not a check first, which two threads could pass
            return self._given.popleft()
        return int(self._draw(1 << 62, dtype=np.int64))


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
