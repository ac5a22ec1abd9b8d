"""Operations on one narrow state, as two planes: the real and the imaginary parts of its 2^n amplitudes."""

from __future__ import annotations

from qsim_ex.kernels.cpu.sums import odd
from qsim_ex.kernels.numba_cache import inlined

_VECTOR = 8
"""Index bits from this one on leave whole vectors between the two amplitudes of a pair."""


@inlined
def pairs(re, im, bit, mask, value, m, at, scale):
    """Apply a 2×2 matrix to one index bit, where the bits of `mask` have a value."""
    ar, ai, br, bi = m[at] * scale, m[at + 1] * scale, m[at + 2] * scale, m[at + 3] * scale
    cr, ci, dr, di = m[at + 4] * scale, m[at + 5] * scale, m[at + 6] * scale, m[at + 7] * scale
    low = 0
    while low < len(re):
        if bit >= _VECTOR:  # whole vectors, the same loop for each of them
            for k in range(low, low + bit):
                if k & mask == value:
                    xr, xi, yr, yi = re[k], im[k], re[k + bit], im[k + bit]
                    re[k] = ar * xr - ai * xi + br * yr - bi * yi
                    im[k] = ar * xi + ai * xr + br * yi + bi * yr
                    re[k + bit] = cr * xr - ci * xi + dr * yr - di * yi
                    im[k + bit] = cr * xi + ci * xr + dr * yi + di * yr
            low += 2 * bit
        else:
            if low & mask == value:
                xr, xi, yr, yi = re[low], im[low], re[low + bit], im[low + bit]
                re[low] = ar * xr - ai * xi + br * yr - bi * yi
                im[low] = ar * xi + ai * xr + br * yi + bi * yr
                re[low + bit] = cr * xr - ci * xi + dr * yr - di * yi
                im[low + bit] = cr * xi + ci * xr + dr * yi + di * yr
            low = (low | bit) + 1 & ~bit  # the next index with 0 in this bit


@inlined
def dense(re, im, ints, at, wires, reads, mask, value, m, entries, scale, places, old):
    """Apply an operation: dense on `wires` wires, diagonal in `reads` masks, where the bits of `mask` have a value."""
    size = 1 << wires
    for v in range(size):
        places[v] = 0
        for k in range(wires):
            if v >> k & 1:
                places[v] |= ints[at + k]
    for base in range(len(re)):
        if base & places[size - 1] or base & mask != value:
            continue
        block = 0
        for k in range(reads):
            block |= odd(base & ints[at + wires + k]) << k
        here = entries + 2 * block * size * size
        for column in range(size):
            old[2 * column] = re[base | places[column]] * scale
            old[2 * column + 1] = im[base | places[column]] * scale
        for row in range(size):
            real, imag = 0.0, 0.0
            for column in range(size):
                a, b = m[here + 2 * (row * size + column)], m[here + 2 * (row * size + column) + 1]
                c, d = old[2 * column], old[2 * column + 1]
                real += a * c - b * d
                imag += a * d + b * c
            re[base | places[row]] = real
            im[base | places[row]] = imag
