"""Sums over amplitudes, all in float64.

A state is cut into *units* that depend on its size alone; threads share out the units, and their results are added in
order. So a sum does not depend on the number of threads. Within a unit, blocks of 2^w neighbouring amplitudes are
added up lane by lane before anything is summed across them: that is fast, and it rounds little.
"""

from __future__ import annotations

import numba
import numpy as np

from qsim_ex.kernels.cpu.cache import kernel

part = numba.njit(nogil=True, error_model="numpy")


@part
def placed(number, mask):
    """Spread the bits of `number` over the bits in `mask`."""
    out = 0
    for bit in range(63):
        if mask >> bit & 1:
            out |= (number & 1) << bit
            number >>= 1
    return out


@part
def odd(value):
    """Whether a number has an odd count of ones."""
    value ^= value >> 32
    value ^= value >> 16
    value ^= value >> 8
    value ^= value >> 4
    return np.int64(0x6996) >> (value & 15) & 1


@kernel
def marginal(state, bins, chosen, rest, fixed, share, unit, group_bin, out):
    """Add |amplitude|² of one unit to `out`.

    state: real and imaginary parts in turn; bins: for each place in a block its bin, or −1 to leave it out;
    chosen, rest: masks of the bits above a block that name a group, and that are summed over; fixed: what the others
    are. Unit u is group u >> share_bits, and share number u & (2^share_bits − 1) of its blocks, share_bits = share.
    group_bin: for each group, its part of the bin.
    """
    size = len(bins)
    total = np.zeros(size, dtype=np.float64)
    group = unit >> share
    blocks = 1 << max(0, _count(rest) - share)
    first = (unit & (1 << share) - 1) * blocks
    base = placed(group, chosen) | fixed
    x = placed(first, rest)
    for _ in range(blocks):
        at = 2 * (base | x)
        for j in range(size):
            real, imag = np.float64(state[at + 2 * j]), np.float64(state[at + 2 * j + 1])
            total[j] += real * real + imag * imag
        x = (x | ~rest) + 1 & rest
    for j in range(size):
        if bins[j] >= 0:
            out[group_bin[group] + bins[j]] += total[j]


@part
def _count(mask):
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@kernel
def inner(left, right, width, first, last):
    """Σ conj(left)·right over amplitudes `first` … `last` − 1, whole blocks of `width`; real and imaginary parts
    in turn.
    """
    real_total = np.zeros(width, dtype=np.float64)
    imag_total = np.zeros(width, dtype=np.float64)
    for block in range(first, last, width):
        for j in range(width):
            at = 2 * (block + j)
            a, b = np.float64(left[at]), np.float64(left[at + 1])
            c, d = np.float64(right[at]), np.float64(right[at + 1])
            real_total[j] += a * c + b * d
            imag_total[j] += a * d - b * c
    real, imag = 0.0, 0.0
    for j in range(width):
        real += real_total[j]
        imag += imag_total[j]
    return real, imag


@kernel
def pauli(state, x, zs, above, of, width, first, last, out):
    """Add Σ conj(a[i XOR x]) · (−1)^parity(i & z) · a[i] over one range of i to `out` for every z of `zs`.

    state: real and imaginary parts in turn; width: amplitudes of a block, a power of two; above: the distinct parts
    of the masks above a block; of: for each z, which of them is its.
    """
    totals = np.zeros((len(above), 2, width), dtype=np.float64)
    product = np.empty((2, width), dtype=np.float64)
    inside = width - 1
    for block in range(first, last, width):
        other = block ^ x & ~inside
        for j in range(width):
            at, to = 2 * (block + j), 2 * (other + (j ^ x & inside))
            a, b = np.float64(state[to]), np.float64(state[to + 1])
            c, d = np.float64(state[at]), np.float64(state[at + 1])
            product[0, j] = a * c + b * d
            product[1, j] = a * d - b * c
        for k in range(len(above)):
            sign = -1.0 if odd(block & above[k]) else 1.0
            for half in range(2):
                total, row = totals[k, half], product[half]
                for j in range(width):
                    total[j] += sign * row[j]
    for k in range(len(zs)):
        real, imag = 0.0, 0.0
        total = totals[of[k]]
        for j in range(width):
            sign = -1.0 if odd(j & zs[k]) else 1.0
            real += sign * total[0, j]
            imag += sign * total[1, j]
        out[k, 0] += real
        out[k, 1] += imag
