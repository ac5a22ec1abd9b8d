"""Operations on every row of a batch at once: beginning and copying rows, and sums of each row.

A row's sums run in an order that depends on its number of bits alone, so a row's result does not depend on the others.
Results are made for as many rows at a time as `WORKSPACE` holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import When
from qsim_ex.kernels.cuda.fixed.fixed import OF_SUMS, THREADS, bits_of, launch, over
from qsim_ex.kernels.cuda.runtime import Array, ByValue, HostArray, Runtime
from qsim_ex.precision import BY_DTYPE

WORKSPACE = 64 << 20
"""The bytes of results, on the device, that are computed at a time."""

MASKS = 8
"""The number of masks z of one x that `paulis` sums at once, as in fixed_kernels/paulis.cu."""

_LANES = 8
"""The bits of a thread's number in its block."""

_PAIRS = 14
"""log2 of the pairs of amplitudes that a thread block sums."""

_STEPS = 6
"""log2 of the amplitudes that a thread sums before a row's marginals are divided into parts, at most 2^8 of them."""


def begin(runtime: Runtime, buffer: Array, num_bits: int) -> None:
    """Set amplitude 0 of every row to 1; the others are unchanged."""
    rows = int(buffer.size) >> num_bits
    over(runtime, "begin_rows", BY_DTYPE[buffer.dtype], rows, buffer, rows, np.uint32(num_bits))


def take(runtime: Runtime, to: Array, source: Array, num_bits: int, rows: NDArray[np.int64]) -> None:
    """Copy row ``rows[k]`` of `source` to row k of `to`; needs 8 bytes for each row."""
    size = len(rows) << num_bits
    if size:
        chosen = runtime.upload(np.ascontiguousarray(rows, dtype=np.uint64))
        over(runtime, "take_rows", BY_DTYPE[to.dtype], size, to, source, chosen, size, np.uint32(num_bits))


def marginals(runtime: Runtime, buffer: Array, num_bits: int, bits: Sequence[int], when: When) -> NDArray[np.float64]:
    """Return for each row the sums of |amplitude|² for each value of some bits: [rows, 2^bits]."""
    rows, width = int(buffer.size) >> num_bits, 1 << len(bits)
    found = np.zeros((rows, width))
    if when.value & ~when.mask:
        return found
    free = [bit for bit in range(num_bits) if not when.mask >> bit & 1]
    low, above = free[:_LANES], free[_LANES:]
    in_block = [bit for bit in above if bit in bits]
    in_loop = [bit for bit in above if bit not in bits]
    parts = max(0, min(8 - len(in_block), len(in_loop) - _STEPS))
    masks = [sum(1 << bit for bit in chosen) for chosen in (low, in_block, in_loop)]
    unwanted = sum(1 << k for k, bit in enumerate(low) if bit not in bits)
    for first, count in pieces(rows, width << parts):
        cut = (*masks, when.value, unwanted, 1 << len(in_loop) - parts, count, num_bits, len(low), len(in_block), parts)
        blocks = -(-count << len(low) >> _LANES) << len(in_block) + parts
        sums = runtime.empty(count * width << parts, np.float64)
        launch(
            runtime, "marginals", BY_DTYPE[buffer.dtype], blocks, THREADS,
            buffer[first << num_bits :], sums, ByValue(np.array(cut, dtype=np.uint64)), bits_of(bits),
        )  # fmt: skip
        found[first : first + count] = folded(runtime, sums, count, 1 << parts, width)
    return found


def paulis(
    runtime: Runtime, buffer: Array, num_bits: int, strings: Sequence[tuple[int, Sequence[int]]]
) -> NDArray[np.complex128]:
    """Return for each row, (x, zs) and z: Σ_i conj(a[i XOR x])·(−1)^parity(i & z)·a[i]; complex128 [rows, all z]."""
    rows, width = int(buffer.size) >> num_bits, sum(len(zs) for _, zs in strings)
    found = np.zeros((rows, width), dtype=np.complex128)
    if not found.size:
        return found
    groups = list(_groups(strings))
    words = runtime.upload(np.array(groups, dtype=np.uint64))
    odd = np.array([(x & z).bit_count() & 1 for x, zs in strings for z in zs], dtype=bool)
    lanes, parts = min(_LANES, num_bits), max(0, num_bits - _PAIRS)
    for first, count in pieces(rows, width << parts):
        blocks = -(-count << lanes >> _LANES) * len(groups) << parts
        sums = runtime.empty(count * width << parts, np.float64)
        shape = [np.uint32(number) for number in (num_bits, lanes, parts)]
        launch(
            runtime, "paulis", BY_DTYPE[buffer.dtype], blocks, THREADS,
            buffer[first << num_bits :], sums, words, np.uint32(len(groups)), count, *shape, width,
        )  # fmt: skip
        real = folded(runtime, sums, count, 1 << parts, width)
        found.real[first : first + count] = np.where(odd, 0, real)
        found.imag[first : first + count] = np.where(odd, real, 0)
    return found


def _groups(strings: Sequence[tuple[int, Sequence[int]]]) -> Iterator[list[int]]:
    """Yield the words of a struct `Group` of paulis.cu for up to 8 masks at a time."""
    first = 0
    for x, zs in strings:
        below = (1 << x.bit_length() - 1) - 1 if x else (1 << 64) - 1
        for start in range(0, len(zs), MASKS):
            chosen = list(zs[start : start + MASKS])
            odd = sum(((x & z).bit_count() & 1) << k for k, z in enumerate(chosen))
            yield [x, below, len(chosen), odd, first, *chosen, *[0] * (MASKS - len(chosen))]
            first += len(chosen)


def pieces(rows: int, each: int) -> Iterator[tuple[int, int]]:
    """Yield (first row, rows) of pieces whose results, `each` numbers for a row, fit into the workspace."""
    most = max(1, WORKSPACE // (8 * each))
    for first in range(0, rows, most):
        yield first, min(most, rows - first)


def folded(runtime: Runtime, sums: Array, rows: int, parts: int, width: int) -> HostArray:
    """Return the sum of the parts of each row, [rows, width], on the host."""
    if parts > 1:
        total = runtime.empty(rows * width, np.float64)
        over(runtime, "fold_rows", OF_SUMS, rows * width, sums, total, rows * width, parts, width)
        sums = total
    found: HostArray = runtime.download(sums).reshape(rows, width)
    return found
