"""Amplitudes in and out of matrices: rows are values of some bits, columns are all other bits.

Columns are named by *bases*, the indices at which all row bits are 0; row r is `offsets[r]` further on.
"""

from __future__ import annotations

import numpy as np

from qsim_ex.kernels.numba_cache import kernel


@kernel
def bases(free, fixed, first, out):
    """Write to `out` indices number `first`, `first` + 1, … that are `fixed` plus any value of the bits in `free`."""
    x = 0
    left = first
    for bit in range(63):
        if free >> bit & 1:
            x |= (left & 1) << bit
            left >>= 1
    for k in range(len(out)):
        out[k] = x | fixed
        x = (x | ~free) + 1 & free


@kernel
def gather(state, offsets, columns, out):
    """Set ``out[r, c] = state[offsets[r] + columns[c]]``."""
    for r in range(len(offsets)):
        for c in range(len(columns)):
            out[r, c] = state[offsets[r] + columns[c]]


@kernel
def scatter(state, offsets, columns, values):
    """Set ``state[offsets[r] + columns[c]] = values[r, c]``."""
    for r in range(len(offsets)):
        for c in range(len(columns)):
            state[offsets[r] + columns[c]] = values[r, c]


@kernel
def spread(state, offsets, held, columns, amplitudes):
    """Set every row to its amplitude times the row that begins at `held`."""
    for c in range(len(columns)):
        value = state[held + columns[c]]
        for r in range(len(offsets)):
            state[offsets[r] + columns[c]] = amplitudes[r] * value


@kernel
def scale(state, mask, value, inside, outside, first, last):
    """Multiply amplitudes `first` … `last` − 1 by `inside` where the bits under `mask` are `value`, else by `outside`.

    `state` are real and imaginary parts in turn.
    """
    for i in range(first, last):
        factor = inside if i & mask == value else outside
        state[2 * i] *= factor
        state[2 * i + 1] *= factor


@kernel
def clear(state, mask, first, last):
    """Write zeros to the amplitudes `first` … `last` − 1 at which a bit under `mask` is 1."""
    for i in range(first, last):
        if i & mask:
            state[i] = 0


@kernel
def exchange(state, columns, here, there):
    """Exchange the amplitudes at column + `here` and at column + `there`."""
    for c in range(len(columns)):
        value = state[columns[c] + here]
        state[columns[c] + here] = state[columns[c] + there]
        state[columns[c] + there] = value


@kernel
def permute_tiles(state, tile, sources, flip, free, first, last):
    """Move bits inside tiles: in tile coordinates new bit k is old bit ``sources[k]``, XOR bit k of `flip`.

    tile: index bits of a tile, ascending; free: mask of all others. Tiles `first` … `last` − 1 of them.
    """
    size = 1 << len(tile)
    places = np.zeros(size, dtype=np.int64)
    origin = np.zeros(size, dtype=np.int64)
    for k in range(len(tile)):
        for x in range(1 << k):
            places[(1 << k) + x] = places[x] | np.int64(1) << tile[k]
            origin[(1 << k) + x] = origin[x] | np.int64(1) << sources[k]
    aside = np.empty(size, dtype=state.dtype)
    shift = 0
    for k in range(len(tile)):
        shift |= (flip >> k & 1) << sources[k]
    base = 0
    left = first
    for bit in range(63):
        if free >> bit & 1:
            base |= (left & 1) << bit
            left >>= 1
    for _ in range(first, last):
        for x in range(size):
            aside[x] = state[base + places[x]]
        for x in range(size):
            state[base + places[x]] = aside[origin[x] ^ shift]
        base = (base | ~free) + 1 & free
