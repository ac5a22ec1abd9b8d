"""Sums of many Pauli strings over the amplitudes of the CPU device's buffers, in few passes: see kernels/tile_sums.cpp.

Strings that mix few wires each, such as the terms of a transverse field, share a pass in which the bits of a tile are
local. Strings with one X-part take a pass of their own otherwise.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cpu.pool import in_ranges
from qsim_ex.native.library import address, structure, unchecked
from qsim_ex.precision import BY_DTYPE, Amplitudes

TILE_BITS = 13
"""Bits of a tile: its amplitudes in float64 and their products are 256 KiB, which a core's second cache holds."""

NEAR_BITS = 4
"""The lowest bits, which every tile has, so that few pages are read at a time."""

SHARED = 4
"""The fewest strings with one X-part that are worth a pass over tiles; of two X-parts every pass is."""

Part = tuple[int, tuple[int, ...]]


class TilePass(NamedTuple):
    """A pass: the bits of its tiles, and the numbers of the parts whose strings it sums."""

    mask: int
    parts: tuple[int, ...]


@lru_cache(maxsize=64)
def passes(num_bits: int, parts: tuple[Part, ...]) -> tuple[TilePass, ...]:
    """Return passes over tiles that sum strings with few X-parts; the parts that no pass names are left to others."""
    lowest = (1 << TILE_BITS) - 1
    waiting = {k: x for k, (x, _) in enumerate(parts) if x & ~lowest}
    found = [TilePass(lowest, tuple(k for k in range(len(parts)) if k not in waiting))]
    while waiting:
        mask, taken = (1 << NEAR_BITS) - 1, []
        for k, x in sorted(waiting.items(), key=lambda item: item[1].bit_length()):
            if (mask | x).bit_count() <= TILE_BITS:
                mask |= x
                taken.append(k)
        if not taken:  # what is left mixes too many bits
            break
        waiting = {k: x for k, x in waiting.items() if k not in taken}
        found.append(TilePass(_filled(mask, num_bits), tuple(taken)))
    return tuple(one for one in found if len(one.parts) > 1 or sum(len(parts[k][1]) for k in one.parts) >= SHARED)


def _filled(mask: int, num_bits: int) -> int:
    """Return a mask with the lowest bits beside it, so that a tile has as many as it may."""
    for bit in range(num_bits):
        if mask.bit_count() < TILE_BITS:
            mask |= 1 << bit
    return mask


def tile_paulis(
    state: Amplitudes, num_bits: int, mask: int, parts: tuple[Part, ...], threads: int
) -> NDArray[np.complex128]:
    """Return the sums of the strings of parts for each row of a batch, complex128 [rows, strings]."""
    form, strings, units, _ = _form(num_bits, mask, parts)
    rows = state.size >> num_bits
    out = np.empty((rows, units, strings), dtype=np.complex128)
    given = address(state), BY_DTYPE[state.dtype].storage.native_single, ctypes.addressof(form), address(out)
    each = (1 << num_bits) // units * len(parts)
    in_ranges(unchecked("tile_paulis"), *given, size=rows * units, each=each, threads=threads)
    return np.asarray(out.sum(axis=1))


def _inside(mask: int, bits: Sequence[int]) -> int:
    """Return the values of some bits of a mask as a number, the first one least significant."""
    return sum((mask >> bit & 1) << k for k, bit in enumerate(bits))


_Tiles = structure("num_bits mask units num_parts xs firsts inside outside")


@lru_cache(maxsize=256)
def _form(num_bits: int, mask: int, parts: tuple[Part, ...]) -> tuple[ctypes.Structure, int, int, object]:
    """Return the form of a pass, its strings, its units, and the arrays that it points to."""
    zs = np.array([z for _, ones in parts for z in ones], dtype=np.int64)
    bits = [bit for bit in range(num_bits) if mask >> bit & 1]
    arrays = (
        np.array([_inside(x, bits) for x, _ in parts], dtype=np.int64),
        np.cumsum([0, *(len(ones) for _, ones in parts)], dtype=np.int64),
        np.array([_inside(int(z), bits) for z in zs], dtype=np.int64),
        zs & ~np.int64(mask),
    )
    units = min(256, 1 << num_bits - len(bits))
    form = _Tiles(num_bits, mask, units, len(parts), *map(address, arrays))
    return form, len(zs), units, arrays
