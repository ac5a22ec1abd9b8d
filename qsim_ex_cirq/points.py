"""The points of sweeps at work: sampled, brought to their final states, or asked for values, many at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import cirq
import numpy as np

from qsim_ex import PauliSum, Result, Simulator
from qsim_ex.errors import OptionError
from qsim_ex_cirq.final import FinalState
from qsim_ex_cirq.observables import undisturbed, value_of
from qsim_ex_cirq.results import ResultDict, records_of
from qsim_ex_cirq.states import Initial
from qsim_ex_cirq.sweep import translate_sweep
from qsim_ex_cirq.together import FINAL, SavedState, bits_of, chunks, run_together
from qsim_ex_cirq.translation import Translation

End = FinalState | SavedState


class Estimates(NamedTuple):
    """Expectation values of one point of a sweep: exact, or means over trajectories.

    values: of each observable; complex only where a coefficient is. errors: their standard errors, 0 where exact.
    trajectories: how many the values are means of; None where they are exact. Those of one trajectory have no errors.
    """

    values: list[float]
    errors: list[float]
    trajectories: int | None


class Seeds:
    """The seeds of a simulator's runs, from what Cirq takes for a seed; equal ones give equal runs in the same order.

    A number that was given is the seed of the first run, so the engine, or another framework's simulator, draws the
    same shots from it. Raises `OptionError`.
    """

    def __init__(self, given: Any) -> None:
        try:
            generator: Any = cirq.value.parse_random_state(given)
            self._draw = generator.integers if isinstance(generator, np.random.Generator) else generator.randint
        except (ValueError, TypeError, AttributeError) as error:
            raise OptionError(
                f"expected a number, a random state of NumPy, or None, got seed={given!r} ({error}); pass seed=7."
            ) from error
        self._first = deque([int(given)] if isinstance(given, int | np.integer) else [])

    def __call__(self) -> int:
        """The seed of the next run."""
        with suppress(IndexError):  # and not a check first, which two threads could pass
            return self._first.popleft()
        return int(self._draw(1 << 62, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Points:
    """Works on the points of sweeps with an engine and a noise model.

    trajectories: how many a value is the mean of where something is left to chance; the engine's number if None.
    seed: gives the seed of each next point.
    """

    engine: Simulator
    noise: cirq.NoiseModel
    trajectories: int | None
    seed: Seeds

    def samples(
        self,
        programs: Sequence[cirq.AbstractCircuit],
        resolvers: Sequence[Sequence[cirq.ParamResolver]],
        shots: int,
    ) -> Iterator[ResultDict]:
        """Sample circuits for their resolvers, all in one, each point with the next seed; results in their order."""
        how: dict[str, Any] = {"noise": self.noise, "sampled": True}
        pairs = zip(programs, resolvers, strict=True)
        translations = [one for program, points in pairs for one in translate_sweep(program, points, **how)]
        points = [point for some in resolvers for point in some]
        seeds = [self.seed() for _ in points]
        if len(points) == 1:
            result = self.engine.run(
                translations[0].circuit, shots=shots, seed=seeds[0], readout=translations[0].readout
            )
            yield _result_dict(points[0], translations[0], result)
            return
        found = run_together(self.engine, translations, seeds, shots=shots)
        for resolver, point in zip(points, found, strict=True):
            yield _result_dict(resolver, point.translation, point.batch[point.member])

    def states(
        self, program: cirq.AbstractCircuit, params: cirq.Sweepable, order: tuple[cirq.Qid, ...], initial: Initial
    ) -> Iterator[tuple[cirq.ParamResolver, End]]:
        """The state at the end of each point, measured where the circuit says so; it lives until the next is asked for.

        Where the circuit leaves something to chance, each is one trajectory.
        """
        for resolvers in chunks(params, len(order), self.engine.options.dtype):
            began = perf_counter()
            translations = self._translated(program, resolvers, order, initial)
            seeds = [self.seed() for _ in resolvers]
            yield from zip(resolvers, self._states(translations, seeds, initial, began), strict=True)

    def estimates(
        self,
        program: cirq.AbstractCircuit,
        params: cirq.Sweepable,
        order: tuple[cirq.Qid, ...],
        initial: Initial,
        sums: Sequence[PauliSum],
    ) -> Iterator[Estimates]:
        """The expectation values of each point: means over trajectories where the circuit leaves something to chance.

        Where that is nothing but measurements at its end, they are those of the state that was found.
        """
        for resolvers in chunks(params, len(order), self.engine.options.dtype):
            began = perf_counter()
            translations = self._translated(program, resolvers, order, initial)
            seeds = [self.seed() for _ in resolvers]
            vector = None if isinstance(initial, int) else initial
            measured = translations[0].at_end
            if any(one.leaves_to_chance for one in translations):
                yield from self._means(_beginning(translations, vector), seeds, sums)
            elif measured or vector is not None:
                for final in self._states(translations, seeds, initial, began):
                    assert isinstance(final, FinalState)  # which measured states and those from a vector are
                    yield _of_state(final.expectation(sums), sums, 1 if measured else None)
            elif len(resolvers) > 1:
                yield from self._means(translations, seeds, sums)
            else:
                with self.engine.state(translations[0].circuit) as state:
                    yield _of_state(state.expectation(list(sums)), sums, None)

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
        self, translations: Sequence[Translation], seeds: Sequence[int], initial: Initial, began: float
    ) -> Iterator[End]:
        """Points are worked on together where there are several, unless they begin in a vector and nothing is random.

        What is measured at the end is measured in each state for itself, so that seeds give what they give alone.
        """
        timings = {"translate": perf_counter() - began}
        vector = None if isinstance(initial, int) else initial
        chance = any(one.leaves_to_chance for one in translations)
        if not chance and (len(seeds) == 1 or vector is not None):
            circuits = ((one, one.sweep.circuit(k)) for one in translations for k in range(one.sweep.count))
            for (translation, circuit), seed in zip(circuits, seeds, strict=True):
                with self.engine.state(circuit, initial=vector) as state:
                    yield FinalState(state, translation, seed, timings, began)
            return
        labelled = [one.saving(FINAL) for one in _beginning(translations, vector)]
        shots = 1 if any(one.measures_midway for one in translations) else None
        for point, seed in zip(run_together(self.engine, labelled, seeds, shots=shots), seeds, strict=True):
            saved = SavedState(point)
            if not point.translation.at_end:
                yield saved
                continue
            with self.engine.state(num_wires=len(point.translation.qubits)) as state:
                state.set(saved.vector())
                yield FinalState(state, point.translation, seed, timings, began, bits_of(point))

    def _means(
        self, translations: Sequence[Translation], seeds: Sequence[int], sums: Sequence[PauliSum]
    ) -> Iterator[Estimates]:
        """All points together; each value is exact, or a mean over trajectories."""
        observables = [undisturbed(one, translations[0].at_end) for one in sums]
        how: dict[str, Any] = {"observables": observables, "trajectories": self.trajectories}
        for point in run_together(self.engine, translations, seeds, **how):
            values, errors = point.batch.values[point.member], point.batch.errors[point.member]
            yield Estimates(_values(values, sums), errors.tolist(), point.batch.trajectories)


def _beginning(translations: Sequence[Translation], vector: Any) -> Sequence[Translation]:
    return translations if vector is None else [one.beginning_in(vector) for one in translations]


def _of_state(found: np.ndarray, sums: Sequence[PauliSum], trajectories: int | None) -> Estimates:
    return Estimates(_values(found, sums), [0.0] * len(sums), trajectories)


def _values(found: np.ndarray, sums: Sequence[PauliSum]) -> list[Any]:
    return [value_of(value, one) for value, one in zip(found.tolist(), sums, strict=True)]


def _result_dict(resolver: cirq.ParamResolver, translation: Translation, result: Result) -> ResultDict:
    """Cirq's result of one point."""
    records = records_of(translation.measurements, result.bits())
    return ResultDict(params=resolver, records=records, engine_result=result)
