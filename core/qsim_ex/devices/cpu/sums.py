"""Sums over the amplitudes of the CPU device's buffers, of one state or of every row of a batch.

Each function does what the method of its name in `devices.base` does, on up to `threads` threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import When
from qsim_ex.errors import InvalidInput
from qsim_ex.kernels.cpu.pool import in_ranges
from qsim_ex.later import later
from qsim_ex.native.library import REFUSED, address, refusal, structure, unchecked
from qsim_ex.precision import BY_DTYPE, Amplitudes

if TYPE_CHECKING:
    from qsim_ex.devices.cpu import tile_sums
else:
    tile_sums = later("qsim_ex.devices.cpu.tile_sums")

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def marginals(buffer: Amplitudes, num_bits: int, bits: Sequence[int], when: When, threads: int) -> NDArray[np.float64]:
    """Return for each row the sums of |amplitude|² over all indices at which `when` holds, float64 [rows, 2^bits]."""
    width = min(num_bits, thresholds.now.sum_block_bits)
    chosen = sum([bit >= width for bit in bits])  # bits that name a group of blocks
    rest = num_bits - width - chosen - (when.mask >> width).bit_count()  # bits above a block that are summed over
    share = max(0, min(6 - chosen, width + rest - _unit_bits()))
    out = _run_marginals(buffer, num_bits, width, share, bits, when, 1 << chosen + share, threads)
    return np.asarray(out.sum(axis=1) if share else out[:, 0])


def inner(left: Amplitudes, right: Amplitudes, threads: int) -> complex:
    """Return Σ conj(left)·right."""
    if left.dtype != right.dtype:
        raise InvalidInput(f"expected an inner product of one dtype, got {left.dtype} with {right.dtype}; convert one.")
    width = min(left.size, 1 << thresholds.now.sum_block_bits)
    units = _units(left.size)
    return complex(*_run_inner(left, right, width, units, threads).sum(axis=0))


def paulis(
    buffer: Amplitudes, num_bits: int, parts: Sequence[tuple[int, Sequence[int]]], threads: int
) -> NDArray[np.complex128]:
    """Return for each row, each x and each of its masks z: Σ_i conj(a[i XOR x]) · (−1)^parity(i & z) · a[i]."""
    if buffer.size == 1 << num_bits <= thresholds.now.sum_alone:
        return _run_small_paulis(buffer, num_bits, tuple([(x, tuple(zs)) for x, zs in parts]))[None]
    ends = np.cumsum([0, *(len(zs) for _, zs in parts)]).tolist()
    out = np.empty((buffer.size >> num_bits, ends[-1]), dtype=np.complex128)
    left = dict(enumerate(parts))
    if num_bits >= tile_sums.TILE_BITS:
        asked = tuple([(x, tuple(zs)) for x, zs in parts])
        for mask, numbers in tile_sums.passes(num_bits, asked):
            columns = [k for number in numbers for k in range(ends[number], ends[number + 1])]
            alike = tuple([asked[number] for number in numbers])
            out[:, columns] = tile_sums.tile_paulis(buffer, num_bits, mask, alike, threads)
            left = {number: part for number, part in left.items() if number not in numbers}
    for number, (x, zs) in left.items():
        for first, end in thresholds.pieces(len(zs), thresholds.now.sum_masks):
            begin = ends[number]
            _pauli(buffer, num_bits, x, zs[first:end], out[:, begin + first : begin + end], threads)
    return out


def _pauli(
    buffer: Amplitudes, num_bits: int, x: int, zs: Sequence[int], out: NDArray[np.complex128], threads: int
) -> None:
    """Compute one pass of `paulis`, into complex128 [rows, len(zs)]."""
    rows, units = buffer.size >> num_bits, _units(1 << num_bits)
    results = _run_paulis(buffer, num_bits, x, tuple(zs), units, threads).view(np.complex128)
    out[...] = results.reshape(rows, units, len(zs)).sum(axis=1)


def search(
    buffer: Amplitudes,
    bits: Sequence[int],
    bases: NDArray[np.int64],
    runs: NDArray[np.int64],
    targets: NDArray[np.float64],
    threads: int,
) -> NDArray[np.int64]:
    """Return the value of `bits` that each target falls on: running sums behind one base after the other."""
    bases, runs = np.ascontiguousarray(bases, np.int64), np.ascontiguousarray(runs, np.int64)
    targets = np.ascontiguousarray(targets, np.float64)
    return _run_search(buffer, bits, bases, runs, targets, threads)


def offsets_of(bits: Sequence[int]) -> NDArray[np.int64]:
    """Return for each value of `bits` the index that has it there and 0 elsewhere."""
    offsets = np.zeros(1, dtype=np.int64)
    for bit in bits:
        offsets = np.concatenate([offsets, offsets | 1 << bit])
    return offsets


def _unit_bits() -> int:
    """Return log2 of the least amplitudes of a unit, which has whole blocks."""
    return thresholds.now.sum_unit_blocks + thresholds.now.sum_block_bits


def _units(size: int) -> int:
    """Return the number of units of a sum over `size` amplitudes, which is the same for any number of threads."""
    bits = _unit_bits()
    return 1 if size < 1 << bits else min(256, size >> bits)


# --- the native functions: core/native/kernels/sums.cpp ---------------------------------------------------------------

_Marginal = structure("num_bits width share mask value count bits")
_Paulis = structure("size x num_zs num_above width units zs above of")
_Search = structure("bits bases runs targets num_bits")


def _run_marginals(
    state: Amplitudes, num_bits: int, width: int, share: int, bits: Sequence[int], when: When, units: int, threads: int
) -> Floats:
    """Return sums of |amplitude|² of all rows of a batch, float64 [rows, 2^share, 2^bits].

    width: log2 of the amplitudes of a block. units: of a row, 2^share for each value of the bits above a block that are
    among `bits`; those divide its blocks.
    """
    rows, named = state.size >> num_bits, np.array(bits, dtype=np.int64)
    out = np.zeros((rows, 1 << share, 1 << len(bits)), dtype=np.float64)
    single = _single(state)
    form = _Marginal(num_bits, width, share, when.mask, when.value, len(bits), address(named))
    given = address(state), single, ctypes.addressof(form), address(out)
    each = (1 << num_bits) // units
    in_ranges(unchecked("marginals"), *given, size=rows * units, each=each, threads=threads)
    return out


def _run_inner(left: Amplitudes, right: Amplitudes, width: int, units: int, threads: int) -> Floats:
    """Return Σ conj(left)·right of units, whole blocks of `width`, float64 [units, 2]."""
    out = np.empty((units, 2), dtype=np.float64)
    size = left.size // units
    given = address(left), address(right), _single(left), width, size, address(out)
    in_ranges(unchecked("inner"), *given, size=units, each=size, threads=threads)
    return out


def _run_paulis(state: Amplitudes, num_bits: int, x: int, zs: tuple[int, ...], units: int, threads: int) -> Floats:
    """Return Σ conj(a[i XOR x]) · (−1)^parity(i & z) · a[i] of units for each z of `zs`, float64 [all units, zs, 2].

    A row has 2^num_bits amplitudes; units: the ranges of i in a row.
    """
    form, _ = _paulis_form(num_bits, x, zs, units)
    out = np.empty(((state.size >> num_bits) * units, len(zs), 2), dtype=np.float64)
    given = address(state), _single(state), ctypes.addressof(form), address(out)
    in_ranges(unchecked("paulis"), *given, size=len(out), each=(1 << num_bits) // units, threads=threads)
    return out


def _run_small_paulis(
    state: Amplitudes, num_bits: int, parts: tuple[tuple[int, tuple[int, ...]], ...]
) -> NDArray[np.complex128]:
    """Return the sums of `paulis` of one state in one call, complex128 [all z of all parts]."""
    pointers, count, _ = _small_paulis_forms(num_bits, parts)
    out = np.empty(count, dtype=np.complex128)
    call = unchecked("small_paulis")
    if call(address(state), _single(state), pointers, len(parts), address(out)) == REFUSED:
        raise refusal(call)
    return out


@thresholds.depends
@lru_cache(maxsize=256)
def _small_paulis_forms(num_bits: int, parts: tuple[tuple[int, tuple[int, ...]], ...]) -> tuple[int, int, Any]:
    """Return the address of the addresses of all forms, the number of sums, and what must be kept for that."""
    forms = [_paulis_form(num_bits, x, zs, 1) for x, zs in parts]
    pointers = np.array([ctypes.addressof(form) for form, _ in forms], dtype=np.int64)
    return address(pointers), sum(len(zs) for _, zs in parts), (pointers, forms)


@thresholds.depends
@lru_cache(maxsize=1024)
def _paulis_form(num_bits: int, x: int, zs: tuple[int, ...], units: int) -> tuple[ctypes.Structure, Any]:
    """Return the form of some Pauli strings, and the arrays that it points to; cached for loops that ask them again."""
    size = 1 << num_bits
    width, masks = min(size, 1 << thresholds.now.sum_block_bits), np.array(zs, dtype=np.int64)
    above, of = np.unique(masks & -width, return_inverse=True)
    of = np.ascontiguousarray(of, dtype=np.int64)
    form = _Paulis(size, x, len(zs), len(above), width, units, address(masks), address(above), address(of))
    return form, (masks, above, of)


def _run_search(
    state: Amplitudes, bits: Sequence[int], bases: Integers, runs: Integers, targets: Floats, threads: int
) -> Integers:
    """Return the value of the searched bits of each target; see `Device.search`."""
    out, named = np.empty(len(targets), dtype=np.int64), np.array(bits, dtype=np.int64)
    form = _Search(address(named), address(bases), address(runs), address(targets), len(bits))
    given = address(state), _single(state), ctypes.addressof(form), address(out)
    in_ranges(unchecked("search"), *given, size=len(bases), each=1 << len(bits), threads=threads)
    return out


def _single(state: Amplitudes) -> bool:
    return BY_DTYPE[state.dtype].storage.native_single
