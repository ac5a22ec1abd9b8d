"""Many points of sweeps at once: those that share a structure are one batch of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import cirq
import numpy as np

from qsim_ex import BatchResult
from qsim_ex.circuit.noise.readout import key_of as readout_key
from qsim_ex.circuit.parameters.families import families
from qsim_ex_cirq.results import Bits, Vector, last_of
from qsim_ex_cirq.runs import Runs
from qsim_ex_cirq.translation import Translation

CHUNK_BYTES = 256 << 20
"""A sweep gives its results after the states of so many bytes were worked on together, and goes on when asked to."""

CHUNK_POINTS = 1024
"""A sweep gives its results after so many points at the latest."""

FINAL = "final state"
"""The label under which final states are saved."""


def chunks(params: cirq.Sweepable, num_qubits: int, dtype: np.dtype[Any]) -> Iterator[list[cirq.ParamResolver]]:
    """The resolvers of a sweep, as many at a time as are worked on together."""
    most = min(CHUNK_POINTS, max(1, CHUNK_BYTES // (dtype.itemsize << num_qubits)))
    resolvers = resolvers_of(params)
    while chunk := list(islice(resolvers, most)):
        yield chunk


def resolvers_of(params: cirq.Sweepable) -> Iterator[cirq.ParamResolver]:
    """The resolvers of a sweep; Cirq makes of each dictionary a sweep of its own, which takes 150 µs."""
    if isinstance(params, list | tuple):
        for item in params:
            yield from resolvers_of(item)
    elif type(params) is dict and all(type(k) is str and isinstance(v, float | int) for k, v in params.items()):
        yield cirq.ParamResolver(dict(params))
    else:
        yield from cirq.to_resolvers(params)


class Point(NamedTuple):
    """One point of a sweep that was run: its translation, and the batch that it is a member of."""

    translation: Translation
    batch: BatchResult
    member: int


def run_together(runs: Runs, translations: Sequence[Translation], seeds: Sequence[int], **how: Any) -> list[Point]:
    """Run all bindings of some translations, each with its seed; points come in the order of the bindings.

    how: what `Simulator.run_batch` is asked for.
    """
    of = [translation for translation in translations for _ in range(translation.sweep.count)]
    points: list[Any] = [None] * len(of)
    sweeps = [translation.sweep for translation in translations]
    alike = [readout_key(translation.readout) for translation in translations]
    for family in families(sweeps, alike):
        places = family.place.tolist()
        chosen, readout = [seeds[place] for place in places], of[places[0]].readout
        batch = runs.engine().run_batch(family.template, family.bindings(), seeds=chosen, readout=readout, **how)
        for member, place in enumerate(places):
            points[place] = Point(of[place], batch, member)
    return points


class SavedState:
    """The final state of a point, on the host; it answers what `final.FinalState` answers.

    Nothing is measured at the end of the point's circuit. result: where and how it came about.
    """

    def __init__(self, point: Point) -> None:
        self.translation = point.translation
        result = point.batch[point.member]
        self.measurements = last_of(point.translation, bits_of(point))
        self._vector = result.saved[FINAL]
        self.result = replace(result, saved={})

    def vector(self) -> Vector:
        """The amplitudes in Cirq's order: a row of the batch's array, which is not copied."""
        return self._vector

    def amplitudes(self, values: Sequence[int]) -> Vector:
        """Those of some basis values."""
        return self.vector()[list(values)]


def bits_of(point: Point) -> Bits:
    """What a point that was run with one shot, or with none, has measured: uint8 [1, classical bits]."""
    if point.batch.packed is None:
        return np.zeros((1, point.translation.circuit.num_clbits), dtype=np.uint8)
    return point.batch[point.member].bits()
