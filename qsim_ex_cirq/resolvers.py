"""The resolvers of a sweep, one for each point."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

import cirq
import numpy as np

from qsim_ex.frameworks import BY_DTYPE, thresholds
from qsim_ex_cirq.errors import OnlyActs

R = TypeVar("R")


def chunks(
    params: cirq.Sweepable, qubits: Callable[[], Iterable[cirq.Qid]], dtype: np.dtype[Any]
) -> Iterator[list[cirq.ParamResolver]]:
    """Yield the resolvers of a sweep, as many at a time as are run together; a single one is not asked for qubits."""
    resolvers = resolvers_of(params)
    first = list(islice(resolvers, 2))
    if len(first) == 1:
        yield first
        return
    amplitudes = math.prod([qubit.dimension for qubit in qubits()])
    now, each = thresholds.now, BY_DTYPE[dtype].storage.nbytes(amplitudes)
    most = 1 if now.resolved_bytes < each else min(now.resolved_points, now.resolved_bytes // each)
    resolvers = chain(first, resolvers)
    while chunk := list(islice(resolvers, most)):
        yield chunk


def resolvers_of(params: cirq.Sweepable) -> Iterator[cirq.ParamResolver]:
    """Yield the resolvers of a sweep, dictionaries without Cirq, which takes 150 µs to make a sweep of each."""
    if isinstance(params, list | tuple):
        for item in params:
            yield from resolvers_of(item)
    elif type(params) is dict and all(type(k) is str and isinstance(v, float | int) for k, v in params.items()):
        yield cirq.ParamResolver(dict(params))
    else:
        yield from cirq.to_resolvers(params)


def one_sweep(params: cirq.Sweepable) -> cirq.Sweepable:
    """Return sweeps of the same symbols as one, whose points run together: Cirq's `sample` runs sweep after sweep."""
    sweeps = cirq.to_sweeps(params)
    if len(sweeps) == 1 or len({frozenset(sweep.keys) for sweep in sweeps}) != 1:
        return params
    return cirq.ListSweep(chain.from_iterable(sweeps))


def together_or_each(
    together: Callable[[cirq.Sweepable], Iterator[R]], params: cirq.Sweepable, each: Callable[[cirq.ParamResolver], R]
) -> Iterator[R]:
    """Yield what a sweep gives; point by point from where an operation says only how it acts on a state."""
    given = [*params] if isinstance(params, Iterator) else params
    done = 0
    try:
        for found in together(given):
            yield found
            done += 1
    except OnlyActs:
        yield from map(each, islice(resolvers_of(given), done, None))
