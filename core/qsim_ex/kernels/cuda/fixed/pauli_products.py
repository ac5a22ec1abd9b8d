"""H|ψ⟩ for sums H of Pauli strings, on every row of a batch; the kernel is fixed_kernels/pauli_products.cu."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.observables import StoredSum
from qsim_ex.kernels.cuda.fixed.fixed import THREADS, launch
from qsim_ex.kernels.cuda.runtime import Array, Runtime
from qsim_ex.precision import BY_DTYPE

_EACH = 8
"""The amplitudes of a thread, as in the kernel."""

_PARTS = 1 << 12
"""The thread blocks that share the amplitudes of a row."""


class _Words(NamedTuple):
    """Sums as the kernel reads them: ends of X-parts, X-parts with their strings' ends, Z-parts, which begin there."""

    words: NDArray[np.uint64]
    coefficients: NDArray[np.float64]
    strings_at: int


def pauli_products(
    runtime: Runtime, states: Array, to: Array, num_bits: int, sums: Sequence[StoredSum]
) -> NDArray[np.float64]:
    """Write H|ψ⟩ of each row for each sum H to `to`, [rows, sums, 2^n]; return Re ⟨ψ|H|ψ⟩, float64 [rows, sums]."""
    rows, given = int(states.size) >> num_bits, _words(tuple(sums))
    chunks = max(1, (1 << num_bits) // (THREADS * _EACH))
    parts = min(_PARTS, chunks).bit_length() - 1
    values = runtime.empty(rows * len(sums) << parts, np.float64)
    launch(
        runtime, "pauli_products", BY_DTYPE[states.dtype], rows * len(sums) << parts, THREADS,
        states, to, values, runtime.upload(given.words), runtime.upload(given.coefficients), len(sums),
        given.strings_at, np.uint32(num_bits), np.uint32(parts),
    )  # fmt: skip
    found: NDArray[np.float64] = runtime.download(values).reshape(rows, len(sums), -1).sum(axis=2)
    return found


@lru_cache(maxsize=64)
def _words(sums: tuple[StoredSum, ...]) -> _Words:
    """Return sums in the kernel's form; cached for loops."""
    ends: list[int] = []
    parts: list[int] = []
    zs: list[int] = []
    coefficients: list[complex] = []
    for one in sums:
        by_x: dict[int, list[tuple[int, complex]]] = {}
        for x, z, coefficient in one:
            sign = -1 if (x & z).bit_count() & 1 else 1  # of z at the amplitude that is read, of i ^ x
            by_x.setdefault(x, []).append((z, sign * coefficient))
        for x, strings in by_x.items():
            zs += [z for z, _ in strings]
            coefficients += [coefficient for _, coefficient in strings]
            parts += [x, len(zs)]
        ends.append(len(parts) // 2)
    words = np.array([*ends, *parts, *zs, 0], dtype=np.uint64)
    return _Words(words, np.array([*coefficients, 0], dtype=np.complex128).view(np.float64), len(ends) + len(parts))
