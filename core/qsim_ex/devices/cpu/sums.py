"""Sums over the amplitudes of the CPU device's buffers, of one state or of every row of a batch.

Each function does what the method of its name in `devices.base` does, on up to `threads` threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import When, mask_of
from qsim_ex.errors import InvalidInput
from qsim_ex.kernels.cpu import sums

Buffer = NDArray[np.complexfloating[Any, Any]]

_UNIT_BITS = 16  # at least 2^16 amplitudes for each unit
_BLOCK_BITS = 10  # amplitudes that are neighbours in memory
_MASKS = 256  # Z-masks that share a pass: their totals of a block are 4 MiB


def marginals(buffer: Buffer, num_bits: int, bits: Sequence[int], when: When, threads: int) -> NDArray[np.float64]:
    """Return for each row the sums of |amplitude|² over all indices at which `when` holds, float64 [rows, 2^bits]."""
    width = min(num_bits, _BLOCK_BITS)
    inside = (1 << width) - 1
    named = [bit for bit in range(width) if bit in bits or when.mask >> bit & 1]
    folded = np.array([bit for bit in reversed(range(width)) if bit not in named], dtype=np.int64)
    below = offsets_of(named)
    bins = np.zeros_like(below)
    for k, bit in enumerate(bits):
        if bit < width:
            bins |= (below >> bit & 1) << k
    bins[below & when.mask != when.value & inside] = -1
    chosen_bits = sorted(bit for bit in bits if bit >= width)
    groups = np.arange(1 << len(chosen_bits), dtype=np.int64)
    group_bin = np.zeros_like(groups)
    for k, bit in enumerate(chosen_bits):
        group_bin |= (groups >> k & 1) << list(bits).index(bit)
    chosen = mask_of(tuple(chosen_bits))
    rest = ((1 << num_bits) - 1) & ~inside & ~chosen & ~when.mask
    share = max(0, min(6 - len(chosen_bits), width + rest.bit_count() - _UNIT_BITS))
    above = chosen, rest, when.value & ~inside
    num_bins = 1 << len(bits)
    out = sums.marginals(buffer, 1 << num_bits, folded, bins, above, share, group_bin, num_bins, threads)
    return np.asarray(out.sum(axis=1))


def inner(left: Buffer, right: Buffer, threads: int) -> complex:
    """Return Σ conj(left)·right."""
    if left.dtype != right.dtype:
        raise InvalidInput(f"expected an inner product of one dtype, got {left.dtype} with {right.dtype}; convert one.")
    width = min(left.size, 1 << _BLOCK_BITS)
    units = _units(left.size)
    return complex(*sums.inner(left, right, width, units, threads).sum(axis=0))


def paulis(
    buffer: Buffer, num_bits: int, parts: Sequence[tuple[int, Sequence[int]]], threads: int
) -> NDArray[np.complex128]:
    """Return for each row, each x and each of its masks z: Σ_i conj(a[i XOR x]) · (−1)^parity(i & z) · a[i]."""
    passes = [(x, zs[k : k + _MASKS]) for x, zs in parts for k in range(0, len(zs), _MASKS)]
    out = np.empty((buffer.size >> num_bits, sum(len(zs) for _, zs in passes)), dtype=np.complex128)
    at = 0
    for x, zs in passes:
        _pauli(buffer, num_bits, x, zs, out[:, at : at + len(zs)], threads)
        at += len(zs)
    return out


def _pauli(buffer: Buffer, num_bits: int, x: int, zs: Sequence[int], out: NDArray[np.complex128], threads: int) -> None:
    """Compute one pass of `paulis`, into complex128 [rows, len(zs)]."""
    size = 1 << num_bits
    width = min(size, 1 << _BLOCK_BITS)
    masks = np.array(zs, dtype=np.int64)
    rows, units = buffer.size >> num_bits, _units(size)
    results = sums.paulis(buffer, size, x, masks, width, units, threads)
    out[...] = results.view(np.complex128).reshape(rows, units, len(zs)).sum(axis=1)


def search(
    buffer: Buffer,
    bits: Sequence[int],
    bases: NDArray[np.int64],
    runs: NDArray[np.int64],
    targets: NDArray[np.float64],
    threads: int,
) -> NDArray[np.int64]:
    """Return the value of `bits` that each target falls on: running sums behind one base after the other."""
    places = offsets_of(bits)
    bases, runs = np.ascontiguousarray(bases, np.int64), np.ascontiguousarray(runs, np.int64)
    targets = np.ascontiguousarray(targets, np.float64)
    return sums.search(buffer, places, bases, runs, targets, threads)


def offsets_of(bits: Sequence[int]) -> NDArray[np.int64]:
    """Return for each value of `bits` the index that has it there and 0 elsewhere."""
    offsets = np.zeros(1, dtype=np.int64)
    for bit in bits:
        offsets = np.concatenate([offsets, offsets | 1 << bit])
    return offsets


def _units(size: int) -> int:
    """Return the number of units of a sum over `size` amplitudes, which is the same for any number of threads."""
    return max(1, min(256, size >> _UNIT_BITS))
