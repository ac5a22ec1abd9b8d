"""NumPy's Philox generator for many keys at once: the same numbers, without an object for each key.

Philox4x64-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). The counter
of the k-th four numbers is k, from 1 on, and a number in [0, 1) is made of the highest 53 bits, as NumPy has it.
"""

from __future__ import annotations

import numpy as np

from qsim_ex.kernels.numba_cache import kernel, part

_LOW, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)
_FIRST, _SECOND = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_GOLDEN, _ROOT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_ROUNDS = 10
_TO_UNIT = 2.0**-53


@part
def high(a, b):
    """Return the high 64 bits of a product of two 64-bit numbers."""
    a0, a1, b0, b1 = a & _LOW, a >> _SHIFT, b & _LOW, b >> _SHIFT
    middle = a1 * b0 + (a0 * b0 >> _SHIFT)
    other = a0 * b1 + (middle & _LOW)
    return a1 * b1 + (middle >> _SHIFT) + (other >> _SHIFT)


@kernel
def fill(seeds, key, out, first, last):
    """Write the first numbers in [0, 1) of generators with keys (seed, key) to rows `first` … `last` − 1 of `out`."""
    count = out.shape[1]
    for row in range(first, last):
        for at in range(0, count, 4):
            x0, x1, x2, x3 = np.uint64(at // 4 + 1), np.uint64(0), np.uint64(0), np.uint64(0)
            k0, k1 = seeds[row], key
            for _ in range(_ROUNDS):
                h0, h1 = high(_FIRST, x0), high(_SECOND, x2)
                x0, x1, x2, x3 = h1 ^ x1 ^ k0, _SECOND * x2, h0 ^ x3 ^ k1, _FIRST * x0
                k0 += _GOLDEN
                k1 += _ROOT
            out[row, at] = np.float64(x0 >> np.uint64(11)) * _TO_UNIT
            if at + 1 < count:
                out[row, at + 1] = np.float64(x1 >> np.uint64(11)) * _TO_UNIT
            if at + 2 < count:
                out[row, at + 2] = np.float64(x2 >> np.uint64(11)) * _TO_UNIT
            if at + 3 < count:
                out[row, at + 3] = np.float64(x3 >> np.uint64(11)) * _TO_UNIT
