"""Sums over amplitudes, all in float64: `core/native/sums.cpp`, which says in which order they are added up."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cpu.pool import in_ranges
from qsim_ex.native.library import address, kernel, structure
from qsim_ex.precision import BY_DTYPE

Buffer = NDArray[np.complexfloating[Any, Any]]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_Marginal = structure("size width num_folded chosen rest fixed share groups num_bins folded bins group_bin")
_Paulis = structure("size x num_zs num_above width units zs above of")
_Search = structure("places bases runs targets num_places")

_kernel = lru_cache(maxsize=8)(kernel)


def marginals(
    state: Buffer,
    size: int,
    folded: Integers,
    bins: Integers,
    above: tuple[int, int, int],
    share: int,
    group_bin: Integers,
    num_bins: int,
    threads: int,
) -> Floats:
    """Return sums of |amplitude|² of all rows of a batch, float64 [rows, 2^share, num_bins].

    size: amplitudes of a row. folded: the bits of a place in a block that are summed over, descending; bins: for each
    value of its other bits the bin, or −1 to skip it. above: for the bits above a block the mask of those that name a
    group, the mask of those that are summed over, and the value of the others. group_bin: for each group, its part of
    the bin. A row has 2^share units for each group, which divide its blocks.
    """
    width, rows = len(bins) << len(folded), state.size // size
    out = np.zeros((rows, 1 << share, num_bins), dtype=np.float64)
    chosen, rest, fixed = above
    counts = size, width, len(folded), chosen, rest, fixed, share, len(group_bin), num_bins
    form = _Marginal(*counts, address(folded), address(bins), address(group_bin))
    call, units = _kernel("marginals", "pippiiiii"), len(group_bin) << share
    given = address(state), _single(state), ctypes.addressof(form), address(out)
    in_ranges(call, *given, size=rows * units, each=size // units, threads=threads)
    return out


def inner(left: Buffer, right: Buffer, width: int, units: int, threads: int) -> Floats:
    """Return Σ conj(left)·right of units, whole blocks of `width`, float64 [units, 2]."""
    out = np.empty((units, 2), dtype=np.float64)
    size = left.size // units
    given = address(left), address(right), _single(left), width, size, address(out)
    in_ranges(_kernel("inner", "ppiiipiiiii"), *given, size=units, each=size, threads=threads)
    return out


def paulis(state: Buffer, size: int, x: int, zs: Integers, width: int, units: int, threads: int) -> Floats:
    """Return Σ conj(a[i XOR x]) · (−1)^parity(i & z) · a[i] of units for each z of `zs`, float64 [all units, zs, 2].

    size: amplitudes of a row; width: amplitudes of a block, a power of two; units: the ranges of i in a row.
    """
    above, of = np.unique(zs & -width, return_inverse=True)
    of = np.ascontiguousarray(of, dtype=np.int64)
    out = np.empty((state.size // size * units, len(zs), 2), dtype=np.float64)
    form = _Paulis(size, x, len(zs), len(above), width, units, address(zs), address(above), address(of))
    given = address(state), _single(state), ctypes.addressof(form), address(out)
    in_ranges(_kernel("paulis", "pippiiiii"), *given, size=len(out), each=size // units, threads=threads)
    return out


def search(state: Buffer, places: Integers, bases: Integers, runs: Integers, targets: Floats, threads: int) -> Integers:
    """Return the value of the searched bits of each target; see `Device.search`.

    places: for each value of the searched bits, the index that has it.
    """
    out = np.empty(len(targets), dtype=np.int64)
    form = _Search(address(places), address(bases), address(runs), address(targets), len(places))
    given = address(state), _single(state), ctypes.addressof(form), address(out)
    in_ranges(_kernel("search", "pippiiiii"), *given, size=len(bases), each=len(places), threads=threads)
    return out


def _single(state: Buffer) -> bool:
    return BY_DTYPE[state.dtype].native_single
