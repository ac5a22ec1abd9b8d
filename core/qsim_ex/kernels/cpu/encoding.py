"""The form of an encoded sweep: the meaning of each integer. `encode` writes it, `sweep` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

# What an instruction does.
LANES, LANE, SCALE_REAL, SCALE_COMPLEX, PAIR_REAL, PAIR_COMPLEX, QUAD_REAL, QUAD_COMPLEX, DENSE, EXCHANGE = range(10)

INSTRUCTION = np.dtype(
    [
        ("outside_mask", "i8"),  # index bits outside the tile that must have a value; other tiles skip it
        ("outside_value", "i8"),
        ("table", "i8"),  # first coefficient
        ("free", "i4"),  # rows it runs over, see `TileSelection`
        ("steps", "i4"),
        ("fixed", "i4"),
        ("origin", "i4"),
        ("count", "i4"),
        ("block", "i4"),  # coefficients of a block
        ("reads", "i4"),  # parities, see `Writer._reads`
        ("columns", "i4"),
        ("size", "i4"),  # of DENSE; the lane bit of LANE
        ("offsets", "i4", 8),  # of DENSE, where they begin in `integers`
        ("kind", "i2"),
        ("per_lane", "i2"),  # whether coefficients are vectors: DENSE and SCALE, which take scalars, too
    ]
)
"""An instruction. Rows and offsets from them are in bytes, and are XORed: see `row_frame`."""


class TileSelection(NamedTuple):
    """The rows and tiles that an instruction acts on.

    free, fixed: `fixed` XOR all values of the bits of `free`. steps: where the differences begin between rows
    that follow each other, if `free` does not say them: behind a CX; else −1. origin: where the masks begin that say
    which bits of `fixed` index bits outside the tile flip, −1 for none. size: how many rows.
    """

    outside_mask: int
    outside_value: int
    free: int
    steps: int
    fixed: int
    origin: int
    size: int


class Table(NamedTuple):
    """The coefficients of an instruction."""

    at: int = 0
    block: int = 0
    reads: int = 0
    columns: int = 0


FILL = np.dtype(
    [
        ("to", "i8"),
        ("slot", "i8"),
        *((name, "i4") for name in ("blocks", "entries", "from", "identity", "lane_columns", "kept", "splat")),
        *((name, "i2") for name in ("lane_mask", "lane_value")),
    ]
)
"""A fill, which says how the coefficients of an instruction are looked up.

Its codes count from number `slot` of the packed numbers on and are in the order of the item's reads, so that all items
of one pattern have them in common: the bits of a block's number are those of `kept` in the number of its codes, and
each lane flips others.
"""

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

    instructions: of `INSTRUCTION`; fills: of `FILL`; codes: see `items`; integers: tables of all kinds;
    geometry: see above;
    coefficients: the number of real coefficients that are looked up when it runs.
    """

    instructions: NDArray[np.void]
    fills: NDArray[np.void]
    codes: NDArray[np.int32]
    integers: Integers
    geometry: Integers
    coefficients: int
    outside_bits: int
    row_bits: int
