"""H|ψ⟩ for sums H of Pauli strings, on every row of a batch; the kernel is fixed_kernels/pauli_products.cu."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.observables import StoredSum
from qsim_ex.kernels.cuda.fixed.fixed import THREADS, bits_of, launch
from qsim_ex.kernels.cuda.runtime import Array, ByValue, Runtime
from qsim_ex.precision import BY_DTYPE

_CHUNK = 11
"""log2 of the amplitudes that a thread block works on at a time: 256 threads with 8 each."""

_PARTS = 16
"""log2 of the thread blocks that share the amplitudes of a row, at most."""

_CACHED = 24
"""log2 of the bytes of a state that thread blocks at work together find in the second cache."""


class _Group(NamedTuple):
    """Some X-parts of a sum: their numbers, the bits of chunks of amplitudes in the order of thread blocks."""

    sum: int
    begin: int
    end: int
    order: tuple[int, ...]


class _Words(NamedTuple):
    """Sums as the kernel reads them: X-parts with their strings' ends, and Z-parts, which begin at `strings_at`."""

    words: NDArray[np.uint64]
    coefficients: NDArray[np.complex128]
    strings_at: int
    groups: tuple[_Group, ...]


class DeviceProducts(NamedTuple):
    """States, where H|ψ⟩ goes, with which weights [rows, sums] if sums are added up, and whether it is added there."""

    states: Array
    to: Array
    num_bits: int
    weights: NDArray[np.float64] | None = None
    adds: bool = False


def pauli_products(runtime: Runtime, where: DeviceProducts, sums: Sequence[StoredSum]) -> NDArray[np.float64]:
    """Write H|ψ⟩ of each row for each sum H, [rows, sums, 2^n]; return Re ⟨ψ|H|ψ⟩, float64 [rows, sums]."""
    states, to, num_bits, weights, adds = where
    rows, precision = int(states.size) >> num_bits, BY_DTYPE[states.dtype]
    cached = _CACHED - (precision.storage.bytes.bit_length() - 1)
    given = _words(tuple(sums), num_bits, cached)
    words = runtime.upload(given.words)
    coefficients = runtime.upload(given.coefficients.view(np.float64).astype(precision.storage.real))
    own = runtime.upload(np.ones(1) if weights is None else np.ascontiguousarray(weights, dtype=np.float64))
    chunks = max(0, num_bits - _CHUNK)
    parts, run = min(_PARTS, chunks), max(0, chunks - _PARTS)
    found = np.zeros((rows, len(sums)))
    values = runtime.empty(rows * len(given.groups) << parts, np.float64)
    for number, group in enumerate(given.groups):
        later = number > 0 and (weights is not None or given.groups[number - 1].sum == group.sum)
        sizes = (
            group.begin, group.end, group.sum, len(sums), given.strings_at, num_bits, parts, run, adds or later,
            weights is not None,
        )  # fmt: skip
        launch(
            runtime, "pauli_products", precision, rows << parts, THREADS,
            states, to, values[number * rows << parts :], words, coefficients, own,
            ByValue(np.array(sizes, dtype=np.uint64)), bits_of(group.order),
        )  # fmt: skip
    shares = runtime.download(values).reshape(len(given.groups), rows, -1).sum(axis=2)
    for group, share in zip(given.groups, shares, strict=True):
        found[:, group.sum] += share
    return found


@lru_cache(maxsize=64)
def _words(sums: tuple[StoredSum, ...], num_bits: int, cached: int) -> _Words:
    """Return sums in the kernel's form; cached for loops."""
    parts: list[int] = []
    zs: list[int] = []
    coefficients: list[complex] = []
    groups: list[_Group] = []
    for number, one in enumerate(sums):
        by_x: dict[int, list[tuple[int, complex]]] = {}
        for x, z, coefficient in one:
            sign = -1 if (x & z).bit_count() & 1 else 1  # of z at the amplitude that is read, of i ^ x
            by_x.setdefault(x, []).append((z, sign * coefficient))
        for some, order in _grouped(sorted(by_x), num_bits, cached):
            begin = len(parts) // 2
            for x in some:
                strings = sorted(by_x[x], key=lambda one: one[0] >> 8 & 7)  # in which order the kernel adds them up
                zs += [z for z, _ in strings]
                coefficients += [coefficient for _, coefficient in strings]
                parts += [x, len(zs)]
            groups.append(_Group(number, begin, len(parts) // 2, order))
    words = np.array([*parts, *zs, 0], dtype=np.uint64)
    return _Words(words, np.array([*coefficients, 0], dtype=np.complex128), len(parts), tuple(groups))


def _grouped(xs: Sequence[int], num_bits: int, cached: int) -> Iterator[tuple[list[int], tuple[int, ...]]]:
    """Yield X-parts that change few bits above a chunk, and an order of thread blocks in which these come first.

    A group more costs three passes over a state, and as many X-parts or fewer are read in their own passes.
    """
    low = min(_CHUNK, num_bits)
    above = range(low, num_bits)
    left, room = list(xs), max(1, cached - low)
    while True:
        bits = 0
        for x in left:
            if ((bits | x) >> low).bit_count() <= room:
                bits |= x
        some = [x for x in left if not (x & ~bits) >> low]
        rest = [x for x in left if (x & ~bits) >> low]
        if len(rest) <= _FEW:
            some, rest = left, []
        near = [bit for bit in above if bits >> bit & 1]
        yield some, (*near, *(bit for bit in above if not bits >> bit & 1))
        if not rest:
            return
        left = rest


_FEW = 3
"""So many X-parts are read past the cache in a pass over the state that is there."""
