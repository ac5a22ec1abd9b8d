"""Searching running sums on the host, for devices whose memory the host can read at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Gather = Callable[[NDArray[np.int64]], NDArray[np.complexfloating[Any, Any]]]

CHUNK = 1 << 20
"""How many amplitudes are looked at in one go: their indices take 8 MiB."""


def searched_bits(num_bits: int, shots: int) -> int:
    """As many bits as make both sums alike: those of the marginal above, and those behind the shots' prefixes."""
    above = min(num_bits, (num_bits + shots.bit_length() + 1) // 2)
    return num_bits - above


def search(
    gather: Gather,
    bits: Sequence[int],
    bases: NDArray[np.int64],
    runs: NDArray[np.int64],
    targets: NDArray[np.float64],
) -> NDArray[np.int64]:
    """As `Device.search`, with amplitudes from `gather`."""
    found = np.empty(len(targets), dtype=np.int64)
    values = np.arange(1 << len(bits), dtype=np.int64)
    places = np.zeros_like(values)
    for k, bit in enumerate(bits):
        places |= (values >> k & 1) << bit
    rows = max(1, CHUNK >> len(bits))
    for first in range(0, len(bases), rows):
        part = runs[first : first + rows + 1]
        amplitudes = gather((bases[first : first + rows, None] ^ places).ravel())
        sums = np.cumsum(_squares(amplitudes).reshape(-1, len(values)), axis=1)
        row = np.repeat(np.arange(len(part) - 1), np.diff(part))
        found[part[0] : part[-1]] = _bisect(sums, row, targets[part[0] : part[-1]])
    return found


def _bisect(sums: NDArray[np.float64], rows: NDArray[np.int64], targets: NDArray[np.float64]) -> NDArray[np.int64]:
    """For each target, the first column of its row of `sums` that is larger, by bisection of all at once."""
    targets = np.minimum(targets, np.nextafter(sums[rows, -1], -1))
    found = np.zeros(len(rows), dtype=np.int64)
    step = sums.shape[1] >> 1
    while step:
        found += step * (sums[rows, found + step - 1] <= targets)
        step >>= 1
    return found


def _squares(amplitudes: NDArray[np.complexfloating[Any, Any]]) -> NDArray[np.float64]:
    """|amplitude|² in float64, also for complex64."""
    out = np.square(amplitudes.real, dtype=np.float64)
    out += np.square(amplitudes.imag, dtype=np.float64)
    return np.asarray(out)
