"""The copies of a pass as plain data: which bits of a state at home are near, and which pieces go where."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from qsim_ex import thresholds
from qsim_ex.circuit.ops import mask_of
from qsim_ex.placement.exchange.schedule import Part
from qsim_ex.placement.index_bits import brought_in, completed, move_bits
from qsim_ex.steps.layout import Levels

Carried = tuple[tuple[Part, Part], ...]


@thresholds.depends
@lru_cache(maxsize=64)
def carried(bits: tuple[int, ...], spared: int, piece: int) -> Carried:
    """Return the pieces of one sub state vector: the place of each near, and at home, relative to the bits of `high`.

    bits: the index bit at home of each local position. spared: mask of positions that are 0 in all carried amplitudes.
    piece: most amplitudes of one copy; a power of two.
    """
    runs = _runs([(p, bit) for p, bit in enumerate(bits) if not spared >> p & 1])
    most = piece.bit_length() - 1
    width = min(runs[0][2], most) if runs and runs[0][:2] == (0, 0) else 0
    above = [run for run in runs[width > 0 :] if 1 << max(run[:2]) <= thresholds.now.row_pitch]
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


def bringing(levels: Levels, num_bits: int, wanted: Sequence[int]) -> tuple[int, ...]:
    """Return the bits of a window with `wanted` local, in the places of the highest bits not in `wanted`."""
    bits = list(range(num_bits))
    for place, bit in brought_in(wanted, levels.slice, levels.local):
        bits[place], bits[bit] = bit, place
    return tuple(bits)


def turn_at_home(levels: Levels, origins: Sequence[int], flip: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return a pass that moves as many index bits as fit to their final places: its bits, and a move of local bits.

    New index bit k is to be old bit ``origins[k]``, XOR bit k of `flip`. The move is as for `Device.permute`.
    """
    chosen = set(range(levels.slice))
    for k in [k for k, origin in enumerate(origins) if origin != k or flip >> k & 1]:
        while len(chosen | {k, origins[k]}) <= levels.local and not {k, origins[k]} <= chosen:
            chosen |= {k, origins[k]}
            k = origins[k]
    bits = bringing(levels, len(origins), sorted(chosen))
    here = {bit: position for position, bit in enumerate(bits[: levels.local])}
    arriving = {here[k]: here[origins[k]] for k in here if origins[k] in here}
    return bits, completed(arriving, levels.local), sum(1 << p for p in arriving if flip >> bits[p] & 1)
