"""Sums over amplitudes, all in float64: `core/native/sums.cpp`, which says in which order they are added up.

Each function here returns the work on a range of units, which threads share.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.native.arguments import address, structure
from qsim_ex.native.library import kernel

Buffer = NDArray[np.complexfloating[Any, Any]]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Work = Callable[[int, int], object]

_Marginal = structure("size width num_folded chosen rest fixed share groups num_bins folded bins group_bin")
_Paulis = structure("size x num_zs num_above width units zs above of")
_Search = structure("places bases runs targets num_places")

_functions = lru_cache(maxsize=8)(kernel)


def marginals(
    state: Buffer,
    size: int,
    folded: Integers,
    bins: Integers,
    above: tuple[int, int, int],
    share: int,
    group_bin: Integers,
    out: Floats,
) -> Work:
    """Return the work that adds |amplitude|² of units of a batch to `out`, float64 [rows, 2^share, bins].

    size: amplitudes of a row. folded: the bits of a place in a block that are summed over, descending; bins: for each
    value of its other bits the bin, or −1 to skip it. above: for the bits above a block the mask of those that name a
    group, the mask of those that are summed over, and the value of the others. group_bin: for each group, its part of
    the bin. A row has 2^share units for each group, which divide its blocks.
    """
    width = len(bins) << len(folded)
    chosen, rest, fixed = above
    counts = size, width, len(folded), chosen, rest, fixed, share, len(group_bin), out.shape[-1]
    form = _Marginal(*counts, address(folded), address(bins), address(group_bin))
    found, to, call = address(state), address(out), _functions("marginals", "pipiip")
    single, at, kept = state.dtype == np.complex64, ctypes.addressof(form), (form, folded, bins, group_bin)

    def work(first: int, last: int, kept: Any = kept) -> None:  # noqa: ARG001  (alive as long as the work)
        call(found, single, at, first, last, to)

    return work


def inner(left: Buffer, right: Buffer, width: int, size: int, out: Floats) -> Work:
    """Return the work that writes Σ conj(left)·right of units to `out`, float64 [units, 2].

    size: amplitudes of a unit, whole blocks of `width`.
    """
    a, b, to, call = address(left), address(right), address(out), _functions("inner", "ppiiiip")
    single = left.dtype == np.complex64

    def work(first: int, last: int) -> None:
        for unit in range(first, last):
            call(a, b, single, width, unit * size, unit * size + size, to + 16 * unit)

    return work


def paulis(state: Buffer, size: int, x: int, zs: Integers, width: int, units: int, out: Floats) -> Work:
    """Return the work that writes Σ conj(a[i XOR x]) · (−1)^parity(i & z) · a[i] of units to `out`, for each z of `zs`.

    size: amplitudes of a row; width: amplitudes of a block, a power of two; units: the ranges of i in a row.
    out: float64 [all units, zs, 2].
    """
    above, of = np.unique(zs & -width, return_inverse=True)
    of = np.ascontiguousarray(of, dtype=np.int64)
    form = _Paulis(size, x, len(zs), len(above), width, units, address(zs), address(above), address(of))
    found, to, call = address(state), address(out), _functions("paulis", "pipiip")
    single, at, kept = state.dtype == np.complex64, ctypes.addressof(form), (form, zs, above, of)

    def work(first: int, last: int, kept: Any = kept) -> None:  # noqa: ARG001  (alive as long as the work)
        call(found, single, at, first, last, to)

    return work


def search(state: Buffer, places: Integers, bases: Integers, runs: Integers, targets: Floats, out: Integers) -> Work:
    """Return the work that finds for runs of targets the value of the searched bits of each; see `Device.search`.

    places: for each value of the searched bits, the index that has it.
    """
    form = _Search(address(places), address(bases), address(runs), address(targets), len(places))
    found, to, call = address(state), address(out), _functions("search", "pipiip")
    single, at, kept = state.dtype == np.complex64, ctypes.addressof(form), (form, places, bases, runs, targets)

    def work(first: int, last: int, kept: Any = kept) -> None:  # noqa: ARG001  (alive as long as the work)
        call(found, single, at, first, last, to)

    return work
