"""Exact means for benchmarks with random outcomes, from definitions: matrices on all wires, and sums over all bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.gates import Gate, parts
from benchmarks.means import Means


def embedded(matrix: np.ndarray, wires: Sequence[int], n: int) -> np.ndarray:
    """A matrix on some wires as one on all: entry (i, j) is that of the wires' bits where all other bits are equal."""
    found = np.zeros((1 << n, 1 << n), dtype=np.complex128)
    rest = ~sum(1 << wire for wire in wires)
    for i in range(1 << n):
        for j in range(1 << n):
            if i & rest == j & rest:
                row, column = (sum((x >> wire & 1) << k for k, wire in enumerate(wires)) for x in (i, j))
                found[i, j] = matrix[row, column]
    return found


def unitary(gate: Gate, n: int) -> np.ndarray:
    """A gate on all wires; where a control is 0 nothing happens."""
    found = parts(gate)
    size = 1 << len(found.controls)
    whole = np.eye(size * len(found.matrix), dtype=np.complex128)
    last = np.arange(len(found.matrix)) * size + size - 1  # controls are the lowest bits, and all of them are 1
    whole[np.ix_(last, last)] = found.matrix
    return embedded(whole, (*found.controls, *found.targets), n)


def means(probabilities: np.ndarray, bits: int) -> Means:
    """Return the limit of `Means.of_bits` for many shots with these probabilities [..., 2^bits]."""
    every = np.arange(1 << bits)[:, None] >> np.arange(bits) & 1
    both = np.concatenate([every, every ^ np.roll(every, 1, axis=1)], axis=1)
    values = probabilities @ both
    return Means(values, np.zeros(values.shape))
