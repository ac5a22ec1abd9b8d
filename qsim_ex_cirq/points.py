"""The points of sweeps at work: sampled, or brought to their final states, many at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

import cirq
import numpy as np

from qsim_ex import PauliSum, Result, Simulator
from qsim_ex_cirq.final import FinalState
from qsim_ex_cirq.results import ResultDict, records_of
from qsim_ex_cirq.states import Initial
from qsim_ex_cirq.sweep import translate_sweep
from qsim_ex_cirq.together import FINAL, SavedState, chunks, run_together
from qsim_ex_cirq.translate import Translation


class Points:
    """Works on the points of sweeps with an engine and a noise model; `seed` gives the seed of each next point."""

    def __init__(self, engine: Simulator, noise: cirq.NoiseModel, seed: Callable[[], int]) -> None:
        self._engine = engine
        self._noise = noise
        self._seed = seed
        self._dtype = engine.options.dtype

    def samples(
        self,
        programs: Sequence[cirq.AbstractCircuit],
        resolvers: Sequence[Sequence[cirq.ParamResolver]],
        shots: int,
    ) -> Iterator[ResultDict]:
        """Sample circuits for their resolvers, all in one, each point with the next seed; results in their order."""
        how: dict[str, Any] = {"noise": self._noise, "sampled": True}
        pairs = zip(programs, resolvers, strict=True)
        translations = [one for program, points in pairs for one in translate_sweep(program, points, **how)]
        points = [point for some in resolvers for point in some]
        seeds = [self._seed() for _ in points]
        if len(points) == 1:
            result = self._engine.run(translations[0].circuit, shots=shots, seed=seeds[0])
            yield _result_dict(points[0], translations[0], result)
            return
        found = run_together(self._engine, translations, seeds, shots=shots)
        for resolver, point in zip(points, found, strict=True):
            yield _result_dict(resolver, point.translation, point.batch[point.member])

    def values(
        self,
        program: cirq.AbstractCircuit,
        params: cirq.Sweepable,
        order: tuple[cirq.Qid, ...],
        initial: Initial,
        sums: Sequence[PauliSum],
    ) -> Iterator[np.ndarray]:
        """The expectation values of each point: means over trajectories where the circuit leaves something to chance.

        Where it is measured at its end they are those of the state that was found.
        """
        if program.has_measurements() or not isinstance(initial, int):
            for _, final in self.finals(program, params, order, initial):
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

    def finals(
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


def _result_dict(resolver: cirq.ParamResolver, translation: Translation, result: Result) -> ResultDict:
    """Cirq's result of one point."""
    records = records_of(translation.measurements, result.bits(), result.seed)
    return ResultDict(params=resolver, records=records, engine_result=result)
