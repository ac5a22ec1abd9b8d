"""The interpreter of encoded sweeps: for each tile, gather into rows, run the instructions, write back.

All functions run without Python's interpreter lock on a range of tiles, so threads share a sweep by dividing its
tiles, those of all rows of a batch, and no result depends on which thread ran which tile.
"""

from __future__ import annotations

import numpy as np

from qsim_ex.kernels.cpu import items
from qsim_ex.kernels.cpu import rows as r
from qsim_ex.kernels.cpu import vectors as v
from qsim_ex.kernels.cpu.encoding import (
    BLOCK,
    BLOCKS,
    COLUMNS,
    COUNT,
    DENSE,
    ENTRIES,
    EXCHANGE,
    FIXED,
    FREE,
    FROM,
    IDENTITY,
    KIND,
    LANE_COLUMNS,
    LANE_MASK,
    LANE_VALUE,
    LANES,
    LAST,
    LOAD,
    LOAD_DIRECT,
    LOAD_LANES,
    LOW_MASK,
    LOW_ROWS,
    NOWHERE,
    NUM_BITS,
    OFFSETS,
    OUTSIDE_MASK,
    OUTSIDE_VALUE,
    PAIR_COMPLEX,
    PAIR_REAL,
    PER_LANE,
    PERMUTE,
    QUAD_COMPLEX,
    QUAD_REAL,
    READS,
    ROW_BITS,
    SCALE_COMPLEX,
    SCALE_REAL,
    SIZE,
    SPLAT,
    STORE,
    STORE_DIRECT,
    STORE_LANES,
    TABLE,
    TILE_MASK,
    TO,
)
from qsim_ex.kernels.numba_cache import kernel, part

ZERO, ONE = items.ZERO, items.ONE
ROWS_AHEAD = 32
"""The number of rows by which prefetching is ahead of loading; 16 to 64 were equally fast."""


@part
def number(numbers, code):
    """Return the real number of a code; see `items`."""
    if code >= 0:
        value = numbers[code >> 1]
        return -value if code & 1 else value
    if code == ZERO:
        return 0.0
    return 1.0 if code == ONE else -1.0


@kernel
def expand(kind, numbers, fills, codes, integers, out):
    """Look up all coefficients of a sweep, one for each lane; `numbers` are real and imaginary parts in turn."""
    lane_bits = len(kind)
    for f in range(len(fills)):
        fill = fills[f]
        columns = integers[fill[LANE_COLUMNS] : fill[LANE_COLUMNS] + lane_bits]
        entries = fill[ENTRIES]
        at = fill[TO]
        alike = fill[LANE_MASK] == 0
        for lane_bit in range(lane_bits):
            alike &= columns[lane_bit] == 0
        for block in range(fill[BLOCKS]):
            for entry in range(entries):
                if fill[SPLAT]:
                    out[at] = number(numbers, codes[fill[FROM] + block * entries + entry])
                    at += 1
                    continue
                if alike:
                    value = number(numbers, codes[fill[FROM] + block * entries + entry])
                    for lane in range(1 << lane_bits):
                        out[at + lane] = value
                else:
                    for lane in range(1 << lane_bits):
                        code = fill[IDENTITY] + entry
                        if lane & fill[LANE_MASK] == fill[LANE_VALUE]:
                            selected = block
                            for lane_bit in range(lane_bits):
                                if lane >> lane_bit & 1:
                                    selected ^= columns[lane_bit]
                            code = fill[FROM] + selected * entries + entry
                        out[at + lane] = number(numbers, codes[code])
                at += 1 << lane_bits


@part
def parity(value):
    """Return whether a number has an odd count of ones."""
    value ^= value >> 32
    value ^= value >> 16
    value ^= value >> 8
    value ^= value >> 4
    return np.int64(0x6996) >> (value & 15) & 1


@part
def selectors(instruction, integers, row_bits, index, block_bytes, low, high):
    """Fill the two tables whose XOR is the block that a row selects: for its lowest bits, and for the others.

    They hold offsets in bytes, which XOR as the numbers of blocks do, since a block is a power of two.
    """
    columns = instruction[COLUMNS]
    block = 0
    for k in range(instruction[READS]):
        block |= parity(index & integers[columns + row_bits + k]) << k
    low[0] = block * block_bytes
    high[0] = 0
    for bit in range(row_bits):
        column = integers[columns + bit] * block_bytes
        table, size = (low, 1 << bit) if bit < LOW_ROWS else (high, 1 << bit - LOW_ROWS)
        for x in range(size):
            table[size + x] = table[x] ^ column


@part
def run_dense(kind, instruction, integers, base, row_bytes, table, low, high, real_bytes):
    """Apply a larger matrix: the rows are copied aside, then four outputs at a time are summed up."""
    free, fixed, count, size = instruction[FREE], instruction[FIXED], instruction[COUNT], instruction[SIZE]
    offsets = instruction[OFFSETS]
    aside = base + (row_bytes << instruction[OFFSETS + 1])
    per_lane = instruction[PER_LANE] != 0
    group_bytes = 8 * size * (row_bytes >> 1 if per_lane else real_bytes)
    matrix = table
    x = 0
    for _ in range(count):
        row = x | fixed
        if instruction[READS] != 0:
            matrix = table + (low[row & LOW_MASK] ^ high[row >> LOW_ROWS])
        here = base + row * row_bytes
        for k in range(size):
            v.copy_row(kind, here + integers[offsets + k], aside + k * row_bytes)
        for group in range(size >> 2):
            k = offsets + 4 * group
            at = matrix + group * group_bytes
            r0, r1 = here + integers[k], here + integers[k + 1]
            r2, r3 = here + integers[k + 2], here + integers[k + 3]
            if per_lane:
                v.four_outputs_by_lane(kind, aside, size, at, r0, r1, r2, r3)
            else:
                v.four_outputs(kind, aside, size, at, r0, r1, r2, r3)
        x = (x | ~free) + 1 & free


@part
def run_permute(kind, instruction, base, row_bytes, low, high):
    """Move rows along the cycles of a permutation; one of each cycle is kept aside."""
    rows, flips = instruction[COUNT], instruction[FIXED]
    aside = base + (row_bytes << instruction[OFFSETS])
    origin = np.empty(rows, dtype=np.int32)
    for row in range(rows):
        origin[(low[row & LOW_MASK] ^ high[row >> LOW_ROWS]) ^ flips] = row
    for start in range(rows):
        if origin[start] == start:
            continue
        v.copy_row(kind, base + start * row_bytes, aside)
        row = start
        while origin[row] != start:
            source = origin[row]
            v.copy_row(kind, base + source * row_bytes, base + row * row_bytes)
            origin[row] = row
            row = source
        v.copy_row(kind, aside, base + row * row_bytes)
        origin[row] = row


@part
def load_rows(kind, memory, base, rows, places, amplitude_bytes, row_bytes):
    """Load amplitudes into rows, if a row is a vector in memory too. `memory` is the address of the tile."""
    for row in range(rows):
        soon = row + ROWS_AHEAD & rows - 1
        offset = places[soon & LOW_MASK] + places[LOW_MASK + 1 + (soon >> LOW_ROWS)]
        if offset < NOWHERE:
            v.prefetch_row(kind, memory + offset * amplitude_bytes)
        offset = places[row & LOW_MASK] + places[LOW_MASK + 1 + (row >> LOW_ROWS)]
        if offset < NOWHERE:
            v.load_row(kind, memory + offset * amplitude_bytes, base + row * row_bytes)
        else:
            v.clear_row(kind, base + row * row_bytes)


@part
def store_rows(kind, memory, base, rows, places, amplitude_bytes, row_bytes):
    """Store rows to amplitudes, if a row is a vector in memory too."""
    for row in range(rows):
        offset = places[row & LOW_MASK] + places[LOW_MASK + 1 + (row >> LOW_ROWS)]
        v.store_row(kind, base + row * row_bytes, memory + offset * amplitude_bytes)


@part
def store_permuted_rows(kind, memory, base, rows, places, amplitude_bytes, row_bytes, low, high, flips):
    """Store rows to amplitudes, row r to the place of row (low ^ high)[r] XOR `flips`."""
    for row in range(rows):
        to = (low[row & LOW_MASK] ^ high[row >> LOW_ROWS]) ^ flips
        offset = places[to & LOW_MASK] + places[LOW_MASK + 1 + (to >> LOW_ROWS)]
        v.store_row(kind, base + row * row_bytes, memory + offset * amplitude_bytes)


@part
def load_lanes(width, state, scratch, place, rows, places, lanes):
    """Load amplitudes into rows, one by one, if lanes are anywhere in memory; padding is zero."""
    for row in range(rows):
        offset = places[row & LOW_MASK] + places[LOW_MASK + 1 + (row >> LOW_ROWS)]
        for lane in range(width):
            here, at = offset + lanes[lane], row * 2 * width + lane
            padding = here >= NOWHERE
            scratch[at] = 0 if padding else state[2 * (place + here)]
            scratch[at + width] = 0 if padding else state[2 * (place + here) + 1]


@part
def store_lanes(width, state, scratch, place, rows, places, lanes, low, high, flips):
    """Store rows to amplitudes, one by one, row r to the place of row (low ^ high)[r] XOR `flips`."""
    for row in range(rows):
        to = (low[row & LOW_MASK] ^ high[row >> LOW_ROWS]) ^ flips
        offset = places[to & LOW_MASK] + places[LOW_MASK + 1 + (to >> LOW_ROWS)]
        for lane in range(width):
            here, at = offset + lanes[lane], row * 2 * width + lane
            if here < NOWHERE:
                state[2 * (place + here)] = scratch[at]
                state[2 * (place + here) + 1] = scratch[at + width]


@part
def run_instruction(kind, instruction, integers, base, row_bytes, real_bytes, coefficients, row_bits, index, low, high):
    """Run one instruction on one tile."""
    if index & instruction[OUTSIDE_MASK] != instruction[OUTSIDE_VALUE]:
        return
    what = instruction[KIND]
    table = coefficients + instruction[TABLE] * real_bytes
    block_bytes = 1 if what == PERMUTE else instruction[BLOCK] * real_bytes
    free, fixed, count = instruction[FREE], instruction[FIXED], instruction[COUNT]
    o0, o1, o2, o3 = instruction[OFFSETS], instruction[OFFSETS + 1], instruction[OFFSETS + 2], instruction[OFFSETS + 3]
    per_lane = instruction[PER_LANE] != 0
    reads = instruction[READS] != 0
    lo, hi = low.ctypes.data, high.ctypes.data
    if reads:
        selectors(instruction, integers, row_bits, index, block_bytes, low, high)
    if what == QUAD_COMPLEX:
        r.quad_complex(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3, table, reads, lo, hi)
    elif what == QUAD_REAL:
        r.quad_real(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3, table, reads, lo, hi)
        o0, o1 = instruction[OFFSETS + 4], instruction[OFFSETS + 5]
        o2, o3 = instruction[OFFSETS + 6], instruction[OFFSETS + 7]
        table += 16 * (row_bytes >> 1)
        r.quad_real(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3, table, reads, lo, hi)
    elif what == PAIR_REAL:
        r.pair_real(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3, table, reads, lo, hi)
    elif what == PAIR_COMPLEX:
        r.pair_complex(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3, table, reads, lo, hi)
    elif what == SCALE_COMPLEX and per_lane:
        r.scale_complex_by_lane(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3, table, reads, lo, hi)
    elif what == SCALE_COMPLEX:
        r.scale_complex(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3, table, reads, lo, hi)
    elif what == SCALE_REAL and per_lane:
        r.scale_real_by_lane(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3, table, reads, lo, hi)
    elif what == SCALE_REAL:
        r.scale_real(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3, table, reads, lo, hi)
    elif what == DENSE:
        if not reads:
            low[:] = 0
            high[:] = 0
        run_dense(kind, instruction, integers, base, row_bytes, table, low, high, real_bytes)
    elif what == PERMUTE:
        run_permute(kind, instruction, base, row_bytes, low, high)
    elif what == EXCHANGE:
        r.exchange_rows(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3)
    elif what == LANES:
        r.exchange_lanes(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3)
    elif instruction[SIZE] == 0:
        r.exchange_lane_0(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3)
    elif instruction[SIZE] == 1:
        r.exchange_lane_1(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3)
    elif instruction[SIZE] == 2:
        r.exchange_lane_2(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3)
    else:
        r.exchange_lane_3(kind, base, row_bytes, free, fixed, count, o0, o1, o2, o3)


@part
def run_tiles(kind, state, scratch, coefficients, instructions, integers, geometry, first, last, high):
    """Run a sweep on tiles `first` … `last` − 1.

    state: real and imaginary parts in turn; scratch: as large as a tile and 32 rows, aligned to 64 bytes;
    high: the value of all index bits outside the state.
    """
    real_bytes = scratch.itemsize
    row_bytes = (2 << len(kind)) * real_bytes
    row_bits = geometry[ROW_BITS]
    rows = 1 << row_bits
    load, store = integers[geometry[LOAD] :], integers[geometry[STORE] :]
    low = np.empty(LOW_MASK + 1, dtype=np.int64)
    high_rows = np.empty(max(1, rows >> LOW_ROWS), dtype=np.int64)
    outside = ((1 << geometry[NUM_BITS]) - 1) & ~geometry[TILE_MASK]
    load_direct, store_direct = geometry[LOAD_DIRECT] != 0, geometry[STORE_DIRECT] != 0
    amplitude_bytes = 2 * real_bytes
    base = scratch.ctypes.data
    count = len(instructions) - geometry[LAST]
    place = 0
    left = first
    for bit in range(geometry[NUM_BITS]):
        if outside >> bit & 1:
            place |= (left & 1) << bit
            left >>= 1
    for _ in range(first, last):
        memory = state.ctypes.data + place * amplitude_bytes
        if load_direct:
            load_rows(kind, memory, base, rows, load, amplitude_bytes, row_bytes)
        else:
            load_lanes(1 << len(kind), state, scratch, place, rows, load, integers[geometry[LOAD_LANES] :])
        index = place | high << geometry[NUM_BITS]
        following = (place | ~outside) + 1 & outside
        for k in range(count):
            if load_direct and following:  # prefetch a part of the next tile, so that memory works while we compute
                next_memory = state.ctypes.data + following * amplitude_bytes
                for row in range(rows * k // count, rows * (k + 1) // count):
                    offset = load[row & LOW_MASK] + load[LOW_MASK + 1 + (row >> LOW_ROWS)]
                    if offset < NOWHERE:
                        v.prefetch_row(kind, next_memory + offset * amplitude_bytes)
            run_instruction(kind, instructions[k], integers, base, row_bytes, real_bytes, coefficients.ctypes.data,
                            row_bits, index, low, high_rows)  # fmt: skip
        flips = 0
        if geometry[LAST]:
            selectors(instructions[count], integers, row_bits, index, 1, low, high_rows)
            flips = instructions[count][FIXED]
        elif not store_direct:
            for row in range(len(low)):
                low[row] = row
            for row in range(len(high_rows)):
                high_rows[row] = row << LOW_ROWS
        if not store_direct:
            lanes = integers[geometry[STORE_LANES] :]
            store_lanes(1 << len(kind), state, scratch, place, rows, store, lanes, low, high_rows, flips)
        elif geometry[LAST]:
            store_permuted_rows(kind, memory, base, rows, store, amplitude_bytes, row_bytes, low, high_rows, flips)
        else:
            store_rows(kind, memory, base, rows, store, amplitude_bytes, row_bytes)
        place = following


@kernel
def run_rows(
    kind,
    state,
    scratch,
    numbers,
    fills,
    codes,
    coefficients,
    instructions,
    integers,
    geometry,
    tiles,
    first,
    last,
    high,
):  # fmt: skip
    """Run a sweep on tiles `first` … `last` − 1 of a batch: number t is tile t % `tiles` of row t // `tiles`.

    numbers: real and imaginary parts in turn, for each row; or of no row, if all rows use `coefficients` as they are.
    coefficients: a row's, written before its first tile; aligned as `scratch` is. The rest as in `run_tiles`.
    """
    size = 2 << geometry[NUM_BITS]
    for row in range(first // tiles, -(-last // tiles)):
        if len(numbers):
            expand(kind, numbers[row], fills, codes, integers, coefficients)
        own = state[row * size : row * size + size]
        begin, end = max(first - row * tiles, 0), min(last - row * tiles, tiles)
        run_tiles(kind, own, scratch, coefficients, instructions, integers, geometry, begin, end, high)
