"""The runner of sweeps: samples, final states and expectation values of their points, many points at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import cirq
import numpy as np

from qsim_ex import Result, Simulator, frameworks
from qsim_ex.options import USUAL
from qsim_ex_cirq.batches import run_batches
from qsim_ex_cirq.final_states import FINAL, FinalState, SavedFinalState
from qsim_ex_cirq.resolvers import chunks, resolvers_of
from qsim_ex_cirq.results import ResultDict, looped_records, records_of
from qsim_ex_cirq.runs import SeedStream, SweepRuns, key_of
from qsim_ex_cirq.states import Initial
from qsim_ex_cirq.translation.observables import undisturbed, value_of
from qsim_ex_cirq.translation.sweep import translate_sweep
from qsim_ex_cirq.translation.translation import Translation

if TYPE_CHECKING:
    from qsim_ex import PauliSum, StateVector

End = FinalState | SavedFinalState


class Estimates(NamedTuple):
    """Expectation values of one point of a sweep: exact, or means over trajectories.

    values: of each observable; complex only where a coefficient is. errors: their standard errors, 0 where exact.
    trajectories: how many the values are means of; None where they are exact. Those of one trajectory have no errors.
    """

    values: list[float]
    errors: list[float]
    trajectories: int | None


@dataclass(frozen=True, slots=True)
class SweepRunner:
    """Runs the points of sweeps with an engine and a noise model.

    trajectories: how many a value is the mean of where something is random; the engine's number if None. seed: gives
    the seed of each next point.
    """

    engine: Simulator
    noise: cirq.NoiseModel
    trajectories: int | None
    seed: SeedStream

    def runs(self, params: Iterable[cirq.Sweepable]) -> SweepRuns:
        """Return the runs for the points of some sweeps; a checkpoint needs to know how many there may be."""
        counted = self.engine.options.checkpoint is not None
        most = sum(1 for sweep in params for _ in resolvers_of(sweep)) if counted else 0
        return SweepRuns(self.engine, self.seed, most)

    def samples(
        self,
        programs: Sequence[cirq.AbstractCircuit],
        resolvers: Sequence[Sequence[cirq.ParamResolver]],
        shots: int,
        runs: SweepRuns,
    ) -> Iterator[ResultDict]:
        """Sample circuits for their resolvers, all in one, each point with the next seed; results in their order."""
        how: dict[str, Any] = {"noise": self.noise, "sampled": True}
        pairs = zip(programs, resolvers, strict=True)
        translations = [one for program, points in pairs for one in translate_sweep(program, points, **how)]
        points = [point for some in resolvers for point in some]
        seeds = runs.seeds(len(points), lambda: key_of(translations, shots), _wires(translations))
        if len(points) == 1:
            result = runs.job.next().run(
                translations[0].circuit, shots=shots, seed=seeds[0], readout=translations[0].readout
            )
            yield _result_dict(points[0], translations[0], result)
            return
        found = run_batches(runs.job, translations, seeds, shots=shots)
        for resolver, point in zip(points, found, strict=True):
            yield _result_dict(resolver, point.translation, point.result())

    def batch(
        self,
        programs: Sequence[cirq.AbstractCircuit],
        resolvers: Sequence[Sequence[cirq.ParamResolver]],
        shots: Sequence[int],
    ) -> list[list[ResultDict]]:
        """Sample circuits for their resolvers, each circuit with its own number of shots."""
        runs = self.runs(resolvers)
        if len(set(shots)) > 1:  # a batch of the engine has one number of shots
            given = zip(programs, resolvers, shots, strict=True)
            found = [list(self.samples([program], [points], number, runs)) for program, points, number in given]
        else:
            results = self.samples(programs, resolvers, shots[0], runs) if shots else iter(())
            found = [list(islice(results, len(points))) for points in resolvers]
        runs.job.end()
        return found

    def states(
        self, program: cirq.AbstractCircuit, params: cirq.Sweepable, order: tuple[cirq.Qid, ...], initial: Initial
    ) -> Iterator[tuple[cirq.ParamResolver, End]]:
        """Yield the state at the end of each point, measured where the circuit says so; the next one closes it.

        Where something in the circuit is random, each is that of one trajectory.
        """
        runs = self.runs([params])
        for resolvers in chunks(params, lambda: order, self.engine.options.dtype):
            began = perf_counter()
            translations = self._translated(program, resolvers, order, initial)
            seeds = runs.seeds(len(resolvers), partial(key_of, translations, "state"), _wires(translations))
            yield from zip(resolvers, self._states(runs, translations, seeds, initial, began), strict=True)
        runs.job.end()

    def amplitudes(
        self,
        program: cirq.AbstractCircuit,
        params: cirq.Sweepable,
        order: tuple[cirq.Qid, ...],
        values: Sequence[int],
    ) -> Iterator[list[complex]]:
        """Yield the amplitudes of some basis values at each point.

        Those of separate parts are multiplied, so that memory is needed for the largest part alone.
        """
        if self.engine.options.checkpoint is not None:
            yield from (final.amplitudes(values).tolist() for _, final in self.states(program, params, order, 0))
            return
        for resolvers in chunks(params, lambda: order, self.engine.options.dtype):
            translations = self._translated(program, resolvers, order, 0)
            by_parts = self._by_parts(translations, values)
            if by_parts is not None:
                yield from by_parts
                continue
            for _, final in self.states(program, list(resolvers), order, 0):
                yield final.amplitudes(values).tolist()

    def _by_parts(self, translations: Sequence[Translation], values: Sequence[int]) -> list[list[complex]] | None:
        """Return the amplitudes of circuits in separate parts; None unless all of them are, and measure nothing."""
        if any(one.at_end or one.circuit.structure.is_one_part(observed=False) for one in translations):
            return None
        circuits = (one.sweep.circuit(k) for one in translations for k in range(one.sweep.count))
        found = []
        for circuit in circuits:
            amplitudes = frameworks.amplitudes_by_parts(self.engine, circuit, values)
            if amplitudes is None:
                return None
            found.append(amplitudes.tolist())
        return found

    def estimates(
        self,
        program: cirq.AbstractCircuit,
        params: cirq.Sweepable,
        order: tuple[cirq.Qid, ...],
        initial: Initial,
        sums: Sequence[PauliSum],
    ) -> Iterator[Estimates]:
        """Yield the expectation values of each point: means over trajectories where something in the circuit is random.

        Where only measurements at its end are, they are those of the collapsed state.
        """
        runs = self.runs([params])
        for resolvers in chunks(params, lambda: order, self.engine.options.dtype):
            began = perf_counter()
            translations = self._translated(program, resolvers, order, initial)
            seeds = runs.seeds(len(resolvers), partial(key_of, translations, *sums), _wires(translations))
            vector = None if isinstance(initial, int) else initial
            measured, stateless = translations[0].at_end, USUAL[self.engine.options.method].instead_of_state is not None
            if any(one.is_random for one in translations):
                yield from self._means(runs, _beginning(translations, vector), seeds, sums)
            elif measured or vector is not None:
                for final in self._states(runs, translations, seeds, initial, began):
                    assert isinstance(final, FinalState)  # which measured states and those from a vector are
                    yield estimates_of(final, sums, 1 if measured else None)
            elif len(resolvers) > 1 or stateless or not translations[0].circuit.structure.is_one_part(observed=True):
                yield from self._means(runs, translations, seeds, sums)
            else:
                with runs.job.next().state(translations[0].circuit) as state:
                    yield estimates_of(state, sums, None)
        runs.job.end()

    def _translated(
        self,
        program: cirq.AbstractCircuit,
        resolvers: Sequence[cirq.ParamResolver],
        order: tuple[cirq.Qid, ...],
        initial: Initial,
    ) -> list[Translation]:
        basis = initial if isinstance(initial, int) else None
        how: dict[str, Any] = {"from_zero": basis is not None, "initial": basis or 0}
        return translate_sweep(program, resolvers, order, noise=self.noise, **how)

    def _states(
        self, runs: SweepRuns, translations: Sequence[Translation], seeds: Sequence[int], initial: Initial, began: float
    ) -> Iterator[End]:
        """Yield the final states of points: run together if there are several, unless they begin in a given vector.

        Where something is random they always run together. Measurements at the end are done in each state by itself, so
        that a seed gives the same result for a point alone.
        """
        timings = {"translate": perf_counter() - began}
        vector = None if isinstance(initial, int) else initial
        random = any(one.is_random for one in translations)
        if not random and (len(seeds) == 1 or vector is not None):
            circuits = ((one, one.sweep.circuit(k)) for one in translations for k in range(one.sweep.count))
            for (translation, circuit), seed in zip(circuits, seeds, strict=True):
                with runs.job.next().state(circuit, initial=_with_ancillas(vector, translation)) as state:
                    yield FinalState(state, translation, seed, timings, began)
            return
        labelled = [one.saving(FINAL) for one in _beginning(translations, vector)]
        shots = 1 if any(one.measures_midway for one in translations) else None
        for point, seed in zip(run_batches(runs.job, labelled, seeds, shots=shots), seeds, strict=True):
            saved = SavedFinalState(point)
            if not point.translation.at_end:
                yield saved
                continue
            with runs.job.unkept().state(num_wires=point.translation.num_wires) as state:
                state.set(saved.vector())
                yield FinalState(state, point.translation, seed, timings, began, point.bits())

    def _means(
        self, runs: SweepRuns, translations: Sequence[Translation], seeds: Sequence[int], sums: Sequence[PauliSum]
    ) -> Iterator[Estimates]:
        """Yield the values of all points, run together; each is exact, or a mean over trajectories."""
        observables = [undisturbed(one, translations[0].at_end) for one in sums]
        how: dict[str, object] = {"observables": observables, "trajectories": self.trajectories}
        for point in run_batches(runs.job, translations, seeds, **how):
            values, errors = point.batch.values[point.member], point.batch.errors[point.member]
            yield Estimates(_values(values, sums), errors.tolist(), point.batch.trajectories)


def _wires(translations: Sequence[Translation]) -> int:
    """Return the most wires of any circuit."""
    return max((one.circuit.num_qubits for one in translations), default=0)


def _with_ancillas(vector: Any, translation: Translation) -> Any:
    """Return the amplitudes of a state of all wires, whose ancillas are |0⟩."""
    if vector is None or not translation.ancillas:
        return vector
    return np.concatenate([vector, np.zeros(((1 << len(translation.ancillas)) - 1) * len(vector), dtype=vector.dtype)])


def _beginning(translations: Sequence[Translation], vector: Any) -> Sequence[Translation]:
    return translations if vector is None else [one.beginning_in(vector) for one in translations]


def estimates_of(state: StateVector | FinalState, sums: Sequence[PauliSum], trajectories: int | None) -> Estimates:
    """Return the expectation values of a state."""
    return Estimates(_values(state.expectation(list(sums)), sums), [0.0] * len(sums), trajectories)


def _values(found: np.ndarray, sums: Sequence[PauliSum]) -> list[Any]:
    return [value_of(value, one) for value, one in zip(found.tolist(), sums, strict=True)]


def _result_dict(resolver: cirq.ParamResolver, translation: Translation, result: Result) -> ResultDict:
    """Return Cirq's result of one point."""
    records = records_of(translation.measurements, result.bits())
    if translation.looped:
        records |= looped_records(translation, result)
    return ResultDict(params=resolver, records=records, engine_result=result)
