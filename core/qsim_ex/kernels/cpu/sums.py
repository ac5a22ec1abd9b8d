"""Sums over amplitudes, all in float64.

A state is divided into *units* that depend on its size alone; threads share the units, those of all rows of a batch,
and the results of a row's units are added in order. So a sum depends neither on the number of threads nor on that of
rows. Within a unit, blocks of 2^w neighbouring amplitudes are added up lane by lane before anything is summed across
them: that is fast, and it rounds little.
"""

from __future__ import annotations

import numpy as np

from qsim_ex.kernels.numba_cache import kernel, part


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
    """Return whether a number has an odd count of ones."""
    value ^= value >> 32
    value ^= value >> 16
    value ^= value >> 8
    value ^= value >> 4
    return np.int64(0x6996) >> (value & 15) & 1


@kernel
def marginals(state, size, width, folded, bins, chosen, rest, fixed, share, group_bin, first, last, out):
    """Add |amplitude|² of units `first` … `last` − 1 of a batch to `out`, float64 [rows, 2^share, bins].

    state: real and imaginary parts in turn, `size` amplitudes a row; width: amplitudes of a block; folded: the bits of
    a place in a block that are summed over, descending; bins: for each value of its other bits the bin, or −1 to skip
    it; chosen, rest: masks of the bits above a block that name a group, and that are summed over; fixed:
    the value of the others. group_bin: for each group, its part of the bin. A row has 2^share units for each group,
    which divide its blocks.
    """
    shares = 1 << share
    units = len(group_bin) * shares
    blocks = 1 << max(0, _count(rest) - share)
    total = np.empty(width, dtype=np.float64)
    for number in range(first, last):
        row, unit = number // units, number % units
        group, piece = unit >> share, unit & shares - 1
        base = row * size + (placed(group, chosen) | fixed)
        x = placed(piece * blocks, rest)
        total[:] = 0.0
        for _ in range(blocks):
            at = 2 * (base + x)
            for j in range(width):
                real, imag = np.float64(state[at + 2 * j]), np.float64(state[at + 2 * j + 1])
                total[j] += real * real + imag * imag
            x = (x | ~rest) + 1 & rest
        left = width
        for k in range(len(folded)):
            left = _folded(total, left, 1 << folded[k])
        sums = out[row, piece]
        for j in range(left):
            if bins[j] >= 0:
                sums[group_bin[group] + bins[j]] += total[j]


@part
def _folded(total, length, half):
    """Sum over one bit of the place, whose value is `half`; `total` is compacted, and its new length is returned."""
    to = 0
    for begin in range(0, length, 2 * half):
        for j in range(half):
            total[to + j] = total[begin + j] + total[begin + half + j]
        to += half
    return to


@part
def _count(mask):
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@kernel
def inner(left, right, width, first, last):
    """Return Σ conj(left)·right over amplitudes `first` … `last` − 1, whole blocks of `width`.

    left, right: real and imaginary parts in turn.
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
def paulis(state, size, x, zs, above, of, width, units, first, last, out):
    """Write Σ conj(a[i XOR x]) · (−1)^parity(i & z) · a[i] over units `first` … `last` − 1, for each z of `zs`.

    state: real and imaginary parts in turn, `size` amplitudes in each row; units: the ranges of i in a row.
    width: amplitudes of a block, a power of two; above: the distinct parts of the masks above a block; of: for each z,
    the number of its part. out: float64 [all units, zs, 2].
    """
    totals = np.empty((len(above), 2, width), dtype=np.float64)
    product = np.empty((2, width), dtype=np.float64)
    aside = np.empty(width, dtype=np.float64)
    inside = width - 1
    length = size // units
    for number in range(first, last):
        row, unit = number // units, number % units
        totals[:] = 0.0
        for block in range(unit * length, unit * length + length, width):
            here, there = row * size + block, row * size + (block ^ x & ~inside)
            for j in range(width):
                at, to = 2 * (here + j), 2 * (there + (j ^ x & inside))
                a, b = np.float64(state[to]), np.float64(state[to + 1])
                c, d = np.float64(state[at]), np.float64(state[at + 1])
                product[0, j] = a * c + b * d
                product[1, j] = a * d - b * c
            for k in range(len(above)):
                sign = -1.0 if odd(block & above[k]) else 1.0
                for half in range(2):
                    total, part_of = totals[k, half], product[half]
                    for j in range(width):
                        total[j] += sign * part_of[j]
        for k in range(len(zs)):
            for half in range(2):
                out[number, k, half] = _signed(totals[of[k], half], zs[k], aside)


@part
def _signed(values, z, aside):
    """Return Σ_j (−1)^parity(j & z) · values[j] over a power of two of values, the highest bit of j first."""
    half = len(values) >> 1
    if half == 0:
        return values[0]
    sign = -1.0 if z & half else 1.0
    for j in range(half):
        aside[j] = values[j] + sign * values[half + j]
    while half > 1:
        half >>= 1
        sign = -1.0 if z & half else 1.0
        for j in range(half):
            aside[j] += sign * aside[half + j]
    return aside[0]


@kernel
def search(state, places, bases, runs, targets, first, last, found):
    """Find for runs `first` … `last` − 1 of targets the value of the searched bits of each; see `Device.search`.

    state: real and imaginary parts in turn; places: for each value of the searched bits, the index that has it.
    """
    sums = np.empty(len(places), dtype=np.float64)
    for run in range(first, last):
        if runs[run] == runs[run + 1]:
            continue
        total = 0.0
        for v in range(len(places)):
            at = 2 * (bases[run] ^ places[v])
            real, imag = np.float64(state[at]), np.float64(state[at + 1])
            total += real * real + imag * imag
            sums[v] = total
        most = np.nextafter(total, -1.0)
        for k in range(runs[run], runs[run + 1]):
            target = min(targets[k], most)
            value, step = 0, len(places) >> 1
            while step:
                if sums[value + step - 1] <= target:
                    value += step
                step >>= 1
            found[k] = value
