"""The form of an encoded sweep: the meaning of each integer. `encode` writes it, `sweep` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

# What an instruction does.
LANES, LANE, SCALE_REAL, SCALE_COMPLEX, PAIR_REAL, PAIR_COMPLEX, QUAD_REAL, QUAD_COMPLEX, DENSE, EXCHANGE = range(10)

# Fields of an instruction. Rows and offsets from them are in bytes, and are XORed: see `row_frame`.
KIND = 0
OUTSIDE_MASK, OUTSIDE_VALUE = 1, 2  # index bits outside the tile that must have a value; other tiles skip it
FREE, STEPS, FIXED, ORIGIN, COUNT = 3, 4, 5, 6, 7  # rows it runs over, see `TileSelection`
TABLE, BLOCK, READS, COLUMNS = 8, 9, 10, 11  # first coefficient, coefficients of a block, parities, see `Writer._reads`
SIZE = 12  # of DENSE; the lane bit of LANE
PER_LANE = 13  # whether coefficients are vectors: DENSE and SCALE, which take scalars, too
OFFSETS = 14  # eight of them; of DENSE, where they begin in `integers`
INSTRUCTION = 22


class TileSelection(NamedTuple):
    """The rows and tiles that an instruction acts on: the fields from `OUTSIDE_MASK` to `COUNT`.

    free, fixed: all values of the bits of FREE, with FIXED set. steps: where the differences begin between rows that
    follow each other, if FREE does not say them: behind a CX; else −1. origin: where the masks begin that say which
    bits of FIXED index bits outside the tile flip, −1 for none. size: how many rows.
    """

    outside_mask: int
    outside_value: int
    free: int
    steps: int
    fixed: int
    origin: int
    size: int


class Table(NamedTuple):
    """The coefficients of an instruction: the fields from `TABLE` to `COLUMNS`."""

    at: int = 0
    block: int = 0
    reads: int = 0
    columns: int = 0


# Fields of a fill, which says how the coefficients of an instruction are looked up. Its codes count from number SLOT of
# the packed numbers on and are in the order of the item's reads, so that all items of one pattern have them in common:
# the bits of a block's number are those of KEPT in the number of its codes, and each lane flips others.
TO, BLOCKS, ENTRIES, FROM, LANE_COLUMNS, LANE_MASK, LANE_VALUE, IDENTITY, SPLAT, SLOT, KEPT = range(11)
FILL = 11

# The geometry of a sweep. TILE_MASK: bits that do not number tiles. LOAD, STORE: where each row is in memory, and
# LOAD_LANES, STORE_LANES each lane; LOAD_DIRECT, STORE_DIRECT: whether a row is a vector there, too. LOAD_BASE,
# STORE_BASE: what flips, too, with each index bit outside the tile, −1 if nothing does. GROWN: bits of the tile at
# whose 1 memory holds nothing until then.
NUM_BITS, ROW_BITS, TILE_MASK, LOAD, LOAD_LANES, LOAD_DIRECT, STORE, STORE_LANES, STORE_DIRECT = range(9)
LOAD_BASE, STORE_BASE, GROWN = 9, 10, 11
GEOMETRY = 12

INDEX = 63
"""The most bits of an index, and the entries of LOAD_BASE and STORE_BASE."""

PROGRAM = 8
"""The integers of a sweep as kernels take it: addresses of the arrays of `EncodedSweep`, two lengths, coefficients."""

LOW_ROWS, LOW_MASK = 6, 63
"""Tables over rows are split: one for the lowest 6 bits of the row number, one for the others."""
NOWHERE = 1 << 60
"""The place of rows that memory does not hold: padding, and zeros that were never written.

A place is the XOR of up to three table entries; the second has 2 · NOWHERE instead, the third 4 · NOWHERE.
"""


@dataclass(frozen=True)
class EncodedSweep:
    """One encoded sweep.

    instructions: [count, INSTRUCTION]; fills: [count, FILL]; codes: see `items`; integers: tables of all kinds;
    geometry: see above;
    coefficients: the number of real coefficients that are looked up when it runs.
    """

    instructions: Integers
    fills: Integers
    codes: NDArray[np.int32]
    integers: Integers
    geometry: Integers
    coefficients: int
    outside_bits: int
    row_bits: int
