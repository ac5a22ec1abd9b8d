"""The copies of a pass as plain data: which pieces of a state at home go where in a sub state vector."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from qsim_ex.circuit.ops import mask_of
from qsim_ex.placement.bits import move_bits
from qsim_ex.placement.exchange.schedule import PITCH, Part

Carried = tuple[tuple[Part, Part], ...]


@lru_cache(maxsize=64)
def carried(bits: tuple[int, ...], spared: int, piece: int) -> Carried:
    """Return the pieces of one sub state vector: the place of each near, and at home, relative to the bits of `high`.

    bits: the index bit at home of each local position. spared: mask of positions that are 0 in all carried amplitudes.
    piece: most amplitudes of one copy; a power of two.
    """
    runs = _runs([(p, bit) for p, bit in enumerate(bits) if not spared >> p & 1])
    most = piece.bit_length() - 1
    width = min(runs[0][2], most) if runs and runs[0][:2] == (0, 0) else 0
    above = [run for run in runs[width > 0 :] if 1 << max(run[:2]) <= PITCH]
    near, home, length = max(above, key=lambda run: run[2], default=(0, 0, 0))
    rows = min(length, most - width)
    inside = mask_of(tuple(range(width))) | mask_of(tuple(range(near, near + rows)))
    outside = [p for p in range(len(bits)) if not (inside | spared) >> p & 1]
    values = np.arange(1 << len(outside), dtype=np.int64)
    here, there = move_bits(values, outside).tolist(), move_bits(values, [bits[p] for p in outside]).tolist()
    return tuple(
        (Part(a, 1 << rows, 1 << width, 1 << near), Part(b, 1 << rows, 1 << width, 1 << home))
        for a, b in zip(here, there, strict=True)
    )


def _runs(pairs: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Return neighbouring positions that are neighbours at home too: the first, its bit at home, and the length."""
    runs: list[tuple[int, int, int]] = []
    for position, bit in pairs:
        if runs:
            first, home, length = runs[-1]
            if (position, bit) == (first + length, home + length):
                runs[-1] = first, home, length + 1
                continue
        runs.append((position, bit, 1))
    return runs
