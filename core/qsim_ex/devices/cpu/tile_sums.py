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

TILE_BITS = 14
"""Bits of a tile: its amplitudes in float64 are 256 KiB, which a core's second cache holds."""

VECTOR = 8
"""Neighbours that the native function works on at once. X-parts below it flip within a vector."""

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
    form = _form(num_bits, mask, parts)
    rows = state.size >> num_bits
    out = np.empty((rows, form.units, len(form.turns)), dtype=np.float64)
    given = address(state), BY_DTYPE[state.dtype].storage.native_single, ctypes.addressof(form.tiles), address(out)
    each = (1 << num_bits) // form.units * len(parts)
    in_ranges(unchecked("tile_paulis"), *given, size=rows * form.units, each=each, threads=threads)
    found = np.empty((rows, len(form.turns)), dtype=np.complex128)
    found[:, form.order] = out.sum(axis=1) * form.turns
    return found


def _inside(mask: int, bits: Sequence[int]) -> int:
    """Return the values of some bits of a mask as a number, the first one least significant."""
    return sum((mask >> bit & 1) << k for k, bit in enumerate(bits))


_Tiles = structure("num_bits mask units num_groups xs imaginary firsts inside outside")


class _Form(NamedTuple):
    """What the native function is given, with its arrays; of each of its sums the number of its string, and 1 or i."""

    tiles: ctypes.Structure
    units: int
    order: NDArray[np.int64]
    turns: NDArray[np.complex128]
    arrays: object


@lru_cache(maxsize=256)
def _form(num_bits: int, mask: int, parts: tuple[Part, ...]) -> _Form:
    """Return the form of a pass: strings with one X-part whose sums are real, or imaginary, are a group."""
    bits = [bit for bit in range(num_bits) if mask >> bit & 1]
    groups: dict[tuple[int, bool], list[tuple[int, int, int]]] = {}
    number = 0
    for x, zs in parts:
        near = _inside(x, bits)
        half = 1 << near.bit_length() - 1 if near >= VECTOR else 0
        for z in zs:
            inside = _inside(z, bits)
            imaginary = bool((near & inside).bit_count() & 1)
            if half:  # one amplitude of each pair has no highest bit of x
                inside = inside & half - 1 | inside >> 1 & -half
            groups.setdefault((near, imaginary), []).append((inside, z & ~mask, number))
            number += 1
    strings = np.array([one for group in groups.values() for one in sorted(group)], dtype=np.int64)
    arrays = (
        np.array([x for x, _ in groups], dtype=np.int64),
        np.array([imaginary for _, imaginary in groups], dtype=np.int64),
        np.cumsum([0, *map(len, groups.values())], dtype=np.int64),
        *np.ascontiguousarray(strings.T[:2]),
    )
    units = min(256, 1 << num_bits - len(bits))
    tiles = _Tiles(num_bits, mask, units, len(groups), *map(address, arrays))
    turns = np.repeat(np.where(arrays[1], 1j, 1.0), np.diff(arrays[2]))
    return _Form(tiles, units, strings[:, 2], turns, arrays)
