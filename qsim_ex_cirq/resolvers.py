"""The resolvers of a sweep, one for each point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

import cirq
import numpy as np

from qsim_ex.frameworks import BY_DTYPE

CHUNK_BYTES = 256 << 20
"""The most bytes of states that are computed together before a sweep yields their results."""

CHUNK_POINTS = 1024
"""The most points that are computed together before a sweep yields their results."""


def chunks(
    params: cirq.Sweepable, num_qubits: Callable[[], int], dtype: np.dtype[Any]
) -> Iterator[list[cirq.ParamResolver]]:
    """Yield the resolvers of a sweep, as many at a time as are run together; a single one needs no number of qubits."""
    resolvers = resolvers_of(params)
    first = list(islice(resolvers, 2))
    if len(first) == 1:
        yield first
        return
    most = min(CHUNK_POINTS, max(1, CHUNK_BYTES // BY_DTYPE[dtype].storage.nbytes(1 << num_qubits())))
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
