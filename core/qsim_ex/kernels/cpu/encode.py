"""The encoder of sweeps: a sweep becomes the arrays of integers that core/native/kernels/sweep.cpp interprets.

Only structure is encoded, so it is done once; numbers are looked up when the sweep runs. Native code encodes the sweeps
of compiled plans; all others are gone through here, and a `Writer` writes each of their items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from qsim_ex.circuit.ops import mask_of
from qsim_ex.kernels.cpu import encoding as p
from qsim_ex.kernels.cpu.compiled_sweeps import encoded_plan
from qsim_ex.kernels.cpu.layout import TileLayout, runnable, touches
from qsim_ex.kernels.cpu.writer import Writer
from qsim_ex.steps.compiled import PlannedSweep
from qsim_ex.steps.step import Sweep


def encode(sweep: Sweep, num_bits: int, lane_bits: int, real_bytes: int) -> p.EncodedSweep:
    """Encode a sweep over 2^num_bits amplitudes for vectors of 2^lane_bits real numbers of `real_bytes` bytes.

    The sweeps of a compiled plan are encoded by native code, all others by `encode_in_python`.
    """
    if isinstance(sweep, PlannedSweep) and sweep.arrays is not None:
        return encoded_plan(sweep.arrays, num_bits, lane_bits, real_bytes).sweep(sweep.number)
    return encode_in_python(sweep, num_bits, lane_bits, real_bytes)


def encode_in_python(sweep: Sweep, num_bits: int, lane_bits: int, real_bytes: int) -> p.EncodedSweep:
    """Return the result of `encode`, made in Python: for plans on several levels, and the oracle of native code."""
    pending = touches(sweep)
    layout, direct = TileLayout.first(sweep.tile, pending, lane_bits)
    writer = Writer(layout, lane_bits, (2 << lane_bits) * real_bytes)
    loaded, stored = _columns(sweep.load, num_bits), _columns(sweep.store or sweep.load, num_bits)
    loads = {bit: loaded[bit] for bit in sweep.tile}
    load, load_lanes = writer.places(loads, sweep.fresh)
    load_base = writer.bases(loaded, sweep.tile)
    load_direct = (
        direct
        and _aligned(loaded, sweep.tile, lane_bits)
        and not sweep.fresh & layout.lane_mask()
        and _lanes(loads, lane_bits) == layout.lanes
    )
    while pending:
        ready, pending = runnable(pending, layout.lane_mask())
        swaps = layout.swaps_for(pending) if pending else []
        for piece in ready:
            writer.item(piece.item)
        if swaps:
            writer.exchange(swaps)
    stores = {bit: stored[bit] for bit in sweep.tile}
    aligned = _aligned(stored, sweep.tile, lane_bits)
    home = _lanes(stores, lane_bits) if direct and aligned else []
    for swaps in layout.swaps_home(home) if home and layout.rows else ():
        writer.exchange(swaps)
    store, store_lanes = writer.places(stores)
    store_base = writer.bases(stored, sweep.tile)
    tile_mask = mask_of(sweep.tile) | sweep.fresh & (1 << num_bits) - 1
    row_bits = len(layout.rows)
    geometry = [
        num_bits,
        row_bits,
        tile_mask,
        load,
        load_lanes,
        load_direct,
        store,
        store_lanes,
        direct and layout.lanes == home,
        load_base,
        store_base,
        sweep.fresh & mask_of(sweep.tile),
    ]
    return p.EncodedSweep(
        np.array(writer.instructions, dtype=p.INSTRUCTION),
        np.array(writer.fills, dtype=p.FILL),
        np.concatenate([np.zeros(0, dtype=np.int64), *writer.codes]).astype(np.int32),
        np.array(writer.integers, dtype=np.int64),
        np.array(geometry, dtype=np.int64),
        writer.coefficients,
        num_bits - tile_mask.bit_count(),
        row_bits,
    )


def _columns(columns: Sequence[int], num_bits: int) -> list[int]:
    """Return all columns of a map that leaves the bits from its length up."""
    return [*columns, *[1 << bit for bit in range(len(columns), num_bits)]]


def _lanes(directions: Mapping[int, int], lane_bits: int) -> list[int]:
    """Return the bits of a tile that are alone on the lanes of vectors in memory; none if some lane has several."""
    low = [(mask, bit) for bit, mask in directions.items() if mask & (1 << lane_bits) - 1]
    return (
        [bit for _, bit in sorted(low)]
        if sorted(mask for mask, _ in low) == [1 << lane for lane in range(lane_bits)]
        else []
    )


def _aligned(columns: Sequence[int], tile: Sequence[int], lane_bits: int) -> bool:
    """Return whether no bit outside a tile changes the lanes of a vector in memory."""
    lanes = (1 << lane_bits) - 1
    return not any((mask ^ 1 << bit) & lanes for bit, mask in enumerate(columns) if bit not in tile)
