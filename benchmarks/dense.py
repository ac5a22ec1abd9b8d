"""The oracle: a state vector by definition, slow on purpose, for a dozen qubits at most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.gates import Gate, parts


def simulate(gates: Sequence[Gate], n: int) -> NDArray[np.complex128]:
    """Return the 2^n amplitudes (complex128, little endian) that the gates make of |0...0>."""
    state = np.zeros(2**n, dtype=np.complex128)
    state[0] = 1
    for gate in gates:
        _apply(state, gate)
    return state


def _apply(state: NDArray[np.complex128], gate: Gate) -> None:
    """Apply one gate in place: read the amplitudes of each target value, mix, write back."""
    p = parts(gate)
    every = np.arange(state.size)
    touched = p.controls + p.targets
    # Basis states whose controls are 1 and whose targets are 0: one per block that the matrix mixes.
    base = every[np.all([(every >> w) & 1 == (w in p.controls) for w in touched], axis=0)]
    offsets = [
        sum(((value >> k) & 1) << wire for k, wire in enumerate(p.targets)) for value in range(2 ** len(p.targets))
    ]
    block = base[None, :] + np.array(offsets)[:, None]
    state[block] = p.matrix @ state[block]


def relative_error(state: NDArray[np.complex128], reference: NDArray[np.complex128]) -> float:
    """Return the length of the difference over the length of the reference; phases count."""
    return float(np.linalg.norm(state - reference) / np.linalg.norm(reference))
