"""Shots of one state, drawn without a round trip to the host: sums, where shots fall on them, one transfer back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS
from qsim_ex.kernels.cuda.fixed.fixed import OF_SUMS, SEARCHED_BITS, THREADS, bits_of, launch, partial_sums
from qsim_ex.kernels.cuda.runtime import Array, Runtime
from qsim_ex.precision import BY_DTYPE

MOST_SHOTS = 1 << 12
"""Shots beyond which it is faster to read the amplitudes behind a prefix once for all shots that fall on it."""

_LEAST_SEARCHED = 8
_MOST_SUMMED = 20
_LOOPED = 4
"""log2 of the amplitudes that a thread adds up at least, so that blocks of a pass are few."""


class Weights(NamedTuple):
    """The sums of |amplitude|² behind each value of the highest wires, in groups, and those of the groups.

    weights: [groups, 256]. totals: [groups]. searched: how many of the lowest wires are drawn by amplitudes.
    """

    weights: Array
    totals: Array
    groups: int
    searched: int


def searched_of(bits: Sequence[int]) -> int:
    """Return how many of the lowest wires are drawn by amplitudes; bits: the index bit of each wire.

    Each of these amplitudes is a transfer of its own where wires are on high bits, so they should be few; but where
    they are on the lowest bits a pass over the state adds up few of them at a time.
    """
    n = len(bits)
    for count in range(max(_LEAST_SEARCHED, n - _MOST_SUMMED), min(n, SEARCHED_BITS)):
        if sum(bit >= THREADS.bit_length() - 1 for bit in bits[:count]) >= _LOOPED:
            return count
    return min(n, SEARCHED_BITS)


def weigh(runtime: Runtime, buffer: Array, bits: Sequence[int], flip: int) -> Weights:
    """Queue the sums of a state from which its shots are drawn.

    bits: the index bit of each wire. flip: mask of index bits that are stored inverted. Needs 16 bytes for each value
    of the wires that are not searched, and a 32nd of the state.
    """
    searched = searched_of(bits)
    high = bits[searched:]
    width = 1 << len(high)
    sums, parts = partial_sums(runtime, buffer, len(bits), high, ALWAYS)
    groups = -(-width // THREADS)
    weights, totals = runtime.empty(groups * THREADS, np.float64), runtime.empty(groups, np.float64)
    inverted = sum([(flip >> bit & 1) << k for k, bit in enumerate(high)])
    launch(runtime, "group_weights", OF_SUMS, groups, THREADS, sums, weights, totals, parts, width, inverted)
    return Weights(weights, totals, groups, searched)


def draw(
    runtime: Runtime, buffer: Array, bits: Sequence[int], flip: int, given: Weights, numbers: NDArray[np.float64]
) -> tuple[NDArray[np.int64], float]:
    """Return the value of all wires that each number in [0, 1) falls on, int64 [shots], and the state's squared norm.

    given: the sums that `weigh` has queued for the same bits. Values mean nothing if the norm is 0 or not finite.
    """
    sent, shots = runtime.upload(numbers), len(numbers)
    found = runtime.empty(shots + 1, np.uint64)
    launch(
        runtime, "draw_shots", BY_DTYPE[buffer.dtype], shots, THREADS,
        buffer, given.weights, given.totals, sent, found, given.groups, given.searched, flip, bits_of(bits),
    )  # fmt: skip
    drawn = np.asarray(runtime.download(found))
    return drawn[:shots].view(np.int64), float(drawn[shots:].view(np.float64)[0])
