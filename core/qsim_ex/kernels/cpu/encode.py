"""A sweep as arrays of integers: the program that `sweep.run_rows` interprets.

Only structure is encoded, so it is done once; numbers are looked up by `sweep.expand` when the sweep runs.
"""

from __future__ import annotations

import numpy as np

from qsim_ex.circuit.ops import mask_of
from qsim_ex.kernels.cpu import program as p
from qsim_ex.kernels.cpu.layout import TileLayout, runnable, touches
from qsim_ex.kernels.cpu.writer import Writer
from qsim_ex.steps.step import Sweep


def encode(sweep: Sweep, num_bits: int, lane_bits: int, real_bytes: int) -> p.Program:
    """Encode a sweep over 2^num_bits amplitudes for vectors of 2^lane_bits real numbers of `real_bytes` bytes."""
    pending = touches(sweep)
    layout, direct = TileLayout.first(sweep.tile, pending, lane_bits)
    writer = Writer(layout, lane_bits, (2 << lane_bits) * real_bytes)
    load, load_lanes = writer.places(sweep.fresh)
    load_direct = direct and not sweep.fresh & layout.lane_mask()
    while pending:
        ready, pending = runnable(pending, layout.lane_mask())
        swaps = layout.swaps_for(pending) if pending else []
        for piece in ready:
            writer.item(piece.item)
        if swaps:
            writer.exchange(swaps)
    for swaps in layout.swaps_home() if direct else ():
        writer.exchange(swaps)
    last = writer.finish()
    store, store_lanes = writer.places()
    tile_mask = mask_of(sweep.tile) | sweep.fresh & (1 << num_bits) - 1
    row_bits = len(layout.rows)
    geometry = [num_bits, row_bits, tile_mask, load, load_lanes, load_direct, store, store_lanes, direct, last]
    return p.Program(
        np.array(writer.instructions, dtype=np.int64).reshape(-1, p.INSTRUCTION),
        np.array(writer.fills, dtype=np.int64).reshape(-1, p.FILL),
        np.concatenate([np.zeros(0, dtype=np.int64), *writer.codes]),
        np.array(writer.integers, dtype=np.int64),
        np.array(geometry, dtype=np.int64),
        writer.coefficients,
        num_bits - tile_mask.bit_count(),
        row_bits,
    )
