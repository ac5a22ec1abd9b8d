"""A sweep as arrays of integers: the program that `sweep.run_tiles` interprets.

Only structure is encoded, so it is done once; numbers are looked up by `sweep.expand` when the sweep runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qsim_ex.kernels.cpu import program as p
from qsim_ex.kernels.cpu.layout import PAD, TileLayout, Touch, runnable
from qsim_ex.kernels.cpu.writer import Writer
from qsim_ex.steps import Sweep


def encode(sweep: Sweep, num_bits: int, lane_bits: int, real_bytes: int) -> p.Program:
    """Encode a sweep over 2^num_bits amplitudes for vectors of 2^lane_bits real numbers of `real_bytes` bytes."""
    pending = [Touch.of(item) for phase in sweep.phases for item in phase.items]
    layout, direct = TileLayout.first(sweep.tile, pending, lane_bits)
    writer = Writer(layout, lane_bits, (2 << lane_bits) * real_bytes)
    load, load_lanes = places(writer)
    while pending:
        ready, pending = runnable(pending, layout.lane_mask())
        for piece in ready:
            writer.item(piece.item)
        if pending:
            writer.exchange(layout.swaps_for(pending))
    for swaps in layout.swaps_home() if direct else ():
        writer.exchange(swaps)
    last = writer.finish()
    store, store_lanes = places(writer)
    tile_mask = sum(1 << bit for bit in sweep.tile)
    row_bits = len(layout.rows)
    geometry = [num_bits, row_bits, direct, tile_mask, load, store, load_lanes, store_lanes, last]
    return p.Program(
        np.array(writer.instructions, dtype=np.int64).reshape(-1, p.INSTRUCTION),
        np.array(writer.fills, dtype=np.int64).reshape(-1, p.FILL),
        np.concatenate([np.zeros(0, dtype=np.int64), *writer.codes]),
        np.array(writer.integers, dtype=np.int64),
        np.array(geometry, dtype=np.int64),
        writer.coefficients,
        num_bits - len(sweep.tile),
        row_bits,
    )


def places(writer: Writer) -> tuple[int, int]:
    """Write where each row and each lane is in memory (in amplitudes); return where the tables begin."""
    rows, lanes = writer.layout.rows, writer.layout.lanes
    at = writer.add(_sums(rows[: p.LOW_ROWS], p.LOW_ROWS) + _sums(rows[p.LOW_ROWS :], len(rows[p.LOW_ROWS :])))
    return at, writer.add(_sums(lanes, len(lanes)))


def _sums(bits: Sequence[int], size: int) -> list[int]:
    """For each value x of `size` bits, the place in memory whose index has x on `bits`."""
    found = [0]
    for k in range(size):
        step = 0 if k >= len(bits) else p.NOWHERE if bits[k] >= PAD else 1 << bits[k]
        found += [place + step for place in found]
    return found
